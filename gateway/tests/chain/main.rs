//! Holds the chain to what it promises: who passes, who is told what, and what is on record.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod rig;

mod grants;
mod health;
mod methods;
mod order;
mod shell;
mod table;
