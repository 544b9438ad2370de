//! One private file that is replaced whole, under a lock of its own.
//!
//! The lock is a second file that is never replaced, so that two writers always lock the same
//! thing. Readers need no lock: they see the old content or the new one. Everything is opened
//! relative to a descriptor of the directory, and no symbolic link is followed from there on.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::error::StoreError;

/// The largest file of grants that is read or written, in bytes.
pub const MAX_STORE_BYTES: u64 = 64 << 20;

/// How long a writer waits for the lock.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// How long a writer sleeps before it tries the lock again.
const LOCK_PAUSE: Duration = Duration::from_millis(2);

const PRIVATE: Mode = Mode::from_raw_mode(0o600);

/// A point in a write after which a test may want the process to die.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[doc(hidden)]
pub enum Step {
    Locked,
    Reread,
    Created,
    HalfWritten,
    Written,
    Synced,
    Renamed,
    DirectorySynced,
}

impl Step {
    #[doc(hidden)]
    pub const ALL: &'static [Self] = &[
        Self::Locked,
        Self::Reread,
        Self::Created,
        Self::HalfWritten,
        Self::Written,
        Self::Synced,
        Self::Renamed,
        Self::DirectorySynced,
    ];
}

/// What tells two contents of the file apart without reading them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    #[expect(
        clippy::unnecessary_cast,
        clippy::cast_possible_wrap,
        reason = "the types of these fields differ between architectures; a stamp is only compared"
    )]
    fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as i64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }
}

/// Where the file is.
#[derive(Clone, Debug)]
pub(super) struct PrivateFile {
    directory: PathBuf,
    name: OsString,
    on_step: fn(Step),
}

impl PrivateFile {
    pub(super) fn at(path: &Path) -> Result<Self, StoreError> {
        let name = path.file_name().ok_or_else(|| StoreError::NotPrivate {
            path: path.to_owned(),
            found: "names no file".to_owned(),
            help: "give the path of a file",
        })?;
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            Some(_) | None => PathBuf::from("."),
        };
        Ok(Self {
            directory,
            name: name.to_owned(),
            on_step: |_| (),
        })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    pub(super) fn on_step(&mut self, hook: fn(Step)) {
        self.on_step = hook;
    }

    /// Returns the content, or `None` where there is no file.
    pub(super) fn read(&self) -> Result<Option<(Vec<u8>, Stamp)>, StoreError> {
        match self.open_directory()? {
            Some(directory) => self.read_in(&directory),
            None => Ok(None),
        }
    }

    /// Returns the stamp of the file as it is now, or `None` where there is none.
    pub(super) fn stamp(&self) -> Result<Option<Stamp>, StoreError> {
        match rustix::fs::lstat(self.path()) {
            Ok(stat) => Ok(Some(Stamp::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(system(self.path(), "look at it", error)),
        }
    }

    /// Makes the directory if need be, and waits for the lock.
    pub(super) fn lock(&self) -> Result<Locked<'_>, StoreError> {
        let directory = if let Some(directory) = self.open_directory()? {
            directory
        } else {
            self.make_directory()?;
            self.open_directory()?
                .ok_or_else(|| system(self.directory.clone(), "open it", Errno::NOENT))?
        };
        let name = with_suffix(&self.name, ".lock");
        let path = self.directory.join(&name);
        let deadline = Instant::now() + LOCK_WAIT;
        loop {
            let flags = OFlags::RDWR | OFlags::CREATE;
            let lock = open_in(&directory, &name, flags)
                .map_err(|error| system(path.clone(), "open the lock", error))?;
            let ours = check_file(&path, &lock)?;
            match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    // Whoever removed the lock file while we waited may hold a new one.
                    let now = rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW);
                    if now.is_ok_and(|now| (now.st_dev, now.st_ino) == (ours.st_dev, ours.st_ino)) {
                        (self.on_step)(Step::Locked);
                        return Ok(Locked {
                            file: self,
                            directory,
                            _lock: lock,
                        });
                    }
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(system(path, "lock it", error)),
            }
            if Instant::now() >= deadline {
                return Err(StoreError::Busy { path });
            }
            thread::sleep(LOCK_PAUSE);
        }
    }

    fn make_directory(&self) -> Result<(), StoreError> {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.directory);
        made.map_err(|source| StoreError::System {
            path: self.directory.clone(),
            doing: "make the directory",
            source,
        })
    }

    fn open_directory(&self) -> Result<Option<OwnedFd>, StoreError> {
        let path = &self.directory;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(system(path.clone(), "open the directory", error)),
        };
        let stat = rustix::fs::fstat(&directory)
            .map_err(|error| system(path.clone(), "look at it", error))?;
        let us = rustix::process::geteuid().as_raw();
        if stat.st_uid != us && stat.st_uid != 0 {
            return Err(not_private(
                path,
                format!("belongs to user {}", stat.st_uid),
            ));
        }
        if stat.st_mode & 0o022 != 0 {
            let mode = stat.st_mode & 0o7777;
            return Err(not_private(
                path,
                format!("others may write to it (mode {mode:o})"),
            ));
        }
        Ok(Some(directory))
    }

    fn read_in(&self, directory: &OwnedFd) -> Result<Option<(Vec<u8>, Stamp)>, StoreError> {
        let path = self.path();
        let file = match open_in(directory, &self.name, OFlags::RDONLY) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(system(path, "open it", error)),
        };
        let stat = check_file(&path, &file)?;
        let mut bytes = Vec::new();
        let read = File::from(file)
            .take(MAX_STORE_BYTES + 1)
            .read_to_end(&mut bytes);
        read.map_err(|source| StoreError::System {
            path: path.clone(),
            doing: "read it",
            source,
        })?;
        if bytes.len() as u64 > MAX_STORE_BYTES {
            return Err(StoreError::TooLarge { path });
        }
        Ok(Some((bytes, Stamp::of(&stat))))
    }
}

