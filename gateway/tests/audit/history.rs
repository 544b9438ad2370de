//! Random histories: several writers, rotations, deletions, crashes between any two steps of the disk and
//! losses of power. None of it is ever called tampering, and nothing that was promised is lost.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use proptest::{collection::vec, prelude::*, test_runner::Config};
use rea_gateway::audit::{
    Audit, Clock, Disk, Durability, Keeping, RealDisk, Record, Retention, Rotation, Settings,
    Verdict,
};

use crate::support::{Project, campaign, kinds};

/// How many writers there are at most.
const WRITERS: usize = 3;

/// How much of each file is safe from a loss of power, by inode.
type Synced = Arc<Mutex<HashMap<u64, u64>>>;

/// A disk that stops for ever before one of its steps, in the middle of it if that is a write.
#[derive(Clone, Debug)]
struct FailingDisk {
    /// How many steps are left.
    left: Arc<AtomicU64>,
    dead: Arc<AtomicBool>,
    /// How much of the last write gets through, in percent.
    percent: usize,
    synced: Synced,
}

impl FailingDisk {
    fn step(&self) -> io::Result<()> {
        let left = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
        if left.is_err() {
            self.dead.store(true, Ordering::SeqCst);
            return Err(io::Error::other("the machine stopped"));
        }
        Ok(())
    }
}

impl Disk for FailingDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        self.step()?;
        RealDisk.create(path)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let was_alive = !self.dead.load(Ordering::SeqCst);
        if let Err(error) = self.step() {
            if was_alive {
                RealDisk.append(file, &bytes[..bytes.len() * self.percent / 100])?;
            }
            return Err(error);
        }
        RealDisk.append(file, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.step()?;
        let metadata = file.metadata()?;
        self.synced
            .lock()
            .unwrap()
            .insert(metadata.ino(), metadata.len());
        Ok(())
    }

    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        self.step()?;
        RealDisk.cut(file, length)?;
        let mut synced = self.synced.lock().unwrap();
        let safe = synced.entry(file.metadata()?.ino()).or_default();
        *safe = length.min(*safe);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.remove(path)
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        self.step()
    }
}

/// One thing that happens.
#[derive(Clone, Debug)]
enum Event {
    /// A writer appends so many records.
    Append {
        writer: usize,
        count: usize,
        durable: bool,
    },
    /// A writer rotates the log.
    Rotate { writer: usize },
    /// A writer ends as it should.
    Close { writer: usize },
    /// A writer will stop for ever after so many more steps.
    Doom {
        writer: usize,
        steps: u64,
        percent: usize,
    },
    /// The machine loses its power; of what was not synced so much is left, in percent.
    PowerLoss { percent: u64 },
    /// The clock is set so many seconds on, or back.
    Clock { seconds: i64 },
}

fn event() -> impl Strategy<Value = Event> {
    let writer = 0..WRITERS;
    prop_oneof![
        8 => (writer.clone(), 1..5_usize, any::<bool>()).prop_map(|(writer, count, durable)| Event::Append { writer, count, durable }),
        2 => writer.clone().prop_map(|writer| Event::Rotate { writer }),
        1 => writer.clone().prop_map(|writer| Event::Close { writer }),
        3 => (writer, 0..14_u64, 0..101_usize).prop_map(|(writer, steps, percent)| Event::Doom { writer, steps, percent }),
        1 => (0..101_u64).prop_map(|percent| Event::PowerLoss { percent }),
        1 => (-100..100_i64).prop_map(|seconds| Event::Clock { seconds }),
    ]
}

struct Writer {
    audit: Audit,
    disk: FailingDisk,
}

struct World {
    // Before the project, which must outlive them.
    writers: [Option<Writer>; WRITERS],
    project: Project,
    now: Arc<Mutex<Timestamp>>,
    synced: Synced,
    rotation: Option<Rotation>,
    retention: Option<Retention>,
    next: u64,
    /// What was promised to be safe from anything.
    durable: Vec<u64>,
    /// What was promised to be safe while the machine runs.
    buffered: Vec<u64>,
}

impl World {
    fn new(rotation: Option<Rotation>, retention: Option<Retention>) -> Self {
        Self {
            project: Project::new(),
            now: Arc::new(Mutex::new("2026-01-01T00:00:00Z".parse().unwrap())),
            synced: Synced::default(),
            rotation,
            retention,
            writers: [None, None, None],
            next: 0,
            durable: Vec::new(),
            buffered: Vec::new(),
        }
    }

