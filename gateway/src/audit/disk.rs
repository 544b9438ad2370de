//! The steps by which the log changes the disk, one by one, so that a test can stop between any two.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::OFlags;

/// Every step that changes the project's disk. [`RealDisk`] is the only one outside tests.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Creates a file that must not exist yet, for reading and appending, mode 0600.
    fn create(&self, path: &Path) -> io::Result<File>;
    /// Writes all of `bytes` at the end of a file.
    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()>;
    /// Waits until the file's content is on the medium.
    fn sync(&self, file: &File) -> io::Result<()>;
    /// Shortens a file.
    fn cut(&self, file: &File, length: u64) -> io::Result<()>;
    /// Renames a file within its directory.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Waits until a directory's entries are on the medium.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// The disk itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    }

    fn append(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        file.set_len(length)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        open_directory(path)?.sync_all()
    }
}

/// Opens a directory. Anything else that has come into its place is an error, not a wait.
pub(crate) fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}
