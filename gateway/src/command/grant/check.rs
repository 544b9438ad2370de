//! `rea grant check`: may this line run?

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use clap::Args;
use plainpipe::grant::{TakeError, Verdict};
use plainpipe::program::{Shell, WritableSearch};

use super::{NoGrants, Place, people, say, told};
use crate::command::Failure;
use crate::command::machine::{self, Machine};

/// Every stage would be granted, were its program still the same.
pub(crate) const DRIFTED: u8 = 4;

/// A stage has no grant.
pub(crate) const NOT_GRANTED: u8 = 3;

/// Says whether a line has a grant. Nothing is used up without --take.
///
/// Exit status: 0 granted, 3 not granted, 4 drifted (a program is no longer the one that was
/// granted), 1 refused, 2 used wrongly, 5 the file of grants cannot be used.
#[derive(Args, Debug)]
pub(super) struct Check {
    /// The shell line, as one argument; put `--` before one that starts with `-`
    command: OsString,

    /// Use up the once-grants that the line needs
    #[arg(long)]
    take: bool,

    /// Grant lines for a shell although the user can change what the shell will open
    #[arg(long)]
    dangerous_not_held: bool,

    /// Who will run the line: bash, sh, zsh or none
    #[arg(long, default_value_t = Shell::Bash)]
    shell: Shell,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    place: Place,

    /// Print one JSON object instead of text for people
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(self) -> Result<ExitCode, NoGrants> {
        let mut grants = self.place.open()?;
        if self.dangerous_not_held {
            grants = grants.dangerous_not_held();
        }
        let mut analyzer = self.machine.analyzer(self.shell, WritableSearch::Refuse)?;
        let command = self.command.as_bytes();
        let verdict = match analyzer.analyze_bytes(command) {
            Ok(line) => grants.judge(line),
            Err(refusal) => Verdict::Refused(refusal),
        };
        machine::keep(analyzer);
        let status = ExitCode::from(status(&verdict));
        let text = people::verdict(command, &verdict, &grants);
        let object = serde_json::to_value(&verdict);
        let object = object.map_err(|error| Failure::new("writing JSON", error))?;
        // Nobody is told yes before the grant is theirs.
        match verdict {
            Verdict::Granted(granted) if self.take => match granted.take() {
                Ok(_) => {}
                Err(TakeError::Store(error)) => return Err(error.into()),
                Err(error) => return Ok(told(&error, NOT_GRANTED)),
            },
            Verdict::Granted(_)
            | Verdict::NotGranted(_)
            | Verdict::Drifted(_)
            | Verdict::Refused(_) => {}
        }
        say(self.json, &object, || text, status)
    }
}

const fn status(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Granted(_) => 0,
        Verdict::NotGranted(_) => NOT_GRANTED,
        Verdict::Drifted(_) => DRIFTED,
        Verdict::Refused(_) => 1,
    }
}
