//! Reads a log line by line in constant memory.

use std::io::{self, Read};

use memchr::memchr;

/// How many bytes one line may have before it counts as unreadable.
pub(crate) const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;
/// How much is read at a time.
const CHUNK: usize = 256 * 1024;

/// One piece of a log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Piece<'a> {
    /// A line, without its line feed.
    Line(&'a [u8]),
    /// What follows the last line feed.
    Rest(&'a [u8]),
    /// A line longer than [`MAX_LINE_BYTES`] was passed over; this many bytes, its line feed included.
    Long(u64),
}

/// Hands every piece of `source` to `each`, in order.
pub(crate) fn read(mut source: impl Read, mut each: impl FnMut(Piece<'_>)) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    // What is read but not handed on, and how much of it has been searched.
    let (mut filled, mut searched) = (0, 0);
    let mut skipping: Option<u64> = None;
    loop {
        if filled == buffer.len() {
            if filled > MAX_LINE_BYTES {
                skipping = Some(skipping.unwrap_or(0) + filled as u64);
                (filled, searched) = (0, 0);
            } else {
                buffer.resize(filled * 2, 0);
            }
        }
        let count = match source.read(buffer.get_mut(filled..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        filled += count;
        let mut start = 0;
        while let Some(found) = buffer
            .get(searched..filled)
            .and_then(|fresh| memchr(b'\n', fresh))
        {
            let end = searched + found;
            match skipping.take() {
                Some(bytes) => each(Piece::Long(bytes + (end + 1 - start) as u64)),
                None if end - start > MAX_LINE_BYTES => each(Piece::Long((end + 1 - start) as u64)),
                None => each(Piece::Line(buffer.get(start..end).unwrap_or_default())),
            }
            start = end + 1;
            searched = start;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
        searched = filled;
    }
    match skipping {
        Some(bytes) => each(Piece::Long(bytes + filled as u64)),
        None if filled > MAX_LINE_BYTES => each(Piece::Long(filled as u64)),
        None if filled > 0 => each(Piece::Rest(buffer.get(..filled).unwrap_or_default())),
        None => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(source: &[u8]) -> Vec<String> {
        let mut all = Vec::new();
        read(source, |piece| {
            all.push(match piece {
                Piece::Line(line) => format!("line {}", String::from_utf8_lossy(line)),
                Piece::Rest(rest) => format!("rest {}", String::from_utf8_lossy(rest)),
                Piece::Long(bytes) => format!("long {bytes}"),
            });
        })
        .unwrap();
        all
    }

    #[test]
    fn lines_and_the_rest_are_told_apart() {
        assert_eq!(pieces(b""), Vec::<String>::new());
        assert_eq!(pieces(b"a\n\nb"), ["line a", "line ", "rest b"]);
        assert_eq!(pieces(b"a\n"), ["line a"]);
    }

    #[test]
    fn a_line_across_chunks_is_whole_and_one_past_the_limit_is_passed_over() {
        let long = "x".repeat(CHUNK * 3);
        assert_eq!(
            pieces(format!("a\n{long}\nb\n").as_bytes()),
            ["line a", &format!("line {long}"), "line b"]
        );
        let endless = "x".repeat(MAX_LINE_BYTES * 3);
        let want = format!("long {}", endless.len() + 1);
        assert_eq!(
            pieces(format!("a\n{endless}\nb\n").as_bytes()),
            ["line a", &want, "line b"]
        );
        assert_eq!(
            pieces(endless.as_bytes()),
            [format!("long {}", endless.len())]
        );
    }
}
