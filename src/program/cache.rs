//! Digests that need not be computed again.
//!
//! The key is what the kernel says of a file: device, inode, size, mode, owner and both times. That is
//! only as good as the times are, so a digest is kept under three conditions:
//!
//! - Nobody could write while it was computed. Either a lease was held, or only root can change
//!   the file and every directory on its way. Otherwise a page that somebody had mapped and
//!   dirtied before can go on changing, and no time tells.
//! - The file had not changed for a while ([`SETTLED_NS`]) when it was opened. A clock ticks in
//!   steps; a write within the step of the last change leaves the same time behind. A time in
//!   the future is never trusted.
//! - The file system keeps its own times and inode numbers ([`keeps_times`]).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{IFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::foreign::Formats;
use super::identity::{Digest, Identity};
use super::read::{Format, Reading};
use super::stat::FileStat;
use super::store::{self, StoreError, Stored};
use super::walk::Walk;

/// How long a file must have been left alone before its times tell its states apart, in
/// nanoseconds. The coarsest file system that is trusted counts whole seconds.
pub(crate) const SETTLED_NS: i64 = 2_000_000_000;

/// The most digests that are kept; the oldest ones go first.
pub(crate) const MAX_ENTRIES: usize = 1024;

/// The digests of files that were read before, in memory and, if asked for, in a file.
#[derive(Debug, Default)]
pub struct PinCache {
    entries: HashMap<(u64, u64), Entry>,
    /// What the file holds; an entry is moved out of it when its file is asked for.
    stored: Stored,
    file: Option<PathBuf>,
    fingerprint: String,
    changed: bool,
    /// Directories that find every file under its own name only.
    unfolding: HashSet<(u64, u64)>,
}

/// What is known of one state of one file.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) real_path: PathBuf,
    pub(crate) stat: FileStat,
    pub(crate) digest: Digest,
    pub(crate) format: Format,
    /// When it was read, in nanoseconds since 1970.
    pub(crate) at_ns: i64,
}

impl PinCache {
    /// Returns an empty cache that ends with the value.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Returns the cache that `file` holds.
    ///
    /// A file that is missing, damaged, of another version, from before the last start of the
    /// machine, or that somebody else could have written counts as empty: everything in it can be
    /// computed again.
    pub fn on_disk(file: impl Into<PathBuf>) -> Self {
        let file = file.into();
        let fingerprint = store::fingerprint(&Formats::registered());
        Self {
            stored: store::load(&file, &fingerprint).unwrap_or_default(),
            file: Some(file),
            fingerprint,
            ..Self::default()
        }
    }

    /// Writes what was learned to the file, if there is one and something was.
    ///
    /// What another process wrote in the meantime is kept. The file is replaced in one step.
    ///
    /// # Errors
    ///
    /// When the file cannot be replaced. What it held before is then still there.
    pub fn save(&mut self) -> Result<(), StoreError> {
        let Some(file) = self.file.as_ref().filter(|_| self.changed) else {
            return Ok(());
        };
        store::save(
            file,
            &self.fingerprint,
            self.entries.values().cloned().collect(),
        )?;
        self.changed = false;
        Ok(())
    }

    /// Removes what is known of the file at `real_path`, and returns whether anything was.
    ///
    /// # Errors
    ///
    /// When the file of the cache cannot be replaced.
    pub fn forget(&mut self, real_path: &Path) -> Result<bool, StoreError> {
        for entry in std::mem::take(&mut self.stored).entries() {
            self.entries.entry(entry.file()).or_insert(entry);
        }
        let before = self.entries.len();
        self.entries.retain(|_, entry| entry.real_path != real_path);
        let found = self.entries.len() != before;
        if let Some(file) = &self.file {
            store::remove(file, &self.fingerprint, real_path)?;
        }
        Ok(found)
    }

    /// Returns the digest that was kept last of the file at `real_path`, and whether it is of the
    /// state that `identity` has.
    pub fn kept(&self, identity: &Identity) -> Option<(Digest, bool)> {
        let stored = self.stored.entries();
        let entries = stored.iter().chain(self.entries.values());
        let mut entries = entries.filter(|entry| entry.real_path == identity.real_path);
        let same = |entry: &&Entry| {
            Identity::new(
                &identity.called,
                &entry.real_path,
                &entry.stat,
                entry.digest,
            ) == *identity
        };
        let last = entries.clone().max_by_key(|entry| entry.at_ns)?;
        Some((last.digest, entries.any(|entry| same(&entry))))
    }

    /// Returns how many digests are known.
    pub fn len(&self) -> usize {
        let stored = self.stored.files();
        let unread = stored.filter(|file| !self.entries.contains_key(file));
        self.entries.len() + unread.count()
    }

    /// Returns whether no digest is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what is known of the file at `real_path` in this state.
    pub(crate) fn find(&mut self, real_path: &Path, stat: &FileStat) -> Option<&Entry> {
        let file = (stat.dev, stat.ino);
        if !self.entries.contains_key(&file)
            && let Some(entry) = self.stored.entry(file)
        {
            self.entries.insert(file, entry);
        }
        self.entries
            .get(&file)
            .filter(|entry| entry.stat == *stat && entry.real_path == real_path)
    }

    /// Returns a directory on the way that finds a file under more names than its own, if any: there
    /// the called name would not tell one call from another.
    ///
    /// Only an empty directory can be made one, so the answer is kept.
    pub(crate) fn folding_directory(&mut self, walk: &Walk) -> Option<String> {
        for (path, stat) in &walk.directories {
            if self.unfolding.contains(&(stat.dev, stat.ino)) {
                continue;
            }
            if is_folding(path) {
                return Some(path.display().to_string());
            }
            if self.unfolding.len() >= MAX_ENTRIES {
                self.unfolding.clear();
            }
            self.unfolding.insert((stat.dev, stat.ino));
        }
        None
    }

