//! When to leave a faulty server alone, as a pure state machine.

use std::time::Duration;

use crate::registry::Breaker as Rules;

/// How the circuit to a server stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Circuit {
    /// Calls pass.
    Closed,
    /// No call passes until the cooldown is over.
    Open,
    /// One call at a time tries whether the server is back.
    HalfOpen,
}

impl Circuit {
    /// Returns the name that records use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        }
    }
}

/// Why the circuit changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cause {
    /// As many faults in a row as the rules allow.
    FailureThreshold,
    /// The cooldown is over.
    CooldownElapsed,
    /// The probe came back.
    Recovered,
    /// The probe did not come back.
    HalfOpenFailed,
}

impl Cause {
    /// Returns the name that logs use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FailureThreshold => "failure_threshold",
            Self::CooldownElapsed => "cooldown_elapsed",
            Self::Recovered => "recovered",
            Self::HalfOpenFailed => "half_open_failed",
        }
    }
}

/// One change of the circuit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transition {
    /// How it stood.
    pub from: Circuit,
    /// How it stands.
    pub to: Circuit,
    /// Why.
    pub cause: Cause,
}

/// What a call says about its server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Health {
    /// It answered, if only with an error.
    Answered,
    /// It broke off, or did not answer in time.
    Faulty,
    /// The call ended before anybody could tell.
    Unknown,
}

/// The right to make one call; [report](Breaker::report) what became of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "a permit that is not reported blocks the probe"]
pub struct Permit {
    epoch: u64,
}

/// Why a call must not be made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Broken {
    /// How the circuit stands: open, or half-open with its probe under way.
    pub circuit: Circuit,
    /// How long until the next try, if that is known.
    pub retry_in: Option<Duration>,
}

/// Keeps the circuit to one server.
#[derive(Clone, Debug)]
pub struct Breaker {
    rules: Rules,
    state: State,
    /// Grows with every change, so that what late calls report about an earlier state is told apart.
    epoch: u64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed { failures: u32 },
    Open { until: Duration },
    HalfOpen { probing: bool },
}

impl Breaker {
    /// Returns a closed circuit.
    pub const fn new(rules: Rules) -> Self {
        Self {
            rules,
            state: State::Closed { failures: 0 },
            epoch: 0,
        }
    }

    /// Asks whether a call may be made at `now`.
    ///
    /// The call that finds the cooldown over half-opens the circuit and is its probe.
    ///
    /// # Errors
    ///
    /// [`Broken`] while the circuit is open or its probe is under way.
    pub fn admit(&mut self, now: Duration) -> Result<(Permit, Option<Transition>), Broken> {
        let mut transition = None;
        match self.state {
            State::Closed { .. } => {}
            State::Open { until } if now < until => {
                let retry_in = Some(until.saturating_sub(now));
                return Err(Broken {
                    circuit: Circuit::Open,
                    retry_in,
                });
            }
            State::Open { .. } => {
                transition =
                    Some(self.change(State::HalfOpen { probing: true }, Cause::CooldownElapsed));
            }
            State::HalfOpen { probing: true } => {
                return Err(Broken {
                    circuit: Circuit::HalfOpen,
                    retry_in: None,
                });
            }
            State::HalfOpen { probing: false } => self.state = State::HalfOpen { probing: true },
        }
        Ok((Permit { epoch: self.epoch }, transition))
    }

    /// Hears what became of a call that was let through.
    ///
    /// What concerns an earlier state of the circuit changes nothing.
    pub fn report(&mut self, permit: Permit, health: Health, now: Duration) -> Option<Transition> {
        if permit.epoch != self.epoch {
            return None;
        }
        let open = State::Open {
            until: now.saturating_add(self.rules.cooldown),
        };
        match (self.state, health) {
            (State::Closed { .. }, Health::Answered) => {
                self.state = State::Closed { failures: 0 };
                None
            }
            (State::Closed { failures }, Health::Faulty) => {
                let failures = failures.saturating_add(1);
                if failures >= self.rules.failures.get() {
                    return Some(self.change(open, Cause::FailureThreshold));
                }
                self.state = State::Closed { failures };
                None
            }
            (State::HalfOpen { .. }, Health::Answered) => {
                Some(self.change(State::Closed { failures: 0 }, Cause::Recovered))
            }
            (State::HalfOpen { .. }, Health::Faulty) => {
                Some(self.change(open, Cause::HalfOpenFailed))
            }
            (State::HalfOpen { .. }, Health::Unknown) => {
                self.state = State::HalfOpen { probing: false };
                None
            }
            (State::Closed { .. }, Health::Unknown) | (State::Open { .. }, _) => None,
        }
    }

    /// Returns how the circuit stands; an open one stays open until a call asks.
    pub const fn circuit(&self) -> Circuit {
        match self.state {
            State::Closed { .. } => Circuit::Closed,
            State::Open { .. } => Circuit::Open,
            State::HalfOpen { .. } => Circuit::HalfOpen,
        }
    }

