//! The audit log: one record per line, each chained to the one before by its hash.
//!
//! ```no_run
//! use rea_gateway::audit::{Audit, Durability, Record, Settings};
//!
//! # fn main() -> Result<(), rea_gateway::audit::AuditError> {
//! let audit = Audit::open(".".as_ref(), Settings::for_user()?)?;
//! let record = Record::new("write_file", "files").with("arguments", audit.digest(b"{}"));
//! audit.append(&record.clone().started("1"), Durability::Durable)?; // only now may the call go through
//! audit.append(&record.finished("1"), Durability::Buffered)?;
//! # Ok(())
//! # }
//! ```
//!
//! The chain shows what was changed inside the log. A signed checkpoint in the user's own state directory
//! shows that its end is missing, or that all of it was made anew. Neither prevents anything, and somebody
//! with the user's own rights can forge both; against that, keep a checkpoint elsewhere.
//!
//! Every process takes its turn under one lock; within a process one sync serves every call that waits.

mod canonical;
mod checkpoint;
mod committer;
mod digest;
mod disk;
mod error;
mod finding;
mod handle;
mod hash;
mod key;
mod line;
mod lines;
mod lock;
mod log;
mod note;
mod parse;
#[doc(hidden)]
pub mod promises;
mod read;
mod record;
mod retention;
mod rotate;
mod scan;
mod segment;
mod settings;
mod tail;
mod verify;
mod walk;

pub use crate::tier::Tier;
pub use checkpoint::Checkpoint;
pub use committer::Durability;
pub use disk::{Disk, RealDisk};
pub use error::AuditError;
pub use finding::{Finding, Kind, Verdict};
pub use handle::Audit;
pub use hash::Hash;
pub use log::Receipt;
pub use read::{each, tail};
pub use record::{MAX_ERROR_UNITS, MAX_RECORD_BYTES, Record, Status};
pub use segment::Segment;
pub use settings::{
    Clock, Keeping, Listener, REMINDER, Retention, Rotation, Settings, user_state_directory,
};
pub use verify::{Options, Report, size, verify};
