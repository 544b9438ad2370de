//! One downstream server as a process: its environment, its start, its end.
//!
//! A child runs behind a lifeline, which see for how nothing is left behind.

mod backoff;
mod descendants;
mod environment;
mod error;
mod exit;
mod journal;
pub mod lifeline;
mod noise;
mod process;
mod program;
mod report;

pub use self::{
    backoff::{Backoff, FIRST_WAIT, LONGEST_WAIT, STEADY},
    environment::{INHERITED, MissingVariables, Variables, variables},
    error::StartError,
    exit::Exit,
    journal::Journal,
    noise::{BURST_BYTES, BYTES_PER_SECOND, KEPT_LINES, MAX_LINE_BYTES},
    process::{Pipes, Process, STOP_LIMIT, Stdin, Stdout, Surroundings},
    program::find_program,
};
