//! The gateway under load: for a long time, and ended at any moment.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

#[path = "../peer/mod.rs"]
mod peer;

mod moments;
mod soak;
