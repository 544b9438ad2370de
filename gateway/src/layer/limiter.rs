//! How often and how often at once a server may be called, as a pure state machine.

use std::{
    collections::VecDeque,
    num::{NonZeroU32, NonZeroU64},
    time::Duration,
};

use crate::registry::RateLimit as Rate;

/// Why a call is one too many.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exceeded {
    /// Too many calls in the window.
    Rate {
        /// How many the window holds.
        current: u64,
        /// How many it may hold.
        limit: u64,
        /// When the oldest of them leaves the window, counted from now.
        free_in: Duration,
    },
    /// Too many calls at the same time.
    Concurrency {
        /// How many run.
        current: u32,
        /// How many may run.
        limit: u32,
    },
}

/// Counts the calls of one server: a sliding window, and a cap on calls at the same time.
///
/// Takes memory for as many times as the window may hold calls, and none without a rate.
#[derive(Clone, Debug)]
pub struct Limiter {
    rate: Option<Rate>,
    concurrency: NonZeroU32,
    admitted: VecDeque<Duration>,
    running: u32,
}

impl Limiter {
    /// Returns a limiter that has seen no call.
    pub const fn new(rate: Option<Rate>, concurrency: NonZeroU32) -> Self {
        Self {
            rate,
            concurrency,
            admitted: VecDeque::new(),
            running: 0,
        }
    }

    /// Lets a call in at `now`, which is never less than at the call before.
    ///
    /// Every call that is let in must be [released](Self::release) once. A call that is turned
    /// away does not count.
    ///
    /// # Errors
    ///
    /// The limit that is exceeded, the rate first.
    pub fn admit(&mut self, now: Duration) -> Result<(), Exceeded> {
        if let Some(Rate { calls, window }) = self.rate {
            while self
                .admitted
                .front()
                .is_some_and(|&at| now.saturating_sub(at) >= window)
            {
                self.admitted.pop_front();
            }
            let current = u64::try_from(self.admitted.len()).unwrap_or(u64::MAX);
            if let Some(&oldest) = self.admitted.front()
                && current >= NonZeroU64::get(calls)
            {
                let free_in = window.saturating_sub(now.saturating_sub(oldest));
                return Err(Exceeded::Rate {
                    current,
                    limit: calls.get(),
                    free_in,
                });
            }
        }
        let limit = self.concurrency.get();
        if self.running >= limit {
            return Err(Exceeded::Concurrency {
                current: self.running,
                limit,
            });
        }
        if self.rate.is_some() {
            self.admitted.push_back(now);
        }
        self.running += 1;
        Ok(())
    }

    /// Counts a call as over.
    pub const fn release(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// Returns how many calls run.
    pub const fn running(&self) -> u32 {
        self.running
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Remembers everything and counts it anew each time.
    struct Model {
        rate: Option<Rate>,
        concurrency: u32,
        calls: Vec<(Duration, bool)>,
    }

    impl Model {
        fn admit(&mut self, now: Duration) -> Result<(), &'static str> {
            let recent = |window: Duration| {
                self.calls
                    .iter()
                    .filter(|(at, _)| *at + window > now)
                    .count() as u64
            };
            if self
                .rate
                .is_some_and(|rate| recent(rate.window) >= rate.calls.get())
            {
                return Err("rate");
            }
            if self.calls.iter().filter(|(_, runs)| *runs).count() >= self.concurrency as usize {
                return Err("concurrency");
            }
            self.calls.push((now, true));
            Ok(())
        }

        fn release(&mut self) {
            if let Some(call) = self.calls.iter_mut().find(|(_, runs)| *runs) {
                call.1 = false;
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Wait(u64),
        Call,
        End,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..40_u64).prop_map(Step::Wait),
            Just(Step::Call),
            Just(Step::Call),
            Just(Step::End),
        ]
    }

    proptest! {
        #[test]
        fn it_does_what_counting_everything_anew_would_do(
            calls in 1..5_u64,
            window in 1..60_u64,
            limited: bool,
            concurrency in 1..4_u32,
            steps in proptest::collection::vec(step(), 0..200),
        ) {
            let rate = limited.then(|| Rate {
                calls: NonZeroU64::new(calls).unwrap(),
                window: Duration::from_millis(window),
            });
            let mut limiter = Limiter::new(rate, NonZeroU32::new(concurrency).unwrap());
            let mut model = Model { rate, concurrency, calls: Vec::new() };
            let mut now = Duration::ZERO;
            for step in steps {
                match step {
                    Step::Wait(milliseconds) => now += Duration::from_millis(milliseconds),
                    Step::Call => {
                        let got = limiter.admit(now);
                        let kind = got.map_err(|exceeded| match exceeded {
                            Exceeded::Rate { .. } => "rate",
                            Exceeded::Concurrency { .. } => "concurrency",
                        });
                        prop_assert_eq!(kind, model.admit(now));
                        if let Err(Exceeded::Rate { free_in, .. }) = got {
                            let at = now + free_in;
                            let still = model.calls.iter().filter(|(began, _)| {
                                *began + rate.unwrap().window > at
                            });
                            prop_assert!((still.count() as u64) < calls, "free at {at:?}");
                        }
                    }
                    Step::End => {
                        limiter.release();
                        model.release();
                    }
                }
                prop_assert!(limiter.running() <= concurrency);
                prop_assert!(limiter.admitted.len() as u64 <= calls, "memory is bounded");
            }
        }
    }
}
