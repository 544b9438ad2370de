//! The file of grants when writers die, race, or run out of room: never a lost or half grant.
//!
//! The tests start this very program again as the writer that is to die.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test may panic, starts processes, and takes its size from the environment"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use plainpipe::grant::{Grant, GrantedProgram, Grants, Lifetime, Scope, Step, StoreError};
use plainpipe::program::{Host, Program, Shell};
use plainpipe::{Analyzer, Verdict};

/// What the writer is to do, and where.
const TASK: &str = "PLAINPIPE_WRITER";

fn analyzer() -> Analyzer {
    let host = Host::new(Some("/usr/bin:/bin".into()), "/").unwrap();
    Analyzer::new(host.with_shell(Shell::None))
}

fn grant(lifetime: Lifetime) -> Grant {
    let line = analyzer().analyze("true").unwrap();
    let program = line.programs().iter().find_map(|program| match program {
        Program::File(file) => Some(GrantedProgram::from(&**file)),
        Program::Builtin(_) => None,
    });
    Grant::new(
        program.unwrap(),
        Scope::AnyArguments {},
        lifetime,
        "test",
        "",
    )
}

/// Dies at the step that the task names.
fn die(step: Step) {
    let task = std::env::var(TASK).unwrap();
    if task.split(' ').nth(1) == Some(&format!("{step:?}")) {
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
    }
}

/// The writer. Does nothing unless it was started as one.
#[test]
fn writer() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let words: Vec<&str> = task.split(' ').collect();
    let [path, what, count] = words.as_slice() else {
        panic!("{task}");
    };
    let count: usize = count.parse().unwrap();
    let mut grants = Grants::open(path, None).unwrap();
    match *what {
        "give" => {
            for _ in 0..count {
                grants.give(vec![grant(Lifetime::Always {})]).unwrap();
            }
        }
        "take" => {
            let Verdict::Granted(granted) = analyzer().check("true", &grants) else {
                panic!("taken before it was seen");
            };
            granted.take().unwrap();
        }
        "fill" => {
            let mut given = 0;
            let error = loop {
                match grants.give(vec![grant(Lifetime::Always {})]) {
                    Ok(_) => given += 1,
                    Err(error) => break error.to_string(),
                }
            };
            assert!(given > 0 && error.contains("space"), "{given}: {error}");
            let again = Grants::open(path, None).unwrap();
            assert_eq!(again.iter().len(), given);
            assert!(
                !Path::new(&format!("{path}.new")).exists(),
                "a half file is left"
            );
        }
        "refused" => {
            grants.give(vec![grant(Lifetime::Always {})]).unwrap_err();
            assert_eq!(Grants::open(path, None).unwrap().iter().len(), count);
        }
        _ => {
            grants.on_step(die);
            grants.give(vec![grant(Lifetime::Always {})]).unwrap();
        }
    }
}

fn start(task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "writer"]).env(TASK, task);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn write(task: &str) -> ExitStatus {
    start(task).status().unwrap()
}

