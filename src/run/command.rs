//! How a line is to be run, and starting it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use super::environment::Environment;
use super::error::RunError;
use super::memory;
use super::outcome::Outcome;
use super::prepare::Prepared;
use super::running::{Channel, Leftovers, Limits, Running};
use super::system::{Image, forgets_children};
use crate::program::{Pinned, Place};

impl Pinned {
    /// Returns a command that runs the line without a shell, on the files that were pinned.
    ///
    /// Nothing is started yet. By default the programs read nothing, write to where this process
    /// does, and see `LANG=C.UTF-8` and the PATH they were found on, and nothing else.
    pub fn command(&self) -> Command<'_> {
        Command {
            line: self,
            environment: Environment::clean(),
            input: Input::Null,
            output: Output::Inherit,
            errors: Output::Inherit,
            limits: Limits::default(),
            leftovers: Leftovers::Kill,
            ends_with_thread: false,
        }
    }
}

/// Where the first stage reads from.
#[derive(Debug, Default)]
pub enum Input {
    /// Nowhere.
    #[default]
    Null,
    /// From where this process reads.
    Inherit,
    /// These bytes.
    Bytes(Vec<u8>),
    /// An open descriptor.
    From(OwnedFd),
}

/// Where the last stage writes to, or where every stage reports errors to.
#[derive(Debug, Default)]
pub enum Output {
    /// To where this process does.
    #[default]
    Inherit,
    /// Nowhere.
    Null,
    /// To whoever waits for the line; see [`Running::wait_with`].
    Captured,
    /// An open descriptor.
    To(OwnedFd),
}

/// A line that is to be run without a shell.
///
/// Every stage is a process in a session and a process group of its own, without a controlling
/// terminal. It is executed from the descriptor that was checked against the pinned digest, with
/// the environment and the descriptors given here and no others.
#[derive(Debug)]
#[must_use = "nothing runs before `spawn`"]
pub struct Command<'a> {
    line: &'a Pinned,
    environment: Environment,
    input: Input,
    output: Output,
    errors: Output,
    limits: Limits,
    leftovers: Leftovers,
    ends_with_thread: bool,
}

/// What a line wrote, and how it ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Captured {
    /// How it ended.
    pub outcome: Outcome,
    /// What the last stage wrote to standard output.
    pub output: Vec<u8>,
    /// What all stages wrote to standard error.
    pub errors: Vec<u8>,
}

impl Command<'_> {
    /// Sets the environment. PATH is always the one that the programs were found on.
    pub fn environment(self, environment: Environment) -> Self {
        Self {
            environment,
            ..self
        }
    }

    /// Sets where the first stage reads from.
    pub fn input(self, input: Input) -> Self {
        Self { input, ..self }
    }

    /// Sets where the last stage writes to.
    pub fn output(self, output: Output) -> Self {
        Self { output, ..self }
    }

    /// Sets where every stage reports errors to.
    pub fn errors(self, errors: Output) -> Self {
        Self { errors, ..self }
    }

    /// Ends the line when it has run for so long: with `SIGTERM`, and with `SIGKILL` after
    /// [`STOP_GRACE`](super::STOP_GRACE). It is whoever waits that sees to it.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limits.time = Some(limit);
        self
    }

    /// Ends the line when more than so many bytes were captured of its output and errors; no
    /// more than these are handed on.
    pub fn output_limit(mut self, bytes: u64) -> Self {
        self.limits.output = Some(bytes);
        self
    }

    /// Sets what happens to processes that a program leaves in the background.
    pub fn leftovers(self, leftovers: Leftovers) -> Self {
        Self { leftovers, ..self }
    }

    /// Kills the stages when the thread that starts them ends, however it ends. Not for threads
    /// of a pool.
    pub fn ends_with_thread(self) -> Self {
        Self {
            ends_with_thread: true,
            ..self
        }
    }

    /// Runs the line, waits for it, and returns what it wrote.
    ///
    /// # Errors
    ///
    /// When the line cannot be started or waited for. Nothing is left running.
    pub fn capture(self) -> Result<Captured, RunError> {
        let running = self
            .output(Output::Captured)
            .errors(Output::Captured)
            .spawn()?;
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let outcome = running.wait_with(|channel, bytes| {
            match channel {
                Channel::Output => output.extend_from_slice(bytes),
                Channel::Error => errors.extend_from_slice(bytes),
            }
            Ok(())
        });
        let outcome = outcome.map_err(|source| RunError::System {
            doing: "wait for the line",
            source,
        })?;
        Ok(Captured {
            outcome,
            output,
            errors,
        })
    }

    /// Starts every stage.
    ///
    /// # Errors
    ///
    /// When a file is no longer the one that was pinned or cannot be held, and when the system
    /// refuses. Stages that had been started are killed.
    pub fn spawn(self) -> Result<Running, RunError> {
        let Self {
            line,
            environment,
            input,
            output,
            errors,
            limits,
            leftovers,
            ends_with_thread,
        } = self;
        if forgets_children().map_err(failed("look at SIGCHLD"))? {
            return Err(RunError::ChildrenIgnored);
        }
        let directory = enter(line)?;
        let stages = line.stages().enumerate();
        let stages = stages.map(|(place, stage)| Prepared::of(place, &stage));
        let stages = stages.collect::<Result<Vec<_>, _>>()?;

        let mut running = Running::new(limits, leftovers);
        let mut reads_from = Some(input.open()?);
        let mut writes_to = Some(output.open(Channel::Output, &mut running)?);
        let errors = errors.open(Channel::Error, &mut running)?;
        let last = stages.len().saturating_sub(1);
        for (place, stage) in stages.into_iter().enumerate() {
            let (output, next) = if place == last {
                (writes_to.take().unwrap_or(Stream::Null), None)
            } else {
                let (reader, writer) = io::pipe().map_err(failed("make a pipe"))?;
                (Stream::To(writer.into()), Some(Stream::To(reader.into())))
            };
            let streams = Streams {
                input: std::mem::replace(&mut reads_from, next).unwrap_or(Stream::Null),
                output,
                errors: errors.clone_for_stage()?,
            };
            let envp = environment.entries(line.path());
            let directory = directory.as_fd().try_clone_to_owned();
            let directory = directory.map_err(failed("keep the working directory"))?;
            let setting = Setting {
                envp,
                directory,
                ends_with_thread,
            };
            start(place, stage, streams, setting, &mut running)?;
        }
        Ok(running)
    }
}

