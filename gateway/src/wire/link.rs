//! The link to one server over all its runs: one start however many calls wait for it.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Notify,
    time::Instant,
};

use super::{
    chain::Later,
    era::Era,
    failure::Failure,
    handshake,
    hub::Hub,
    inbound,
    limits::SERVER_QUEUE_BYTES,
    lock::lock,
    outlet::outlet,
    session::{Profile, Session},
};
use crate::child::Backoff;

/// How long the output of a server that has ended may stay open; something that it left behind may
/// hold it for ever.
const LAST_OUTPUT: Duration = Duration::from_millis(250);

/// How long calls wait for the tools of a server that has just started.
const FIRST_TOOLS: Duration = Duration::from_secs(5);

/// Most notifications kept for a server that is starting.
const MAX_BACKLOG: usize = 100;

/// Starts a server.
pub trait Launch: Send + Sync + 'static {
    /// Starts one run; says why not as a text for people.
    fn launch(&self) -> Later<Result<Launched, String>>;
}

/// A run that was started.
pub struct Launched {
    /// Its standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Its life.
    pub life: Arc<dyn Life>,
}

impl fmt::Debug for Launched {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Launched").finish_non_exhaustive()
    }
}

/// The life of a run.
pub trait Life: Send + Sync {
    /// Returns once it has ended, with a text for people on how.
    fn ended(&self) -> Later<String>;
    /// Ends it and returns once nothing of it is left.
    fn stop(&self) -> Later<()>;
}

/// The link to one server.
pub struct Link {
    /// Its place in the registry.
    pub index: usize,
    /// What the registry says about it.
    pub profile: Profile,
    launcher: Box<dyn Launch>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// Notifications of the client that came while the server was starting.
    backlog: Vec<String>,
    /// How the server speaks, once that is known.
    era: Option<Era>,
    lives: Vec<Arc<dyn Life>>,
    /// How often it did not stay up lately.
    backoff: Backoff,
}

#[derive(Default)]
enum Phase {
    #[default]
    Idle,
    Starting,
    Up {
        session: Arc<Session>,
        since: Instant,
    },
    /// Not running; calls start it again, unless it is to be left alone for a while.
    Down {
        reason: String,
    },
    Stopped,
}

