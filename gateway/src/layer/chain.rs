//! The stack: every layer in its order, and why each stands where it does.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use super::{
    answer::Answer,
    audit::{Stop, Ticket},
    audit_start, blocked_paths,
    call::{Annotations, Call, Received, Request, Target},
    circuit_breaker,
    clock::{Clock, SystemClock},
    denial::{Code, Denial},
    execute::{self, Execute},
    grant, injection,
    kill_switch::KillSwitch,
    policy, rate_limit,
    record::Recorder,
    redact_arguments, redact_result,
    server::Servers,
    shell::Machines,
    size_cap, tier,
    trace::Trace,
};
use crate::{
    policy::{Live, Notify, Snapshot, Tier},
    registry::Registry,
};

/// How many characters of the session an id of a call begins with.
const SESSION_CHARACTERS: usize = 8;

/// What a chain is made of.
pub struct Parts<R> {
    /// The places of the kill switch.
    pub kill_switch: KillSwitch,
    /// The policy of the project.
    pub policy: Live,
    /// The servers.
    pub registry: Registry,
    /// Where lines for shells would run, and the grants for them.
    pub machines: Machines,
    /// Who keeps the records.
    pub recorder: R,
    /// The session of this process, as records show it.
    pub session: String,
    /// Where sentences for the operator go.
    pub notify: Notify,
}

/// Everything that stands between a request with an effect and whoever carries it out.
pub struct Chain<R> {
    kill_switch: KillSwitch,
    policy: Live,
    servers: Servers,
    machines: Arc<Machines>,
    recorder: R,
    session: String,
    notify: Notify,
    clock: Arc<dyn Clock>,
    calls: AtomicU64,
    /// The state of the policy that the log is kept by.
    kept_by: AtomicU64,
    pub(super) health_faults: AtomicU64,
}

impl<R: Recorder> Chain<R> {
    /// Puts the layers together, on the clock of this machine.
    pub fn new(parts: Parts<R>) -> Self {
        Self::on_clock(parts, Arc::new(SystemClock::default()))
    }

    /// Puts the layers together on another clock.
    pub fn on_clock(parts: Parts<R>, clock: Arc<dyn Clock>) -> Self {
        let Parts {
            kill_switch,
            policy,
            registry,
            machines,
            recorder,
            session,
            notify,
        } = parts;
        Self {
            servers: Servers::new(&registry, &clock, &notify),
            kill_switch,
            policy,
            machines: Arc::new(machines),
            recorder,
            session,
            notify,
            clock,
            calls: AtomicU64::new(0),
            kept_by: AtomicU64::new(0),
            health_faults: AtomicU64::new(0),
        }
    }

    /// Takes a request through every layer, and what comes back through the layers on the way back.
    ///
    /// `executor` gets the call only if every layer lets it through. Dropping the future gives
    /// everything back and leaves a record, but hides from the caller whether the call took effect;
    /// end it by ending the executor's future instead.
    pub async fn call<X: Execute>(&self, request: Request, executor: X) -> Answer<X::Reply> {
        let snapshot = self.policy.snapshot();
        self.keep_log_by(&snapshot);
        let clock = &*self.clock;
        let mut trace = Trace::begin(
            &request,
            &self.session,
            snapshot.level().as_str(),
            self.next_id(),
            clock,
        );
        if let Some(arguments) = &request.arguments {
            trace.note("arguments_hmac", self.recorder.digest(arguments.as_bytes()));
        }
        let on_failure = snapshot.policy.on_audit_failure;
        // Audit is outermost: whatever happens further in, and if the caller goes away, is recorded.
        let mut ticket = Ticket::open(&self.recorder, clock, &self.notify, on_failure, trace);
        let received = Call::receive(request);
        let outcome = self
            .descend(received, &snapshot, ticket.trace(), executor)
            .await;
        ticket.close(outcome).await
    }

    /// Tells the log when it is rotated and what is deleted, whenever the policy is another one.
    fn keep_log_by(&self, snapshot: &Snapshot) {
        let state = snapshot.generation;
        if self.kept_by.load(Ordering::Relaxed) < state
            && self.recorder.keep(snapshot.policy.keeping())
        {
            self.kept_by.fetch_max(state, Ordering::Relaxed);
        }
    }

