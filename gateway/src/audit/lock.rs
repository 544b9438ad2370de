//! One writer at a time: the lock between processes, and the older kind of lock that must be respected.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use rustix::fs::OFlags;

use super::error::{AuditError, Context};

/// Since when an untouched lock directory counts as left behind by a dead writer.
pub(crate) const OLD_LOCK_STALE: Duration = Duration::from_secs(10);
/// How long a live writer of the older kind is waited for; it holds its lock for milliseconds.
pub(crate) const OLD_LOCK_PATIENCE: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The lock file, open for the life of the process. The lock is the file's, so it dies with its holder.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
    old: PathBuf,
}

/// The lock while it is held.
#[derive(Debug)]
pub(crate) struct Held<'a>(&'a File);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // It is let go in any case when the file is closed.
        drop(self.0.unlock());
    }
}

impl Lock {
    /// Opens the lock file `audit.lock` in `directory`, and makes it if there is none.
    pub(crate) fn open(directory: &Path, root: &Path) -> Result<Self, AuditError> {
        let path = directory.join("audit.lock");
        let file = open_regular(
            OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .mode(0o600),
            &path,
        )?;
        Ok(Self {
            path,
            file,
            old: root.join(".rea.lock"),
        })
    }

    /// Opens the lock file of a log that is only read; `None` when there is none, or none that may be opened.
    pub(crate) fn open_existing(directory: &Path, root: &Path) -> Option<Self> {
        let path = directory.join("audit.lock");
        let file = open_regular(OpenOptions::new().read(true), &path).ok()?;
        Some(Self {
            path,
            file,
            old: root.join(".rea.lock"),
        })
    }

    /// Waits until this process alone may write, at most for `patience`, and until no older writer is live.
    pub(crate) fn exclusive(&self, patience: Duration) -> Result<Held<'_>, AuditError> {
        self.wait(patience, File::try_lock)?;
        let held = Held(&self.file);
        self.wait_for_old_writer(patience.min(OLD_LOCK_PATIENCE))?;
        Ok(held)
    }

    /// Says whether the lock file is still the one in the directory, so that all writers use the same.
    pub(crate) fn is_current(&self) -> bool {
        let here = self
            .file
            .metadata()
            .map(|metadata| (metadata.dev(), metadata.ino()));
        let there =
            fs::symlink_metadata(&self.path).map(|metadata| (metadata.dev(), metadata.ino()));
        matches!((here, there), (Ok(here), Ok(there)) if here == there)
    }

    /// Waits until no process writes, at most for `patience`.
    pub(crate) fn shared(&self, patience: Duration) -> Result<Held<'_>, AuditError> {
        self.wait(patience, File::try_lock_shared)?;
        Ok(Held(&self.file))
    }

    fn wait(
        &self,
        patience: Duration,
        attempt: fn(&File) -> Result<(), TryLockError>,
    ) -> Result<(), AuditError> {
        let begin = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match attempt(&self.file) {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if begin.elapsed() >= patience => {
                    return Err(AuditError::LockHeld {
                        path: self.path.clone(),
                        waited: patience,
                    });
                }
                Err(TryLockError::WouldBlock) => thread::sleep(pause),
                Err(TryLockError::Error(error)) => return Err(error).context("lock", &self.path),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn wait_for_old_writer(&self, patience: Duration) -> Result<(), AuditError> {
        let begin = Instant::now();
        while old_lock_is_live(&self.old, SystemTime::now()) {
            if begin.elapsed() >= patience {
                return Err(AuditError::OldWriter {
                    path: self.old.clone(),
                });
            }
            thread::sleep(LONGEST_PAUSE);
        }
        Ok(())
    }
}

/// Says whether the lock of an older writer is there and fresh; what cannot be told counts as fresh.
fn old_lock_is_live(path: &Path, now: SystemTime) -> bool {
    match fs::symlink_metadata(path) {
        Err(error) => error.kind() != io::ErrorKind::NotFound,
        // A time ahead of ours is fresh: older writers stamp up to a second into the future.
        Ok(metadata) => metadata.modified().map_or(true, |touched| {
            now.duration_since(touched)
                .map_or(true, |age| age <= OLD_LOCK_STALE)
        }),
    }
}

/// Opens a file that must be a regular one, never through a link and never waiting for the other end of a pipe.
pub(crate) fn open_regular(options: &mut OpenOptions, path: &Path) -> Result<File, AuditError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match options.custom_flags(flags.bits().cast_signed()).open(path) {
        Ok(file) => file,
        Err(error) => {
            let there =
                fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.file_type().is_file());
            return if there {
                Err(AuditError::NotAFile {
                    path: path.to_owned(),
                })
            } else {
                Err(error).context("open", path)
            };
        }
    };
    let regular = file
        .metadata()
        .context("inspect", path)?
        .file_type()
        .is_file();
    if regular {
        Ok(file)
    } else {
        Err(AuditError::NotAFile {
            path: path.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_reported_and_a_dropped_one_is_free() {
        let root = tempfile::tempdir().unwrap();
        let one = Lock::open(root.path(), root.path()).unwrap();
        let two = Lock::open(root.path(), root.path()).unwrap();
        let held = one.exclusive(Duration::ZERO).unwrap();
        assert!(matches!(
            two.exclusive(Duration::ZERO),
            Err(AuditError::LockHeld { .. })
        ));
        assert!(matches!(
            two.shared(Duration::ZERO),
            Err(AuditError::LockHeld { .. })
        ));
        drop(held);
        drop(two.exclusive(Duration::ZERO).unwrap());
    }

    #[test]
    fn an_older_writer_is_live_while_its_lock_is_fresh() {
        let root = tempfile::tempdir().unwrap();
        let lock = Lock::open(root.path(), root.path()).unwrap();
        let old = root.path().join(".rea.lock");
        fs::create_dir(&old).unwrap();
        assert_eq!(
            lock.exclusive(Duration::ZERO).unwrap_err().code(),
            "audit-old-writer"
        );
        let touched = fs::metadata(&old).unwrap().modified().unwrap();
        assert!(old_lock_is_live(&old, touched + OLD_LOCK_STALE));
        assert!(old_lock_is_live(&old, touched - Duration::from_secs(1)));
        assert!(!old_lock_is_live(
            &old,
            touched + OLD_LOCK_STALE + Duration::from_millis(1)
        ));
        fs::remove_dir(&old).unwrap();
        drop(lock.exclusive(Duration::ZERO).unwrap());
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        for make in [
            |path: &Path| fs::create_dir(path).unwrap(),
            |path: &Path| std::os::unix::fs::symlink("/dev/null", path).unwrap(),
            |path: &Path| std::os::unix::fs::symlink("nowhere", path).unwrap(),
            |path: &Path| {
                rustix::fs::mkfifoat(
                    rustix::fs::CWD,
                    path,
                    rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
                )
                .unwrap();
            },
        ] {
            make(&path);
            let opened = open_regular(OpenOptions::new().read(true).append(true), &path);
            assert!(
                matches!(opened, Err(AuditError::NotAFile { .. })),
                "{opened:?}"
            );
            fs::remove_file(&path)
                .or_else(|_| fs::remove_dir(&path))
                .unwrap();
        }
    }
}
