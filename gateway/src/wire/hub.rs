//! What everything on the wire has in common: the client, the links, the chain.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use super::{
    ask::Asks,
    calls::Calls,
    catalogue::Catalogue,
    chain::Chain,
    era::{Asker, Era, NEWEST_SESSION, implementation},
    input::Parked,
    json::{self, Span, quoted},
    limits::GREETING_GRACE,
    link::Link,
    lock::lock,
    outlet::Outlet,
    session::{Session, notification},
    stranger::Strangers,
    subscription::Subscriptions,
    tasks::Tasks,
};

/// Notes about lines that are no messages are written this often; the rest is counted.
const NOTED_FAULTS: u64 = 10;

/// What everything on the wire has in common.
pub struct Hub {
    /// The links, in the order of the registry.
    pub links: Vec<Arc<Link>>,
    /// The way to the client.
    pub client: Outlet,
    /// What decides about calls.
    pub chain: Arc<dyn Chain>,
    /// What the servers offer.
    pub catalogue: Catalogue,
    /// The requests of the client that are open.
    pub calls: Calls,
    /// The requests of servers that are open at the client.
    pub asks: Asks,
    /// The calls that wait for their client to come back.
    pub parked: Parked,
    /// What the client wants to hear of.
    pub subscriptions: Subscriptions,
    /// The tasks that servers have told of.
    pub tasks: Tasks,
    /// What the client tells that nobody knows.
    pub strangers: Strangers,
    /// What was counted instead of being passed on.
    pub counts: Counts,
    journal: Box<dyn Fn(&str) + Send + Sync>,
    client_state: Mutex<ClientState>,
    stopping: watch::Sender<bool>,
}

/// What was counted instead of being passed on.
#[derive(Debug, Default)]
pub struct Counts {
    /// Lines of the client that are no messages.
    pub client_malformed: AtomicU64,
    /// Answers of the client that nobody asked for.
    pub client_stray: AtomicU64,
    /// Notifications of the client that were dropped.
    pub client_unasked: AtomicU64,
    /// Lines of servers that are no messages.
    pub server_malformed: AtomicU64,
    /// Answers of servers that nobody asked for, or came twice or too late.
    pub server_stray: AtomicU64,
    /// Notifications of servers that were dropped.
    pub server_unasked: AtomicU64,
}

#[derive(Debug)]
struct ClientState {
    asker: Arc<Asker>,
    /// The parameters of `initialize`, to be repeated to servers.
    introduction: Option<String>,
    /// When the servers were started.
    begun: Option<Instant>,
    log_level: Option<String>,
}

impl fmt::Debug for Hub {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Hub")
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}

