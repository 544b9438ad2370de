//! A running child, seen from the gateway.

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf, pipe},
    },
    process::{self, ChildStdout, Command},
    sync::watch,
    time::{Instant, timeout},
};

use super::{
    Exit, Journal, StartError, Variables, environment, lifeline,
    noise::{self, LastWords},
    report::{self, MAX_REPORT, Report},
};
use crate::registry::{Server, ServerName};

/// The child's standard input.
pub type Stdin = pipe::Sender;
/// The child's standard output.
pub type Stdout = ChildStdout;

/// How long [`Process::stop`] waits before it kills the child itself, and returns.
pub const STOP_LIMIT: Duration = Duration::from_secs(3);

/// The program that this process runs, even when its file was replaced meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// What all children of one gateway have in common.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The project's root, an absolute path.
    pub root: PathBuf,
    /// The gateway's own environment variables, of which children get what they may have.
    pub variables: Variables,
    /// Where the children's standard error goes.
    pub journal: Journal,
    /// The `rea` program, to be started as lifeline.
    pub program: PathBuf,
}

impl Surroundings {
    /// Returns surroundings for a gateway that is the program `rea` itself.
    pub fn new(root: &Path, variables: Variables, journal: Journal) -> Self {
        Self {
            root: root.to_owned(),
            variables,
            journal,
            program: PathBuf::from(THIS_PROGRAM),
        }
    }
}

/// The pipes of a child that has just been started.
#[derive(Debug)]
pub struct Pipes {
    /// Dropping it closes the child's standard input.
    pub stdin: Stdin,
    /// What the child answers. It may stay open a little after the child's end, as long as
    /// something that the child left behind holds it.
    pub stdout: Stdout,
}

/// A child that was started, running or not.
///
/// Dropping it has the child stopped like [`Process::stop`], without anybody waiting for it.
#[derive(Debug)]
pub struct Process {
    name: ServerName,
    id: i32,
    /// The lifeline takes the end of this stream for the wish to stop.
    stop: Mutex<Option<OwnedWriteHalf>>,
    state: watch::Receiver<State>,
    last_words: LastWords,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    ended: Option<(Exit, Instant)>,
    gone: bool,
}

impl Process {
    /// Starts a child for `server`. Must be called within a tokio runtime.
    ///
    /// Its standard error is read from now on; the other two pipes are the caller's.
    ///
    /// # Errors
    ///
    /// [`StartError`]: a variable or the folder is missing, or the program cannot be run. Nothing is
    /// left running then, nor when the future is dropped.
    pub async fn start(
        server: &Server,
        surroundings: &Surroundings,
    ) -> Result<(Self, Pipes), StartError> {
        let variables = environment::variables(server, &surroundings.variables)?;
        let folder = match &server.cwd {
            Some(cwd) => surroundings.root.join(cwd),
            None => surroundings.root.clone(),
        };
        if !folder.is_dir() {
            return Err(StartError::Folder(folder));
        }
        let (near, far) = std::os::unix::net::UnixStream::pair()?;
        let (childs_end, stdin) = io::pipe()?;
        report::send(&near, &childs_end)?;
        drop(childs_end);
        near.set_nonblocking(true)?;
        let (reports, stop) = UnixStream::from_std(near)?.into_split();
        let mut reports = BufReader::new(reports);
        let mut lifeline = Command::new(&surroundings.program)
            .arg0("rea")
            .args([lifeline::ARGUMENT, server.name.as_str(), &server.command])
            .args(&server.args)
            .env_clear()
            .envs(variables)
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(far)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(StartError::Lifeline)?;
        let (Some(stdout), Some(stderr)) = (lifeline.stdout.take(), lifeline.stderr.take()) else {
            return Err(StartError::Lifeline(io::Error::other("no pipes")));
        };
        let stdin = pipe::Sender::from_owned_fd(OwnedFd::from(stdin))?;
        let id = match timeout(server.start_timeout, next(&mut reports)).await {
            Ok(Some(Report::Started(id))) => id,
            Ok(Some(Report::Failed(errno))) => {
                return Err(StartError::Program {
                    command: server.command.clone(),
                    error: io::Error::from_raw_os_error(errno),
                });
            }
            Ok(Some(Report::Ended(_)) | None) => {
                return Err(StartError::Lifeline(io::Error::other(
                    "it ended without a report",
                )));
            }
            Err(_elapsed) => return Err(StartError::Slow(server.start_timeout)),
        };
        let last_words = LastWords::default();
        tokio::spawn(noise::relay(
            server.name.clone(),
            stderr,
            surroundings.journal.clone(),
            last_words.clone(),
        ));
        let (changes, state) = watch::channel(State::default());
        tokio::spawn(watch_over(id, lifeline, reports, changes));
        let process = Self {
            name: server.name.clone(),
            id,
            stop: Mutex::new(Some(stop)),
            state,
            last_words,
        };
        Ok((process, Pipes { stdin, stdout }))
    }

