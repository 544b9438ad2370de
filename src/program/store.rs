//! The cache as one file: a line that says what it holds for, then an entry a line.
//!
//! A line is read when its file is asked for, so that a process that asks for one file does not pay
//! for all that are known.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cache::{Entry, MAX_ENTRIES};
use super::foreign::Formats;
use super::read::open;
use super::stat::FileStat;

/// The version of the file; another one counts as empty.
const VERSION: u32 = 2;

/// The largest file that is read, in bytes. [`MAX_ENTRIES`] of ordinary length need a tenth.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// How often, and how long apart, the lock is tried before the cache is left as it is.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(2);

/// A cache that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory of the cache, its lock or its file cannot be written.
    #[error("{}: the cache cannot be written: {source}", .path.display())]
    Write {
        /// The file of the cache.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another process holds the lock for too long.
    #[error("{}: another process keeps the cache locked", .0.display())]
    Locked(PathBuf),
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    version: u32,
    /// What the entries depend on besides the files.
    fingerprint: String,
    /// How many bytes come after this line; a file that was cut has fewer.
    bytes: usize,
}

/// The entries of a file, most of them unread: `\nDEV INO ENTRY` for each.
#[derive(Debug, Default)]
pub(crate) struct Stored(Vec<u8>);

impl Stored {
    fn of(entries: &[Entry]) -> Result<Self, serde_json::Error> {
        let mut lines = Vec::new();
        for entry in entries {
            lines.extend_from_slice(start(entry.file()).as_bytes());
            serde_json::to_writer(&mut lines, entry)?;
        }
        Ok(Self(lines))
    }

    /// Returns what is known of a file, by device and inode.
    pub(crate) fn entry(&self, file: (u64, u64)) -> Option<Entry> {
        let start = start(file);
        let at = memchr::memmem::find(&self.0, start.as_bytes())? + start.len();
        let line = self.0.get(at..)?;
        let end = memchr::memchr(b'\n', line).unwrap_or(line.len());
        let entry: Entry = serde_json::from_slice(line.get(..end)?).ok()?;
        (entry.is_settled() && entry.file() == file).then_some(entry)
    }

    /// Returns the device and inode of every file that has a line.
    pub(crate) fn files(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.split(|byte| *byte == b'\n').filter_map(|line| {
            let mut words = line.splitn(3, |byte| *byte == b' ');
            let mut number = || str::from_utf8(words.next()?).ok()?.parse().ok();
            Some((number()?, number()?))
        })
    }

    /// Returns every entry.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.files().filter_map(|file| self.entry(file)).collect()
    }
}

/// Returns what stands before the entry of a file.
fn start((device, inode): (u64, u64)) -> String {
    format!("\n{device} {inode} ")
}

/// Returns what the entries depend on besides the files: this start of the machine, since device
/// numbers may change with the next, and the formats that the kernel hands to somebody else.
pub(crate) fn fingerprint(formats: &Formats) -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{} {}", boot.trim(), formats.fingerprint())
}

/// Opens a cache, or returns `None` where there is none to be trusted.
pub(crate) fn load(path: &Path, fingerprint: &str) -> Option<Stored> {
    let file = open(path).ok()?;
    let stat = FileStat::from(rustix::fs::fstat(&file).ok()?);
    let own = stat.uid == rustix::process::geteuid().as_raw();
    if !own || !stat.is_file() || stat.mode & 0o022 != 0 || stat.size > MAX_BYTES {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stat.size).ok()?);
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let lines = bytes.split_off(memchr::memchr(b'\n', &bytes).unwrap_or(bytes.len()));
    let head: Head = serde_json::from_slice(&bytes).ok()?;
    let good = head.version == VERSION && head.fingerprint == fingerprint;
    (good && head.bytes == lines.len()).then_some(Stored(lines))
}

/// Adds `entries` to those of the file and replaces it.
pub(crate) fn save(path: &Path, fingerprint: &str, entries: Vec<Entry>) -> Result<(), StoreError> {
    change(path, fingerprint, |known| {
        for entry in entries {
            match known.iter_mut().find(|other| other.file() == entry.file()) {
                Some(other) if other.at_ns < entry.at_ns => *other = entry,
                Some(_) => {}
                None => known.push(entry),
            }
        }
    })
}

/// Removes what the file knows of `real_path` and replaces it.
pub(crate) fn remove(path: &Path, fingerprint: &str, real_path: &Path) -> Result<(), StoreError> {
    change(path, fingerprint, |known| {
        known.retain(|entry| entry.real_path != real_path);
    })
}

/// Reads, changes and replaces the file, with no other process in between.
fn change(
    path: &Path,
    fingerprint: &str,
    change: impl FnOnce(&mut Vec<Entry>),
) -> Result<(), StoreError> {
    let fail = |source| StoreError::Write {
        path: path.to_owned(),
        source,
    };
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(directory).map_err(fail)?;
    let _lock = lock(path)?;
    let mut entries = load(path, fingerprint).unwrap_or_default().entries();
    change(&mut entries);
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.at_ns));
    entries.truncate(MAX_ENTRIES);
    // The name is new and only the user can read it; a reader sees the old file or the new one.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(fail)?;
    let lines = Stored::of(&entries).map_err(|error| fail(error.into()))?.0;
    let head = Head {
        version: VERSION,
        fingerprint: fingerprint.to_owned(),
        bytes: lines.len(),
    };
    let mut bytes = serde_json::to_vec(&head).map_err(|error| fail(error.into()))?;
    bytes.extend(lines);
    file.write_all(&bytes).map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}

/// Locks a file of its own beside the cache, which is never replaced.
fn lock(path: &Path) -> Result<File, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let fail = |source| StoreError::Write {
        path: path.to_owned(),
        source,
    };
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(PathBuf::from(name))
        .map_err(fail)?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
    }
    Err(StoreError::Locked(path.to_owned()))
}