    /// Returns when an open circuit may be tried again, on the clock that `now` comes from.
    pub const fn retry_at(&self) -> Option<Duration> {
        match self.state {
            State::Open { until } => Some(until),
            State::Closed { .. } | State::HalfOpen { .. } => None,
        }
    }

    fn change(&mut self, to: State, cause: Cause) -> Transition {
        let from = self.circuit();
        self.state = to;
        self.epoch = self.epoch.wrapping_add(1);
        Transition {
            from,
            to: self.circuit(),
            cause,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use proptest::prelude::*;

    use super::*;

    /// Judges from the list of all that ever happened since the circuit last changed.
    #[derive(Default)]
    struct Model {
        name: &'static str,
        since: Vec<Health>,
        opened: u64,
        probe: Option<usize>,
        /// For each call let through, the number of changes before it.
        calls: Vec<usize>,
        changes: usize,
    }

    impl Model {
        fn go(&mut self, name: &'static str, now: u64) {
            self.name = name;
            self.since.clear();
            self.probe = None;
            self.opened = now;
            self.changes += 1;
        }

        fn admit(&mut self, now: u64, cooldown: u64) -> bool {
            if self.name == "open" && now >= self.opened + cooldown {
                self.go("half-open", now);
            }
            let pass = match self.name {
                "closed" => true,
                "half-open" => self.probe.is_none(),
                _ => false,
            };
            if pass {
                if self.name == "half-open" {
                    self.probe = Some(self.calls.len());
                }
                self.calls.push(self.changes);
            }
            pass
        }

        fn report(&mut self, call: usize, health: Health, now: u64, failures: usize) {
            if self.calls[call] != self.changes {
                return;
            }
            if self.name == "half-open" {
                match health {
                    Health::Answered => self.go("closed", now),
                    Health::Faulty => self.go("open", now),
                    Health::Unknown => self.probe = None,
                }
                return;
            }
            self.since.push(health);
            let known = self
                .since
                .iter()
                .rev()
                .filter(|health| **health != Health::Unknown);
            if known
                .take_while(|health| **health == Health::Faulty)
                .count()
                >= failures
            {
                self.go("open", now);
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Wait(u64),
        Call,
        Report(prop::sample::Index, Health),
    }

    fn step() -> impl Strategy<Value = Step> {
        let health = prop_oneof![
            Just(Health::Answered),
            Just(Health::Faulty),
            Just(Health::Faulty),
            Just(Health::Unknown),
        ];
        prop_oneof![
            (0..40_u64).prop_map(Step::Wait),
            Just(Step::Call),
            (any::<prop::sample::Index>(), health)
                .prop_map(|(call, health)| Step::Report(call, health)),
        ]
    }

    proptest! {
        #[test]
        fn it_does_what_judging_from_the_whole_history_would_do(
            failures in 1..4_u32,
            cooldown in 1..60_u64,
            steps in proptest::collection::vec(step(), 0..300),
        ) {
            let mut breaker = Breaker::new(Rules {
                failures: NonZeroU32::new(failures).unwrap(),
                cooldown: Duration::from_millis(cooldown),
            });
            let mut model = Model { name: "closed", ..Model::default() };
            let mut open_calls: Vec<(usize, Permit)> = Vec::new();
            let (mut now, mut at) = (0, Duration::ZERO);
            for step in steps {
                match step {
                    Step::Wait(milliseconds) => {
                        now += milliseconds;
                        at = Duration::from_millis(now);
                    }
                    Step::Call => {
                        let got = breaker.admit(at);
                        let number = model.calls.len();
                        prop_assert_eq!(got.is_ok(), model.admit(now, cooldown));
                        match got {
                            Ok((permit, _)) => open_calls.push((number, permit)),
                            Err(Broken { retry_in: Some(wait), .. }) => {
                                prop_assert_eq!(at + wait, Duration::from_millis(model.opened + cooldown));
                            }
                            Err(broken) => prop_assert_eq!(broken.circuit, Circuit::HalfOpen),
                        }
                    }
                    Step::Report(which, health) => {
                        if open_calls.is_empty() {
                            continue;
                        }
                        let (number, permit) = open_calls.swap_remove(which.index(open_calls.len()));
                        let before = breaker.circuit();
                        let transition = breaker.report(permit, health, at);
                        model.report(number, health, now, failures as usize);
                        prop_assert_eq!(transition.is_some(), before != breaker.circuit());
                    }
                }
                prop_assert_eq!(breaker.circuit().as_str(), model.name);
            }
        }
    }

    #[test]
    fn a_half_open_circuit_lets_one_of_many_through() {
        let rules = Rules::default();
        let mut breaker = Breaker::new(rules);
        for _ in 0..rules.failures.get() {
            let (permit, _) = breaker.admit(Duration::ZERO).unwrap();
            breaker.report(permit, Health::Faulty, Duration::ZERO);
        }
        assert!((0..100).all(|_| breaker.admit(Duration::ZERO).is_err()));
        let passed = (0..100)
            .filter(|_| breaker.admit(rules.cooldown).is_ok())
            .count();
        assert_eq!(passed, 1);
    }
}
