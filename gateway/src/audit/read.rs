//! Reads a log for people: all of it in order, or its last records.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use memchr::memrchr;

use super::{
    error::{AuditError, Context},
    lines::{self, MAX_LINE_BYTES, Piece},
    lock::open_regular,
    segment::{self, Segment},
    verify::{Snapshot, resolve},
};

/// How much is read at a time from the end of a file.
const BLOCK: u64 = 64 * 1024;

/// Hands on every line of the log at `root`, oldest first, from the segment `since` on; stops when `each` says so.
///
/// Nothing is verified. What follows the last line feed is left out.
///
/// # Errors
/// When there is no log or no such segment, or when a file cannot be read.
pub fn each(
    root: &Path,
    since: Option<&str>,
    mut each: impl FnMut(&[u8]) -> bool,
) -> Result<(), AuditError> {
    let snapshot = Snapshot::take(root, None)?;
    let directory = resolve(root)?.join(".rea");
    if snapshot.is_empty() {
        return Err(AuditError::NoLog { directory });
    }
    if let Some(name) = since.filter(|name| *name != segment::LIVE)
        && !Segment::from_name(name).is_some_and(|segment| snapshot.segments.contains(&segment))
    {
        return Err(AuditError::NoSuchSegment {
            name: name.to_owned(),
            directory,
        });
    }
    let (mut begun, mut going, mut fault) = (since.is_none(), true, None);
    snapshot.each(|name, opened, _| {
        begun |= since == Some(name);
        if !begun || !going || fault.is_some() {
            return;
        }
        let read = opened.and_then(|source| {
            let read = lines::read(source, |piece| match piece {
                Piece::Line(line) => going = going && each(line),
                Piece::Rest(_) | Piece::Long(_) => {}
            });
            read.context("read", &directory.join(name))
        });
        fault = read.err();
    });
    fault.map_or(Ok(()), Err)
}

/// Returns the last `count` lines of the log at `root`, oldest first, through segments if need be.
///
/// Nothing is verified, and only as much is read as is returned. What follows the last line feed is left out.
///
/// # Errors
/// When there is no log, or when a file cannot be read.
pub fn tail(root: &Path, count: usize) -> Result<Vec<Vec<u8>>, AuditError> {
    let directory = resolve(root)?.join(".rea");
    let mut paths: Vec<_> = segment::list(&directory)?
        .iter()
        .map(|name| segment::path(&directory, name))
        .collect();
    let live = directory.join(segment::LIVE);
    if live.symlink_metadata().is_ok() {
        paths.push(live);
    }
    if paths.is_empty() {
        return Err(AuditError::NoLog { directory });
    }
    let mut newest_first = Vec::new();
    for path in paths.iter().rev() {
        let file = open_regular(OpenOptions::new().read(true), path)?;
        last_lines(file, count, &mut newest_first).context("read", path)?;
        if newest_first.len() >= count {
            break;
        }
    }
    newest_first.reverse();
    Ok(newest_first)
}

/// Adds lines from the end of a file to `newest_first` until there are `count`.
fn last_lines(
    mut file: File,
    count: usize,
    newest_first: &mut Vec<Vec<u8>>,
) -> std::io::Result<()> {
    let mut start = file.seek(SeekFrom::End(0))?;
    // What is read and not yet handed on: the beginning of it may be the end of a longer line.
    let mut held = Vec::new();
    let mut ended = false;
    while start > 0 && newest_first.len() < count {
        let size = BLOCK.min(start);
        start -= size;
        file.seek(SeekFrom::Start(start))?;
        let mut block = Vec::new();
        Read::by_ref(&mut file).take(size).read_to_end(&mut block)?;
        block.append(&mut held);
        held = block;
        while newest_first.len() < count
            && let Some(feed) = memrchr(b'\n', &held)
        {
            let line = held.split_off(feed + 1);
            held.pop();
            if ended {
                newest_first.push(line);
            }
            ended = true;
        }
        if held.len() > MAX_LINE_BYTES {
            held.clear();
        }
    }
    if ended && start == 0 && newest_first.len() < count {
        newest_first.push(held);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;

    fn log(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_owned();
        fs::create_dir(root.join(".rea")).unwrap();
        for (name, text) in files {
            fs::write(root.join(".rea").join(name), text).unwrap();
        }
        (directory, root)
    }

    #[test]
    fn the_last_lines_are_found_across_blocks_and_files() {
        let long = "x".repeat(usize::try_from(BLOCK).unwrap() * 2);
        let (_kept, root) = log(&[
            ("audit-20260101-000000.jsonl", "a\nb\n"),
            ("audit-20260101-000000-1.jsonl", &format!("c\n{long}\n")),
            ("audit.jsonl", "d\n\ne\ntorn"),
        ]);
        let all = ["a", "b", "c", &long, "d", "", "e"];
        for count in 0..9 {
            let got: Vec<_> = tail(&root, count)
                .unwrap()
                .into_iter()
                .map(|line| String::from_utf8(line).unwrap())
                .collect();
            assert_eq!(got, all[all.len() - count.min(all.len())..], "{count}");
        }
    }

    #[test]
    fn every_line_is_handed_on_from_where_it_was_asked() {
        let (_kept, root) = log(&[
            ("audit-20260101-000000.jsonl", "a\nb\n"),
            ("audit.jsonl", "c\nd\ntorn"),
        ]);
        let read = |since| {
            let mut lines = Vec::new();
            each(&root, since, |line| {
                lines.push(String::from_utf8(line.to_vec()).unwrap());
                line != b"c"
            })
            .map(|()| lines.concat())
        };
        assert_eq!(read(None).unwrap(), "abc");
        assert_eq!(read(Some("audit.jsonl")).unwrap(), "c");
        assert_eq!(
            read(Some("audit-20260101-000001.jsonl"))
                .unwrap_err()
                .code(),
            "audit-no-such-segment"
        );
        let (_kept, empty) = log(&[]);
        assert_eq!(
            each(&empty, None, |_| true).unwrap_err().code(),
            "audit-no-log"
        );
        assert_eq!(tail(&empty, 1).unwrap_err().code(), "audit-no-log");
    }
}
