//! `rea run`: runs a line without a shell.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::Args;
use plainpipe::grant::{TakeError, Verdict};
use plainpipe::program::{Shell, WritableSearch};
use plainpipe::run::{
    Channel, Environment, Input, Leftovers, Outcome, Output, Running, Signaller, Stopped,
};
use plainpipe::{Code, Pinned, Refusal};
use rustix::process::{DumpableBehavior, Signal, kill_process, set_dumpable_behavior};
use signal_hook::consts::{
    SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2,
};
use signal_hook::iterator::exfiltrator::SignalOnly;
use signal_hook::iterator::{Signals, backend::SignalDelivery};

use super::grant::{NoGrants, Place, no_grants, told};
use super::machine::{self, Machine};
use super::refused;
use super::{Answer, Failure};

/// The line was not run: it is refused or not granted, or could not be started.
const NOT_RUN: u8 = 125;

/// A program was found and cannot be executed.
const NOT_EXECUTABLE: u8 = 126;

/// No program of this name was found.
const NOT_FOUND: u8 = 127;

/// The line was ended because it ran for longer, or wrote more, than it was given.
const LIMITED: u8 = 124;

/// Its output could not be written on.
const NOT_WRITTEN: u8 = 1;

/// Whoever read its output has gone, as a shell reports it.
const BROKEN_PIPE: u8 = 141;

/// Signals that are passed on to the line.
const PASSED_ON: [i32; 8] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT,
];

/// Runs a plain line without a shell, from the very files that were checked.
///
/// Exit status: that of the last stage that failed, or 0; 128 and the signal for one that died by
/// a signal. 124 when a limit ended the line, 125 when it was not run, 126 when a program cannot be
/// executed, 127 when there is none of that name, 141 when whoever reads its output has gone. Wrong use of
/// the options ends with 2.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The shell line, as one argument; put `--` before one that starts with `-`
    command: OsString,

    /// Run the line only if every stage has a grant, and use up once-grants
    #[arg(long)]
    require_grant: bool,

    /// End the line after so long, for example 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    time_limit: Option<Duration>,

    /// End the line when it has written more than so many bytes, errors included
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    output_limit: Option<u64>,

    /// Leave processes alone that a program started in the background
    #[arg(long)]
    keep_background: bool,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    place: Place,
}

impl Run {
    pub(crate) fn run(self) -> Answer {
        // A status of 2 would be that of the line.
        self.start().or_else(|failure| Ok(told(&failure, NOT_RUN)))
    }

    fn start(self) -> Answer {
        // Nobody of this user is to look into or change this process while it decides.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|error| Failure::new("keeping other processes out", io::Error::from(error)))?;
        let signals = Passer::prepare(self.output_limit.is_some())
            .map_err(|error| Failure::new("preparing to pass signals on", error))?;
        let command = self.command.as_bytes();
        let mut analyzer = self.machine.analyzer(Shell::None, WritableSearch::Report)?;
        let line = analyzer.analyze_bytes(command);
        machine::keep(analyzer);
        let line = match line {
            Ok(line) => line,
            Err(refusal) => {
                let text = refused::text(command, &refusal);
                return Ok(told(&text.trim_end(), status_of(&refusal)));
            }
        };
        let line = if self.require_grant {
            match granted(line, self.place) {
                Ok(Ok(line)) => line,
                Ok(Err(why)) => return Ok(told(&why, NOT_RUN)),
                Err(error) => return no_grants(error, NOT_RUN),
            }
        } else {
            line
        };
        let mut command = line
            .command()
            .environment(Environment::taken_from(env::vars_os()))
            .input(Input::Inherit)
            .ends_with_thread();
        if self.keep_background {
            command = command.leftovers(Leftovers::Leave);
        }
        if let Some(limit) = self.time_limit {
            command = command.time_limit(limit);
        }
        if let Some(limit) = self.output_limit {
            command = command.output_limit(limit);
            command = command.output(Output::Captured).errors(Output::Captured);
        }
        let running = match command.spawn() {
            Ok(running) => running,
            Err(error) => return Ok(told(&error, NOT_RUN)),
        };
        let outcome = signals.wait_for(running);
        match outcome {
            Ok(outcome) => Ok(ended(&outcome)),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Ok(ExitCode::from(BROKEN_PIPE))
            }
            Err(error) => {
                let why = format!("ended: its output cannot be passed on: {error}");
                Ok(told(&why, NOT_WRITTEN))
            }
        }
    }
}

fn some_time(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time.is_zero() => Err("nothing can run for no time".to_owned()),
        Ok(time) => Ok(time),
        Err(error) => Err(format!("expected a time such as 30s or 5m: {error}")),
    }
}

