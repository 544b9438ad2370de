//! How long to leave a server alone that does not stay up: a state machine without a clock.

use std::time::Duration;

use tokio::time::Instant;

/// How long a run must last to count as steady; after one, all earlier faults are forgotten.
pub const STEADY: Duration = Duration::from_secs(30);
/// How long to wait after the second fault in a row. The first one costs no wait.
pub const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait; each one is twice the one before.
pub const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Faults in a row, and until when to wait because of them.
///
/// A fault is a start that failed or a run that was not [`STEADY`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    faults: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// Returns how long to wait still, or `None` if a start may be tried.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.until?
            .checked_duration_since(now)
            .filter(|wait| !wait.is_zero())
    }

    /// Returns how many faults there were since the last steady run.
    pub const fn faults(&self) -> u32 {
        self.faults
    }

    /// Takes note that a start failed at `now`.
    pub fn start_failed(&mut self, now: Instant) {
        self.faults = self.faults.saturating_add(1);
        self.until = Some(now + wait_after(self.faults));
    }

    /// Takes note of a run that began at `since` and ended at `until`.
    pub fn run_ended(&mut self, since: Instant, until: Instant) {
        if until.saturating_duration_since(since) >= STEADY {
            *self = Self::default();
        } else {
            self.start_failed(until);
        }
    }
}

fn wait_after(faults: u32) -> Duration {
    match faults.checked_sub(2) {
        None => Duration::ZERO,
        Some(doublings) => FIRST_WAIT
            .saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
            .min(LONGEST_WAIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let seconds: Vec<_> = [0, 1, 2, 3, 4, 7, 8, 9, 33, 34, 35, u32::MAX]
            .map(|faults| wait_after(faults).as_secs_f64())
            .into();
        assert_eq!(
            seconds,
            [
                0.0, 0.0, 0.5, 1.0, 2.0, 16.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0
            ]
        );
    }

    #[test]
    fn only_a_steady_run_forgets() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        assert_eq!(backoff.wait(now), None);
        backoff.run_ended(now, now + Duration::from_secs(1));
        assert_eq!(
            (backoff.faults(), backoff.wait(now)),
            (1, Some(Duration::from_secs(1)))
        );
        let now = now + Duration::from_secs(1);
        assert_eq!(backoff.wait(now), None, "the first fault costs nothing");
        backoff.start_failed(now);
        assert_eq!(backoff.wait(now), Some(FIRST_WAIT));
        assert_eq!(backoff.wait(now + FIRST_WAIT), None);
        let now = now + FIRST_WAIT;
        let nearly = now + STEADY.checked_sub(Duration::from_nanos(1)).unwrap();
        backoff.run_ended(now, nearly);
        assert_eq!(
            (backoff.faults(), backoff.wait(nearly)),
            (3, Some(FIRST_WAIT * 2))
        );
        backoff.run_ended(now, now + STEADY);
        assert_eq!((backoff.faults(), backoff.wait(now)), (0, None));
    }
}