    async fn descend<X: Execute>(
        &self,
        call: Call<Received>,
        snapshot: &Snapshot,
        trace: &mut Trace,
        executor: X,
    ) -> Result<injection::Screened<X::Reply>, Stop> {
        let rules = match &call.request().target {
            Target::Of { server, .. } => self.servers.named(server).map(|server| server.rules()),
            Target::Unprefixed(_) | Target::Reserved(_) => None,
        };
        let clock = &*self.clock;

        // What comes in between may take its time; whoever sends the call looks again then.
        let decided = Instant::now();
        // Before anything that could go wrong: the switch must work when nothing else does.
        let call = self.kill_switch.pass(call, clock, trace)?;
        // Before the policy, which asks for the tier. It denies nothing, so that what is denied further
        // in is on record with its tier.
        let call = tier::pass(call, rules, &self.machines, &self.notify, trace).await;
        // Before everything that keeps state: a call that may not pass uses up nothing.
        let (call, claim) = policy::pass(call, &self.servers, snapshot, trace)?;
        // After the policy, which is cheap, as it walks all arguments; before any state.
        let call = blocked_paths::pass(call)?;
        // Before the breaker, so that a probe is not spent on a call that the limit turns away.
        let call = rate_limit::pass(call, trace)?;
        // Last of the layers that turn away for the server's sake.
        let call = circuit_breaker::pass(call, trace)?;
        // After all that looks at the arguments as they came; before they are sent.
        let call = redact_arguments::pass(call);
        // After everything that can say no for its own reasons, so that what is on record as started
        // was denied by none of them.
        let call = audit_start::pass(call, &self.recorder, clock, &self.notify, trace).await?;
        // Last before the call: a grant for one time is spent on a call that is sent, or not at all.
        let call = grant::pass(call, claim, &self.notify).await?;

        let reply = execute::pass(call, trace.tier(), decided, executor).await?;

        // First on the way back, so that nothing further out has to walk more than this.
        let reply = size_cap::pass(reply);
        // Before the search below, whose findings are recorded.
        let reply = redact_result::pass(reply);
        // Last: it judges what the caller would see.
        Ok(injection::pass(reply)?)
    }

    /// Looks once more at a call that was let through, `name` of this tier, and has waited since.
    ///
    /// # Errors
    ///
    /// The denial that it meets now: the kill switch was thrown, or the policy no longer permits the tier.
    pub fn look_again(&self, name: &str, tier: Tier) -> Result<(), Denial> {
        self.kill_switch.look()?;
        let judgement = tier::Judgement::of_tier(tier);
        policy::decide(None, name, &judgement, &self.policy.snapshot())
    }

    /// Returns why the present policy denies every call of a tool, or nothing if some may pass.
    ///
    /// For the list of tools: such a tool is marked there, or left out if the policy
    /// [says so](crate::policy::Policy::hide_denied). The kill switch and the state of the server do
    /// not count, as they pass.
    pub fn always_denied(
        &self,
        server: &str,
        tool: &str,
        annotations: Annotations,
    ) -> Option<Denial> {
        let server = self.servers.named(server)?;
        let rules = server.rules();
        let judgement = tier::mildest(Some(rules), (server.name(), tool), annotations);
        policy::decide(Some(rules), tool, &judgement, &self.policy.snapshot())
            .err()
            // A broken file is on its way to being repaired; the list does not change for it.
            .filter(|denial| denial.code() != Code::PolicyBroken)
    }

    /// Returns the clock.
    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Returns the session of this process, as records show it.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Tells the operator.
    pub(super) fn notify(&self, sentence: &str) {
        (self.notify)(sentence);
    }

    /// Returns the policy of this moment.
    pub fn snapshot(&self) -> Snapshot {
        self.policy.snapshot()
    }

    /// Returns the kill switch.
    pub const fn kill_switch(&self) -> &KillSwitch {
        &self.kill_switch
    }

    /// Returns the servers and how they are doing.
    pub const fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Returns who keeps the records.
    pub const fn recorder(&self) -> &R {
        &self.recorder
    }

    fn next_id(&self) -> String {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let session: String = self.session.chars().take(SESSION_CHARACTERS).collect();
        format!("{session}-{number}")
    }
}

impl<R> fmt::Debug for Chain<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Chain")
            .field("kill_switch", &self.kill_switch)
            .field("policy", &self.policy)
            .field("servers", &self.servers)
            .finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for Parts<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Parts")
            .field("kill_switch", &self.kill_switch)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