    fn writer(&mut self, index: usize) -> &Writer {
        let (project, now, synced) = (&self.project, &self.now, &self.synced);
        let (rotation, retention) = (self.rotation, self.retention);
        self.writers[index].get_or_insert_with(|| {
            let disk = FailingDisk {
                left: Arc::new(AtomicU64::new(u64::MAX)),
                dead: Arc::default(),
                percent: 0,
                synced: Arc::clone(synced),
            };
            let now = Arc::clone(now);
            let settings = Settings {
                keeping: Keeping {
                    rotation,
                    retention,
                },
                checkpoint_records: 4,
                idle: Duration::from_millis(2),
                clock: Clock::new(move || *now.lock().unwrap()),
                disk: Arc::new(disk.clone()),
                ..project.settings()
            };
            Writer {
                audit: Audit::open(&project.root(), settings).unwrap(),
                disk,
            }
        })
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Append {
                writer,
                count,
                durable,
            } => {
                for _ in 0..count {
                    self.next += 1;
                    let number = self.next;
                    let durability = if durable {
                        Durability::Durable
                    } else {
                        Durability::Buffered
                    };
                    let record = Record::new("t", "s")
                        .with("number", number)
                        .with("text", "é\n");
                    let kept = self
                        .writer(writer)
                        .audit
                        .append(&record, durability)
                        .is_ok();
                    if kept {
                        if durable {
                            &mut self.durable
                        } else {
                            &mut self.buffered
                        }
                        .push(number);
                    }
                    self.bury(writer);
                }
            }
            Event::Rotate { writer } => {
                drop(self.writer(writer).audit.rotate());
                self.bury(writer);
            }
            Event::Close { writer } => self.writers[writer] = None,
            Event::Doom {
                writer,
                steps,
                percent,
            } => {
                self.writers[writer] = None;
                self.writer(writer);
                if let Some(writer) = &mut self.writers[writer] {
                    // Only the share is set before the writer's next step, which the count then stops.
                    writer.disk.percent = percent;
                    writer.disk.left.store(steps, Ordering::SeqCst);
                }
            }
            Event::PowerLoss { percent } => {
                for writer in self.writers.iter_mut().flatten() {
                    writer.disk.left.store(0, Ordering::SeqCst);
                    writer.disk.dead.store(true, Ordering::SeqCst);
                }
                self.writers = [None, None, None];
                self.buffered.clear();
                self.lose(percent);
            }
            Event::Clock { seconds } => {
                let mut now = self.now.lock().unwrap();
                *now = now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
            }
        }
    }

    /// Ends a writer whose disk has stopped.
    fn bury(&mut self, index: usize) {
        if self.writers[index]
            .as_ref()
            .is_some_and(|writer| writer.disk.dead.load(Ordering::SeqCst))
        {
            self.writers[index] = None;
        }
    }

    /// Takes from the live file some of what was not synced.
    fn lose(&self, percent: u64) {
        let Ok(file) = OpenOptions::new().write(true).open(self.project.live()) else {
            return;
        };
        let metadata = file.metadata().unwrap();
        let safe = self
            .synced
            .lock()
            .unwrap()
            .get(&metadata.ino())
            .copied()
            .unwrap_or(0);
        let left = safe + metadata.len().saturating_sub(safe) * percent / 100;
        file.set_len(left).unwrap();
        self.synced.lock().unwrap().insert(metadata.ino(), left);
    }

    /// Says what is wrong with the log, if anything is.
    fn complain(&self) -> Option<String> {
        let nothing = self.project.segments().is_empty() && !self.project.live().exists();
        if nothing && self.durable.is_empty() {
            return None;
        }
        let report = self.project.verify();
        if report.verdict != Verdict::Intact {
            return Some(format!("{:?}", kinds(&report)));
        }
        if self.retention.is_some() {
            return None;
        }
        let mut text = String::new();
        for name in self.project.segments() {
            text += &fs::read_to_string(self.project.rea(&name)).unwrap();
        }
        // A loss of power may cut inside a character.
        text += &String::from_utf8_lossy(&fs::read(self.project.live()).unwrap_or_default());
        let kept: Vec<u64> = text
            .lines()
            .filter_map(|line| {
                serde_json::from_str::<serde_json::Value>(line).ok()?["metadata"]["number"].as_u64()
            })
            .collect();
        let lost = self
            .durable
            .iter()
            .chain(&self.buffered)
            .find(|number| !kept.contains(number));
        lost.map(|number| format!("record {number} is lost; there are {kept:?}"))
    }
}

proptest! {
    #![proptest_config(Config { cases: campaign(200, 10_000), max_shrink_iters: 400, failure_persistence: None, ..Config::default() })]

    #[test]
    fn an_honest_log_is_never_accused_and_keeps_its_promises(
        events in vec(event(), 1..24),
        max_bytes in prop_oneof![Just(None), (700..3000_u64).prop_map(Some)],
        max_segments in prop_oneof![3 => Just(None), 1 => (0..3_usize).prop_map(Some)],
    ) {
        let rotation = max_bytes.map(|max_bytes| Rotation { max_bytes, max_age_days: 30 });
        let retention = max_segments.map(|most| Retention { max_segments: Some(most), max_age_days: None });
        let mut world = World::new(rotation, retention);
        for (index, event) in events.iter().enumerate() {
            world.happen(event);
            let complaint = world.complain();
            prop_assert!(complaint.is_none(), "after event {index}, {event:?}: {}", complaint.unwrap_or_default());
        }
        world.writers = [None, None, None];
        let complaint = world.complain();
        prop_assert!(complaint.is_none(), "at the end: {}", complaint.unwrap_or_default());
        // Whatever happened, the next writer can go on.
        prop_assert!(world.writer(0).audit.append(&Record::new("t", "s"), Durability::Durable).is_ok());
        let complaint = world.complain();
        prop_assert!(complaint.is_none(), "after one more: {}", complaint.unwrap_or_default());
    }
}
