//! The process between the gateway and a child, which outlives both by as long as it takes.
//!
//! `rea` starts itself again as `rea __lifeline NAME COMMAND ARGUMENT…`, which starts the child and
//! then waits. The end of its standard input means that the gateway wants the child stopped or is
//! dead, however it died: the lifeline waits [`PATIENCE`], asks every descendant to end, waits
//! [`MERCY`], and kills what is left until nothing is. It is a subreaper, so that a descendant
//! cannot escape by leaving its group, its session or its parent. When the child ends by itself,
//! whatever it leaves behind is asked at once and killed after [`MERCY`].
//!
//! The child's own bytes do not pass through here. What the lifeline cannot do anything about: it
//! and the gateway being killed both at once.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, ErrorKind, Write as _},
    os::unix::{net::UnixStream, process::CommandExt as _},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use rustix::{
    io::{Errno, fcntl_dupfd_cloexec},
    process::{Pid, Signal, WaitOptions, getpid, kill_process_group, set_child_subreaper, wait},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin},
};
use tokio::{
    net,
    signal::unix::{self, SignalKind, signal},
    time::{Instant, sleep_until},
};

use super::{
    Exit, descendants,
    report::{self, Report},
};

/// The first argument that makes `rea` a lifeline.
pub const ARGUMENT: &str = "__lifeline";
/// How long a child may take to end by itself once its standard input is closed.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// How long a process may take to end once it was asked to.
pub const MERCY: Duration = Duration::from_secs(1);
/// How long to wait before killing again what did not go, at first and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));
/// The lowest number that a descriptor of the lifeline itself may get.
const FIRST_OWN_DESCRIPTOR: i32 = 3;
/// What the system calls the process, so that killing by the name `rea` passes it by.
const NAME: &std::ffi::CStr = c"lifeline";

/// Runs a lifeline; `arguments` are those after [`ARGUMENT`]. For `main` alone.
///
/// Returns when the child and everything that descends from it are gone.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let (_shown_in_process_lists, command) = (arguments.next(), arguments.next());
    let Some(command) = command else {
        return misused("no command given");
    };
    let mut child = Command::new(command);
    child.args(arguments);
    match watch(child) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => misused(&error.to_string()),
    }
}

fn misused(why: &str) -> ExitCode {
    // Nobody may be listening any more.
    let _unheard = writeln!(
        io::stderr(),
        "rea {ARGUMENT} is for rea itself and cannot be used by hand ({why})"
    );
    ExitCode::from(2)
}

fn watch(mut child: Command) -> io::Result<()> {
    rustix::thread::set_name(NAME)?;
    set_child_subreaper(Some(getpid()))?;
    let childs_input = report::receive(stdin())?;
    let gateway = UnixStream::from(fcntl_dupfd_cloexec(stdin(), FIRST_OWN_DESCRIPTOR)?);
    gateway.set_nonblocking(true)?;
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nowhere)?;
    child.stdin(Stdio::from(childs_input)).process_group(0);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async move {
        let wishes = net::UnixStream::from_std(gateway.try_clone()?)?;
        // Before there is a child: a request to end that came in between would leave it alone.
        let signals = Signals::listen()?;
        Watch::begin(child, gateway, &nowhere)?
            .until_all_are_gone(&wishes, signals)
            .await
    })
}

/// The signals that a lifeline listens for.
struct Signals {
    ended: unix::Signal,
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hang_up: unix::Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            ended: signal(SignalKind::child())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

struct Watch {
    gateway: UnixStream,
    /// The child, until it was waited for; from then on its number may be another process's.
    child: Option<Pid>,
    asked_to_stop: bool,
    asked_to_end: bool,
    ask_at: Option<Instant>,
    kill_at: Option<Instant>,
    again: Duration,
}

impl Watch {
    fn begin(mut child: Command, gateway: UnixStream, nowhere: &File) -> io::Result<Self> {
        let started = child.spawn();
        // The child's pipes must have no end in here, or nobody would see it close them.
        drop(child);
        dup2_stdout(nowhere)?;
        dup2_stderr(nowhere)?;
        let started = started.map(|child| i32::try_from(child.id()).ok().and_then(Pid::from_raw));
        let mut watch = Self {
            gateway,
            child: None,
            asked_to_stop: false,
            asked_to_end: false,
            ask_at: None,
            kill_at: None,
            again: AGAIN.0,
        };
        match started {
            Ok(child) => {
                watch.child = child;
                let pid = child.map_or(0, Pid::as_raw_pid);
                watch.report(Report::Started(pid));
            }
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
                watch.report(Report::Failed(errno));
            }
        }
        Ok(watch)
    }

    /// Works until there is no descendant left; `wishes` ends when the child is to stop.
    async fn until_all_are_gone(
        mut self,
        wishes: &net::UnixStream,
        mut signals: Signals,
    ) -> io::Result<()> {
        while self.reap()? {
            self.act(Instant::now());
            let next = if self.asked_to_end {
                self.kill_at
            } else {
                self.ask_at
            };
            tokio::select! {
                _ = signals.ended.recv() => {}
                _ = signals.terminate.recv() => self.stop(),
                _ = signals.interrupt.recv() => self.stop(),
                _ = signals.hang_up.recv() => self.stop(),
                () = closed(wishes), if !self.asked_to_stop => self.stop(),
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
        Ok(())
    }

    /// Waits for what has ended; returns whether anything is left.
    fn reap(&mut self) -> io::Result<bool> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid) == self.child => {
                    let exit = status
                        .exit_status()
                        .map(Exit::Code)
                        .or_else(|| status.terminating_signal().map(Exit::Signal));
                    self.child_ended(exit.unwrap_or(Exit::Unknown));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Ok(true),
                Err(Errno::CHILD) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn child_ended(&mut self, exit: Exit) {
        self.child = None;
        self.report(Report::Ended(exit));
        let now = Instant::now();
        self.ask_at = Some(now);
        self.kill_at = Some(self.kill_at.map_or(now + MERCY, |at| at.min(now + MERCY)));
    }

    fn stop(&mut self) {
        if self.asked_to_stop {
            return;
        }
        self.asked_to_stop = true;
        let ask_at = Instant::now() + PATIENCE;
        self.ask_at.get_or_insert(ask_at);
        self.kill_at.get_or_insert(ask_at + MERCY);
    }

    /// Does what is due.
    fn act(&mut self, now: Instant) {
        if self.ask_at.is_some_and(|at| at <= now) && !self.asked_to_end {
            self.asked_to_end = true;
            self.signal(Signal::TERM);
        }
        if self.kill_at.is_some_and(|at| at <= now) {
            self.signal(Signal::KILL);
            // What was just born, or hangs in the kernel, is left: again, ever less eagerly.
            self.kill_at = Some(now + self.again);
            self.again = (self.again * 2).min(AGAIN.1);
        }
    }

    fn signal(&self, signal: Signal) {
        if descendants::signal(signal).is_err()
            && let Some(child) = self.child
        {
            // Without a process table the child's group is the best that can be done.
            let _gone_already = kill_process_group(child, signal);
        }
    }

    /// Tells the gateway, if it is still there.
    fn report(&mut self, report: Report) {
        let _unheard = self.gateway.write_all(report.line().as_bytes());
    }
}

/// Returns when the other end of `socket` is closed.
async fn closed(socket: &net::UnixStream) {
    let mut unused = [0; 64];
    loop {
        let read = match socket.readable().await {
            Ok(()) => socket.try_read(&mut unused),
            Err(error) => Err(error),
        };
        match read {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}
