//! One run of one server: what was asked of it and not yet answered, in the ids that it knows.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use super::{
    chain::{Answer, Look, PeerAnswer},
    envelope::{Message, Reply},
    era::Era,
    failure::Failure,
    id::{Id, Key},
    json::{self, quoted},
    limits::{CANCEL_GRACE, MAX_EXTENSIONS, MAX_TASKS, SERVER_QUEUE_BYTES},
    lock::lock,
    outgoing::{Guard, Outgoing},
    outlet::Outlet,
    sequence::{Sequence, Ticket},
    tasks,
};

/// How long a stream may be open; longer than any gateway runs.
const ENDLESS: Duration = Duration::from_hours(24 * 365);

/// What the registry says about a server, as far as the wire needs it.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: Arc<str>,
    /// How long a call may take without progress.
    pub timeout: Duration,
    /// How long a start may take.
    pub start_timeout: Duration,
    /// Longest message, in bytes.
    pub max_message_bytes: usize,
}

/// What a server said about itself when it started.
#[derive(Clone, Debug)]
pub struct Greeting {
    /// How it speaks.
    pub era: Era,
    /// Its protocol version.
    pub version: String,
    /// Its capabilities, one JSON object as it was spelled.
    pub capabilities: String,
    /// What it tells the model about itself.
    pub instructions: Option<String>,
}

impl Greeting {
    /// Returns whether it declared the capability at `path`.
    pub fn can(&self, path: &[&str]) -> bool {
        let all = 0..self.capabilities.len();
        json::at(&self.capabilities, &all, path)
            .and_then(|span| self.capabilities.get(span))
            .is_some_and(|value| value != "null" && value != "false")
    }
}

/// One run of one server.
#[derive(Debug)]
pub struct Session {
    /// The server.
    pub profile: Profile,
    /// The way to it.
    pub outlet: Outlet,
    /// The order of what it says, on the way to the client.
    pub sequence: Sequence,
    greeting: OnceLock<Greeting>,
    next: AtomicU64,
    pending: Mutex<Pending>,
    /// How many questions of the server are open at the client.
    questions: AtomicUsize,
    ended: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Pending {
    requests: HashMap<u64, Open>,
    tokens: HashMap<Key, u64>,
    /// The tokens of calls that became tasks, whose progress goes on.
    lasting: HashSet<Key>,
}

/// A request that the server has not answered.
#[derive(Debug)]
struct Open {
    answer: oneshot::Sender<(Answer, Option<Ticket>)>,
    token: Option<Key>,
    progressed: Arc<AtomicBool>,
    asked: Option<mpsc::UnboundedSender<Question>>,
    cancelled: bool,
}

/// A request of the server that belongs to a call of a client without a session.
#[derive(Debug)]
pub struct Question {
    /// The request.
    pub message: Arc<Message>,
    /// The server's own id of it.
    pub id: Id,
}

/// How to send a request.
#[derive(Default)]
pub struct Manner {
    /// The progress token that came with it.
    pub token: Option<Key>,
    /// Whether questions of the server belong to it.
    pub takes_questions: bool,
    /// Whether it is a stream, which has no time to be answered in.
    pub endless: bool,
    /// What is asked right before it is written, should it have to wait.
    pub look: Option<Look>,
}

impl fmt::Debug for Manner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Manner")
            .field("token", &self.token)
            .field("takes_questions", &self.takes_questions)
            .field("endless", &self.endless)
            .finish_non_exhaustive()
    }
}

/// A request that was sent.
#[derive(Debug)]
pub struct Sent {
    session: Arc<Session>,
    id: u64,
    answer: oneshot::Receiver<(Answer, Option<Ticket>)>,
    progressed: Arc<AtomicBool>,
    asked: mpsc::UnboundedReceiver<Question>,
    start: Instant,
    deadline: Instant,
    cancelled: bool,
}