/// Where the streams of one stage lead.
struct Streams {
    input: Stream,
    output: Stream,
    errors: Stream,
}

/// What one stage is started with.
struct Setting {
    envp: Vec<std::ffi::CString>,
    directory: OwnedFd,
    ends_with_thread: bool,
}

fn start(
    place: usize,
    stage: Prepared,
    streams: Streams,
    setting: Setting,
    running: &mut Running,
) -> Result<(), RunError> {
    let path = stage.program.identity().real_path.clone();
    let refused = |source| RunError::Start {
        stage: place,
        path: path.clone(),
        source,
    };
    let program = stage.program.file().try_clone().map_err(refused)?;
    let Prepared {
        program: held,
        argv,
        scripts,
        held: others,
    } = stage;
    let watched = !scripts.is_empty();
    let streams = [streams.input, streams.output, streams.errors];
    let [input, output, errors] = streams.map(Stream::descriptor);
    let image = Image {
        program: program.into(),
        streams: [
            input.map_err(refused)?,
            output.map_err(refused)?,
            errors.map_err(refused)?,
        ],
        kept: scripts,
        directory: setting.directory,
        argv: argv.into(),
        envp: setting.envp.into(),
        ends_with_thread: setting.ends_with_thread,
    };
    if let Some(changed) = others.iter().chain([&held]).find(|held| !held.is_current()) {
        let path = changed.identity().real_path.clone();
        return Err(RunError::NotHeld {
            stage: place,
            source: crate::program::NotHeld::Changed(path),
        });
    }
    let process = image.start().map_err(refused)?;
    // From here on the kernel itself keeps everybody from writing to the program. Scripts are
    // only read now, so what is held for them stays held until the interpreter ends.
    let scripts = if watched { others } else { Vec::new() };
    running.add(process, scripts);
    Ok(())
}

/// Opens the working directory, if paths mean here what they meant when the line was analysed.
fn enter(line: &Pinned) -> Result<OwnedFd, RunError> {
    let path = line.working_directory();
    let failed = |source: io::Error| RunError::Directory {
        path: path.to_owned(),
        source,
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty());
    let directory = directory.map_err(|error| failed(error.into()))?;
    if Place::of(path).map_err(failed)? != line.place() {
        return Err(RunError::ElseWhere);
    }
    let stat = rustix::fs::fstat(&directory).map_err(|error| failed(error.into()))?;
    if (stat.st_dev, stat.st_ino) != line.place().working_directory {
        return Err(RunError::ElseWhere);
    }
    Ok(directory)
}

/// An end of a stream, ready for a process.
enum Stream {
    Inherit,
    Null,
    To(OwnedFd),
}

impl Stream {
    fn clone_for_stage(&self) -> Result<Self, RunError> {
        Ok(match self {
            Self::Inherit => Self::Inherit,
            Self::Null => Self::Null,
            Self::To(to) => Self::To(to.try_clone().map_err(failed("share a stream"))?),
        })
    }

    /// Returns the descriptor that a process gets, above the standard three, or `None` for the one
    /// that this process has.
    fn descriptor(self) -> io::Result<Option<OwnedFd>> {
        let to = match self {
            Self::Inherit => return Ok(None),
            Self::Null => {
                rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?
            }
            Self::To(to) => to,
        };
        if to.as_raw_fd() > 2 {
            return Ok(Some(to));
        }
        Ok(Some(rustix::io::fcntl_dupfd_cloexec(&to, 3)?))
    }
}

impl Input {
    fn open(self) -> Result<Stream, RunError> {
        Ok(match self {
            Self::Null => Stream::Null,
            Self::Inherit => Stream::Inherit,
            Self::From(from) => Stream::To(from),
            Self::Bytes(bytes) => {
                let file = memory::sealed("input", bytes.as_slice());
                Stream::To(file.map_err(failed("keep the input in memory"))?)
            }
        })
    }
}

impl Output {
    fn open(self, channel: Channel, running: &mut Running) -> Result<Stream, RunError> {
        Ok(match self {
            Self::Inherit => Stream::Inherit,
            Self::Null => Stream::Null,
            Self::To(to) => Stream::To(to),
            Self::Captured => {
                let (reader, writer) = io::pipe().map_err(failed("make a pipe"))?;
                running.read_from(channel, File::from(OwnedFd::from(reader)));
                Stream::To(writer.into())
            }
        })
    }
}

fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> RunError {
    move |source| RunError::System { doing, source }
}
