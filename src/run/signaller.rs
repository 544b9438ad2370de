//! Sends signals to a running line from wherever.

use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

/// Sends signals to every process of a running line.
///
/// Clones may be kept in other threads. Once the line has ended and was waited for, sending does
/// nothing: a number of a process that is gone is never used again.
#[derive(Clone, Debug, Default)]
pub struct Signaller {
    /// The process groups, one a stage, while their leaders are not waited for.
    groups: Arc<Mutex<Vec<Pid>>>,
}

impl Signaller {
    pub(super) fn add(&self, group: Pid) {
        self.lock().push(group);
    }

    /// Runs `wait` and then forgets every group, so that nobody signals in between.
    pub(super) fn close<T>(&self, wait: impl FnOnce() -> T) -> T {
        let mut groups = self.lock();
        let result = wait();
        groups.clear();
        result
    }

    /// Sends a signal to every process group of the line; those that have ended are passed over.
    ///
    /// # Errors
    ///
    /// When the system refuses, as it does for a program that runs as somebody else.
    pub fn send(&self, signal: Signal) -> Result<(), Errno> {
        let mut result = Ok(());
        for &group in self.lock().iter() {
            match kill_process_group(group, signal) {
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => result = Err(error),
            }
        }
        result
    }

    /// Sends the signal of this number.
    ///
    /// # Errors
    ///
    /// When there is no such signal, or the system refuses.
    pub fn send_number(&self, number: i32) -> Result<(), Errno> {
        self.send(Signal::from_named_raw(number).ok_or(Errno::INVAL)?)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Pid>> {
        // A list of numbers is whole whatever a panicking thread did.
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
