//! What the kernel says of a file, short of its content.

use std::path::Path;

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// The fields that tell one state of a file from another.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileStat {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    /// Type and permission bits.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime_ns: i64,
    pub(crate) ctime_ns: i64,
}

impl FileStat {
    /// Looks at `path` itself, a symlink included.
    pub(crate) fn of_link(path: &Path) -> Result<Self, Errno> {
        rustix::fs::lstat(path).map(Self::from)
    }

    /// Looks at what `path` leads to.
    pub(crate) fn of(path: &Path) -> Result<Self, Errno> {
        rustix::fs::stat(path).map(Self::from)
    }

    pub(crate) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }

    pub(crate) fn is_file(&self) -> bool {
        self.file_type() == FileType::RegularFile
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.file_type() == FileType::Directory
    }

    pub(crate) fn is_symlink(&self) -> bool {
        self.file_type() == FileType::Symlink
    }

    /// Returns the permission bits, set-id and sticky bits included.
    pub(crate) const fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }
}

impl From<Stat> for FileStat {
    fn from(stat: Stat) -> Self {
        Self {
            dev: number(stat.st_dev),
            ino: number(stat.st_ino),
            size: number(stat.st_size),
            mode: number(stat.st_mode),
            uid: number(stat.st_uid),
            gid: number(stat.st_gid),
            mtime_ns: nanoseconds(number(stat.st_mtime), number(stat.st_mtime_nsec)),
            ctime_ns: nanoseconds(number(stat.st_ctime), number(stat.st_ctime_nsec)),
        }
    }
}

/// Brings a field to its width here; the widths and signs of the kernel's fields differ from one
/// architecture to the next. No field of a real file is out of range.
fn number<T: TryInto<U>, U: Default>(field: T) -> U {
    field.try_into().unwrap_or_default()
}

/// Joins seconds and nanoseconds; times outside the years 1678 to 2262 are pressed into them.
fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}