/// The file while no other process may replace it.
#[derive(Debug)]
pub(super) struct Locked<'a> {
    file: &'a PrivateFile,
    directory: OwnedFd,
    _lock: OwnedFd,
}

impl Locked<'_> {
    /// Returns the content, or `None` where there is no file.
    pub(super) fn read(&self) -> Result<Option<(Vec<u8>, Stamp)>, StoreError> {
        let read = self.file.read_in(&self.directory);
        (self.file.on_step)(Step::Reread);
        read
    }

    /// Replaces the content. When this returns, the new one survives a loss of power.
    pub(super) fn replace(&self, bytes: &[u8]) -> Result<(), StoreError> {
        if bytes.len() as u64 > MAX_STORE_BYTES {
            return Err(StoreError::Full {
                path: self.file.path(),
            });
        }
        let name = with_suffix(&self.file.name, ".new");
        let path = self.file.directory.join(&name);
        // Whatever lies there was left by a writer that died, since we hold the lock.
        match rustix::fs::unlinkat(&self.directory, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(system(path, "remove what an earlier write left", error)),
        }
        let written = self.write_new(&name, &path, bytes);
        if written.is_err() {
            // The error that matters is the first one.
            let _ = rustix::fs::unlinkat(&self.directory, &name, AtFlags::empty());
            return written;
        }
        rustix::fs::renameat(&self.directory, &name, &self.directory, &self.file.name)
            .map_err(|error| system(self.file.path(), "replace it", error))?;
        (self.file.on_step)(Step::Renamed);
        rustix::fs::fsync(&self.directory)
            .map_err(|error| system(self.file.directory.clone(), "sync it", error))?;
        (self.file.on_step)(Step::DirectorySynced);
        Ok(())
    }

    fn write_new(&self, name: &OsStr, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let failed = |doing| {
            move |source| StoreError::System {
                path: path.to_owned(),
                doing,
                source,
            }
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = open_in(&self.directory, name, flags)
            .map_err(|error| system(path.to_owned(), "create it", error))?;
        rustix::fs::fchmod(&file, PRIVATE)
            .map_err(|error| system(path.to_owned(), "set its mode", error))?;
        (self.file.on_step)(Step::Created);
        let mut file = File::from(file);
        let (head, tail) = bytes.split_at(bytes.len() / 2);
        file.write_all(head).map_err(failed("write it"))?;
        (self.file.on_step)(Step::HalfWritten);
        file.write_all(tail).map_err(failed("write it"))?;
        (self.file.on_step)(Step::Written);
        file.sync_all().map_err(failed("sync it"))?;
        (self.file.on_step)(Step::Synced);
        Ok(())
    }

    /// Returns the stamp of the file as it is now.
    pub(super) fn stamp(&self) -> Result<Option<Stamp>, StoreError> {
        self.file.stamp()
    }
}

fn open_in(directory: &OwnedFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    // Non-blocking, so that a named pipe in the place of the file cannot stall us.
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    rustix::fs::openat(directory, name, flags, PRIVATE)
}

/// Accepts only a plain file of our own that nobody else can reach.
fn check_file(path: &Path, file: &OwnedFd) -> Result<Stat, StoreError> {
    let stat =
        rustix::fs::fstat(file).map_err(|error| system(path.to_owned(), "look at it", error))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(not_private(path, "is not a plain file".to_owned()));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(not_private(
            path,
            format!("belongs to user {}", stat.st_uid),
        ));
    }
    if stat.st_mode & 0o077 != 0 {
        let mode = stat.st_mode & 0o7777;
        return Err(not_private(
            path,
            format!("others may open it (mode {mode:o})"),
        ));
    }
    if stat.st_nlink != 1 {
        let links = stat.st_nlink;
        return Err(not_private(path, format!("has {links} hard links")));
    }
    Ok(stat)
}

fn not_private(path: &Path, found: String) -> StoreError {
    StoreError::NotPrivate {
        path: path.to_owned(),
        found,
        help: "a file of grants is mode 600 in a directory that only its owner may write to; \
               read the grants before you trust them again",
    }
}

fn system(path: PathBuf, doing: &'static str, error: Errno) -> StoreError {
    StoreError::System {
        path,
        doing,
        source: io::Error::from(error),
    }
}

fn with_suffix(name: &OsStr, suffix: &str) -> OsString {
    let mut name = name.to_owned();
    name.push(suffix);
    name
}
