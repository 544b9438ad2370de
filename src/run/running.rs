//! A line whose programs have been started.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use super::outcome::{Outcome, StageStatus, Stopped};
use super::process::Process;
use super::signaller::Signaller;
use crate::program::Held;

/// How long a line that is stopped has between `SIGTERM` and `SIGKILL`.
pub const STOP_GRACE: Duration = Duration::from_secs(2);

/// How long output is still read once every stage has ended, in case something that escaped
/// keeps a pipe open.
pub const LINGER: Duration = Duration::from_secs(1);

/// How often the leases on running scripts are looked at. The kernel gives a holder 45 s by
/// default before it breaks one.
const SCRIPT_WATCH: Duration = Duration::from_secs(1);

/// How much is read from a pipe at a time, in bytes.
const READ_BYTES: usize = 64 << 10;

/// Which of its standard streams a line wrote to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Channel {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// What happens to processes that a program left in the background once every stage has ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Leftovers {
    /// They are killed. One that has started a session of its own escapes.
    #[default]
    Kill,
    /// They are left alone, as a shell does.
    Leave,
}

/// How much a line may take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) time: Option<Duration>,
    pub(super) output: Option<u64>,
}

/// A line whose programs have been started.
///
/// Dropping it kills every program and waits for them.
#[derive(Debug)]
#[must_use = "dropping this kills the line"]
pub struct Running {
    stages: Vec<Started>,
    pipes: Vec<Pipe>,
    signaller: Signaller,
    limits: Limits,
    leftovers: Leftovers,
    since: Instant,
    written: u64,
    stopped: Option<Stopped>,
    /// When `SIGTERM` was sent.
    asked_to_end: Option<Instant>,
    waited_for: bool,
}

/// What can be read from when there is something to do, and what does it.
type Bell<'a> = (BorrowedFd<'a>, &'a mut dyn FnMut(&Signaller));

/// One stage that runs.
#[derive(Debug)]
struct Started {
    process: Process,
    ended: bool,
    scripts: Vec<Held>,
}

#[derive(Debug)]
struct Pipe {
    channel: Channel,
    /// `None` after the end.
    file: Option<File>,
}

impl Running {
    pub(super) fn new(limits: Limits, leftovers: Leftovers) -> Self {
        Self {
            stages: Vec::new(),
            pipes: Vec::new(),
            signaller: Signaller::default(),
            limits,
            leftovers,
            since: Instant::now(),
            written: 0,
            stopped: None,
            asked_to_end: None,
            waited_for: false,
        }
    }

    /// Takes charge of a process.
    pub(super) fn add(&mut self, process: Process, scripts: Vec<Held>) {
        self.signaller.add(process.pid());
        self.stages.push(Started {
            process,
            ended: false,
            scripts,
        });
    }

    pub(super) fn read_from(&mut self, channel: Channel, pipe: impl Into<OwnedFd>) {
        self.pipes.push(Pipe {
            channel,
            file: Some(File::from(pipe.into())),
        });
    }

    /// Returns what sends signals to the line, for use while another thread waits.
    pub fn signaller(&self) -> Signaller {
        self.signaller.clone()
    }

    /// Returns the process ids of the stages, in order.
    pub fn process_ids(&self) -> impl Iterator<Item = u32> {
        let pids = self.stages.iter().map(|stage| stage.process.pid());
        pids.map(|pid| pid.as_raw_nonzero().get().cast_unsigned())
    }

    /// Waits until every stage has ended. What is captured of the output is dropped.
    ///
    /// # Errors
    ///
    /// When waiting or reading fails. Every program has been killed by then.
    pub fn wait(self) -> io::Result<Outcome> {
        self.wait_with(|_, _| Ok(()))
    }

    /// Waits until every stage has ended, and hands on what is captured of the output as it
    /// comes.
    ///
    /// # Errors
    ///
    /// When waiting or reading fails, and the first error of `sink`. Every program has been
    /// killed by then.
    pub fn wait_with(
        self,
        sink: impl FnMut(Channel, &[u8]) -> io::Result<()>,
    ) -> io::Result<Outcome> {
        self.wait_for_all(None, sink)
    }

    /// Waits until every stage has ended, and calls `woken` from time to time while there is
    /// something to read from `bell`, which it has to do. What is captured of the output is
    /// dropped.
    ///
    /// # Errors
    ///
    /// When waiting fails. Every program has been killed by then.
    pub fn wait_beside(
        self,
        bell: BorrowedFd<'_>,
        mut woken: impl FnMut(&Signaller),
    ) -> io::Result<Outcome> {
        self.wait_for_all(Some((bell, &mut woken)), |_, _| Ok(()))
    }