/// Returns the line if it is granted, having used up what counts once, or says why not.
fn granted(line: Pinned, place: Place) -> Result<Result<Pinned, String>, NoGrants> {
    let grants = place.open()?;
    let why = match grants.judge(line) {
        Verdict::Granted(granted) => match granted.take() {
            Ok(line) => return Ok(Ok(line)),
            Err(TakeError::Store(error)) => return Err(error.into()),
            Err(error) => error.to_string(),
        },
        Verdict::NotGranted(_) => {
            "not granted; `rea grant check --shell none COMMAND` says what is missing".to_owned()
        }
        Verdict::Drifted(_) => "a program is no longer the one that was granted; \
             `rea grant check --shell none COMMAND` shows both"
            .to_owned(),
        Verdict::Refused(refusal) => refusal.to_string(),
    };
    Ok(Err(why))
}

/// What passes signals on to the line.
enum Passer {
    /// Whoever waits for the line does it.
    Beside(SignalDelivery<UnixStream, SignalOnly>),
    /// A thread does it, since whoever waits may be kept by a slow reader of the output.
    Thread(Signals),
}

impl Passer {
    fn prepare(captures: bool) -> io::Result<Self> {
        // A parent that ignores the end of its children hands that down; here it must be heard of.
        signal_hook::flag::register(SIGCHLD, Arc::default())?;
        let ignored = ignored_signals()?;
        let passed_on = PASSED_ON
            .into_iter()
            .filter(|signal| !ignored.contains(signal));
        if captures {
            return Signals::new(passed_on).map(Self::Thread);
        }
        let (read, write) = UnixStream::pair()?;
        SignalDelivery::with_pipe(read, write, SignalOnly, passed_on).map(Self::Beside)
    }

    fn wait_for(self, running: Running) -> io::Result<Outcome> {
        match self {
            Self::Beside(mut delivery) => {
                let bell = delivery.get_read().try_clone()?;
                running.wait_beside(bell.as_fd(), |signaller| {
                    delivery
                        .pending()
                        .for_each(|signal| pass_on(signal, signaller));
                })
            }
            Self::Thread(mut signals) => {
                let signaller = running.signaller();
                let handle = signals.handle();
                thread::spawn(move || {
                    signals
                        .forever()
                        .for_each(|signal| pass_on(signal, &signaller));
                });
                let outcome = running.wait_with(|channel, bytes| match channel {
                    Channel::Output => io::stdout()
                        .write_all(bytes)
                        .and_then(|()| io::stdout().flush()),
                    Channel::Error => io::stderr().write_all(bytes),
                });
                handle.close();
                outcome
            }
        }
    }
}

/// Returns the signals of [`PASSED_ON`] that this process was started to ignore, as by `nohup`. The
/// line ignores them as well.
fn ignored_signals() -> io::Result<Vec<i32>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let mask = mask.ok_or(io::ErrorKind::InvalidData)?;
    let ignored = |signal: &i32| mask & (1 << (signal - 1)) != 0;
    Ok(PASSED_ON.into_iter().filter(ignored).collect())
}

fn pass_on(signal: i32, signaller: &Signaller) {
    // A stage that runs as somebody else cannot be told, and there is nobody to tell that.
    if signal == SIGTSTP {
        // The line has no terminal that could stop it, so it is stopped and we with it.
        let _ = signaller.send(Signal::STOP);
        let _ = kill_process(rustix::process::getpid(), Signal::STOP);
    } else {
        let _ = signaller.send_number(signal);
    }
}

fn ended(outcome: &Outcome) -> ExitCode {
    let Some(stopped) = &outcome.stopped else {
        return ExitCode::from(outcome.code());
    };
    let failed = outcome.code().max(1);
    let (what, status) = match stopped {
        Stopped::TimeLimit { limit } => {
            let limit = humantime::format_duration(*limit);
            (format!("it ran for longer than {limit}"), LIMITED)
        }
        Stopped::OutputLimit { limit } => (format!("it wrote more than {limit} bytes"), LIMITED),
        Stopped::ScriptOpenedForWriting { stage } => {
            let what = format!("the script of stage {} was opened for writing", stage + 1);
            (what, failed)
        }
        other => (format!("{other:?}"), failed),
    };
    told(&format!("ended: {what}"), status)
}

/// Returns what a shell would end with where there is such a thing.
fn status_of(refusal: &Refusal) -> u8 {
    let code = refusal.code();
    if code == Code::ProgramNotFound {
        NOT_FOUND
    } else if [Code::NotExecutable, Code::NotAFile, Code::NoInterpreter].contains(&code) {
        NOT_EXECUTABLE
    } else {
        NOT_RUN
    }
}
