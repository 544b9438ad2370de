//! The requests of the client that are not answered yet.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;

use super::{
    chain::Answer,
    era::Asker,
    id::{Id, Key},
    json::{self, Span},
    lock::lock,
    outgoing::Outgoing,
    outlet::Outlet,
    sequence::Ticket,
    session::{Sent, Session},
};

/// Every request that is open.
#[derive(Debug, Default)]
pub struct Calls {
    open: Mutex<Open>,
    closed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    by_id: HashMap<Key, Vec<Arc<OpenCall>>>,
    count: usize,
}

/// One request that is open.
#[derive(Debug)]
pub struct OpenCall {
    /// The client's id of it.
    pub id: Id,
    /// Who asks.
    pub asker: Arc<Asker>,
    batch: Option<Arc<Batch>>,
    cancelled: AtomicBool,
    woken: Notify,
    progress: Mutex<Progress>,
}

/// How far a request has come.
#[derive(Debug, Default)]
struct Progress {
    sent: Option<(Arc<Session>, u64)>,
    place: Option<Ticket>,
}

/// The answers to one batch, sent together when all are there.
#[derive(Debug)]
pub struct Batch {
    to: Outlet,
    answers: Mutex<Answers>,
}

#[derive(Debug)]
struct Answers {
    missing: usize,
    lines: Vec<String>,
}

impl Calls {
    /// Opens a request, unless `limit` are open already.
    pub fn open(
        &self,
        id: Id,
        asker: Arc<Asker>,
        batch: Option<Arc<Batch>>,
        limit: usize,
    ) -> Option<Arc<OpenCall>> {
        let mut open = lock(&self.open);
        if open.count >= limit {
            return None;
        }
        open.count += 1;
        let call = Arc::new(OpenCall {
            id,
            asker,
            batch,
            cancelled: AtomicBool::new(false),
            woken: Notify::new(),
            progress: Mutex::default(),
        });
        let key = call.id.key().clone();
        open.by_id.entry(key).or_default().push(Arc::clone(&call));
        Some(call)
    }

    /// Answers a request and closes it.
    pub fn close(&self, call: &Arc<OpenCall>, answer: Answer, to: &Outlet) {
        let mut open = lock(&self.open);
        let key = call.id.key();
        if let Some(same) = open.by_id.get_mut(key) {
            same.retain(|other| !Arc::ptr_eq(other, call));
            if same.is_empty() {
                open.by_id.remove(key);
            }
        }
        open.count -= 1;
        drop(open);
        let failed = matches!(answer, Answer::Failed(_));
        let line = if call.is_cancelled() && failed {
            None // nobody waits for our own words about a call that was cancelled
        } else {
            answer.into_line(&call.id)
        };
        let place = lock(&call.progress).place.take();
        match (&call.batch, line, place) {
            (Some(batch), line, _) => batch.add(line),
            (None, Some(line), Some(place)) => place.fill(line),
            (None, Some(line), None) => to.send(line),
            (None, None, _) => {}
        }
        self.closed.notify_waiters();
    }

    /// Returns the open requests with this id; clients should have one, but may have several.
    pub fn with_id(&self, id: &Id) -> Vec<Arc<OpenCall>> {
        let open = lock(&self.open);
        open.by_id.get(id.key()).cloned().unwrap_or_default()
    }

    /// Returns all open requests.
    pub fn all(&self) -> Vec<Arc<OpenCall>> {
        let open = lock(&self.open);
        open.by_id.values().flatten().cloned().collect()
    }

    /// Returns once no request is open.
    pub async fn none_open(&self) {
        loop {
            let closed = self.closed.notified();
            if lock(&self.open).count == 0 {
                return;
            }
            closed.await;
        }
    }
}

impl OpenCall {
    /// Cancels it; `line` is the client's notification and `span` the id in it. If a server works
    /// on it, the server is told at once.
    pub fn cancel(&self, line: &str, span: &Span) {
        self.cancelled.store(true, Ordering::SeqCst);
        let progress = lock(&self.progress);
        if let Some((session, id)) = &progress.sent {
            let edit = (span.clone(), id.to_string());
            if let Some(line) = json::splice(line, vec![edit]) {
                session.outlet.send(line);
            }
        }
        drop(progress);
        self.woken.notify_one();
    }

    /// Returns whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// Returns once it is cancelled. One task may wait.
    pub async fn cancelled(&self) {
        while !self.is_cancelled() {
            self.woken.notified().await;
        }
    }

    /// Notes under which id a server knows it.
    pub fn sent(&self, sent: &Sent) {
        lock(&self.progress).sent = Some((Arc::clone(sent.session()), sent.id()));
    }

    /// Notes that no server works on it any more, and the place of its answer in the order.
    pub fn answered(&self, place: Option<Ticket>) {
        let mut progress = lock(&self.progress);
        progress.sent = None;
        progress.place = place;
    }
}

impl Batch {
    /// Returns a batch that waits for `missing` answers, or `None` if it waits for none.
    pub fn new(missing: usize, to: Outlet) -> Option<Arc<Self>> {
        let lines = Vec::new();
        let answers = Mutex::new(Answers { missing, lines });
        (missing > 0).then(|| Arc::new(Self { to, answers }))
    }

    /// Adds one answer, or none for a request that gets none.
    pub fn add(&self, line: Option<impl Into<Outgoing>>) {
        let mut answers = lock(&self.answers);
        answers
            .lines
            .extend(line.map(|line| line.into().into_string()));
        answers.missing = answers.missing.saturating_sub(1);
        if answers.missing == 0 && !answers.lines.is_empty() {
            self.to.send(format!("[{}]", answers.lines.join(",")));
        }
    }
}
