//! One file for each command of `rea`.

pub(crate) mod analyze;
pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod freeze;
pub(crate) mod grant;
pub(crate) mod init;
pub(crate) mod machine;
pub(crate) mod models;
pub(crate) mod pin;
pub(crate) mod policy;
pub(crate) mod refused;
pub(crate) mod registry;
pub(crate) mod run;
pub(crate) mod wire;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// What a command ends with: its exit status, or a reason why it could not do its work.
pub(crate) type Answer = Result<ExitCode, Failure>;

/// A reason why a command could not do its work, told on standard error, exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {source}")]
pub(crate) struct Failure {
    doing: &'static str,
    source: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// Returns the failure of what `doing` names, as in "reading standard input".
    pub(crate) fn new(
        doing: &'static str,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self {
            doing,
            source: source.into(),
        }
    }
}

/// Tells people on standard error what went wrong, and returns the exit status for it.
pub(crate) fn report(failure: &Failure) -> ExitCode {
    // Nothing is left to tell it to when standard error is gone too.
    let _ = writeln!(io::stderr(), "rea: {failure}");
    ExitCode::from(2)
}

/// Turns the outcome of writing to standard output into an answer.
///
/// A reader that has seen enough, as `head` has, closes the pipe; that is its right and no failure.
pub(crate) fn written(outcome: io::Result<()>, status: ExitCode) -> Answer {
    match outcome {
        Ok(()) => Ok(status),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(status),
        Err(error) => Err(Failure::new("writing to standard output", error)),
    }
}
