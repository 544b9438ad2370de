//! What the rest of the program holds: a handle through which any thread or task puts records on file.

use std::{
    fmt,
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{self, SyncSender, TrySendError},
    },
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;

use super::{
    checkpoint::Checkpoint,
    committer::{self, Append, Durability, Fault, Reply, Request},
    digest::Digester,
    error::{AuditError, Context},
    log::{Log, Receipt},
    record::Record,
    settings::{Clock, Keeping, Settings},
};

/// How many records may wait to be written.
const MAX_WAITING: usize = 1024;

/// An audit log open for writing.
///
/// Clones share one log. When the last one is dropped, what is written is synced and a checkpoint made,
/// which may take as long as the lock patience of the settings.
#[derive(Clone)]
pub struct Audit(Arc<Shared>);

struct Shared {
    /// `None` once the log is being closed.
    requests: Option<SyncSender<Request>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    clock: Clock,
    digester: Digester,
    fault: Fault,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The thread ends when nobody can send to it any more.
        self.requests = None;
        let thread = self.thread.get_mut().ok().and_then(Option::take);
        if let Some(Err(panic)) = thread.map(JoinHandle::join)
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Audit")
    }
}

impl Audit {
    /// Opens the log of the project at `root`, which is the directory that holds `.rea`.
    ///
    /// Makes `.rea`, and this user's keys, on first use. The log itself is looked at when the first record comes.
    ///
    /// # Errors
    /// When a directory or key cannot be made or used. A gateway then has no log, and must deny what needs one.
    pub fn open(root: &Path, settings: Settings) -> Result<Self, AuditError> {
        let clock = settings.clock.clone();
        let log = Log::open(root, settings)?;
        let digester = Digester::open(&log.settings.state_directory)?;
        let fault = Fault::default();
        let (requests, receiver) = mpsc::sync_channel(MAX_WAITING);
        let shared = Arc::clone(&fault);
        let thread = thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || committer::serve(log, &receiver, &shared))
            .context("start a thread for", root)?;
        Ok(Self(Arc::new(Shared {
            requests: Some(requests),
            thread: Mutex::new(Some(thread)),
            clock,
            digester,
            fault,
        })))
    }

    /// Puts a record on file, and blocks until it is as safe as `durability` asks.
    ///
    /// Without a timestamp of its own the record gets the time of this call.
    ///
    /// # Errors
    /// When the record is not on file. (After a failed sync it may be in the file all the same, without
    /// anybody being able to say for how long.)
    pub fn append(&self, record: &Record, durability: Durability) -> Result<Receipt, AuditError> {
        let (reply, answer) = mpsc::sync_channel(1);
        let append = self.prepare(
            record,
            durability,
            Box::new(move |result| drop(reply.send(result))),
        )?;
        self.send(Request::Append(append))?;
        answer.recv().map_err(|_| AuditError::Closed)?
    }

    /// Puts a record on file; the future is ready when it is as safe as `durability` asks.
    ///
    /// The record is handed over at once, before the future is first polled, and dropping the future does not
    /// take it back: records get into the file in the order of these calls.
    ///
    /// # Errors
    /// As for [`Self::append`], and when more records wait than the queue holds.
    pub fn submit(
        &self,
        record: &Record,
        durability: Durability,
    ) -> impl Future<Output = Result<Receipt, AuditError>> + Send + use<> {
        let (reply, answer) = oneshot::channel();
        let sent = self
            .prepare(
                record,
                durability,
                Box::new(move |result| drop(reply.send(result))),
            )
            .and_then(|append| self.try_send(Request::Append(append)));
        async move {
            sent?;
            answer.await.map_err(|_| AuditError::Closed)?
        }
    }

    /// Keeps the log in another way from the next record on. Returns whether that was heard: not if more
    /// waits to be written than the queue holds.
    pub fn keep(&self, keeping: Keeping) -> bool {
        self.try_send(Request::Keep(keeping)).is_ok()
    }

    /// Closes the live file under another name and begins a new one; `None` when there is nothing in it.
    ///
    /// Returns the name of the new segment.
    pub fn rotate(&self) -> Result<Option<String>, AuditError> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.send(Request::Rotate(Box::new(move |result| {
            drop(reply.send(result));
        })))?;
        answer.recv().map_err(|_| AuditError::Closed)?
    }

    /// Syncs the log and returns a signed checkpoint of its last record; `None` when it has none.
    pub fn checkpoint(&self) -> Result<Option<Checkpoint>, AuditError> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.send(Request::Checkpoint(Box::new(move |result| {
            drop(reply.send(result));
        })))?;
        answer.recv().map_err(|_| AuditError::Closed)?
    }

    /// Returns the digest of arguments or of a result, to be put on record in place of them.
    pub fn digest(&self, bytes: &[u8]) -> String {
        self.0.digester.digest(bytes)
    }

    /// Returns what last went wrong with a rotation or a checkpoint; the records themselves are on file.
    pub fn last_fault(&self) -> Option<AuditError> {
        self.0.fault.lock().ok().and_then(|fault| fault.clone())
    }

    fn prepare(
        &self,
        record: &Record,
        durability: Durability,
        reply: Reply<Receipt>,
    ) -> Result<Append, AuditError> {
        if record.is_reserved() {
            return Err(AuditError::Reserved);
        }
        Ok(Append {
            record: record.encode(self.0.clock.now())?,
            durability,
            reply,
        })
    }

    fn send(&self, request: Request) -> Result<(), AuditError> {
        let requests = self.0.requests.as_ref().ok_or(AuditError::Closed)?;
        requests.send(request).map_err(|_| AuditError::Closed)
    }

    fn try_send(&self, request: Request) -> Result<(), AuditError> {
        let requests = self.0.requests.as_ref().ok_or(AuditError::Closed)?;
        requests.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => AuditError::Overloaded { limit: MAX_WAITING },
            TrySendError::Disconnected(_) => AuditError::Closed,
        })
    }
}
