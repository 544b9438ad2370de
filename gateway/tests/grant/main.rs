//! `rea grant` and `rea run --require-grant` as whole programs.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod given;
mod inner;
mod place;
mod run;
mod store;