    fn wait_for_all(
        mut self,
        mut bell: Option<Bell<'_>>,
        mut sink: impl FnMut(Channel, &[u8]) -> io::Result<()>,
    ) -> io::Result<Outcome> {
        let mut buffer = vec![0; if self.pipes.is_empty() { 0 } else { READ_BYTES }];
        while !self.stages.iter().all(|stage| stage.ended) {
            self.stop_if_over()?;
            let fd = bell.as_ref().map(|(fd, _)| *fd);
            let rang = self.poll_once(self.patience(), fd, &mut buffer, &mut sink)?;
            if rang && let Some((_, woken)) = &mut bell {
                woken(&self.signaller);
            }
        }
        if self.leftovers == Leftovers::Kill {
            // Only what runs as somebody else cannot be killed, and we cannot help that.
            let _ = self.signaller.send(Signal::KILL);
        }
        let stages = self.reap()?;
        let until = Instant::now() + LINGER;
        while self.pipes.iter().any(|pipe| pipe.file.is_some()) && self.stopped.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.poll_once(Some(left), None, &mut buffer, &mut sink)?;
            self.note_output_limit();
        }
        Ok(Outcome {
            stages,
            stopped: self.stopped,
        })
    }

    /// Stops the line if it has used up what it was given.
    fn stop_if_over(&mut self) -> io::Result<()> {
        if let Some(since) = self.asked_to_end {
            if since.elapsed() >= STOP_GRACE {
                self.signaller.send(Signal::KILL)?;
            }
            return Ok(());
        }
        self.note_output_limit();
        self.note_time_limit();
        self.note_broken_lease();
        if self.stopped.is_some() {
            self.asked_to_end = Some(Instant::now());
            self.signaller.send(Signal::TERM)?;
            // A stopped process does not see the signal before it goes on.
            self.signaller.send(Signal::CONT)?;
        }
        Ok(())
    }

    fn note_output_limit(&mut self) {
        if let Some(limit) = self.limits.output
            && self.written > limit
        {
            self.stopped.get_or_insert(Stopped::OutputLimit { limit });
        }
    }

    fn note_time_limit(&mut self) {
        if let Some(limit) = self.limits.time
            && self.since.elapsed() >= limit
        {
            self.stopped.get_or_insert(Stopped::TimeLimit { limit });
        }
    }

    fn note_broken_lease(&mut self) {
        let running = self
            .stages
            .iter()
            .enumerate()
            .filter(|(_, stage)| !stage.ended);
        for (index, stage) in running {
            if !stage.scripts.iter().all(Held::lease_lasts) {
                let why = Stopped::ScriptOpenedForWriting { stage: index };
                self.stopped.get_or_insert(why);
            }
        }
    }

    /// Returns how long to wait for something to happen, or `None` for as long as it takes.
    fn patience(&self) -> Option<Duration> {
        if let Some(since) = self.asked_to_end {
            return Some(
                STOP_GRACE
                    .saturating_sub(since.elapsed())
                    .max(Duration::from_millis(20)),
            );
        }
        let watched = self
            .stages
            .iter()
            .any(|stage| !stage.ended && !stage.scripts.is_empty());
        let watch = watched.then_some(SCRIPT_WATCH);
        let left = self
            .limits
            .time
            .map(|limit| limit.saturating_sub(self.since.elapsed()));
        watch.into_iter().chain(left).min()
    }

    /// Waits for one thing to happen, and deals with it. Returns whether there is something to
    /// read from `bell`.
    fn poll_once(
        &mut self,
        patience: Option<Duration>,
        bell: Option<BorrowedFd<'_>>,
        buffer: &mut [u8],
        sink: &mut impl FnMut(Channel, &[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        let ends = self.stages.iter().filter(|stage| !stage.ended);
        let ends = ends.map(|stage| stage.process.as_fd());
        let pipes = self.pipes.iter().filter_map(|pipe| pipe.file.as_ref());
        let mut waiting: Vec<_> = ends
            .chain(pipes.map(AsFd::as_fd))
            .chain(bell)
            .map(|fd: BorrowedFd<'_>| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        match poll(&mut waiting, patience.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = waiting.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        for stage in self.stages.iter_mut().filter(|stage| !stage.ended) {
            stage.ended = ready.next().unwrap_or(false);
        }
        for pipe in self.pipes.iter_mut().filter(|pipe| pipe.file.is_some()) {
            if ready.next().unwrap_or(false) {
                let limit = self.limits.output.unwrap_or(u64::MAX);
                let room = limit.saturating_sub(self.written);
                self.written += pipe.pass_on(room, buffer, sink)?;
            }
        }
        Ok(ready.next().unwrap_or(false))
    }

    /// Takes the status of every stage, all of which have ended or were killed.
    fn reap(&mut self) -> io::Result<Vec<StageStatus>> {
        let Self {
            stages, signaller, ..
        } = self;
        let statuses = signaller.close(|| {
            let waited = stages.iter_mut().map(|stage| stage.process.wait());
            waited.collect::<Vec<io::Result<_>>>()
        });
        self.waited_for = true;
        statuses
            .into_iter()
            .map(|status| status.map(StageStatus::from))
            .collect()
    }
}

impl Pipe {
    /// Reads once, hands on as much as there is room for, and returns how many bytes came.
    fn pass_on(
        &mut self,
        room: u64,
        buffer: &mut [u8],
        sink: &mut impl FnMut(Channel, &[u8]) -> io::Result<()>,
    ) -> io::Result<u64> {
        let Some(file) = &mut self.file else {
            return Ok(0);
        };
        let read = match file.read(buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(0),
            Err(error) => return Err(error),
        };
        if read == 0 {
            self.file = None;
        }
        let kept = read.min(usize::try_from(room).unwrap_or(usize::MAX));
        match buffer.get(..kept) {
            Some(bytes) if kept > 0 => sink(self.channel, bytes)?,
            Some(_) | None => {}
        }
        Ok(read as u64)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.waited_for {
            // Nothing is left to tell anybody; what cannot be killed is not ours.
            let _ = self.signaller.send(Signal::KILL);
            drop(self.reap());
        }
    }
}
