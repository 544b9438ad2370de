//! A registered server as the layers see it: its rules, and how it is doing.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{
    breaker::{Breaker, Broken, Circuit, Health, Permit, Transition},
    clock::{Clock, stamp},
    limiter::{Exceeded, Limiter},
};
use crate::{
    policy::Notify,
    registry::{self, Registry},
};

/// The servers that are registered and enabled, by name. No caller can add to them.
#[derive(Debug)]
pub struct Servers(BTreeMap<String, Arc<Server>>);

/// One registered server.
pub struct Server {
    rules: registry::Server,
    clock: Arc<dyn Clock>,
    notify: Notify,
    limiter: Mutex<Limiter>,
    breaker: Mutex<Breaker>,
}

impl Servers {
    pub(super) fn new(registry: &Registry, clock: &Arc<dyn Clock>, notify: &Notify) -> Self {
        let servers = registry.servers.iter().filter(|server| server.enabled);
        Self(
            servers
                .map(|rules| {
                    let server = Server {
                        limiter: Mutex::new(Limiter::new(rules.rate_limit, rules.concurrency)),
                        breaker: Mutex::new(Breaker::new(rules.breaker)),
                        rules: rules.clone(),
                        clock: Arc::clone(clock),
                        notify: Arc::clone(notify),
                    };
                    (rules.name.as_str().to_owned(), Arc::new(server))
                })
                .collect(),
        )
    }

    /// Returns the server of that name.
    pub fn named(&self, name: &str) -> Option<&Arc<Server>> {
        self.0.get(name)
    }

    /// Returns every server, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.0.values()
    }
}

impl Server {
    /// Returns its name.
    pub fn name(&self) -> &str {
        self.rules.name.as_str()
    }

    /// Returns what the registry says about it.
    pub const fn rules(&self) -> &registry::Server {
        &self.rules
    }

    /// Returns how its circuit stands and, while it is open, when it may be tried again.
    pub fn circuit(&self) -> (Circuit, Option<String>) {
        let breaker = self.breaker();
        let wait = breaker
            .retry_at()
            .map(|at| at.saturating_sub(self.clock.elapsed()));
        (breaker.circuit(), wait.map(|wait| self.moment_in(wait)))
    }

    /// Returns how many of its calls run.
    pub fn running(&self) -> u32 {
        self.limiter().running()
    }

    /// Spells the moment `wait` from now.
    pub(super) fn moment_in(&self, wait: Duration) -> String {
        let now = self.clock.now();
        stamp(now.checked_add(wait).unwrap_or(now))
    }

    pub(super) fn take_slot(self: &Arc<Self>) -> Result<Slot, Exceeded> {
        self.limiter().admit(self.clock.elapsed())?;
        Ok(Slot(Arc::clone(self)))
    }

    pub(super) fn take_permit(self: &Arc<Self>) -> Result<HeldPermit, Broken> {
        let (permit, transition) = self.breaker().admit(self.clock.elapsed())?;
        self.tell(transition);
        Ok(HeldPermit {
            server: Arc::clone(self),
            permit: Some(permit),
        })
    }

    fn report(&self, permit: Permit, health: Health) {
        let transition = self.breaker().report(permit, health, self.clock.elapsed());
        self.tell(transition);
    }

    fn tell(&self, transition: Option<Transition>) {
        let Some(Transition { from, to, cause }) = transition else {
            return;
        };
        let name = self.name();
        let retry = match self.circuit() {
            (_, Some(at)) => format!(", next try at {at}"),
            (_, None) => String::new(),
        };
        (self.notify)(&format!(
            "circuit to `{name}`: {} -> {} ({}){retry}",
            from.as_str(),
            to.as_str(),
            cause.as_str()
        ));
    }

    fn limiter(&self) -> std::sync::MutexGuard<'_, Limiter> {
        // Both state machines leave themselves whole at every step.
        self.limiter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn breaker(&self) -> std::sync::MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Server").field(&self.name()).finish()
    }
}

/// One of the places for calls at the same time; free again when dropped.
#[derive(Debug)]
pub(super) struct Slot(Arc<Server>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.limiter().release();
    }
}

/// The breaker's leave for one call. Dropped without a report, it says nothing about the server.
#[derive(Debug)]
pub(super) struct HeldPermit {
    server: Arc<Server>,
    permit: Option<Permit>,
}

impl HeldPermit {
    pub(super) fn report(mut self, health: Health) {
        if let Some(permit) = self.permit.take() {
            self.server.report(permit, health);
        }
    }
}

impl Drop for HeldPermit {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.server.report(permit, Health::Unknown);
        }
    }
}
