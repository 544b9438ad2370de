//! Why a record could not be put on file. The chain turns this into a denial.

use std::{fmt, io, path::PathBuf, sync::Arc, time::Duration};

/// A record that is not on file, and why.
///
/// The text names files of this machine and is for the operator; a client is told [`AuditError::code`] only.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The file system said no.
    #[error("cannot {action} {}: {source}; {}", path.display(), advice(source))]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system answered.
        source: Arc<io::Error>,
    },
    /// Another process keeps the log's lock.
    #[error("{} has been locked by another process for {waited:?}; find it with `lsof {}`", path.display(), path.display())]
    LockHeld {
        /// The lock file.
        path: PathBuf,
        /// How long this process waited.
        waited: Duration,
    },
    /// A writer of the older kind, which locks with a directory, is at work.
    #[error("{} exists and is fresh: an older rea is writing this log; stop it, or remove the entry if none is running", path.display())]
    OldWriter {
        /// The lock directory.
        path: PathBuf,
    },
    /// The log, its lock or a key is a link, a pipe, a device or a directory.
    #[error("{} is not a regular file; move it away so that the log can be written", path.display())]
    NotAFile {
        /// The entry in the way.
        path: PathBuf,
    },
    /// A key of this user can be read by others, or is not a key.
    #[error("{}: {problem}; expected 64 hexadecimal digits in a file with mode 0600", path.display())]
    Key {
        /// The key file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The stored checkpoint is damaged or not signed by this user's key.
    #[error("{}: {problem}; run `rea audit verify`, then move the file away to begin anew", path.display())]
    Checkpoint {
        /// The checkpoint file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No place for keys and checkpoints is known.
    #[error("no state directory: neither XDG_STATE_HOME nor HOME names one")]
    NoStateDirectory,
    /// The log has no segment of this name.
    #[error("{name}: no such segment in {}; expected a name like audit-20260203-040506.jsonl", directory.display())]
    NoSuchSegment {
        /// What was asked for.
        name: String,
        /// Where it should be.
        directory: PathBuf,
    },
    /// There is no log, and nothing says that there ever was one.
    #[error("{}: there is no audit log", directory.display())]
    NoLog {
        /// Where it should be.
        directory: PathBuf,
    },
    /// The record is longer than a record may be.
    #[error("the record has {bytes} bytes, {limit} are allowed")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// [`super::MAX_RECORD_BYTES`].
        limit: usize,
    },
    /// The record would pass for one of the log's notes about itself.
    #[error("server `rea` with a tool `audit.…` is reserved for the log itself; rename the server")]
    Reserved,
    /// More records wait than the queue holds.
    #[error("{limit} records are waiting to be written")]
    Overloaded {
        /// The length of the queue.
        limit: usize,
    },
    /// The log was not as it was left; it is on record and goes on.
    #[error("{}: not as it was left ({found}); that is on record, and `rea audit verify` says more", path.display())]
    Changed {
        /// The live file.
        path: PathBuf,
        /// The notes that were written about it.
        found: String,
    },
    /// The log has been closed.
    #[error("the audit log is closed")]
    Closed,
}

impl AuditError {
    /// Returns the stable word for this reason, fit for a client: it names nothing of this machine.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => match kind(source) {
                Kind::Full => "audit-disk-full",
                Kind::ReadOnly => "audit-read-only",
                Kind::Other => "audit-io",
            },
            Self::LockHeld { .. } => "audit-lock-held",
            Self::OldWriter { .. } => "audit-old-writer",
            Self::NotAFile { .. } => "audit-not-a-file",
            Self::Key { .. } => "audit-key",
            Self::Checkpoint { .. } => "audit-checkpoint",
            Self::NoStateDirectory => "audit-no-state-directory",
            Self::NoSuchSegment { .. } => "audit-no-such-segment",
            Self::NoLog { .. } => "audit-no-log",
            Self::TooLong { .. } => "audit-record-too-long",
            Self::Reserved => "audit-reserved-name",
            Self::Overloaded { .. } => "audit-overloaded",
            Self::Changed { .. } => "audit-changed",
            Self::Closed => "audit-closed",
        }
    }

    /// Returns the reason in words that a client may see: they name nothing of this machine.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => match kind(source) {
                Kind::Full => "the disk of the audit log is full",
                Kind::ReadOnly => "the audit log may not be written",
                Kind::Other => "the audit log cannot be written",
            },
            Self::LockHeld { .. } => "another process keeps the audit log locked",
            Self::OldWriter { .. } => "an older rea is writing the audit log",
            Self::NotAFile { .. } => "the audit log is not a regular file",
            Self::Key { .. } => "a key of the audit log cannot be used",
            Self::Checkpoint { .. } => "the checkpoint of the audit log cannot be used",
            Self::NoStateDirectory => "there is no place for the keys of the audit log",
            Self::NoSuchSegment { .. } | Self::NoLog { .. } => "there is no such audit log",
            Self::TooLong { .. } => "the record is too long",
            Self::Reserved => "the server has a name that is reserved for the audit log",
            Self::Overloaded { .. } => "too many records wait to be written",
            Self::Changed { .. } => "the audit log was not as it was left",
            Self::Closed => "the audit log is closed",
        }
    }
}

enum Kind {
    Full,
    ReadOnly,
    Other,
}

fn kind(error: &io::Error) -> Kind {
    use io::ErrorKind::{
        FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    if matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge) {
        Kind::Full
    } else if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) {
        Kind::ReadOnly
    } else {
        Kind::Other
    }
}

fn advice(error: &io::Error) -> impl fmt::Display {
    match kind(error) {
        Kind::Full => "free some space",
        Kind::ReadOnly => "let this user write there",
        Kind::Other => "see `rea audit verify` for the state of the log",
    }
}

/// Adds the action and the file to what the system answered.
pub(crate) trait Context<T> {
    /// Names what was tried, and on which file.
    fn context(self, action: &'static str, path: &std::path::Path) -> Result<T, AuditError>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, action: &'static str, path: &std::path::Path) -> Result<T, AuditError> {
        self.map_err(|source| AuditError::Io {
            action,
            path: path.to_owned(),
            source: Arc::new(source),
        })
    }
}
