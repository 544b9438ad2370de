//! The policy of this moment, read again whenever the file is another one.
//!
//! Every call costs one `stat`. The file is read when its identity (device, inode, size, mtime,
//! ctime) differs from the one read last, and also while it is so young that a second change
//! could hide behind the same times.

use std::{
    fmt,
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{Level, Policy, Tier};
use crate::yaml::{self, Fault};

/// A file changed less than this ago is read again at every call, as file systems with coarse
/// clocks give two changes the same time.
const SETTLES_AFTER: Duration = Duration::from_secs(2);
/// How often a file that keeps changing under the reader is tried before it counts as broken.
const MAX_TRIES: u32 = 3;
/// How often standard error is reminded that the file is broken, while calls come in.
const REMINDER: Duration = Duration::from_secs(30);

/// Where sentences for the operator go; each is one line without its line break.
pub type Notify = Arc<dyn Fn(&str) + Send + Sync>;

/// The policy in force when one call came in, and whether its file still reads.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The last policy that read whole.
    pub policy: Arc<Policy>,
    /// Why the file as it stands now does not read, if so.
    pub fault: Option<Arc<Fault>>,
    /// Grows with every change of `policy` or `fault`.
    pub generation: u64,
}

/// What a policy says to a tier.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum Decision {
    /// The call may go on.
    Permitted,
    /// The level in force does not reach this tier; `needed` would.
    AboveLevel {
        /// The lowest level that lets the tier through.
        needed: Level,
    },
    /// The policy file is broken, so nothing that changes something goes on.
    Broken,
}

impl Snapshot {
    /// Returns the level in force. The ceiling holds here too, wherever the policy came from.
    pub fn level(&self) -> Level {
        self.policy.level.under(self.policy.ceiling)
    }

    /// Decides about one tier.
    pub fn decide(&self, tier: Tier) -> Decision {
        if !self.level().permits(tier) {
            return Decision::AboveLevel {
                needed: Level::needed_for(tier),
            };
        }
        match (tier, &self.fault) {
            (Tier::Read, _) | (Tier::Write | Tier::Destructive, None) => Decision::Permitted,
            (Tier::Write | Tier::Destructive, Some(_)) => Decision::Broken,
        }
    }
}

/// Keeps the policy of a project and hands out snapshots of it.
pub struct Live {
    file: PathBuf,
    notify: Notify,
    state: Mutex<State>,
}

struct State {
    /// The identity last read; `None` if the file could not even be asked.
    identity: Option<Identity>,
    /// Whether `identity` is old enough to be told apart from the next one.
    settled: bool,
    /// The text last read whole, right or wrong.
    text: Option<String>,
    now: Snapshot,
    reminded: Instant,
}

/// What tells one state of a file from the next without reading it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Live {
    /// Reads the policy at `file` for the first time.
    ///
    /// # Errors
    ///
    /// The [`Fault`] of the file: without a first good policy nothing may run.
    pub fn open(file: PathBuf, notify: Notify) -> Result<Self, Fault> {
        let (identity, text) = read(&file)?;
        let policy = Policy::parse(&file, &text)?;
        for warning in &policy.warnings {
            notify(&format!("{}: {warning}", file.display()));
        }
        let now = Snapshot {
            policy: Arc::new(policy),
            fault: None,
            generation: 0,
        };
        let state = State {
            settled: identity.settled(SystemTime::now()),
            identity: Some(identity),
            text: Some(text),
            now,
            reminded: Instant::now(),
        };
        Ok(Self {
            file,
            notify,
            state: Mutex::new(state),
        })
    }

    /// Returns the policy of this moment.
    pub fn snapshot(&self) -> Snapshot {
        let mut state = self.state();
        let identity = std::fs::metadata(&self.file)
            .ok()
            .map(|found| Identity::of(&found));
        if identity.is_none() || !state.settled || identity != state.identity {
            self.refresh(&mut state);
        }
        if let Some(fault) = &state.now.fault
            && state.reminded.elapsed() >= REMINDER
        {
            (self.notify)(&broken(fault));
            state.reminded = Instant::now();
        }
        state.now.clone()
    }

    /// Returns the file that is watched.
    pub fn file(&self) -> &Path {
        &self.file
    }

    fn refresh(&self, state: &mut State) {
        let (outcome, text) = match read(&self.file) {
            Ok((identity, text)) => {
                state.identity = Some(identity);
                state.settled = identity.settled(SystemTime::now());
                if state.text.as_ref() == Some(&text) {
                    return;
                }
                (Policy::parse(&self.file, &text), Some(text))
            }
            Err(fault) => {
                state.identity = None;
                (Err(fault), None)
            }
        };
        state.text = text;
        match outcome {
            Ok(policy) => {
                let before = state.now.level();
                let repaired = state.now.fault.take().is_some();
                state.now.policy = Arc::new(policy);
                state.now.generation += 1;
                let after = state.now.level();
                let file = self.file.display();
                if repaired || before != after {
                    (self.notify)(&format!("{file}: read again, level {after} in force"));
                }
                for warning in &state.now.policy.warnings {
                    (self.notify)(&format!("{file}: {warning}"));
                }
            }
            Err(fault) => {
                if state.now.fault.as_deref() == Some(&fault) {
                    return;
                }
                (self.notify)(&broken(&fault));
                state.reminded = Instant::now();
                state.now.fault = Some(Arc::new(fault));
                state.now.generation += 1;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code under the lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Live")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns whether both times lie so far back that a later change must show.
    fn settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        [self.modified, self.changed]
            .into_iter()
            .all(|(seconds, _)| {
                u64::try_from(seconds).is_ok_and(|seconds| {
                    seconds.saturating_add(SETTLES_AFTER.as_secs()) < now.as_secs()
                })
            })
    }
}

/// Reads a file that is the same before and after the reading.
fn read(file: &Path) -> Result<(Identity, String), Fault> {
    for _ in 0..MAX_TRIES {
        let before = std::fs::metadata(file)
            .ok()
            .map(|found| Identity::of(&found));
        let text = yaml::text_of(file)?;
        let after = std::fs::metadata(file)
            .ok()
            .map(|found| Identity::of(&found));
        if let (Some(before), Some(after)) = (before, after)
            && before == after
        {
            return Ok((after, text));
        }
    }
    Err(Fault::whole(
        file,
        "changes while it is read",
        "a file that stands still",
        "let one program write it, once",
    ))
}

fn broken(fault: &Fault) -> String {
    format!(
        "POLICY BROKEN: {fault} -- the last good policy is kept for reading; calls that change \
         anything are denied until the file is repaired (`rea policy check`)"
    )
}