    /// Keeps what a reading found, if that can be told apart from every later state.
    ///
    /// `protected` says that only root can change the file and every directory on its way. Returns
    /// whether it was kept.
    pub(crate) fn keep(&mut self, real_path: &Path, reading: &Reading, protected: bool) -> bool {
        let tellable = reading.held || protected;
        let entry = Entry {
            real_path: real_path.to_owned(),
            stat: reading.stat,
            digest: reading.digest,
            format: reading.format.clone(),
            at_ns: reading.at_ns,
        };
        let settled = tellable && entry.is_settled() && keeps_times(real_path);
        if settled {
            if self.entries.len() >= MAX_ENTRIES {
                let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.at_ns);
                if let Some(key) = oldest.map(|(key, _)| *key) {
                    self.entries.remove(&key);
                }
            }
            self.entries
                .insert((reading.stat.dev, reading.stat.ino), entry);
            self.changed = true;
        }
        settled
    }
}

impl Entry {
    /// Returns the device and inode that it is looked up by.
    pub(crate) const fn file(&self) -> (u64, u64) {
        (self.stat.dev, self.stat.ino)
    }

    /// Returns whether the file had been left alone for long enough when it was read.
    pub(crate) fn is_settled(&self) -> bool {
        is_settled_at(self.stat.ctime_ns, self.at_ns)
    }
}

/// The attribute of a directory that takes `A` and `a` for one name; rustix has no name for it.
const CASE_FOLDING: IFlags = IFlags::from_bits_retain(0x4000_0000);

fn is_folding(directory: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let directory = rustix::fs::open(directory, flags, Mode::empty());
    let attributes = directory.and_then(rustix::fs::ioctl_getflags);
    attributes.is_ok_and(|flags| flags.contains(CASE_FOLDING))
}

/// Returns whether a change at `ctime_ns` is long enough ago now.
pub(crate) fn is_settled(ctime_ns: i64) -> bool {
    is_settled_at(ctime_ns, now_ns())
}

fn is_settled_at(ctime_ns: i64, at_ns: i64) -> bool {
    at_ns
        .checked_sub(ctime_ns)
        .is_some_and(|age| age >= SETTLED_NS)
}

/// Returns the time, in nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(0))
}

/// File systems that set times and number inodes by themselves: btrfs, erofs, the ext family, f2fs,
/// squashfs and XFS. Left out are those where a server or a program does it (NFS, 9p, FUSE),
/// overlays, which pass on what lies below, and tmpfs, where a page that was mapped and read can
/// be written without any time being set.
const KEEPING_TIMES: &[u32] = &[
    0x9123_683e,
    0xe0f5_e1e2,
    0xef53,
    0xf2f5_2010,
    0x7371_7368,
    0x5846_5342,
];

/// Returns whether the file system under `path` keeps times that can be relied on.
pub(crate) fn keeps_times(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|system| {
        // The field is signed and its width varies, the numbers are 32 bits.
        let kind = i128::from(system.f_type) & 0xffff_ffff;
        KEEPING_TIMES.iter().any(|known| i128::from(*known) == kind)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::program::read::read;

    /// What a clock that ticks in steps leaves behind: the state of a file before and after a write
    /// of the same length within one step is one and the same.
    #[test]
    fn a_digest_of_a_file_that_may_change_within_the_step_is_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        let stat = FileStat::of(&path).unwrap();
        let reading = |at_ns| Reading {
            at_ns,
            ..read(&path, &stat, &Formats::default()).unwrap()
        };
        let rows = [
            (-1, false),
            (0, false),
            (SETTLED_NS - 1, false),
            (SETTLED_NS, true),
            (100 * SETTLED_NS, true),
        ];
        for (age, want) in rows {
            let mut cache = PinCache::in_memory();
            // Another content could come with this very state, so the digest must not be found by it.
            let kept = cache.keep(&path, &reading(stat.ctime_ns.saturating_add(age)), true);
            let want = want && keeps_times(&path);
            assert_eq!(kept, want, "{age} ns after the change");
            assert_eq!(cache.find(&path, &stat).is_some(), want);
        }
        assert!(!is_settled_at(i64::MAX, 0) && !is_settled_at(0, i64::MIN));
    }

    #[test]
    fn a_digest_that_anybody_could_have_disturbed_is_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        let stat = FileStat::of(&path).unwrap();
        // Open for writing, so that no lease is given.
        let writer = fs::File::options().append(true).open(&path).unwrap();
        let reading = read(&path, &stat, &Formats::default()).unwrap();
        drop(writer);
        assert!(!reading.held);
        let reading = Reading {
            at_ns: i64::MAX,
            ..reading
        };
        assert!(!PinCache::in_memory().keep(&path, &reading, false));
    }

    #[test]
    fn the_number_of_digests_is_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        let stat = FileStat::of(&path).unwrap();
        if !keeps_times(&path) {
            return crate::program::skip::because("a file system whose times are trusted");
        }
        let mut reading = read(&path, &stat, &Formats::default()).unwrap();
        let mut cache = PinCache::in_memory();
        for inode in 0..MAX_ENTRIES as u64 + 10 {
            reading.stat.ino = inode;
            reading.at_ns = i64::MAX - 1_000_000 + i64::try_from(inode).unwrap();
            assert!(cache.keep(&path, &reading, true));
        }
        assert_eq!(cache.len(), MAX_ENTRIES);
        assert!(
            cache.find(&path, &reading.stat).is_some(),
            "the newest went first"
        );
    }
}
