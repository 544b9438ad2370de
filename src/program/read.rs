//! Reading a file once: its state, its digest and what kind of program it is.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::cache::now_ns;
use super::elf::{Elf, ElfError};
use super::foreign::Formats;
use super::identity::Digest;
use super::lease::Lease;
use super::shebang::{HEAD_BYTES, Shebang, ShebangError};
use super::stat::FileStat;

/// The largest program that is read, in bytes; a larger one is refused as `too-large`.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024 * 1024;

/// How much is read and hashed at once, in bytes.
const CHUNK: u64 = 128 * 1024;

/// What a file says of how it is to be run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) enum Format {
    /// A program, with its dynamic linker and the directories it adds to the search for libraries.
    Elf {
        interpreter: Option<String>,
        library_paths: Vec<String>,
    },
    /// A script, with its interpreter and the argument for it.
    Script {
        interpreter: String,
        argument: Option<String>,
    },
    /// A registered format applies to it.
    Foreign(String),
    /// The kernel would not run it, and why.
    None(String),
}

/// One reading of a file.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) stat: FileStat,
    pub(crate) digest: Digest,
    pub(crate) format: Format,
    /// Whether a lease kept everybody from writing meanwhile.
    pub(crate) held: bool,
    /// The time before the file was opened, in nanoseconds since 1970.
    pub(crate) at_ns: i64,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("{0}")]
    System(#[from] io::Error),
    #[error("it has more than {MAX_FILE_BYTES} bytes")]
    TooLarge,
    #[error("it was not the same before and after")]
    Changed,
}

impl From<Errno> for ReadError {
    fn from(errno: Errno) -> Self {
        Self::System(errno.into())
    }
}

/// Opens a path that must hold no symlink at its end, for reading.
///
/// The open never waits: not for the other end of a pipe that took the place of the file, nor for
/// the holder of a lease.
pub(crate) fn open(real_path: &Path) -> Result<File, Errno> {
    let flags =
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    rustix::fs::open(real_path, flags, Mode::empty()).map(File::from)
}

/// Reads the file at `real_path`, which must be in the state `expected`.
pub(crate) fn read(
    real_path: &Path,
    expected: &FileStat,
    formats: &Formats,
) -> Result<Reading, ReadError> {
    let at_ns = now_ns();
    let file = open(real_path).map_err(|errno| match errno {
        Errno::LOOP | Errno::NOENT | Errno::NOTDIR => ReadError::Changed,
        other => other.into(),
    })?;
    match Lease::take(file) {
        Ok(lease) => {
            let mut reading = read_open(lease.file(), real_path, expected, formats, at_ns)?;
            reading.held = lease.is_held();
            Ok(reading)
        }
        Err((file, _)) => read_open(&file, real_path, expected, formats, at_ns),
    }
}

fn read_open(
    file: &File,
    real_path: &Path,
    expected: &FileStat,
    formats: &Formats,
    at_ns: i64,
) -> Result<Reading, ReadError> {
    let stat = FileStat::from(rustix::fs::fstat(file)?);
    if stat != *expected {
        return Err(ReadError::Changed);
    }
    if stat.size > MAX_FILE_BYTES {
        return Err(ReadError::TooLarge);
    }
    let (digest, head) = hash(file, stat.size)?;
    let format = match formats.of(real_path, &head) {
        Some(name) => Format::Foreign(name.to_owned()),
        None => Format::read(&head, file),
    };
    if FileStat::from(rustix::fs::fstat(file)?) != stat {
        return Err(ReadError::Changed);
    }
    Ok(Reading {
        stat,
        digest,
        format,
        held: false,
        at_ns,
    })
}

/// Returns the digest of the first `size` bytes of a file, which must be all, and its head.
pub(crate) fn hash(mut file: &File, size: u64) -> Result<(Digest, Vec<u8>), ReadError> {
    let mut hasher = Sha256::new();
    let mut head = Vec::new();
    let chunk = usize::try_from(size.clamp(1, CHUNK)).unwrap_or(1);
    let mut buffer = vec![0; chunk];
    let mut total = 0_u64;
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        let part = buffer.get(..count).unwrap_or_default();
        let missing = HEAD_BYTES.saturating_sub(head.len()).min(count);
        head.extend_from_slice(part.get(..missing).unwrap_or_default());
        hasher.update(part);
        total = total.saturating_add(count as u64);
        if total > size {
            return Err(ReadError::Changed);
        }
    }
    if total != size {
        return Err(ReadError::Changed);
    }
    Ok((Digest::new(hasher.finalize().into()), head))
}

impl Format {
    fn read(head: &[u8], file: &File) -> Self {
        match Elf::read(head, file) {
            Ok(Some(elf)) => return Self::of_elf(elf),
            Ok(None) => {}
            Err(error @ ElfError::OtherMachine) => return Self::Foreign(error.to_string()),
            Err(error @ (ElfError::Damaged | ElfError::NoProgram)) => {
                return Self::None(error.to_string());
            }
        }
        match Shebang::read(head) {
            Ok(Some(line)) => Self::of_script(&line),
            Ok(None) => Self::None("it starts with neither an ELF header nor `#!`".into()),
            Err(error @ (ShebangError::Empty | ShebangError::Truncated)) => {
                Self::None(error.to_string())
            }
        }
    }

    fn of_elf(elf: Elf) -> Self {
        let library_paths = elf.library_paths.into_iter();
        // A directory that is no text cannot be looked at here; an empty name counts as writable.
        let library_paths = library_paths.map(|path| String::from_utf8(path).unwrap_or_default());
        match elf.interpreter.map(String::from_utf8).transpose() {
            Ok(interpreter) => Self::Elf {
                interpreter,
                library_paths: library_paths.collect(),
            },
            Err(_) => Self::None("the path of its dynamic linker is not UTF-8".into()),
        }
    }

    fn of_script(line: &Shebang<'_>) -> Self {
        let argument = line.argument.map(OsStr::to_str);
        match (line.interpreter.to_str(), argument) {
            (Some(interpreter), None) => Self::Script {
                interpreter: interpreter.to_owned(),
                argument: None,
            },
            (Some(interpreter), Some(Some(argument))) => Self::Script {
                interpreter: interpreter.to_owned(),
                argument: Some(argument.to_owned()),
            },
            (None, _) | (_, Some(None)) => Self::None("its first line is not UTF-8".into()),
        }
    }
}
