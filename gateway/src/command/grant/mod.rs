//! `rea grant`: which lines somebody has said yes to.

mod add;
mod check;
mod list;
mod people;
mod place;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use plainpipe::grant::StoreError;
use serde::Serialize;

pub(crate) use place::{NoGrants, Place, of_user};

use super::{Answer, Failure, written};

/// The file of grants is damaged, newer, open to others, or cannot be read or written.
pub(crate) const NO_STORE: u8 = 5;

/// Keeps the grants of this user, and says whether a line has one.
///
/// Exit status: 0 for yes, 1 if the line is refused or there is no such grant, 2 if the command was
/// used wrongly, 5 if the file of grants cannot be used. `check` adds 3 and 4.
#[derive(Args, Debug)]
pub(crate) struct Grant {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Add(add::Add),
    List(list::List),
    Show(list::Show),
    Revoke(list::Revoke),
    Prune(list::Prune),
    Check(check::Check),
}

impl Grant {
    pub(crate) fn run(self) -> Answer {
        let answer = match self.action {
            Action::Add(add) => add.run(),
            Action::List(list) => list.run(),
            Action::Show(show) => show.run(),
            Action::Revoke(revoke) => revoke.run(),
            Action::Prune(prune) => prune.run(),
            Action::Check(check) => check.run(),
        };
        answer.or_else(|error| no_grants(error, NO_STORE))
    }
}

/// Tells people why there are no grants to look at. A file that cannot be used ends with `status`.
pub(crate) fn no_grants(error: NoGrants, status: u8) -> Answer {
    match error {
        NoGrants::Store(error @ StoreError::NoSuchGrant { .. }) => Ok(told(&error, 1)),
        NoGrants::Store(error) => Ok(told(&error, status)),
        NoGrants::Failure(failure) => Err(failure),
    }
}

/// Tells people something on standard error, and returns the exit status for it.
pub(crate) fn told(what: &impl std::fmt::Display, status: u8) -> ExitCode {
    // Nothing is left to tell it to when standard error is gone too.
    let _ = writeln!(io::stderr(), "rea: {what}");
    ExitCode::from(status)
}

/// Writes one object as one line of JSON, or text for people.
fn say<T: Serialize>(
    json: bool,
    object: &T,
    text: impl FnOnce() -> String,
    status: ExitCode,
) -> Result<ExitCode, NoGrants> {
    let mut bytes = if json {
        serde_json::to_vec(object).map_err(|error| Failure::new("writing JSON", error))?
    } else {
        text().into_bytes()
    };
    if json {
        bytes.push(b'\n');
    }
    let mut out = io::stdout().lock();
    Ok(written(
        out.write_all(&bytes).and_then(|()| out.flush()),
        status,
    )?)
}
