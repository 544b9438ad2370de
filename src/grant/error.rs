//! What can go wrong with the file of grants.

use std::{io, path::PathBuf};

/// A file of grants that could not be used. It is never taken for an empty one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system said no.
    #[error("{}: {doing}: {source}", path.display())]
    System {
        /// The file or directory.
        path: PathBuf,
        /// What was being done to it.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else could have written the file, or it is no plain file.
    #[error("{}: {found}; {help}", path.display())]
    NotPrivate {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
        /// What to do about it.
        help: &'static str,
    },
    /// The file does not follow the format.
    #[error(
        "{}: not a valid file of grants: {found}; repair it, or move it away to start with none",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        found: String,
    },
    /// The file was written by a later version of this program.
    #[error(
        "{}: format version {version} is newer than {}; use the version of rea that wrote it",
        path.display(), super::record::VERSION
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version that it names.
        version: u64,
    },
    /// The file is larger than [`MAX_STORE_BYTES`](super::MAX_STORE_BYTES).
    #[error(
        "{}: larger than {} bytes, so it is not read; move it away to start with none",
        path.display(), super::MAX_STORE_BYTES
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// With what is to be added the file would be larger than [`MAX_STORE_BYTES`](super::MAX_STORE_BYTES).
    #[error(
        "{}: would become larger than {} bytes; `rea grant prune` removes what no longer counts, \
         and `rea grant revoke` the rest",
        path.display(), super::MAX_STORE_BYTES
    )]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process held the lock for longer than [`LOCK_WAIT`](super::LOCK_WAIT).
    #[error(
        "{}: held by another process for more than {} s; end that process, or try again",
        path.display(), super::LOCK_WAIT.as_secs()
    )]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// No grant has this name.
    #[error("no grant is called {id:?}; `rea grant list` shows those there are")]
    NoSuchGrant {
        /// The name that was asked for.
        id: String,
    },
}