impl fmt::Debug for Link {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Link")
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// Returns the link to a server that `launcher` starts.
    pub fn new(index: usize, profile: Profile, launcher: Box<dyn Launch>) -> Self {
        Self {
            index,
            profile,
            launcher,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Returns the session if the server is running.
    pub fn running(&self) -> Option<Arc<Session>> {
        match &lock(&self.state).phase {
            Phase::Up { session, .. } if !session.has_ended() => Some(Arc::clone(session)),
            Phase::Up { .. }
            | Phase::Idle
            | Phase::Starting
            | Phase::Down { .. }
            | Phase::Stopped => None,
        }
    }

    /// Returns whether a start is under way.
    pub fn is_starting(&self) -> bool {
        matches!(lock(&self.state).phase, Phase::Starting)
    }

    /// Returns why the server is not running, if it is known.
    pub fn reason(&self) -> Option<String> {
        match &lock(&self.state).phase {
            Phase::Down { reason } => Some(reason.clone()),
            Phase::Idle | Phase::Starting | Phase::Up { .. } | Phase::Stopped => None,
        }
    }

    /// Starts the server in the background if it is not running.
    pub fn begin(self: &Arc<Self>, hub: &Arc<Hub>) {
        // A failure is kept in the state and told by whoever needs the session.
        let _noted = self.session_or_wait(hub);
    }

    /// Returns the session, after starting the server if need be.
    ///
    /// # Errors
    /// When the server cannot be started, or the gateway stops.
    pub async fn session(self: &Arc<Self>, hub: &Arc<Hub>) -> Result<Arc<Session>, Failure> {
        loop {
            let changed = self.changed.notified();
            if let Some(session) = self.session_or_wait(hub)? {
                return Ok(session);
            }
            changed.await;
            if let Some(reason) = self.reason() {
                let server = self.profile.name.to_string();
                return Err(Failure::NotRunning { server, reason });
            }
        }
    }

    /// Passes a notification of the client on, once the server has started if it is starting. Servers
    /// without a session take nothing from their client but requests and cancels.
    pub fn notify(&self, line: &str) {
        let mut state = lock(&self.state);
        match &state.phase {
            // One that reads nothing is not told what it could not hear anyway.
            Phase::Up { session, .. }
                if !session.is_stateless() && session.outlet.waiting() <= SERVER_QUEUE_BYTES =>
            {
                session.outlet.send(line.to_owned());
            }
            Phase::Starting if state.backlog.len() < MAX_BACKLOG => {
                state.backlog.push(line.to_owned());
            }
            Phase::Up { .. }
            | Phase::Starting
            | Phase::Idle
            | Phase::Down { .. }
            | Phase::Stopped => {}
        }
    }

    /// Returns once no start is under way.
    pub async fn settled(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.is_starting() {
                return;
            }
            changed.await;
        }
    }

    fn session_or_wait(self: &Arc<Self>, hub: &Arc<Hub>) -> Result<Option<Arc<Session>>, Failure> {
        let mut state = lock(&self.state);
        if let Phase::Up { session, .. } = &state.phase
            && session.has_ended()
        {
            // Whoever watches it is about to say so.
            state.fell("it ended");
        }
        match &state.phase {
            Phase::Up { session, .. } => return Ok(Some(Arc::clone(session))),
            Phase::Starting => return Ok(None),
            Phase::Stopped => return Err(Failure::Stopping),
            Phase::Down { reason } => {
                if let Some(wait) = state.backoff.wait(Instant::now()) {
                    let reason = format!(
                        "{reason}; it is not started again for another {:.1} s, after {} faults in a row",
                        wait.as_secs_f64(),
                        state.backoff.faults(),
                    );
                    let server = self.profile.name.to_string();
                    return Err(Failure::NotRunning { server, reason });
                }
            }
            Phase::Idle => {}
        }
        state.phase = Phase::Starting;
        tokio::spawn(Arc::clone(self).start(Arc::clone(hub)));
        Ok(None)
    }

    async fn start(self: Arc<Self>, hub: Arc<Hub>) {
        let limit = self.profile.start_timeout;
        let started = tokio::time::timeout(limit, self.run(&hub)).await;
        let started = match started {
            Ok(Ok(session)) => {
                let tools = hub.catalogue.first_tools(&hub, &self, &session);
                // A server that is slow with them is used without.
                let _read = tokio::time::timeout(FIRST_TOOLS, tools).await;
                Ok(session)
            }
            Ok(Err(reason)) => Err(reason),
            Err(_elapsed) => Err(format!(
                "it did not start within {} s; see `start_timeout` in the registry",
                limit.as_secs()
            )),
        };
        let Some(lives) = lock(&self.state).started(started) else {
            return;
        };
        for life in lives {
            tokio::spawn(life.stop());
        }
        self.changed.notify_waiters();
        match self.running() {
            Some(session) => hub.came_up(&self, &session),
            None => hub.stayed_down(&self),
        }
    }

    /// Starts the server and greets it, in the era it is known or likely to speak.
    async fn run(self: &Arc<Self>, hub: &Arc<Hub>) -> Result<Arc<Session>, String> {
        let known = lock(&self.state).era;
        let likely = known.unwrap_or_else(|| hub.asker().era);
        let first = self.attempt(hub, likely).await;
        let (era, session) = match first {
            Ok(session) => (likely, session),
            Err(handshake::Refused::Ended) if likely == Era::Stateless => {
                // Some older servers end when they are asked something before `initialize`.
                let session = self.attempt(hub, Era::Session).await;
                (
                    Era::Session,
                    session.map_err(|refused| refused.to_string())?,
                )
            }
            Err(refused) => return Err(refused.to_string()),
        };
        let era = session.greeting().map_or(era, |greeting| greeting.era);
        lock(&self.state).era = Some(era);
        Ok(session)
    }

    async fn attempt(
        self: &Arc<Self>,
        hub: &Arc<Hub>,
        likely: Era,
    ) -> Result<Arc<Session>, handshake::Refused> {
        let launched = self.launcher.launch().await;
        let Launched {
            input,
            output,
            life,
        } = launched.map_err(handshake::Refused::Start)?;
        let (near, writer) = outlet();
        let session = Session::new(self.profile.clone(), near, hub.client.clone());
        let session = Arc::new(session);
        {
            let mut state = lock(&self.state);
            state.lives.push(Arc::clone(&life));
            if matches!(state.phase, Phase::Stopped) {
                return Err(handshake::Refused::Ended);
            }
        }
        tokio::spawn(async move {
            // A server that closes its input is noticed by its output or its end.
            let _result = writer.run(input).await;
        });
        let reading = inbound::read(Arc::clone(hub), Arc::clone(&session), output);
        tokio::spawn(Arc::clone(self).watch(Arc::clone(hub), Arc::clone(&session), reading, life));
        handshake::greet(hub, &session, likely).await?;
        Ok(session)
    }

    /// Waits for the end of one run and cleans up behind it.
    async fn watch(
        self: Arc<Self>,
        hub: Arc<Hub>,
        session: Arc<Session>,
        reading: impl Future<Output = ()> + Send,
        life: Arc<dyn Life>,
    ) {
        let mut reading = std::pin::pin!(reading);
        let reason = tokio::select! {
            () = &mut reading => "it closed its standard output".to_owned(),
            reason = life.ended() => {
                // What it wrote before it ended is still to be read.
                let _all_read = tokio::time::timeout(LAST_OUTPUT, &mut reading).await;
                reason
            }
        };
        session.end();
        hub.went_down(&session);
        if self.lost(&session, &reason) {
            hub.note(&format!("server \"{}\": {reason}", self.profile.name));
        }
        life.stop().await;
        lock(&self.state)
            .lives
            .retain(|other| !Arc::ptr_eq(other, &life));
    }

    /// Notes that the server is down, if this was its present session.
    fn lost(&self, session: &Arc<Session>, reason: &str) -> bool {
        let mut state = lock(&self.state);
        let present = matches!(
            &state.phase,
            Phase::Up { session: current, .. } if Arc::ptr_eq(current, session)
        );
        if present {
            state.fell(reason);
        }
        present
    }

    /// Takes no more calls and returns once nothing of the server is left.
    pub async fn stop(&self) {
        let lives = {
            let mut state = lock(&self.state);
            if let Phase::Up { session, .. } = std::mem::replace(&mut state.phase, Phase::Stopped) {
                session.end();
            }
            std::mem::take(&mut state.lives)
        };
        self.changed.notify_waiters();
        let stops: Vec<_> = lives.iter().map(|life| tokio::spawn(life.stop())).collect();
        for stop in stops {
            // It fails only if the task panicked, and then there is nothing left to wait for.
            let _stopped = stop.await;
        }
    }
}

impl State {
    /// Notes how a start went. Returns the runs that are of no use, or `None` if the gateway is
    /// stopping and has taken care of all.
    fn started(&mut self, started: Result<Arc<Session>, String>) -> Option<Vec<Arc<dyn Life>>> {
        if matches!(self.phase, Phase::Stopped) {
            return None;
        }
        let backlog = std::mem::take(&mut self.backlog);
        let since = Instant::now();
        match started {
            Ok(session) => {
                if !session.is_stateless() {
                    for line in backlog {
                        session.outlet.send(line);
                    }
                }
                let ended = session.has_ended();
                self.phase = Phase::Up { session, since };
                if ended {
                    // Whoever watched it found nothing to note yet.
                    self.fell("it ended as soon as it had started");
                }
                Some(Vec::new())
            }
            Err(reason) => {
                self.backoff.start_failed(since);
                self.phase = Phase::Down { reason };
                Some(std::mem::take(&mut self.lives))
            }
        }
    }

    /// Notes that the run that was up has ended.
    fn fell(&mut self, reason: &str) {
        if let Phase::Up { since, .. } = self.phase {
            self.backoff.run_ended(since, Instant::now());
            let reason = reason.to_owned();
            self.phase = Phase::Down { reason };
        }
    }
}

#[cfg(test)]
mod tests;
