//! From a [`Line`](crate::Line) to the files that would run: first [`Resolved`], then [`Pinned`].
//!
//! This room touches the machine: it looks along PATH, follows symlinks, opens and reads. What it
//! may assume of the machine is one value, the [`Host`], so that the same line on the same files
//! gets the same answer whoever asks.

mod analyzer;
mod builtin;
mod cache;
mod elf;
mod environment;
mod foreign;
mod host;
mod identity;
mod ids;
mod interpreter;
mod lease;
mod locale;
mod nearest;
mod pin;
mod pinned;
mod read;
mod resolved;
mod search;
mod shebang;
mod shell;
#[cfg(test)]
mod skip;
mod stat;
mod store;
mod trust;
mod walk;

pub use analyzer::{Analyzer, analyze};
pub use builtin::Builtin;
pub use cache::PinCache;
pub use host::{Host, HostError, Place, WritableSearch};
pub use identity::{Digest, Identity};
pub use ids::Ids;
pub use interpreter::{Interpreter, Through};
pub use lease::Lease;
pub use pinned::{FileProgram, Held, NotHeld, Pinned, PinnedInner, PinnedStage, Program};
pub use read::MAX_FILE_BYTES;
pub use resolved::{Found, FoundFile, Resolved};
pub use shebang::{Shebang, ShebangError};
pub use shell::{Shell, UnknownShell};
pub use store::StoreError;
pub use trust::{Fact, Trust};
