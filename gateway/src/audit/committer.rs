//! The thread that owns the log: it takes what waits, writes it at once, and syncs once for all of it.

use std::{
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use super::{
    checkpoint::Checkpoint,
    error::AuditError,
    log::{Log, Receipt},
    record::Encoded,
    settings::Keeping,
};

/// How many records are written at once at most.
const MAX_BATCH: usize = 1024;

/// From how many records at once on the log waits for more before it syncs: whoever was just answered
/// among many is about to come again, and one sync serves them all.
const CROWD: usize = 4;

/// How many records are enough to stop waiting.
const CROWD_ENOUGH: usize = 16;

/// How long it waits for them at most.
const CROWD_WAIT: Duration = Duration::from_micros(150);

/// How sure a caller wants to be before it goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Durability {
    /// The record is on the medium: it survives a loss of power.
    Durable,
    /// The record is in the file: it survives the end of this process.
    Buffered,
}

/// Takes an answer, on the log's thread; it must not block.
pub(crate) type Reply<T> = Box<dyn FnOnce(Result<T, AuditError>) + Send>;

/// One wish of a caller.
pub(crate) enum Request {
    Append(Append),
    Rotate(Reply<Option<String>>),
    Checkpoint(Reply<Option<Checkpoint>>),
    Keep(Keeping),
}

/// A record on its way to the file.
pub(crate) struct Append {
    pub(crate) record: Encoded,
    pub(crate) durability: Durability,
    pub(crate) reply: Reply<Receipt>,
}

/// What last went wrong in the background.
pub(crate) type Fault = Arc<Mutex<Option<AuditError>>>;

/// Serves requests until no caller is left, then settles and ends.
pub(crate) fn serve(mut log: Log, requests: &Receiver<Request>, fault: &Fault) {
    let idle = log.settings.idle;
    let mut batch = Batch::default();
    // Since when something has been left to do.
    let mut restless: Option<Instant> = None;
    loop {
        let received = match restless {
            None => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(since) => requests.recv_timeout(
                idle.saturating_sub(since.elapsed())
                    .max(Duration::from_millis(1)),
            ),
        };
        match received {
            Ok(request) => {
                let mut request = Some(request);
                batch.gather(&mut request, requests);
                batch.commit(&mut log);
                match request {
                    None | Some(Request::Append(_)) => {}
                    Some(Request::Rotate(reply)) => reply(log.rotate_now()),
                    Some(Request::Checkpoint(reply)) => reply(log.checkpoint_now()),
                    Some(Request::Keep(keeping)) => log.settings.keeping = keeping,
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if log.is_checkpoint_due() || restless.is_some_and(|since| since.elapsed() >= idle) {
            log.settle();
        }
        restless = log
            .is_restless()
            .then(|| restless.unwrap_or_else(Instant::now));
        share(&log, fault);
    }
    log.settle();
    share(&log, fault);
}

fn share(log: &Log, fault: &Fault) {
    if let (Some(error), Ok(mut shared)) = (log.fault(), fault.lock()) {
        *shared = Some(error.clone());
    }
}

/// The records that are written at once.
#[derive(Default)]
struct Batch {
    records: Vec<Encoded>,
    waiting: Vec<(Durability, Reply<Receipt>)>,
    /// How many records were written the last time.
    last: usize,
}

impl Batch {
    /// Takes what waits, up to the first wish that is no record; that one is left in `request`.
    fn gather(&mut self, request: &mut Option<Request>, requests: &Receiver<Request>) {
        let mut until = None;
        while let Some(Request::Append(_)) = request {
            if let Some(Request::Append(append)) = request.take() {
                self.records.push(append.record);
                self.waiting.push((append.durability, append.reply));
            }
            if self.records.len() < MAX_BATCH {
                *request = requests.try_recv().ok();
            }
            if request.is_none() && self.expects_more() {
                let until = *until.get_or_insert_with(|| Instant::now() + CROWD_WAIT);
                let left = until.saturating_duration_since(Instant::now());
                *request = requests.recv_timeout(left).ok();
            }
        }
    }

    fn expects_more(&self) -> bool {
        self.last >= CROWD && self.records.len() < CROWD_ENOUGH && self.is_durable()
    }

    fn is_durable(&self) -> bool {
        let mut waiting = self.waiting.iter();
        waiting.any(|(durability, _)| *durability == Durability::Durable)
    }

    fn commit(&mut self, log: &mut Log) {
        if self.records.is_empty() {
            return;
        }
        let answer = log.commit(&self.records, self.is_durable());
        self.last = self.records.len();
        self.records.clear();
        let mut receipts = answer
            .as_ref()
            .map(|receipts| receipts.iter().copied())
            .ok();
        for (_, reply) in self.waiting.drain(..) {
            let receipt = receipts.as_mut().and_then(Iterator::next);
            reply(
                receipt.ok_or_else(|| answer.as_ref().err().cloned().unwrap_or(AuditError::Closed)),
            );
        }
    }
}
