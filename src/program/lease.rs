//! A read lease: the kernel's word that nobody has a file open for writing.
//!
//! No crate wraps these calls safely, so this module makes them itself. It is the only one of the
//! library with code that the compiler cannot check.
#![expect(
    unsafe_code,
    reason = "fcntl(2) with leases has no safe wrapper in rustix or nix"
)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use libc::c_int;

/// Chooses the signal of a lease break; the same number on every architecture that Rust has Linux
/// for, and not in the libc crate.
const F_SETSIG: c_int = 10;

/// An open file that nobody can write to, as long as the lease lasts.
///
/// While it is held, whoever opens the file for writing or truncates it waits until the lease is
/// given up, or until the kernel's `lease-break-time` (45 seconds) has passed. Then
/// [`is_held`](Self::is_held) is false from the moment that somebody asks. Renaming, linking and
/// changing the mode of the file are not kept off.
///
/// The kernel only gives one on a file of the user's own (or to root), and only while nobody has
/// it open for writing or mapped writably. Dropping the value gives it up.
#[derive(Debug)]
pub struct Lease {
    file: File,
}

impl Lease {
    /// Takes a read lease on a file that is open for reading only.
    ///
    /// # Errors
    ///
    /// The file, and the reason: `EAGAIN` when somebody can write to it now, `EACCES` when it
    /// belongs to somebody else, `EINVAL` when the file system has no leases.
    pub fn take(file: File) -> Result<Self, (File, io::Error)> {
        // The kernel announces a break by SIGIO, which ends a process that does not expect it.
        // SIGURG is ignored unless somebody asks for it.
        let taken = fcntl(file.as_fd(), F_SETSIG, libc::SIGURG)
            .and_then(|_| fcntl(file.as_fd(), libc::F_SETLEASE, libc::F_RDLCK));
        match taken {
            Ok(_) => Ok(Self { file }),
            Err(error) => Err((file, error)),
        }
    }

    /// Returns whether the lease lasts and nobody waits for its end.
    pub fn is_held(&self) -> bool {
        fcntl(self.file.as_fd(), libc::F_GETLEASE, 0).is_ok_and(|kind| kind == libc::F_RDLCK)
    }

    /// Returns the file.
    pub const fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Closing would do, unless a child still has the descriptor. A failure leaves that.
        drop(fcntl(self.file.as_fd(), libc::F_SETLEASE, libc::F_UNLCK));
    }
}

fn fcntl(file: BorrowedFd<'_>, command: c_int, argument: c_int) -> io::Result<c_int> {
    // SAFETY: the descriptor is open for as long as `file` is borrowed. The three commands used
    // above take an integer and touch no memory of this process.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    if answer == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;
    use crate::program::skip;

    #[test]
    fn a_lease_is_refused_while_somebody_can_write_and_tells_when_somebody_asks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "a").unwrap();
        let writer = OpenOptions::new().write(true).open(&path).unwrap();
        let (file, error) = Lease::take(File::open(&path).unwrap()).unwrap_err();
        if error.kind() == io::ErrorKind::InvalidInput {
            skip::because("a file system with leases");
            return;
        }
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(writer);

        let lease = Lease::take(file).unwrap();
        assert!(lease.is_held());
        let other = std::thread::spawn({
            let path = path.clone();
            move || std::fs::write(path, "b").unwrap()
        });
        while lease.is_held() {
            std::thread::yield_now();
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"a");
        drop(lease);
        other.join().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"b");
    }
}
