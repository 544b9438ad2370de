//! Real processes: how they start, how they end, and what is left, which must be nothing.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod ends;
mod gateway;
mod noise;
mod scene;
mod starts;
