//! One ordered way out: everything for one peer goes through one queue and one writer, so that
//! nothing overtakes what was sent before it.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::Notify,
};

use super::{outgoing::Outgoing, spare};

/// Small lines are written together up to this many bytes.
const TOGETHER_BYTES: usize = 64 * 1024;

/// The near end: takes lines in order, without waiting.
#[derive(Clone, Debug)]
pub struct Outlet {
    shared: Arc<Shared>,
}

/// The far end: writes the lines.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Something was queued, or the way was closed.
    filled: Notify,
    /// Something was written, or the way was closed.
    emptied: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Outgoing>,
    /// Bytes queued or being written.
    bytes: usize,
    ending: bool,
    broken: bool,
}

/// Returns both ends of a new way out.
pub fn outlet() -> (Outlet, Writer) {
    let shared = Arc::new(Shared {
        state: Mutex::default(),
        filled: Notify::new(),
        emptied: Notify::new(),
    });
    let near = Outlet {
        shared: Arc::clone(&shared),
    };
    (near, Writer { shared })
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet {
    /// Queues one line; the line feed is added. Lines to a peer that is gone are dropped.
    pub fn send(&self, line: impl Into<Outgoing>) {
        let mut line = line.into();
        line.push_str("\n");
        let mut state = self.shared.state();
        if state.ending || state.broken {
            return;
        }
        state.bytes += line.bytes();
        state.queue.push_back(line);
        drop(state);
        self.shared.filled.notify_one();
    }

    /// Returns how many bytes wait to be written.
    pub fn waiting(&self) -> usize {
        self.shared.state().bytes
    }

    /// Returns once fewer than `bytes` wait to be written, or the peer is gone.
    pub async fn below(&self, bytes: usize) {
        loop {
            let emptied = self.shared.emptied.notified();
            if self.is_broken() || self.waiting() < bytes {
                return;
            }
            emptied.await;
        }
    }

    /// Takes no more lines; what is queued is still written.
    pub fn end(&self) {
        self.shared.state().ending = true;
        self.shared.filled.notify_one();
    }

    /// Returns whether the peer stopped reading for good.
    pub fn is_broken(&self) -> bool {
        self.shared.state().broken
    }
}

/// What there is to write.
enum Taken {
    Lines(Outgoing),
    Nothing,
    /// Nothing, and nothing more comes.
    Last,
}

impl State {
    fn take(&mut self) -> Taken {
        let Some(mut lines) = self.pop() else {
            return if self.ending {
                Taken::Last
            } else {
                Taken::Nothing
            };
        };
        while let Some(line) = self.queue.front()
            && lines.bytes() + line.bytes() <= TOGETHER_BYTES
            && let Some(line) = self.pop()
        {
            for piece in line.pieces() {
                lines.push_str(piece);
            }
        }
        Taken::Lines(lines)
    }

    /// Returns the next line whose guard lets it go; those that it holds back are dropped.
    fn pop(&mut self) -> Option<Outgoing> {
        while let Some(mut line) = self.queue.pop_front() {
            if line.may_go() {
                return Some(line);
            }
            self.bytes -= line.bytes();
        }
        None
    }
}

impl Writer {
    /// Writes lines until the near end says that no more come and all are written.
    ///
    /// # Errors
    /// Whatever the stream reports; the near end then drops what it is given.
    pub async fn run<W: AsyncWrite + Unpin>(self, mut to: W) -> io::Result<()> {
        let result = self.write(&mut to).await;
        let mut state = self.shared.state();
        state.broken = true;
        state.queue = VecDeque::new();
        state.bytes = 0;
        drop(state);
        self.shared.emptied.notify_waiters();
        result
    }

    async fn write<W: AsyncWrite + Unpin>(&self, to: &mut W) -> io::Result<()> {
        while let Some(lines) = self.next().await {
            let bytes = lines.bytes();
            if bytes <= TOGETHER_BYTES {
                to.write_all(lines.into_string().as_bytes()).await?;
            } else {
                for piece in lines.pieces() {
                    to.write_all(piece.as_bytes()).await?;
                }
                spare::give(lines.into_buffer());
            }
            to.flush().await?;
            self.shared.state().bytes -= bytes;
            self.shared.emptied.notify_waiters();
        }
        to.shutdown().await
    }

    /// Returns the next line, with as many small ones behind it as go together.
    async fn next(&self) -> Option<Outgoing> {
        loop {
            let filled = self.shared.filled.notified();
            match self.shared.state().take() {
                Taken::Lines(lines) => return Some(lines),
                Taken::Last => return None,
                Taken::Nothing => {}
            }
            filled.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn lines_arrive_in_order_and_the_end_comes_after_the_last() {
        let (outlet, writer) = outlet();
        let (near, mut far) = tokio::io::duplex(16);
        let writing = tokio::spawn(writer.run(near));
        let mut want = String::new();
        for number in 0..1000 {
            let line = "x".repeat(number % 50) + &number.to_string();
            want.push_str(&line);
            want.push('\n');
            outlet.send(line);
        }
        outlet.end();
        outlet.send("too late".to_owned());
        let mut got = String::new();
        far.read_to_string(&mut got).await.unwrap();
        assert_eq!(got, want);
        writing.await.unwrap().unwrap();
        assert_eq!(outlet.waiting(), 0);
    }

    #[tokio::test]
    async fn whoever_waits_for_room_is_woken_by_reading_and_by_the_end_of_the_peer() {
        let (outlet, writer) = outlet();
        let (near, mut far) = tokio::io::duplex(16);
        let written = tokio::spawn(writer.run(near));
        outlet.send("x".repeat(100));
        let waiting = tokio::spawn({
            let outlet = outlet.clone();
            async move { outlet.below(50).await }
        });
        let mut taken = [0; 101];
        far.read_exact(&mut taken).await.unwrap();
        waiting.await.unwrap();

        outlet.send("x".repeat(100));
        let waiting = tokio::spawn({
            let outlet = outlet.clone();
            async move { outlet.below(50).await }
        });
        drop(far);
        waiting.await.unwrap();
        assert!(written.await.unwrap().is_err());
        assert!(outlet.is_broken());
        outlet.send("dropped".to_owned());
        assert_eq!(outlet.waiting(), 0);
    }
}