    /// Returns the name of its server.
    pub fn name(&self) -> &ServerName {
        &self.name
    }

    /// Returns its process id, which is also that of its process group.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Returns how and when the child ended, if it has.
    pub fn ended(&self) -> Option<(Exit, Instant)> {
        self.state.borrow().ended
    }

    /// Waits until the child has ended. What it left behind may still be there for a moment.
    pub async fn exited(&self) -> Exit {
        let mut state = self.state.clone();
        match state.wait_for(|state| state.ended.is_some()).await {
            Ok(state) => state.ended.map_or(Exit::Unknown, |(exit, _)| exit),
            Err(_runtime_is_going_down) => Exit::Unknown,
        }
    }

    /// Returns the last lines that it wrote to standard error, oldest first, safe to show.
    pub fn last_words(&self) -> Vec<String> {
        self.last_words.lines()
    }

    /// Has the child stopped, and waits until it and everything it started are gone.
    ///
    /// Its standard input should be closed by now. It is asked to end after [`lifeline::PATIENCE`]
    /// and killed after [`lifeline::MERCY`] more. This returns after [`STOP_LIMIT`] at the latest, as it
    /// must on a machine that is too busy for all that; the lifeline then goes on with what is left.
    /// A child that ended before is only waited for. Calling it again is the same as once.
    pub async fn stop(&self) -> Exit {
        drop(
            self.stop
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        let mut state = self.state.clone();
        if timeout(STOP_LIMIT, state.wait_for(|state| state.gone))
            .await
            .is_err()
        {
            // Never the lifeline: it may be the only one left to see to the rest.
            if self.ended().is_none() {
                kill_group(self.id);
            }
        }
        self.ended().map_or(Exit::Unknown, |(exit, _)| exit)
    }
}

fn kill_group(id: i32) {
    if let Some(group) = Pid::from_raw(id) {
        let _gone_already = kill_process_group(group, Signal::KILL);
    }
}

async fn next(reports: &mut BufReader<OwnedReadHalf>) -> Option<Report> {
    let mut line = String::new();
    reports.take(MAX_REPORT).read_line(&mut line).await.ok()?;
    Report::read(&line)
}

/// Waits for the end of a child and then of its lifeline, which comes when all is gone.
async fn watch_over(
    id: i32,
    mut lifeline: process::Child,
    mut reports: BufReader<OwnedReadHalf>,
    changes: watch::Sender<State>,
) {
    let end = |exit| {
        changes.send_modify(|state| {
            state.ended.get_or_insert((exit, Instant::now()));
        });
    };
    while let Some(report) = next(&mut reports).await {
        match report {
            Report::Ended(exit) => end(exit),
            Report::Started(_) | Report::Failed(_) => {}
        }
    }
    let _status_says_nothing_more = lifeline.wait().await;
    if changes.borrow().ended.is_none() {
        // The lifeline died before its time. The child has no parent now that would keep its number
        // for it, but it takes more than these few instructions to give that number away.
        kill_group(id);
    }
    end(Exit::Unknown);
    changes.send_modify(|state| state.gone = true);
}