/// What a request that was sent brings.
#[derive(Debug)]
pub enum Next {
    /// Its answer, with its place in the order.
    Answer(Answer, Option<Ticket>),
    /// A question first.
    Question(Question),
}

impl Session {
    /// Returns a session of a server that is reached by `outlet`.
    pub fn new(profile: Profile, outlet: Outlet, client: Outlet) -> Self {
        Self {
            profile,
            outlet,
            sequence: Sequence::new(client),
            greeting: OnceLock::new(),
            next: AtomicU64::new(1),
            pending: Mutex::default(),
            questions: AtomicUsize::new(0),
            ended: watch::Sender::new(false),
        }
    }

    /// Returns what the server said about itself; `None` until it has started.
    pub fn greeting(&self) -> Option<&Greeting> {
        self.greeting.get()
    }

    /// Keeps what the server said about itself.
    pub fn greet(&self, greeting: Greeting) {
        // There is one start per session, so nothing is there yet.
        let _kept = self.greeting.set(greeting);
    }

    /// Returns whether the server declared the capability at `path`.
    pub fn can(&self, path: &[&str]) -> bool {
        self.greeting().is_some_and(|greeting| greeting.can(path))
    }

    /// Returns whether the server speaks without a session.
    pub fn is_stateless(&self) -> bool {
        self.greeting()
            .is_some_and(|greeting| greeting.era == Era::Stateless)
    }