impl Hub {
    /// Returns a hub for these links; `journal` takes what the operator is told.
    pub fn new(
        links: Vec<Arc<Link>>,
        client: Outlet,
        chain: Arc<dyn Chain>,
        journal: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Arc<Self> {
        let catalogue = Catalogue::new(links.len());
        Arc::new(Self {
            links,
            client,
            chain,
            catalogue,
            calls: Calls::default(),
            asks: Asks::default(),
            parked: Parked::default(),
            subscriptions: Subscriptions::default(),
            tasks: Tasks::default(),
            strangers: Strangers::default(),
            counts: Counts::default(),
            journal,
            client_state: Mutex::new(ClientState {
                asker: Arc::new(Asker::unknown()),
                introduction: None,
                begun: None,
                log_level: None,
            }),
            stopping: watch::Sender::new(false),
        })
    }

    /// Tells the operator something.
    pub fn note(&self, text: &str) {
        (self.journal)(text);
    }

    /// Counts a fault and tells the operator about the first few of its kind.
    pub fn count(&self, counter: &AtomicU64, text: impl FnOnce() -> String) -> u64 {
        let count = counter.fetch_add(1, Ordering::Relaxed) + 1;
        if count <= NOTED_FAULTS && !self.is_stopping() {
            self.note(&text());
        }
        count
    }

    /// Returns whether the client has opened a session.
    pub fn is_introduced(&self) -> bool {
        lock(&self.client_state).introduction.is_some()
    }

    /// Tells the client that a list of ours has changed.
    pub fn list_changed(&self, method: &str) {
        if self.asker().era == Era::Session {
            self.client.send(notification(method, None));
        } else {
            self.subscriptions.list_changed(self, method);
        }
    }

    /// Returns who the client is, as far as it has said.
    pub fn asker(&self) -> Arc<Asker> {
        Arc::clone(&lock(&self.client_state).asker)
    }

    /// Returns who asks in a request that says nothing about itself, as requests in a session do.
    pub fn asker_with_session(&self) -> Arc<Asker> {
        let asker = self.asker();
        match asker.era {
            Era::Session => asker,
            Era::Stateless => Arc::new(Asker {
                era: Era::Session,
                version: NEWEST_SESSION.to_owned(),
                ..Asker::clone(&asker)
            }),
        }
    }

    /// Keeps what the client said in `initialize`, and starts the servers.
    pub fn introduce(self: &Arc<Self>, line: &str, params: &Span) -> Arc<Asker> {
        let asker = Arc::new(Asker::from_initialize(line, params));
        let introduction = json::member(line, params, "protocolVersion").and_then(|span| {
            let edit = (span, quoted(&asker.version));
            let whole = json::splice(line, vec![edit])?;
            let end = params.end + whole.len() - line.len();
            whole.get(params.start..end).map(str::to_owned)
        });
        let mut state = lock(&self.client_state);
        state.asker = Arc::clone(&asker);
        state.introduction = introduction;
        drop(state);
        self.begin();
        asker
    }

    /// Keeps what a request without a session said about the client, and starts the servers.
    pub fn met(self: &Arc<Self>, asker: &Arc<Asker>) {
        let mut state = lock(&self.client_state);
        if *state.asker != **asker {
            state.asker = Arc::clone(asker);
        }
        let begun = state.begun.is_some();
        drop(state);
        if !begun {
            self.begin();
        }
    }

    /// Starts all servers in the background, once.
    pub fn begin(self: &Arc<Self>) {
        {
            let mut state = lock(&self.client_state);
            if state.begun.is_some() {
                return;
            }
            state.begun = Some(Instant::now());
        }
        for link in &self.links {
            link.begin(self);
        }
    }

    /// Returns once no server is starting, or the time that they get for saying who they are is over.
    pub async fn greeted(&self) {
        let begun = lock(&self.client_state).begun;
        let until = begun.unwrap_or_else(Instant::now) + GREETING_GRACE;
        for link in &self.links {
            if timeout_at(until, link.settled()).await.is_err() {
                return;
            }
        }
    }

    /// Returns the parameters of `initialize` for a server: the client's own, where it sent some.
    pub fn introduction(&self, asker: &Asker) -> String {
        let state = lock(&self.client_state);
        if asker.era == Era::Session
            && let Some(introduction) = &state.introduction
        {
            return introduction.clone();
        }
        let version = match asker.era {
            Era::Session => &asker.version,
            Era::Stateless => NEWEST_SESSION,
        };
        format!(
            "{{\"protocolVersion\":{},\"capabilities\":{},\"clientInfo\":{}}}",
            quoted(version),
            asker.capabilities,
            asker.info.clone().unwrap_or_else(implementation)
        )
    }

    /// Returns the log level that the client set.
    pub fn log_level(&self) -> Option<String> {
        lock(&self.client_state).log_level.clone()
    }

    /// Keeps the log level that the client set, for servers that start later.
    pub fn set_log_level(&self, level: String) {
        let mut state = lock(&self.client_state);
        let mut asker = Asker::clone(&state.asker);
        asker.log_level = Some(level.clone());
        state.asker = Arc::new(asker);
        state.log_level = Some(level);
    }

    /// Returns the sessions of all servers that are running.
    pub fn running(&self) -> Vec<(Arc<Link>, Arc<Session>)> {
        let running = |link: &Arc<Link>| Some((Arc::clone(link), link.running()?));
        self.links.iter().filter_map(running).collect()
    }

    /// Returns whether the gateway is stopping.
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Takes no more calls.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
        self.parked.clear();
    }

    /// Returns once the gateway is stopping.
    pub async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as we do, so this cannot fail.
        let _stopping = stopping.wait_for(|stopping| *stopping).await;
    }

    /// Goes on with a server that has just come up.
    pub fn came_up(self: &Arc<Self>, link: &Arc<Link>, session: &Arc<Session>) {
        let hub = Arc::clone(self);
        let (link, session) = (Arc::clone(link), Arc::clone(session));
        tokio::spawn(async move {
            hub.subscriptions.came_up(&hub, &link, &session).await;
            hub.catalogue.came_up(&hub, &link, &session).await;
        });
    }

    /// Tells the operator that a server could not be started.
    pub fn stayed_down(&self, link: &Link) {
        if let Some(reason) = link.reason() {
            self.note(&format!("server \"{}\": {reason}", link.profile.name));
        }
    }

    /// Cleans up behind a server that has ended.
    pub fn went_down(&self, session: &Arc<Session>) {
        self.asks
            .forget(session, (!self.is_stopping()).then_some(&self.client));
    }
}
