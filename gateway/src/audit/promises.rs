//! What must hold for any bytes that somebody puts into a log.

use jiff::Timestamp;

use super::{
    line::Line,
    lines::{self, Piece},
    note,
    parse::{Fault, Tree},
    record::Record,
    scan::scan,
    walk::{End, Rest, Walk},
};

/// Any bytes are a record, something else, or a fault with a place; and both ways to read them agree.
///
/// # Panics
///
/// When that does not hold.
#[expect(clippy::panic, reason = "a broken promise is to be loud")]
pub fn audit_line(bytes: &[u8]) {
    match Tree::parse(bytes) {
        Ok(tree) => {
            let printed = tree.to_bytes();
            let again = Tree::parse(&printed);
            let again = again.map(|tree| tree.to_bytes());
            assert_eq!(again.as_ref(), Ok(&printed), "printing is not stable");
            if scan(bytes).is_some() {
                assert_eq!(printed, bytes, "vouched for, but printed otherwise");
            }
        }
        Err(fault) => {
            assert!(scan(bytes).is_none(), "vouched for, but no JSON");
            if let Fault::Syntax(at) = fault {
                assert!(at <= bytes.len(), "a fault outside the line");
            }
        }
    }
    match (Line::read(bytes), Line::parsed(bytes)) {
        (Line::Record(fast), Line::Record(slow)) => {
            assert_eq!(fast.actual, slow.actual, "two hashes for one record");
            assert_eq!(fast.stated, slow.stated);
            assert_eq!(fast.previous, slow.previous);
            assert_eq!(fast.tool_name, slow.tool_name);
            assert_eq!(fast.server_name, slow.server_name);
            assert_eq!(fast.session_id, slow.session_id);
            assert_eq!(fast.timestamp, slow.timestamp);
            assert_eq!(fast.metadata, slow.metadata);
        }
        (Line::Other, Line::Other) | (Line::Broken(_), Line::Broken(_)) => {}
        (fast, slow) => panic!("read as {fast:?} and as {slow:?}"),
    }
}

/// Any bytes can be walked, in pieces of any size, and built upon so that only they are to blame.
///
/// # Panics
///
/// When that does not hold.
pub fn audit_file(bytes: &[u8]) {
    let (walk, rest) = walked(bytes);
    let (slow, _) = walked(Trickle(bytes));
    assert_eq!(
        slow.records(),
        walk.records(),
        "the size of the pieces matters"
    );
    assert_eq!(slow.tip(), walk.tip(), "the size of the pieces matters");
    let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
    assert!(walk.records() <= lines, "more records than lines");

    // What a writer does with such a file: it keeps or cuts the rest, and notes what is no record.
    let mut text = bytes.to_vec();
    let mut base = walk.clone();
    match Walk::rest(&rest) {
        Rest::Record | Rest::Residue => text.truncate(bytes.len() - rest.len()),
        Rest::Junk => {
            text.push(b'\n');
            base.line(&rest);
        }
    }
    let found = base.clone().finish();
    let mut records = vec![Record::new("tool", "server")];
    if let End::Bad {
        bytes, last_good, ..
    } = base.end()
    {
        records.insert(
            0,
            note::Broken {
                bytes,
                last_good: last_good.to_string(),
            }
            .record(),
        );
    }
    let mut tip = base.tip();
    for record in &records {
        let encoded = record.encode(Timestamp::UNIX_EPOCH);
        assert!(encoded.is_ok(), "a short record has a form");
        if let Ok(encoded) = encoded {
            tip = encoded.link(tip, &mut text);
        }
    }
    let (after, rest) = walked(text.as_slice());
    assert!(rest.is_empty(), "whole lines were written");
    assert_eq!(
        after.records(),
        base.records() + records.len() as u64,
        "a new record is not one"
    );
    let after = after.finish();
    assert_eq!(after.findings, found.findings, "a new record is accused");
    assert_eq!(after.more, found.more, "a new record is accused");
}

/// Walks everything, and returns what follows the last line feed.
fn walked(source: impl std::io::Read) -> (Walk, Vec<u8>) {
    let mut walk = Walk::new(&[]);
    walk.enter("audit.jsonl");
    let mut rest = Vec::new();
    let read = lines::read(source, |piece| match piece {
        Piece::Line(line) => walk.line(line),
        Piece::Long(bytes) => walk.long_line(bytes),
        Piece::Rest(bytes) => rest = bytes.to_vec(),
    });
    assert!(read.is_ok(), "bytes in memory can be read");
    (walk, rest)
}

/// Hands out a few bytes at a time.
struct Trickle<'a>(&'a [u8]);

impl std::io::Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.len().min(buffer.len()).min(7);
        let (now, later) = self.0.split_at(count);
        for (place, byte) in buffer.iter_mut().zip(now) {
            *place = *byte;
        }
        self.0 = later;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::audit::hash::Hash;

    /// A good log of a few records.
    fn good(count: usize) -> Vec<u8> {
        let (mut text, mut tip) = (Vec::new(), Hash::GENESIS);
        for index in 0..count {
            let record = Record::new("t", "s").with("n", index).with("é\u{1}", "\"");
            tip = record
                .encode(Timestamp::UNIX_EPOCH)
                .unwrap()
                .link(tip, &mut text);
        }
        text
    }

    proptest! {
        #[test]
        fn any_line_keeps_the_promise(bytes in vec(any::<u8>(), 0..60)) {
            audit_line(&bytes);
        }

        #[test]
        fn any_json_keeps_the_promise(text in r#"[ \[\]{}:,"\\0-9.eE+\-a-fu]{0,40}"#) {
            audit_line(text.as_bytes());
        }

        #[test]
        fn a_record_with_any_byte_changed_keeps_the_promise(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut line = good(1);
            line.pop();
            let at = at.index(line.len());
            line[at] = byte;
            audit_line(&line);
        }

        #[test]
        fn a_log_with_anything_in_it_keeps_the_promise(
            count in 0..4_usize,
            at in any::<prop::sample::Index>(),
            cut in 0..300_usize,
            put in prop_oneof![vec(any::<u8>(), 0..20), Just(b"\n".to_vec()), Just(good(1)), Just(b"{}\n".to_vec())],
        ) {
            let mut text = good(count);
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, put);
            audit_file(&text);
        }
    }
}
