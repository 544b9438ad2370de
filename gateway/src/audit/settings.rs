//! How one log is kept: where its keys are, when it is rotated, what is deleted, and how long to wait.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use jiff::Timestamp;

use super::{
    disk::{Disk, RealDisk},
    error::AuditError,
};
use crate::directories;

/// How long the listener is spared what it has just heard.
pub const REMINDER: Duration = Duration::from_secs(30);

/// Tells the time; tests bring their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Returns a clock that asks `tell`.
    pub fn new(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(Timestamp::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Hears of what no caller waits for: a rotation, a deletion or a checkpoint that went wrong, and a log that
/// was not as it was left.
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(&AuditError) + Send + Sync>);

impl Listener {
    /// Returns one that calls `hear`, on the log's thread.
    pub fn new(hear: impl Fn(&AuditError) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    pub(crate) fn tell(&self, error: &AuditError) {
        (self.0)(error);
    }
}

impl Default for Listener {
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// When the live file is closed and a new one begun. Either limit suffices; an empty file is never rotated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rotation {
    /// From how many bytes on.
    pub max_bytes: u64,
    /// From which age of the first record on, in days.
    pub max_age_days: u32,
}

impl Default for Rotation {
    /// 50 MiB and 30 days.
    fn default() -> Self {
        Self {
            max_bytes: 50 * 1024 * 1024,
            max_age_days: 30,
        }
    }
}

/// Which rotated segments are deleted, oldest first, after a rotation. Without limits none ever is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Retention {
    /// How many segments are kept beside the live file.
    pub max_segments: Option<usize>,
    /// How many days a segment is kept after its rotation.
    pub max_age_days: Option<u32>,
}

/// When a log is rotated, and what of it is deleted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Keeping {
    /// `None`: never rotated on its own.
    pub rotation: Option<Rotation>,
    /// `None`: nothing is ever deleted.
    pub retention: Option<Retention>,
}

/// How one log is written.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The user's own directory for keys and checkpoints; never inside the project.
    pub state_directory: PathBuf,
    /// How it is kept, until [`Audit::keep`](super::Audit::keep) says otherwise.
    pub keeping: Keeping,
    /// How long another process's lock is waited for before a record is given up.
    pub lock_patience: Duration,
    /// After how many durable records a new checkpoint is due at the latest.
    pub checkpoint_records: u64,
    /// After which time without new records buffered ones are synced and a checkpoint is due.
    pub idle: Duration,
    /// Tells the time.
    pub clock: Clock,
    /// Hears of what goes wrong in the background, at most every [`REMINDER`] of the same kind.
    pub listener: Listener,
    /// Does the writing.
    pub disk: Arc<dyn Disk>,
}

impl Settings {
    /// Returns the defaults, with keys and checkpoints under `state_directory`.
    pub fn new(state_directory: impl Into<PathBuf>) -> Self {
        Self {
            state_directory: state_directory.into(),
            keeping: Keeping::default(),
            lock_patience: Duration::from_secs(10),
            checkpoint_records: 256,
            idle: Duration::from_secs(1),
            clock: Clock::default(),
            listener: Listener::default(),
            disk: Arc::new(RealDisk),
        }
    }

    /// Returns the defaults for the user who runs this process.
    pub fn for_user() -> Result<Self, AuditError> {
        Ok(Self::new(user_state_directory()?))
    }
}

/// Returns the user's directory for keys and checkpoints: `rea/audit` under `XDG_STATE_HOME`, or under
/// `.local/state` in the home directory.
pub fn user_state_directory() -> Result<PathBuf, AuditError> {
    let state = directories::state().ok_or(AuditError::NoStateDirectory)?;
    Ok(state.join("rea").join("audit"))
}
