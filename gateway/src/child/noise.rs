//! What a child writes to standard error: read to the end, shown in bounded measure.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    time::Instant,
};

use super::Journal;
use crate::{registry::ServerName, terminal::escaped};

/// The most bytes of one line that are shown.
pub const MAX_LINE_BYTES: usize = 4 << 10;
/// How many bytes a child may have shown at once.
pub const BURST_BYTES: usize = 256 << 10;
/// How many bytes a child may have shown per second once it has used that up.
pub const BYTES_PER_SECOND: usize = 16 << 10;
/// How many of the last lines are kept to explain a death.
pub const KEPT_LINES: usize = 16;

/// How many bytes are read at once.
const CHUNK_BYTES: usize = 8 << 10;

/// The last lines that a child wrote to standard error, shared with whoever reads them.
#[derive(Clone, Debug, Default)]
pub(super) struct LastWords(Arc<Mutex<VecDeque<String>>>);

impl LastWords {
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }

    fn push(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// Reads `stderr` to its end, as fast as it comes, and passes on what the budget allows.
pub(super) async fn relay(
    name: ServerName,
    mut stderr: impl AsyncRead + Unpin,
    journal: Journal,
    last_words: LastWords,
) {
    let mut lines = Lines::default();
    let mut budget = Budget::full(Instant::now());
    let mut hidden: u64 = 0;
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = match stderr.read(&mut chunk).await {
            Ok(read) => chunk.get(..read).unwrap_or_default(),
            Err(_no_more_to_read) => &[],
        };
        let ended = read.is_empty();
        let complete = if ended { lines.end() } else { lines.feed(read) };
        for line in complete {
            let shown = line.shown();
            if budget.take(shown.len(), Instant::now()) {
                if hidden > 0 {
                    journal.line(format!("[{name}] … {hidden} lines not shown"));
                    hidden = 0;
                }
                journal.line(format!("[{name}] {shown}"));
            } else {
                hidden += 1;
            }
            last_words.push(shown);
        }
        if ended {
            break;
        }
    }
    if hidden > 0 {
        journal.line(format!("[{name}] … {hidden} lines not shown"));
    }
}

/// A line, or the beginning of one that was too long.
#[derive(Debug, Eq, PartialEq)]
struct Line {
    bytes: Vec<u8>,
    /// How many bytes of it are left out.
    cut: u64,
}

impl Line {
    fn shown(&self) -> String {
        let mut shown = escaped(String::from_utf8_lossy(&self.bytes).trim_end_matches('\r'));
        if self.cut > 0 {
            let _ = write!(shown, " … {} bytes not shown", self.cut);
        }
        shown
    }
}

/// Cuts a stream into lines, keeping at most [`MAX_LINE_BYTES`] of each.
#[derive(Debug, Default)]
struct Lines {
    begun: Vec<u8>,
    cut: u64,
}

impl Lines {
    fn feed(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut complete = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (content, ends) = match piece.split_last() {
                Some((b'\n', content)) => (content, true),
                _ => (piece, false),
            };
            let room = MAX_LINE_BYTES.saturating_sub(self.begun.len());
            let (kept, cut) = content.split_at(content.len().min(room));
            self.begun.extend_from_slice(kept);
            self.cut += cut.len() as u64;
            if ends {
                complete.push(self.take());
            }
        }
        complete
    }

    /// Returns the last line, if it had no end.
    fn end(&mut self) -> Vec<Line> {
        if self.begun.is_empty() && self.cut == 0 {
            Vec::new()
        } else {
            vec![self.take()]
        }
    }

    fn take(&mut self) -> Line {
        Line {
            bytes: mem::take(&mut self.begun),
            cut: mem::take(&mut self.cut),
        }
    }
}

/// How much may be shown: a bucket that time fills.
#[derive(Debug)]
struct Budget {
    left: usize,
    filled_at: Instant,
}

impl Budget {
    fn full(now: Instant) -> Self {
        Self {
            left: BURST_BYTES,
            filled_at: now,
        }
    }

    fn take(&mut self, bytes: usize, now: Instant) -> bool {
        let waited = now.saturating_duration_since(self.filled_at);
        let gained = waited.as_millis().saturating_mul(BYTES_PER_SECOND as u128) / 1_000;
        if gained > 0 {
            let gained = usize::try_from(gained).unwrap_or(BURST_BYTES);
            self.left = self.left.saturating_add(gained).min(BURST_BYTES);
            self.filled_at = now;
        }
        let affordable = bytes <= self.left;
        if affordable {
            self.left -= bytes;
        }
        affordable
    }
}
