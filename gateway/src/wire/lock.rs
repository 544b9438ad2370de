//! Locks that a panic elsewhere does not take down.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; what is behind the lock is kept whole by every holder, so a poisoned lock is still good.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