    /// Sends the request that `line` returns for its id.
    ///
    /// # Errors
    /// When the server is gone, does not read, or takes no message that long.
    pub fn send(
        self: &Arc<Self>,
        line: impl FnOnce(&Id) -> Option<String>,
        manner: Manner,
    ) -> Result<Sent, Failure> {
        let server = || self.profile.name.to_string();
        if self.outlet.waiting() > SERVER_QUEUE_BYTES {
            return Err(Failure::NotReading { server: server() });
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let line = line(&Id::number(id)).ok_or(Failure::Internal("the request cannot be built"))?;
        let limit = self.profile.max_message_bytes;
        if line.len() > limit {
            let bytes = line.len();
            let server = server();
            return Err(Failure::RequestTooLong {
                server,
                bytes,
                limit,
            });
        }
        let endless = manner.endless;
        let (answer, receiver) = oneshot::channel();
        let (ask, asked) = mpsc::unbounded_channel();
        let progressed = Arc::new(AtomicBool::new(false));
        let mut pending = lock(&self.pending);
        if *self.ended.borrow() {
            return Err(Failure::Exited { server: server() });
        }
        if let Some(token) = &manner.token {
            pending.tokens.insert(token.clone(), id);
        }
        let open = Open {
            answer,
            token: manner.token,
            progressed: Arc::clone(&progressed),
            asked: manner.takes_questions.then_some(ask),
            cancelled: false,
        };
        pending.requests.insert(id, open);
        drop(pending);
        let guard = self.guard(id, manner.look);
        self.outlet.send(Outgoing::from(line).guarded(Some(guard)));
        let start = Instant::now();
        Ok(Sent {
            session: Arc::clone(self),
            id,
            answer: receiver,
            progressed,
            asked,
            start,
            deadline: start
                + if endless {
                    ENDLESS
                } else {
                    self.profile.timeout
                },
            cancelled: false,
        })
    }

    /// Returns what holds the request back if nobody waits for it any more, or if `look` says no.
    fn guard(self: &Arc<Self>, id: u64, look: Option<Look>) -> Guard {
        // The way to the server holds what holds the session.
        let session = Arc::downgrade(self);
        Guard::new(move || {
            let Some(session) = session.upgrade() else {
                return false;
            };
            if !session.is_awaited(id) {
                return false;
            }
            if look.is_none_or(|look| look()) {
                return true;
            }
            session.fail(&Id::number(id), Failure::Recalled);
            false
        })
    }

    /// Returns whether somebody waits for the answer of a request, and has not called it off.
    fn is_awaited(&self, id: u64) -> bool {
        let pending = lock(&self.pending);
        let open = pending.requests.get(&id);
        open.is_some_and(|open| !open.cancelled && !open.answer.is_closed())
    }

    /// Asks something for ourselves and returns the answer.
    pub async fn ask(self: &Arc<Self>, method: &str, params: &str) -> Answer {
        self.ask_within(method, params, self.profile.timeout).await
    }

    /// Asks something for ourselves and returns the answer if it comes within `time`.
    pub async fn ask_within(
        self: &Arc<Self>,
        method: &str,
        params: &str,
        time: Duration,
    ) -> Answer {
        self.ask_in_order(method, params, time).await.0
    }

    /// Does the same and returns the place of the answer in the order, too: what the server says behind it
    /// waits until that is filled or given up.
    pub async fn ask_in_order(
        self: &Arc<Self>,
        method: &str,
        params: &str,
        time: Duration,
    ) -> (Answer, Option<Ticket>) {
        let line = |id: &Id| Some(request(id, method, params));
        match self.send(line, Manner::default()) {
            Ok(mut sent) => loop {
                sent.deadline = sent.start + time;
                if let Next::Answer(answer, place) = sent.next().await {
                    return (answer, place);
                }
            },
            Err(failure) => (failure.into(), None),
        }
    }

    /// Passes an answer of the server to whoever waits for it. Returns whether anybody did.
    pub fn answered(&self, line: String, reply: Reply) -> bool {
        let Some(open) = reply.id.as_number().and_then(|id| self.take(id)) else {
            return false;
        };
        let answer = PeerAnswer::new(line, reply);
        if let Some(token) = &open.token
            && answer.result().and_then(tasks::created).is_some()
        {
            // Now, as its progress may be in the next line.
            self.keep_token(token);
        }
        let answer = Answer::Peer(answer);
        // Nobody waits any more after a timeout; then the place is given up.
        let _unread = open.answer.send((answer, Some(self.sequence.reserve())));
        true
    }

    /// Fails the request that the server calls `id`. Returns whether it was open.
    pub fn fail(&self, id: &Id, failure: Failure) -> bool {
        let open = id.as_number().and_then(|id| self.take(id));
        open.is_some_and(|open| {
            let place = self.sequence.reserve();
            open.answer.send((failure.into(), Some(place))).is_ok()
        })
    }

    /// Notes progress under `token`. Returns whether a request with this token is open.
    pub fn progressed(&self, token: &Key) -> bool {
        let pending = lock(&self.pending);
        if pending.lasting.contains(token) {
            return true;
        }
        let open = pending
            .tokens
            .get(token)
            .and_then(|id| pending.requests.get(id));
        open.is_some_and(|open| {
            open.progressed.store(true, Ordering::Relaxed);
            true
        })
    }

    /// Goes on passing progress under this token, whose call became a task, until the server ends.
    fn keep_token(&self, token: &Key) {
        let mut pending = lock(&self.pending);
        if pending.lasting.len() < MAX_TASKS {
            pending.lasting.insert(token.clone());
        }
    }

    /// Hands a question of the server to the newest request that takes questions.
    ///
    /// # Errors
    /// Gives the question back if there is none.
    pub fn question(&self, question: Question) -> Result<(), Question> {
        let pending = lock(&self.pending);
        let newest = pending
            .requests
            .iter()
            .filter(|(_, open)| open.asked.is_some())
            .max_by_key(|(id, _)| **id)
            .and_then(|(_, open)| open.asked.as_ref());
        match newest {
            Some(ask) => ask.send(question).map_err(|error| error.0),
            None => Err(question),
        }
    }

    /// Counts a question that is open at the client. Meanwhile no call of the server times out.
    pub fn question_opened(&self) {
        self.questions.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a question that was answered.
    pub fn question_closed(&self) {
        self.questions.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends the session: everything open fails, and nothing more can be sent.
    pub fn end(&self) {
        let mut pending = lock(&self.pending);
        self.ended.send_replace(true);
        let open = std::mem::take(&mut *pending);
        drop(pending);
        self.outlet.end();
        for (_, open) in open.requests {
            let server = self.profile.name.to_string();
            let place = self.sequence.reserve();
            let _unread = open
                .answer
                .send((Failure::Exited { server }.into(), Some(place)));
        }
    }

    /// Returns whether the server is gone.
    pub fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Returns once the server is gone.
    pub async fn gone(&self) {
        // The sender lives as long as we do, so this cannot fail.
        let mut ended = self.ended.subscribe();
        let _ended = ended.wait_for(|ended| *ended).await;
    }

    fn take(&self, id: u64) -> Option<Open> {
        let mut pending = lock(&self.pending);
        let open = pending.requests.remove(&id)?;
        if let Some(token) = &open.token
            && pending.tokens.get(token) == Some(&id)
        {
            pending.tokens.remove(token);
        }
        Some(open)
    }
}

impl Sent {
    /// Returns the id under which the server knows the request.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// Returns the session that it was sent in.
    pub const fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Gives the server only a short time more; the request was cancelled.
    pub fn cancelled(&mut self) {
        self.cancelled = true;
        if let Some(open) = lock(&self.session.pending).requests.get_mut(&self.id) {
            open.cancelled = true;
        }
        self.deadline = self.deadline.min(Instant::now() + CANCEL_GRACE);
    }

    /// Returns what comes next. It may be dropped and called again.
    pub async fn next(&mut self) -> Next {
        loop {
            tokio::select! {
                biased;
                question = self.asked.recv(), if !self.asked.is_closed() => {
                    if let Some(question) = question {
                        return Next::Question(question);
                    }
                }
                answer = &mut self.answer => {
                    let server = || self.session.profile.name.to_string();
                    let (answer, place) = answer
                        .unwrap_or_else(|_| (Failure::Exited { server: server() }.into(), None));
                    return Next::Answer(answer, place);
                }
                () = tokio::time::sleep_until(self.deadline) => {
                    if !self.extended() {
                        return Next::Answer(self.given_up(), None);
                    }
                }
            }
        }
    }

    /// Sets the deadline anew after progress, or while the client is asked something.
    fn extended(&mut self) -> bool {
        let timeout = self.session.profile.timeout;
        let asking = self.session.questions.load(Ordering::Relaxed) > 0;
        let progressed = self.progressed.swap(false, Ordering::Relaxed);
        let last = self.start + timeout * MAX_EXTENSIONS;
        let now = Instant::now();
        if self.cancelled || !(asking || progressed) || (now >= last && !asking) {
            return false;
        }
        self.deadline = now + timeout;
        true
    }

    fn given_up(&self) -> Answer {
        if self.cancelled {
            return Answer::Silent;
        }
        self.session.outlet.send(cancel(self.id, "timed out"));
        let seconds = self.start.elapsed().as_secs();
        let server = self.session.profile.name.to_string();
        Failure::TimedOut { server, seconds }.into()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        drop(self.session.take(self.id));
    }
}

/// Returns the line of a request that we make ourselves.
pub fn request(id: &Id, method: &str, params: &str) -> String {
    let method = quoted(method);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method},\"params\":{params}}}")
}

/// Returns the line of a notification that we make ourselves.
pub fn notification(method: &str, params: Option<&str>) -> String {
    let method = quoted(method);
    let params = params.map_or(String::new(), |params| format!(",\"params\":{params}"));
    format!("{{\"jsonrpc\":\"2.0\",\"method\":{method}{params}}}")
}

/// Returns the line that cancels our own request `id`.
pub fn cancel(id: u64, reason: &str) -> String {
    let reason = quoted(reason);
    notification(
        "notifications/cancelled",
        Some(&format!("{{\"requestId\":{id},\"reason\":{reason}}}")),
    )
}
