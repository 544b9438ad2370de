//! Bounded lines from a byte stream.

use std::io;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::{head::IdFinder, spare};

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// One line, or what is known of one that could not be kept.
#[derive(Debug, Eq, PartialEq)]
pub enum Line {
    /// A line without its line feed (and without a carriage return before it).
    Whole(Vec<u8>),
    /// A line longer than the limit. Its bytes are gone.
    TooLong {
        /// The value of the member `id` at its top level, as it was spelled, if one was seen.
        id: Option<String>,
        /// Whether a member `method` was seen at its top level.
        method: bool,
        /// How long it was, in bytes.
        bytes: u64,
    },
    /// Bytes after the last line feed when the stream ended: perhaps half a message, so never one.
    Unfinished {
        /// How many there were.
        bytes: u64,
    },
}

/// Reads lines and never holds more than the limit and one chunk.
#[derive(Debug)]
pub struct LineReader<R> {
    source: R,
    limit: usize,
    buffer: Vec<u8>,
    /// Bytes of `buffer` already known to hold no line feed.
    searched: usize,
    /// Start of the next line in `buffer`.
    start: usize,
    skipped: Option<Skipped>,
    ended: bool,
}

#[derive(Debug)]
struct Skipped {
    finder: IdFinder,
    bytes: u64,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Returns a reader that keeps lines of up to `limit` bytes.
    pub fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            limit,
            buffer: Vec::new(),
            searched: 0,
            start: 0,
            skipped: None,
            ended: false,
        }
    }

    /// Returns the next line that is not empty, or `None` at the end of the stream.
    ///
    /// # Errors
    /// Whatever the stream reports. Do not drop the future halfway unless the reader goes too.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(self.rest());
            }
            self.fill().await?;
        }
    }

    fn buffered(&mut self) -> Option<Line> {
        loop {
            let unseen = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(found) = memchr(b'\n', unseen) else {
                self.searched = self.buffer.len();
                if self.searched - self.start > self.limit {
                    self.skip();
                }
                return None;
            };
            let end = self.searched + found;
            let line = self.take(end);
            self.searched = self.start;
            if let Some(skipped) = self.skipped.take() {
                return Some(skipped.end(&line));
            }
            let line = without_carriage_return(line);
            if line.len() > self.limit {
                return Some(Skipped::new().end(&line));
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Some(Line::Whole(line));
            }
        }
    }

    /// Takes the bytes up to the line feed at `end`; large lines leave without being copied.
    fn take(&mut self, end: usize) -> Vec<u8> {
        if self.start == 0 && end >= CHUNK_BYTES {
            let rest = self.buffer.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.buffer, rest);
            line.truncate(end);
            return line;
        }
        let line = self
            .buffer
            .get(self.start..end)
            .unwrap_or_default()
            .to_vec();
        self.start = end + 1;
        line
    }

    /// Gives the bytes of a line that is already too long to the search for its id.
    fn skip(&mut self) {
        let bytes = self.buffer.get(self.start..).unwrap_or_default();
        self.skipped.get_or_insert_with(Skipped::new).feed(bytes);
        self.buffer.clear();
        self.buffer.shrink_to(CHUNK_BYTES);
        self.start = 0;
        self.searched = 0;
    }

    async fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        if self.skipped.is_some() && !self.buffer.is_empty() {
            self.skip();
        }
        self.make_room();
        if self.source.read_buf(&mut self.buffer).await? == 0 {
            self.ended = true;
        }
        Ok(())
    }

    fn make_room(&mut self) {
        let wanted = self.buffer.len() + CHUNK_BYTES;
        if self.buffer.len() >= CHUNK_BYTES
            && wanted > self.buffer.capacity()
            && let Some(mut larger) = spare::take(wanted)
        {
            larger.extend_from_slice(&self.buffer);
            spare::give(std::mem::replace(&mut self.buffer, larger));
        }
        self.buffer.reserve(CHUNK_BYTES);
    }

    fn rest(&mut self) -> Option<Line> {
        let rest = self.buffer.get(self.start..).unwrap_or_default().len();
        let before = self.skipped.take().map_or(0, |skipped| skipped.bytes);
        self.buffer = Vec::new();
        self.start = 0;
        self.searched = 0;
        let bytes = before + rest as u64;
        (bytes > 0).then_some(Line::Unfinished { bytes })
    }
}

impl Skipped {
    fn new() -> Self {
        Self {
            finder: IdFinder::default(),
            bytes: 0,
        }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.finder.feed(bytes);
        self.bytes += bytes.len() as u64;
    }

    fn end(mut self, bytes: &[u8]) -> Line {
        self.feed(bytes);
        let method = self.finder.saw_method();
        Line::TooLong {
            id: self.finder.finish(),
            method,
            bytes: self.bytes,
        }
    }
}

fn without_carriage_return(mut line: Vec<u8>) -> Vec<u8> {
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// Feeds `pieces` through a pipe and collects every line.
    fn lines(pieces: &[&[u8]], limit: usize) -> Vec<Line> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (mut near, far) = tokio::io::duplex(1024);
            let write = async move {
                for piece in pieces {
                    near.write_all(piece).await.unwrap();
                }
            };
            let read = async move {
                let mut reader = LineReader::new(far, limit);
                let mut lines = Vec::new();
                while let Some(line) = reader.next().await.unwrap() {
                    lines.push(line);
                }
                lines
            };
            tokio::join!(write, read).1
        })
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_cut_at_line_feeds_and_empty_ones_are_passed_over() {
        let got = lines(&[b"a\r\n\n", b"  \nb", b"b\nhalf"], 10);
        assert_eq!(
            got,
            [whole("a"), whole("bb"), Line::Unfinished { bytes: 4 }]
        );
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_kept_and_one_byte_more_is_not() {
        let got = lines(&[b"12345\n123456\nok\n"], 5);
        let long = Line::TooLong {
            id: None,
            method: false,
            bytes: 6,
        };
        assert_eq!(got, [whole("12345"), long, whole("ok")]);
    }

    #[test]
    fn the_id_of_a_line_that_is_too_long_is_found_before_and_behind_the_bulk() {
        let bulk = "x".repeat(300_000);
        for text in [
            format!(r#"{{"id":7,"result":"{bulk}"}}"#),
            format!(r#"{{"result":{{"id":8,"t":"\"{bulk}\",\"id\":9"}},"jsonrpc":"2.0","id":7}}"#),
        ] {
            let got = lines(&[text.as_bytes(), b"\nnext\n"], 1000);
            let long = Line::TooLong {
                id: Some("7".to_owned()),
                method: false,
                bytes: text.len() as u64,
            };
            assert_eq!(got, [long, whole("next")]);
        }
    }

    proptest! {
        #[test]
        fn where_the_stream_is_cut_into_pieces_makes_no_difference(
            text in prop::collection::vec(prop::sample::select(b"ab{}\":,id7\n\r ".to_vec()), 0..400),
            cuts in prop::collection::vec(0_usize..400, 0..8),
            limit in 1_usize..40,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            let mut pieces: Vec<&[u8]> = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&text[from..cut]);
                from = cut;
            }
            pieces.push(&text[from..]);
            prop_assert_eq!(lines(&pieces, limit), lines(&[&text], limit));
        }
    }
}
