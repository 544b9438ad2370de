//! What the dumper notes down, and whether it is what a row has to run.

use super::arena::Row;

/// One call of a program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Call {
    /// The number of the pipe that it reads from, 0 if it is none.
    input: u64,
    /// The number of the pipe that it writes to, 0 if it is none.
    output: u64,
    pub(crate) words: Vec<Vec<u8>>,
}

/// Reads a file of records: the row of each, and the call.
pub(crate) fn read(mut bytes: &[u8]) -> Vec<(usize, Call)> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let length = number(&mut bytes);
        let mut record = take(&mut bytes, length);
        let row = number(&mut record);
        let input = pipe(&mut record);
        let output = pipe(&mut record);
        let words = (0..number(&mut record))
            .map(|_| {
                let length = number(&mut record);
                take(&mut record, length).to_vec()
            })
            .collect();
        records.push((
            row,
            Call {
                input,
                output,
                words,
            },
        ));
    }
    records
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn number(bytes: &mut &[u8]) -> usize {
    u32::from_le_bytes(take(bytes, 4).try_into().unwrap()) as usize
}

fn pipe(bytes: &mut &[u8]) -> u64 {
    u64::from_le_bytes(take(bytes, 8).try_into().unwrap())
}

/// Returns whether `calls` are those of `row`, each reading from the one before it.
pub(crate) fn agrees(row: &Row, calls: &[Call]) -> bool {
    let wanted = |words: &[Vec<u8>], stage: &[String]| {
        words.len() == stage.len()
            && words
                .iter()
                .zip(stage)
                .all(|(got, want)| got == want.as_bytes())
    };
    if calls.len() != row.stages.len() {
        return false;
    }
    let ordered = in_order(calls);
    ordered.len() == calls.len()
        && ordered.iter().zip(&row.stages).all(|(call, stage)| wanted(&call.words, stage))
        // ksh93 joins stages by sockets, which have no number in common: any order will do.
        || calls.iter().all(|call| call.input == 0 && call.output == 0)
            && is_permutation(calls, row, wanted)
}

/// Returns the calls along the pipes, as far as those lead.
fn in_order(calls: &[Call]) -> Vec<&Call> {
    let mut ordered: Vec<&Call> = calls
        .iter()
        .filter(|call| call.input == 0)
        .take(1)
        .collect();
    while let Some(last) = ordered.last().filter(|last| last.output != 0) {
        match calls.iter().find(|call| call.input == last.output) {
            Some(next) if ordered.len() < calls.len() => ordered.push(next),
            _ => break,
        }
    }
    ordered
}

fn is_permutation(
    calls: &[Call],
    row: &Row,
    wanted: impl Fn(&[Vec<u8>], &[String]) -> bool,
) -> bool {
    let mut left: Vec<&Call> = calls.iter().collect();
    row.stages.iter().all(|stage| {
        let found = left.iter().position(|call| wanted(&call.words, stage));
        found.map(|index| left.swap_remove(index)).is_some()
    })
}

/// Writes the words of `calls` as a corpus row does.
pub(crate) fn describe(calls: &[Call]) -> String {
    let ordered = in_order(calls);
    let calls: Vec<&Call> = if ordered.len() == calls.len() {
        ordered
    } else {
        calls.iter().collect()
    };
    let stages: Vec<Vec<String>> = calls
        .iter()
        .map(|call| {
            call.words
                .iter()
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect()
        })
        .collect();
    format!("{stages:?}")
}
