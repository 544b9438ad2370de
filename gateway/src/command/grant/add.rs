//! `rea grant add`: says yes to a line.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use plainpipe::grant::{GiveError, Given, Grant, GrantedProgram, Grants, Lifetime, Scope};
use plainpipe::program::{FileProgram, Program, Shell, WritableSearch};
use plainpipe::{Pinned, Tier};
use serde::Serialize;

use super::{NoGrants, Place, people, say, told};
use crate::command::Failure;
use crate::command::machine::{self, Machine};
use crate::command::refused;

/// Grants every stage of a line, and the programs that the arguments name, as these are now.
#[derive(Args, Debug)]
pub(super) struct Add {
    /// The shell line, as one argument; put `--` before one that starts with `-`
    command: OsString,

    /// What is covered: any arguments, those that start like these, or this very call
    #[arg(long)]
    scope: Covered,

    /// Until when: `once`, `session`, `always`, or a time such as `2h` or `7days`
    #[arg(long = "for", value_name = "LIFETIME", value_parser = lasting, allow_hyphen_values = true)]
    lasting: Lasting,

    /// Why the grant is given
    #[arg(long, value_name = "TEXT", value_parser = some_text)]
    reason: String,

    /// The most that a covered call may do: read, write or destructive [default: destructive; for a
    /// prefix, what the line itself may do]
    #[arg(long, value_name = "TIER")]
    ceiling: Option<Tier>,

    /// Allow any arguments even of a program that runs other programs
    #[arg(long)]
    dangerous_any_arguments: bool,

    /// Who will run the line: bash, sh, zsh or none. Builtins of a shell need no grant
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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Covered {
    Name,
    Prefix,
    Exact,
}

#[derive(Clone, Copy, Debug)]
enum Lasting {
    Once,
    Session,
    Time(Duration),
    Always,
}

/// A hundred years: longer times are slips of the keyboard.
const LONGEST: Duration = Duration::from_hours(24 * 36_525);

fn some_text(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("say why, for whoever reads the list of grants".to_owned());
    }
    Ok(text.to_owned())
}

fn lasting(text: &str) -> Result<Lasting, String> {
    match text {
        "once" => Ok(Lasting::Once),
        "session" => Ok(Lasting::Session),
        "always" => Ok(Lasting::Always),
        // To humantime it is a month, and to most who type it a minute.
        time if units(time).any(|unit| unit == "M") => {
            Err("`M` could be minutes or months; write `min` or `months`".to_owned())
        }
        time => match humantime::parse_duration(time) {
            Ok(time) if time > LONGEST => {
                Err("write `always` for what is to have no end".to_owned())
            }
            Ok(time) if time.as_secs() > 0 => Ok(Lasting::Time(time)),
            Ok(_) => Err("a grant lasts for a second at least".to_owned()),
            Err(error) => Err(format!(
                "expected once, session, always or a time such as 2h: {error}"
            )),
        },
    }
}

/// Returns what stands between the numbers.
fn units(time: &str) -> impl Iterator<Item = &str> {
    let number = |byte: char| byte.is_ascii_digit() || byte.is_whitespace();
    time.split(number).filter(|unit| !unit.is_empty())
}

#[derive(Serialize)]
struct Added<'a> {
    added: Vec<&'a Given>,
}

impl Add {
    pub(super) fn run(self) -> Result<ExitCode, NoGrants> {
        let Self {
            command,
            scope,
            lasting,
            reason,
            ceiling,
            dangerous_any_arguments,
            shell,
            machine,
            place,
            json,
        } = self;
        let mut grants = place.open()?;
        let lifetime = lifetime(lasting, &grants)?;
        let mut analyzer = machine.analyzer(shell, WritableSearch::Report)?;
        let line = match analyzer.analyze_bytes(command.as_bytes()) {
            Ok(line) => line,
            Err(refusal) => {
                let text = || refused::text(command.as_bytes(), &refusal);
                return say(json, &refusal, text, ExitCode::FAILURE);
            }
        };
        machine::keep(analyzer);
        if let Some(ceiling) = ceiling.filter(|ceiling| *ceiling < line.effects().tier) {
            let tier = line.effects().tier;
            let what =
                format!("note: this line is {tier}, which a ceiling of {ceiling} does not cover");
            let _told = told(&what, 0);
        }
        let new = programs(&line).map(|(argv, program, tier)| {
            let program = GrantedProgram::from(program);
            // Words that come after a prefix may do no more than it unless that is asked for.
            let ceiling = ceiling.unwrap_or(match scope {
                Covered::Name | Covered::Exact => Tier::Destructive,
                Covered::Prefix => tier,
            });
            let scope = covered(scope, argv);
            let grant = Grant::new(program, scope, lifetime.clone(), giver(), reason.as_str());
            let grant = grant.with_ceiling(ceiling);
            if dangerous_any_arguments {
                grant.dangerous_any_arguments()
            } else {
                grant
            }
        });
        let ids = match grants.give(new.collect()) {
            Ok(ids) => ids,
            Err(GiveError::Store(error)) => return Err(error.into()),
            Err(GiveError::Grant(error)) => return Ok(told(&error, 1)),
        };
        let added: Vec<&Given> = ids.iter().filter_map(|id| grants.find(*id)).collect();
        let text = || {
            if added.is_empty() {
                return "nothing to grant: the line runs builtins that need none\n".to_owned();
            }
            added
                .iter()
                .map(|given| people::row(given, &grants))
                .collect()
        };
        let added = Added {
            added: added.clone(),
        };
        say(json, &added, text, ExitCode::SUCCESS)
    }
}

/// Returns the calls that run a file, with their words and tiers: each stage, and what its arguments
/// name.
fn programs(line: &Pinned) -> impl Iterator<Item = (Vec<String>, &FileProgram, Tier)> {
    line.stages().flat_map(|stage| {
        let words = stage.stage().argv().map(str::to_owned).collect();
        let outer = file(stage.program()).map(|file| (words, file, stage.effects().tier));
        let inner = stage.inner().filter_map(|inner| {
            let words = inner.call().words().map(str::to_owned).collect();
            Some((words, file(inner.program()?)?, inner.call().tier))
        });
        outer.into_iter().chain(inner)
    })
}

fn file(program: &Program) -> Option<&FileProgram> {
    match program {
        Program::File(file) => Some(file),
        Program::Builtin(_) => None,
    }
}

fn covered(scope: Covered, argv: Vec<String>) -> Scope {
    match scope {
        Covered::Name => Scope::AnyArguments {},
        Covered::Prefix => Scope::Prefix {
            // What only the run tells is left open.
            args: argv
                .into_iter()
                .skip(1)
                .take_while(|word| !word.contains('\0'))
                .collect(),
        },
        Covered::Exact => Scope::Exact { argv },
    }
}

fn lifetime(lasting: Lasting, grants: &Grants) -> Result<Lifetime, Failure> {
    Ok(match lasting {
        Lasting::Once => Lifetime::Once {},
        Lasting::Always => Lifetime::Always {},
        Lasting::Time(time) => Lifetime::lasting(time, &grants.now()),
        Lasting::Session => {
            let session = grants.session().cloned().ok_or_else(|| {
                let what = "this process has no session leader that can be seen; set REA_SESSION to a name";
                Failure::new("looking for the session", what)
            })?;
            Lifetime::Session { session }
        }
    })
}

/// Returns who gives the grant, for people to read.
fn giver() -> String {
    let uid = rustix::process::getuid().as_raw();
    let name = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| env::var(name).ok());
    name.map_or_else(
        || format!("uid {uid}"),
        |name| format!("{name} (uid {uid})"),
    )
}
