//! A program that notes down how it was called: the stand-in for every program of a line.
//!
//! It appends one record to the file that `PLAINPIPE_RECORDS` names: the length of the rest, the
//! row that `PLAINPIPE_ROW` gives, the numbers of the pipes that are its standard input and output
//! (0 for what is no pipe), the number of words and each word behind its length. One write makes a
//! record, so records of programs that run at the same time do not mix. The tests compile this
//! file by itself and link it to be started fast and often.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::process::ExitCode;

fn main() -> ExitCode {
    match note() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "dumper: {error}");
            ExitCode::FAILURE
        }
    }
}

fn note() -> std::io::Result<()> {
    let missing = || std::io::Error::other("PLAINPIPE_RECORDS and PLAINPIPE_ROW must be set");
    let file = std::env::var_os("PLAINPIPE_RECORDS").ok_or_else(missing)?;
    let row = std::env::var("PLAINPIPE_ROW")
        .ok()
        .and_then(|row| row.parse::<u32>().ok());
    let words: Vec<_> = std::env::args_os().collect();
    let mut record = vec![0; 4];
    record.extend(row.ok_or_else(missing)?.to_le_bytes());
    record.extend(pipe(std::io::stdin().as_fd())?.to_le_bytes());
    record.extend(pipe(std::io::stdout().as_fd())?.to_le_bytes());
    record.extend(length(words.len())?);
    for word in &words {
        record.extend(length(word.len())?);
        record.extend(word.as_bytes());
    }
    let rest = length(record.len() - 4)?;
    record[..4].copy_from_slice(&rest);
    OpenOptions::new()
        .append(true)
        .open(file)?
        .write_all(&record)
}

fn pipe(descriptor: BorrowedFd<'_>) -> std::io::Result<u64> {
    let metadata = File::from(descriptor.try_clone_to_owned()?).metadata()?;
    Ok(if metadata.file_type().is_fifo() {
        metadata.ino()
    } else {
        0
    })
}

fn length(length: usize) -> std::io::Result<[u8; 4]> {
    u32::try_from(length)
        .map(u32::to_le_bytes)
        .map_err(std::io::Error::other)
}