#[test]
fn a_writer_that_is_killed_at_any_step_loses_nothing() {
    // 1000 for the whole measure.
    let kills = std::env::var("PLAINPIPE_KILLS");
    let kills: usize = kills.map_or(80, |kills| kills.parse().unwrap());
    let root = tempfile::tempdir().unwrap();
    let store = root.path().join("rea/grants.json");
    let mut before = 0;
    let mut wrong = Vec::new();
    for round in 0..kills {
        let step = Step::ALL[round % Step::ALL.len()];
        let status = write(&format!("{} {step:?} 1", store.display()));
        assert_eq!(status.signal(), Some(9), "{step:?}: {status}");
        let now = Grants::open(&store, None).map(|grants| grants.iter().len());
        let want = match step {
            Step::Renamed | Step::DirectorySynced => before + 1,
            Step::Locked
            | Step::Reread
            | Step::Created
            | Step::HalfWritten
            | Step::Written
            | Step::Synced => before,
        };
        match now {
            Ok(now) if now == want => before = now,
            other => wrong.push(format!("{step:?}: {other:?}, not {want}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // What the last one left does not stand in the way of the next.
    assert!(write(&format!("{} give 1", store.display())).success());
    assert_eq!(Grants::open(&store, None).unwrap().iter().len(), before + 1);
}

#[test]
fn writers_that_race_lose_nothing_of_each_other() {
    let root = tempfile::tempdir().unwrap();
    let store = root.path().join("rea/grants.json");
    let task = format!("{} give 20", store.display());
    let writers: Vec<_> = (0..4).map(|_| start(&task).spawn().unwrap()).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let grants = Grants::open(&store, None).unwrap();
    assert_eq!(grants.iter().len(), 80);
}

#[test]
fn of_processes_that_race_for_a_once_grant_one_wins() {
    let root = tempfile::tempdir().unwrap();
    let store = root.path().join("rea/grants.json");
    for round in 0..5 {
        let mut grants = Grants::open(&store, None).unwrap();
        grants.give(vec![grant(Lifetime::Once {})]).unwrap();
        let task = format!("{} take 1", store.display());
        let takers: Vec<_> = (0..4).map(|_| start(&task).spawn().unwrap()).collect();
        let won = takers.into_iter().filter_map(|mut taker| taker.wait().ok());
        assert_eq!(won.filter(ExitStatus::success).count(), 1, "round {round}");
    }
}

#[test]
fn what_another_process_changed_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    let store = root.path().join("rea/grants.json");
    let mut reader = Grants::open(&store, None).unwrap();
    assert!(!reader.refresh().unwrap());
    let mut writer = Grants::open(&store, None).unwrap();
    let given = writer.give(vec![grant(Lifetime::Always {})]).unwrap();
    assert!(reader.refresh().unwrap() && !reader.refresh().unwrap());
    assert!(matches!(
        analyzer().check("true", &reader),
        Verdict::Granted(_)
    ));
    writer.revoke(given[0]).unwrap();
    assert!(reader.refresh().unwrap());
    assert!(matches!(
        analyzer().check("true", &reader),
        Verdict::NotGranted(_)
    ));
    // A file that is damaged takes every yes with it.
    writer.give(vec![grant(Lifetime::Always {})]).unwrap();
    reader.refresh().unwrap();
    fs::write(&store, "{").unwrap();
    fs::set_permissions(&store, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(reader.refresh(), Err(StoreError::Corrupt { .. })));
    assert!(matches!(
        analyzer().check("true", &reader),
        Verdict::NotGranted(_)
    ));
    assert!(writer.give(vec![grant(Lifetime::Always {})]).is_err());
    assert_eq!(fs::read_to_string(&store).unwrap(), "{");
}

/// Runs a shell text as root of a mount namespace of its own, or says that there can be none.
fn in_own_mounts(directory: &Path, text: &str, tasks: &[&str]) -> Option<bool> {
    let unshare = |text: &str| {
        let mut command = Command::new("unshare");
        command.args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            text,
            "sh",
        ]);
        command.arg(directory).arg(std::env::current_exe().unwrap());
        command.stdout(Stdio::null());
        command
    };
    let can = unshare("mount -t tmpfs -o size=64k,mode=700 none \"$1\"")
        .stderr(Stdio::null())
        .status();
    if !can.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "needs user namespaces");
        eprintln!("skipped: needs user namespaces");
        return None;
    }
    Some(unshare(text).args(tasks).status().unwrap().success())
}

#[test]
fn a_full_disk_loses_nothing() {
    let root = tempfile::tempdir().unwrap();
    let store = root.path().join("rea/grants.json");
    let text = format!(
        "mount -t tmpfs -o size=64k,mode=700 none \"$1\" && {TASK}=\"$3\" \"$2\" --exact writer"
    );
    let task = format!("{} fill 0", store.display());
    assert_ne!(in_own_mounts(root.path(), &text, &[&task]), Some(false));
}

#[test]
fn a_directory_that_cannot_be_written_to_is_read_all_the_same() {
    let root = tempfile::tempdir().unwrap();
    let store = root.path().join("rea/grants.json");
    let text = format!(
        "mount -t tmpfs -o size=64k,mode=700 none \"$1\" && {TASK}=\"$3\" \"$2\" --exact writer && \
         mount -o remount,ro \"$1\" && {TASK}=\"$4\" \"$2\" --exact writer"
    );
    let give = format!("{} give 2", store.display());
    let refused = format!("{} refused 2", store.display());
    assert_ne!(
        in_own_mounts(root.path(), &text, &[&give, &refused]),
        Some(false)
    );
}
