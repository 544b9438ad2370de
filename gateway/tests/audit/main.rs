//! The audit log from outside: its format, its repairs, and what verification makes of it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

mod agreement;
mod command;
mod faults;
mod format;
mod history;
mod killed;
mod support;
mod tamper;
