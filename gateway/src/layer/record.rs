//! What the layers say about a call for the record, and who keeps it.

use std::{
    fmt,
    future::Future,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::audit::{Audit, AuditError, Keeping};
pub use crate::audit::{Durability, Record, Status};

/// Why a record could not be kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unrecorded {
    /// What is wrong, in words that a caller may see: no paths.
    pub reason: &'static str,
    /// What exactly, for the operator.
    pub detail: String,
}

impl fmt::Display for Unrecorded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.reason, self.detail)
    }
}

/// Keeps records.
pub trait Recorder: Send + Sync {
    /// Keeps one record, and returns when it is kept as surely as asked.
    ///
    /// Once polled, the record is kept even if the future is dropped.
    fn append(
        &self,
        record: Record,
        durability: Durability,
    ) -> impl Future<Output = Result<(), Unrecorded>> + Send;

    /// Keeps a record for a call that nobody waits for any more.
    fn append_detached(&self, record: Record);

    /// Keeps the log in another way from the next record on, and returns whether that was heard.
    fn keep(&self, _keeping: Keeping) -> bool {
        true
    }

    /// Returns a keyed digest in hexadecimal, by which contents can be compared but not guessed.
    fn digest(&self, content: &[u8]) -> String;
}

impl From<AuditError> for Unrecorded {
    fn from(error: AuditError) -> Self {
        Self {
            reason: error.reason(),
            detail: error.to_string(),
        }
    }
}

/// The log on disk.
impl Recorder for Audit {
    fn append(
        &self,
        record: Record,
        durability: Durability,
    ) -> impl Future<Output = Result<(), Unrecorded>> + Send {
        let kept = self.submit(&record, durability);
        async move {
            kept.await?;
            Ok(())
        }
    }

    fn append_detached(&self, record: Record) {
        // It is in the queue when this returns; whoever could hear of a fault is gone.
        drop(self.submit(&record, Durability::Buffered));
    }

    fn keep(&self, keeping: Keeping) -> bool {
        Audit::keep(self, keeping)
    }

    fn digest(&self, content: &[u8]) -> String {
        Audit::digest(self, content)
    }
}

/// Keeps records in memory, for tests.
#[derive(Debug, Default)]
pub struct MemoryRecorder {
    records: Mutex<Vec<(Record, Durability)>>,
    full: AtomicBool,
}

impl MemoryRecorder {
    /// Makes every append fail from now on, or work again.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// Returns the records so far and forgets them.
    pub fn take(&self) -> Vec<(Record, Durability)> {
        std::mem::take(&mut *self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, record: Record, durability: Durability) -> Result<(), Unrecorded> {
        if self.full.load(Ordering::SeqCst) {
            return Err(Unrecorded {
                reason: "the memory is full",
                detail: "it was told to be".to_owned(),
            });
        }
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.push((record, durability));
        Ok(())
    }
}

impl Recorder for MemoryRecorder {
    async fn append(&self, record: Record, durability: Durability) -> Result<(), Unrecorded> {
        self.add(record, durability)
    }

    fn append_detached(&self, record: Record) {
        // A recorder that is full has lost it either way.
        drop(self.add(record, Durability::Buffered));
    }

    fn digest(&self, content: &[u8]) -> String {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}
