//! Where the layers get the time from, so that tests can set it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use jiff::Timestamp;

/// Tells the time in two ways: one that only grows, and one that people read.
pub trait Clock: Send + Sync {
    /// Returns the time since some fixed moment. Never less than what it returned before.
    fn elapsed(&self) -> Duration;

    /// Returns the time of day, which an operator may set back.
    fn now(&self) -> Timestamp;
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_millis())
            .ok()
            .and_then(|milliseconds| Timestamp::from_millisecond(milliseconds).ok())
            .unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

/// A clock that stands still until it is moved, for tests.
#[derive(Debug, Default)]
pub struct ManualClock {
    milliseconds: AtomicU64,
}

impl ManualClock {
    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.milliseconds.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.milliseconds.load(Ordering::SeqCst))
    }

    fn now(&self) -> Timestamp {
        let milliseconds = i64::try_from(self.milliseconds.load(Ordering::SeqCst)).unwrap_or(0);
        Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

/// Writes a moment as records do: UTC, milliseconds, `Z`.
pub fn stamp(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
