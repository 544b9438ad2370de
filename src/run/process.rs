//! One process of a line.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};

/// A process that was started here and has not been waited for; it leads a group of its own.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    /// Becomes readable when the process ends.
    pidfd: OwnedFd,
}

impl Process {
    pub(super) const fn new(pid: Pid, pidfd: OwnedFd) -> Self {
        Self { pid, pidfd }
    }

    pub(super) const fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits until it has ended. To be called once: later the number may be another process's.
    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            match waitpid(Some(self.pid), WaitOptions::empty()) {
                Ok(Some((_, status))) => return Ok(ExitStatus::from_raw(status.as_raw())),
                Ok(None) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}
