//! What cannot be put on record is said to be so: every fault has its reason, and none of them hangs.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rea_gateway::audit::{
    Audit, AuditError, Disk, Durability, Listener, RealDisk, Record, Settings, Verdict,
};
use serde_json::Value;

use crate::support::{Project, kinds};

fn append(project: &Project, settings: Settings) -> Result<(), AuditError> {
    let audit = Audit::open(&project.root(), settings)?;
    audit
        .append(&Record::new("t", "s"), Durability::Durable)
        .map(drop)
}

fn impatient(project: &Project) -> Settings {
    Settings {
        lock_patience: Duration::from_millis(1),
        ..project.settings()
    }
}

#[test]
fn what_stands_in_the_way_is_named() {
    type Spoil = fn(&Project);
    let cases: &[(&str, Spoil, &str)] = &[
        (
            "a device for a log",
            |p| symlink("/dev/full", p.live()).unwrap(),
            "audit-not-a-file",
        ),
        (
            "a link to nothing",
            |p| symlink("nothing", p.live()).unwrap(),
            "audit-not-a-file",
        ),
        (
            "a directory for a log",
            |p| fs::create_dir(p.live()).unwrap(),
            "audit-not-a-file",
        ),
        (
            "a pipe for a log",
            |p| rustix::fs::mkfifoat(rustix::fs::CWD, p.live(), rustix::fs::Mode::RWXU).unwrap(),
            "audit-not-a-file",
        ),
        (
            "a directory for a lock",
            |p| fs::create_dir(p.rea("audit.lock")).unwrap(),
            "audit-not-a-file",
        ),
        (
            "an older writer",
            |p| fs::create_dir(p.root().join(".rea.lock")).unwrap(),
            "audit-old-writer",
        ),
        (
            "a key that is none",
            |p| {
                fs::create_dir_all(p.state()).unwrap();
                fs::write(p.state().join("checkpoint.key"), "x").unwrap();
            },
            "audit-key",
        ),
        (
            "a file for .rea",
            |p| {
                fs::remove_dir(p.rea(""))
                    .and_then(|()| fs::write(p.rea("").to_str().unwrap().trim_end_matches('/'), ""))
                    .unwrap();
            },
            "audit-io",
        ),
        (
            "a damaged checkpoint",
            |p| {
                append(p, p.settings()).unwrap();
                let path = fs::read_dir(p.state())
                    .unwrap()
                    .map(|entry| entry.unwrap().path());
                let path = path.into_iter().find(|path| {
                    path.extension()
                        .is_some_and(|ending| ending == "checkpoint")
                });
                fs::write(path.unwrap(), "{}").unwrap();
            },
            "audit-checkpoint",
        ),
    ];
    let mut wrong = Vec::new();
    for (name, spoil, want) in cases {
        let project = Project::new();
        spoil(&project);
        match append(&project, impatient(&project)) {
            Err(error) if error.code() == *want && !error.reason().contains('/') => {}
            other => wrong.push(format!("{name}: want {want}, got {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_log_that_becomes_a_pipe_is_named_and_nothing_waits_for_its_other_end() {
    let project = Project::new();
    let audit = Audit::open(&project.root(), impatient(&project)).unwrap();
    let record = Record::new("t", "s");
    audit.append(&record, Durability::Buffered).unwrap();
    fs::rename(project.live(), project.rea("moved")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, project.live(), rustix::fs::Mode::RWXU).unwrap();
    let failed = audit.append(&record, Durability::Durable).unwrap_err();
    assert_eq!(failed.code(), "audit-not-a-file");
    let (ended, end) = std::sync::mpsc::channel();
    thread::spawn(move || {
        drop(audit);
        ended.send(()).unwrap();
    });
    end.recv_timeout(Duration::from_secs(30)).unwrap();
}

#[test]
fn a_checkpoint_that_cannot_be_made_is_said_and_records_go_on() {
    let project = Project::new();
    let (told, heard) = std::sync::mpsc::channel();
    let settings = Settings {
        listener: Listener::new(move |error| told.send(error.code()).unwrap()),
        ..project.settings()
    };
    let audit = Audit::open(&project.root(), settings).unwrap();
    fs::remove_dir_all(project.state()).unwrap();
    for _ in 0..3 {
        audit
            .append(&Record::new("t", "s"), Durability::Durable)
            .unwrap();
    }
    let code = heard.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(code, "audit-io");
    drop(audit);
    assert_eq!(heard.iter().count(), 0, "said once");
    assert_eq!(project.lines().len(), 3);
}

#[test]
fn a_lock_held_for_ever_is_given_up_and_a_reader_goes_on() {
    let project = Project::new();
    append(&project, project.settings()).unwrap();
    let lock = OpenOptions::new()
        .append(true)
        .open(project.rea("audit.lock"))
        .unwrap();
    lock.lock().unwrap();
    assert_eq!(
        append(&project, impatient(&project)).unwrap_err().code(),
        "audit-lock-held"
    );
    assert_eq!(project.verify().verdict, Verdict::Intact);
    lock.unlock().unwrap();
    append(&project, impatient(&project)).unwrap();
}

#[test]
fn whoever_watches_hears_of_a_log_that_was_not_as_it_was_left() {
    let project = Project::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let settings = Settings {
        listener: Listener::new(move |error| ear.lock().unwrap().push(error.to_string())),
        ..project.settings()
    };
    let audit = Audit::open(&project.root(), settings).unwrap();
    let append = || {
        audit
            .append(&Record::new("t", "s"), Durability::Durable)
            .map(drop)
            .unwrap();
    };
    append();
    append();
    assert_eq!(heard.lock().unwrap().as_slice(), <&[String]>::default());
    fs::write(project.live(), "").unwrap();
    append();
    let heard = heard.lock().unwrap().join("\n");
    assert!(
        heard.contains("audit.gap") && heard.contains("rea audit verify"),
        "{heard}"
    );
}

#[test]
fn a_lock_file_that_was_replaced_is_taken_anew() {
    let project = Project::new();
    let audit = project.open();
    audit
        .append(&Record::new("t", "s"), Durability::Durable)
        .unwrap();
    fs::remove_dir_all(project.rea("")).unwrap();
    audit
        .append(&Record::new("t", "s"), Durability::Durable)
        .unwrap();
    // Whoever comes now finds the lock that is really held.
    assert!(project.rea("audit.lock").exists());
    let report = project.verify();
    assert_eq!(kinds(&report), ["gap-noted audit.jsonl 0"]);
    assert_eq!(report.verdict, Verdict::Truncated);
}

#[test]
fn a_shortened_log_is_noted_before_it_is_built_on() {
    let mut wrong = Vec::new();
    for reopen in [false, true] {
        let project = Project::new();
        let mut audit = project.open();
        for _ in 0..6 {
            audit
                .append(&Record::new("t", "s"), Durability::Durable)
                .unwrap();
        }
        if reopen {
            drop(audit);
        } else {
            audit.checkpoint().unwrap();
            // The handle stays open, so the length that is known is not the one that is there.
            std::mem::forget(audit);
        }
        audit = project.open();
        fs::write(project.live(), project.lines()[..2].join("\n") + "\n").unwrap();
        let receipt = audit
            .append(&Record::new("t", "s"), Durability::Durable)
            .unwrap();
        drop(audit);
        let note: Value = serde_json::from_str(&project.lines()[2]).unwrap();
        let said = note["tool_name"] == "audit.gap"
            && note["metadata"]["expected_sequence"] == 6
            && note["metadata"]["found_sequence"] == 2
            && note["metadata"]["sequence"] == 7
            && note["metadata"]["reason"] == "short";
        let report = project.verify();
        if !said
            || receipt.sequence != 8
            || kinds(&report) != ["gap-noted audit.jsonl 2"]
            || report.sequence != 8
        {
            wrong.push(format!("reopen {reopen}: {note} {receipt:?} {report:?}"));
        }
        // It is noted once, and the note cannot be taken back.
        append(&project, project.settings()).unwrap();
        if kinds(&project.verify()).len() != 1 {
            wrong.push(format!(
                "reopen {reopen}, again: {:?}",
                kinds(&project.verify())
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_log_made_anew_is_noted_before_it_is_built_on() {
    let (project, other) = (Project::new(), Project::new());
    for _ in 0..3 {
        append(&project, project.settings()).unwrap();
    }
    for _ in 0..5 {
        append(&other, other.settings()).unwrap();
    }
    fs::copy(other.live(), project.live()).unwrap();
    assert_eq!(kinds(&project.verify()), ["rewritten audit.jsonl"]);
    append(&project, project.settings()).unwrap();
    let report = project.verify();
    assert_eq!(
        (report.verdict, kinds(&report)),
        (
            Verdict::Tampered,
            vec!["rewrite-noted audit.jsonl 5".to_owned()]
        )
    );
}

#[test]
fn a_rotation_that_stopped_half_way_is_finished_by_whoever_comes_next() {
    let project = Project::new();
    append(&project, project.settings()).unwrap();
    project.open().rotate().unwrap().unwrap();
    let segment = project.segments().remove(0);
    // As if it had stopped between the two renames, before it made a checkpoint.
    fs::remove_dir_all(project.state()).unwrap();
    fs::rename(project.live(), project.rea("audit.jsonl.next")).unwrap();
    assert_eq!(project.verify().verdict, Verdict::Intact);
    append(&project, project.settings()).unwrap();
    assert_eq!(project.verify().verdict, Verdict::Intact);
    assert_eq!(project.lines().len(), 2);

    // As older software leaves it: no live file, and no next one either.
    let marker: Value = serde_json::from_str(&project.lines()[0]).unwrap();
    assert_eq!(marker["metadata"]["rotated_from"], segment);
    let other = Project::new();
    fs::copy(project.rea(&segment), other.rea(&segment)).unwrap();
    append(&other, other.settings()).unwrap();
    assert_eq!(other.verify().verdict, Verdict::Intact);
    let marker: Value = serde_json::from_str(&other.lines()[0]).unwrap();
    assert_eq!(
        (&marker["tool_name"], &marker["metadata"]["rotated_from"]),
        (&"audit.rotation".into(), &segment.into())
    );
}

/// A disk that is full while it is told so, and lets half of a write through.
#[derive(Clone, Debug, Default)]
struct FullDisk {
    full: Arc<AtomicBool>,
    syncs: Arc<AtomicU64>,
}

impl FullDisk {
    fn check(&self) -> io::Result<()> {
        if self.full.load(Ordering::SeqCst) {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        } else {
            Ok(())
        }
    }
}

impl Disk for FullDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        self.check()?;
        RealDisk.create(path)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.check() {
            RealDisk.append(file, &bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        RealDisk.append(file, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        self.check()?;
        RealDisk.sync(file)
    }

    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        RealDisk.cut(file, length)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_directory(path)
    }
}

#[test]
fn a_full_disk_is_said_to_be_full_and_the_log_goes_on_when_it_is_not() {
    let project = Project::new();
    let disk = FullDisk::default();
    let settings = Settings {
        disk: Arc::new(disk.clone()),
        ..project.settings()
    };
    let audit = Audit::open(&project.root(), settings).unwrap();
    let record = Record::new("t", "s");
    audit.append(&record, Durability::Durable).unwrap();
    let before = project.text();
    disk.full.store(true, Ordering::SeqCst);
    for durability in [Durability::Durable, Durability::Buffered] {
        let error = audit.append(&record, durability).unwrap_err();
        assert_eq!(
            (error.code(), error.reason()),
            ("audit-disk-full", "the disk of the audit log is full")
        );
        assert_eq!(project.text(), before);
    }
    disk.full.store(false, Ordering::SeqCst);
    assert_eq!(
        audit.append(&record, Durability::Durable).unwrap().sequence,
        2
    );
    drop(audit);
    assert_eq!(project.verify().verdict, Verdict::Intact);
}

#[test]
fn one_sync_serves_all_who_wait() {
    let project = Project::new();
    let disk = FullDisk::default();
    let settings = Settings {
        disk: Arc::new(disk.clone()),
        ..project.settings()
    };
    let audit = Audit::open(&project.root(), settings).unwrap();
    let record = Record::new("t", "s");
    audit.append(&record, Durability::Durable).unwrap();
    // While the lock is held nothing is written, so that all of these wait together.
    let lock = OpenOptions::new()
        .append(true)
        .open(project.rea("audit.lock"))
        .unwrap();
    lock.lock().unwrap();
    let before = disk.syncs.load(Ordering::SeqCst);
    let waiting: Vec<_> = (0..64)
        .map(|_| audit.submit(&record, Durability::Durable))
        .collect();
    lock.unlock().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let sequences: Vec<u64> = runtime.block_on(async {
        let mut sequences = Vec::new();
        for receipt in waiting {
            sequences.push(receipt.await.unwrap().sequence);
        }
        sequences
    });
    assert_eq!(sequences, (2..66).collect::<Vec<_>>());
    // The first may have gone before the others came; the checkpoint needs none.
    let syncs = disk.syncs.load(Ordering::SeqCst) - before;
    assert!(syncs <= 2, "{syncs}");
}

/// Runs the test `limited` of this program in a process of its own, under what `prepare` sets in a shell.
fn in_a_shell(prepare: &str, project: &Project) -> String {
    let program = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args([
            "-c",
            &format!("{prepare}; exec \"$0\" --exact faults::limited --nocapture"),
        ])
        .arg(program)
        .env("REA_TEST_PROJECT", project.root())
        .env("REA_TEST_STATE", project.state())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Not a test by itself: the other half of the tests that limit a process.
#[test]
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn limited() {
    let (Some(root), Some(state)) = (
        std::env::var_os("REA_TEST_PROJECT"),
        std::env::var_os("REA_TEST_STATE"),
    ) else {
        return;
    };
    let audit = Audit::open(Path::new(&root), Settings::new(state)).unwrap();
    let record = Record::new("t", "s").with("text", "x".repeat(1000));
    let mut kept = 0;
    let error = loop {
        match audit.append(&record, Durability::Durable) {
            Ok(_) if kept == 100 => break "nothing".to_owned(),
            Ok(_) => kept += 1,
            Err(error) => break error.code().to_owned(),
        }
    };
    println!("kept={kept} error={error}");
}

#[test]
fn a_limit_on_the_size_of_files_is_a_full_disk() {
    let project = Project::new();
    // In blocks of 512 bytes; the signal that comes with the limit is ignored so that the write fails instead.
    let told = in_a_shell("trap '' XFSZ; ulimit -f 20", &project);
    assert!(told.contains("error=audit-disk-full"), "{told}");
    let report = project.verify();
    assert_eq!(report.verdict, Verdict::Intact, "{:?}", kinds(&report));
    assert!(
        told.contains(&format!("kept={} ", report.records)),
        "{told}"
    );
}

/// Makes this thread, which must end with what it does, one of a user who may not write anything.
fn become_the_owner_of(project: &Project) {
    let nobody = rustix::process::Uid::from_raw(65534);
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut left = vec![project.root().parent().unwrap().to_owned()];
    while let Some(path) = left.pop() {
        std::os::unix::fs::chown(&path, Some(nobody.as_raw()), None).unwrap();
        if path.is_dir() {
            left.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
    }
    rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
}

#[test]
fn a_log_that_may_not_be_written_is_read_only() {
    let project = Project::new();
    append(&project, project.settings()).unwrap();
    let mut permissions = fs::metadata(project.live()).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(project.live(), permissions).unwrap();
    let error = thread::scope(|scope| {
        let other = scope.spawn(|| {
            become_the_owner_of(&project);
            append(&project, project.settings()).unwrap_err()
        });
        other.join().unwrap()
    });
    assert_eq!(
        (error.code(), error.reason()),
        ("audit-read-only", "the audit log may not be written")
    );
}

#[test]
fn records_of_several_threads_and_handles_form_one_chain() {
    let project = Project::new();
    // Another way to the same directory is the same log.
    let link = project.root().with_file_name("link");
    symlink(project.root(), &link).unwrap();
    let one = project.open();
    let two = Audit::open(&link, project.settings()).unwrap();
    thread::scope(|scope| {
        for thread in 0..8 {
            let audit = if thread % 2 == 0 { &one } else { &two };
            scope.spawn(move || {
                for index in 0..25 {
                    let record = Record::new("t", "s")
                        .with("thread", thread)
                        .with("index", index);
                    let durability = if index % 2 == 0 {
                        Durability::Durable
                    } else {
                        Durability::Buffered
                    };
                    audit.append(&record, durability).unwrap();
                }
            });
        }
    });
    drop((one, two));
    let report = project.verify();
    assert_eq!(
        (report.verdict, report.records, report.sequence),
        (Verdict::Intact, 200, 200),
        "{:?}",
        kinds(&report)
    );
    // Those of one thread are in its order.
    let records: Vec<Value> = project
        .lines()
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for thread in 0..8 {
        let own = records
            .iter()
            .filter(|record| record["metadata"]["thread"] == thread);
        let order: Vec<u64> = own
            .map(|record| record["metadata"]["index"].as_u64().unwrap())
            .collect();
        assert_eq!(order, (0..25).collect::<Vec<_>>(), "{thread}");
    }
}

#[test]
fn segments_are_deleted_as_policy_says_and_that_is_on_record() {
    let project = Project::new();
    let hand = crate::support::Hand::at("2026-01-01T00:00:00Z");
    let settings = Settings {
        clock: hand.clock(),
        keeping: rea_gateway::audit::Keeping {
            rotation: Some(rea_gateway::audit::Rotation {
                max_bytes: u64::MAX,
                max_age_days: 1,
            }),
            retention: Some(rea_gateway::audit::Retention {
                max_segments: Some(3),
                max_age_days: Some(10),
            }),
        },
        ..project.settings()
    };
    let audit = Audit::open(&project.root(), settings).unwrap();
    for day in 1..9 {
        hand.set(&format!("2026-01-{day:02}T12:00:00Z"));
        audit
            .append(&Record::new("t", "s"), Durability::Durable)
            .unwrap();
    }
    assert_eq!(project.segments().len(), 3);
    assert_eq!(project.segments()[0], "audit-20260106-120000.jsonl");
    let early = audit.checkpoint().unwrap().unwrap();
    hand.set("2026-03-01T00:00:00Z");
    audit
        .append(&Record::new("t", "s"), Durability::Durable)
        .unwrap();
    assert_eq!(project.segments(), ["audit-20260301-000000.jsonl"]);
    assert!(audit.last_fault().is_none());
    drop(audit);

    let report = project.verify();
    assert_eq!(report.verdict, Verdict::Intact, "{:?}", kinds(&report));
    let lines = project.lines();
    let note: Value = serde_json::from_str(&lines[1]).unwrap();
    assert_eq!(note["tool_name"], "audit.retention");
    assert_eq!(note["metadata"]["removed"].as_array().unwrap().len(), 3);
    // The numbers go on as if nothing had been deleted.
    assert_eq!(note["metadata"]["sequence"], report.sequence - 1);
    assert_eq!(project.verify_bare(&[early]).verdict, Verdict::Intact);

    // One more file gone is not what the note says.
    fs::remove_file(project.rea("audit-20260301-000000.jsonl")).unwrap();
    assert_eq!(project.verify().verdict, Verdict::Truncated);
}
