//! Where lines for people go: a thread of its own writes them, and nobody ever waits for it.

use std::{
    fmt,
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How many lines may wait to be written; further ones are counted and dropped.
const WAITING_LINES: usize = 1_024;
/// How long a flush waits before it looks again for room.
const ROOM_CHECK: Duration = Duration::from_millis(1);

/// A place for lines; clones write to the same one.
///
/// A reader that does not read cannot hold anybody up: lines that find no room are dropped, and
/// how many were is written as soon as there is room again.
#[derive(Clone)]
pub struct Journal {
    lines: SyncSender<Entry>,
    dropped: Arc<AtomicU64>,
}

enum Entry {
    Line(String),
    Flush(SyncSender<()>),
}

impl Journal {
    /// Returns a journal that writes to standard error.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub fn to_stderr() -> io::Result<Self> {
        Self::to(io::stderr())
    }

    /// Returns a journal that writes to `out`. Faults of `out` are ignored: there is no place left
    /// to tell them.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub fn to(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, entries) = sync_channel(WAITING_LINES);
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&dropped);
        thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || write_all(out, &entries, &counter))?;
        Ok(Self { lines, dropped })
    }

    /// Adds a line, which must be free of control characters, or counts it as dropped.
    pub fn line(&self, line: impl Into<String>) {
        match self.lines.try_send(Entry::Line(line.into())) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Waits until all lines so far are written, at most `patience`. Blocks the thread.
    pub fn flush(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let (done, wait) = sync_channel(1);
        let mut entry = Entry::Flush(done);
        while let Err(TrySendError::Full(unsent)) = self.lines.try_send(entry) {
            if Instant::now() >= until {
                return;
            }
            entry = unsent;
            thread::sleep(ROOM_CHECK);
        }
        let left = until.saturating_duration_since(Instant::now());
        let _written_or_out_of_patience = wait.recv_timeout(left);
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Journal").finish_non_exhaustive()
    }
}

fn write_all(mut out: impl Write, entries: &Receiver<Entry>, dropped: &AtomicU64) {
    for entry in entries {
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _unheard = writeln!(out, "rea: {lost} lines for this place were dropped");
        }
        match entry {
            Entry::Line(mut line) => {
                line.push('\n');
                let _unheard = out.write_all(line.as_bytes());
            }
            Entry::Flush(done) => {
                let _unheard = out.flush();
                let _nobody_waits = done.send(());
            }
        }
    }
}
