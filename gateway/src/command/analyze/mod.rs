//! `rea analyze`: is this line plain, and what would it run?

mod batch;
mod effects;
mod judged;
mod people;
mod program;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use plainpipe::effect::Models;
use plainpipe::program::{Shell, WritableSearch};
use plainpipe::{Analyzer, Pinned, Reader, Refusal};
use serde::Serialize;

use self::judged::Judged;
use super::machine::{self, Machine};
use super::models::models;
use super::{Answer, Failure, written};

/// Says whether a shell line is plain, and what it would run.
///
/// Exit status: 0 if the line is accepted, 1 if it is refused, 2 if the command was used wrongly.
/// With --batch: 0 when every command was answered, 2 on errors of reading or writing.
#[derive(Args, Debug)]
pub(crate) struct Analyze {
    /// The shell line, as one argument; put `--` before one that starts with `-`
    #[arg(required_unless_present = "batch", conflicts_with = "batch")]
    command: Option<OsString>,

    /// Print one JSON object instead of text for people
    #[arg(long)]
    json: bool,

    /// Read NUL-separated commands from standard input, print one JSON object a line
    #[arg(long)]
    batch: bool,

    /// Look at the text only: no file is looked up
    #[arg(long, conflicts_with_all = ["shell", "path", "cwd"])]
    syntax_only: bool,

    /// The shell that will run the line: bash, sh, zsh, or none
    #[arg(long, default_value_t, value_name = "SHELL")]
    shell: Shell,

    #[command(flatten)]
    machine: Machine,
}

/// How far a line is looked into.
enum Depth {
    /// The text alone.
    Text(Reader, Arc<Models>),
    /// The files that would run, too.
    Programs(Box<Analyzer>),
}

impl Depth {
    fn read(&mut self, command: &[u8]) -> Reading {
        match self {
            Self::Text(reader, models) => match reader.read_bytes(command) {
                Ok(line) => Reading::Plain(Judged::new(line, models)),
                Err(refusal) => Reading::Refused(refusal),
            },
            Self::Programs(analyzer) => {
                let answer = analyzer.analyze_bytes(command);
                answer.map_or_else(Reading::Refused, |pinned| Reading::Pinned(Box::new(pinned)))
            }
        }
    }

    /// Keeps what was learned of files for the next call.
    fn keep(self) {
        match self {
            Self::Text(..) => {}
            Self::Programs(analyzer) => machine::keep(*analyzer),
        }
    }
}

/// The answers, as the JSON output has them.
#[derive(Serialize)]
#[serde(untagged)]
enum Reading {
    Plain(Judged),
    Pinned(Box<Pinned>),
    Refused(Refusal),
}

impl Analyze {
    pub(crate) fn run(self) -> Answer {
        let mut depth = if self.syntax_only {
            Depth::Text(Reader::new(), models()?)
        } else {
            Depth::Programs(Box::new(
                self.machine.analyzer(self.shell, WritableSearch::Report)?,
            ))
        };
        let answer = match self.command {
            None => batch::run(io::stdin().lock(), io::stdout().lock(), &mut depth),
            Some(command) => one(&command, &mut depth, self.json),
        };
        depth.keep();
        answer
    }
}

fn one(command: &OsString, depth: &mut Depth, as_json: bool) -> Answer {
    let reading = depth.read(command.as_bytes());
    let status = match reading {
        Reading::Plain(_) | Reading::Pinned(_) => ExitCode::SUCCESS,
        Reading::Refused(_) => ExitCode::FAILURE,
    };
    let outcome = if as_json {
        json(&mut io::stdout().lock(), &reading)?
    } else {
        people::write(&mut anstream::stdout().lock(), command.as_bytes(), &reading)
    };
    written(outcome, status)
}

/// Writes one answer as one line of JSON; the inner result is that of writing.
fn json(out: &mut impl Write, reading: &Reading) -> Result<io::Result<()>, Failure> {
    let mut text =
        serde_json::to_vec(reading).map_err(|error| Failure::new("writing JSON", error))?;
    text.push(b'\n');
    Ok(out.write_all(&text).and_then(|()| out.flush()))
}
