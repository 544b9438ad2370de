//! One line of the log: what it says, and what its hash should be.

use std::borrow::Cow;

use super::{
    hash::Hash,
    parse::{Fault, Tree},
    scan::{Members, scan},
};

/// What one line of the log turned out to be.
#[derive(Debug)]
pub(crate) enum Line<'a> {
    /// An object with the two members every record needs.
    Record(Entry<'a>),
    /// JSON, but not a record: no object, or no `prev_hash` or `hash` in it.
    Other,
    /// Not JSON.
    Broken(Fault),
}

/// A record as far as the chain is concerned. Strings are as JSON spells them, without quotes.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) timestamp: Option<Cow<'a, [u8]>>,
    pub(crate) session_id: Option<Cow<'a, [u8]>>,
    pub(crate) tool_name: Option<Cow<'a, [u8]>>,
    pub(crate) server_name: Option<Cow<'a, [u8]>>,
    /// JSON, not a string's inside.
    pub(crate) metadata: Option<Cow<'a, [u8]>>,
    /// The hash the record says came before it.
    pub(crate) previous: Cow<'a, [u8]>,
    /// The hash the record says it has.
    pub(crate) stated: Cow<'a, [u8]>,
    /// The hash it does have.
    pub(crate) actual: Hash,
}

impl<'a> Line<'a> {
    /// Reads one line, given without its line feed.
    pub(crate) fn read(line: &'a [u8]) -> Self {
        match scan(line) {
            Some(members) => Self::scanned(members),
            None => Self::parsed(line),
        }
    }

    fn scanned(members: Members<'a>) -> Self {
        let (Some(previous), Some(stated)) = (members.prev_hash, members.hash) else {
            return Self::Other;
        };
        Self::Record(Entry {
            timestamp: members.timestamp.map(Cow::Borrowed),
            session_id: members.session_id.map(Cow::Borrowed),
            tool_name: members.tool_name.map(Cow::Borrowed),
            server_name: members.server_name.map(Cow::Borrowed),
            metadata: members.metadata.map(Cow::Borrowed),
            previous: Cow::Borrowed(previous),
            stated: Cow::Borrowed(stated),
            actual: Hash::of_pieces(&[members.body, b"}"]),
        })
    }

    /// Reads a line the slow way, whatever its spelling.
    pub(crate) fn parsed(line: &[u8]) -> Self {
        let mut members = match Tree::parse(line) {
            Ok(Tree::Object(members)) => members,
            Ok(Tree::Scalar(_) | Tree::Text(_) | Tree::Array(_)) => return Self::Other,
            Err(fault) => return Self::Broken(fault),
        };
        let stated = text(members.shift_remove(b"hash".as_slice()));
        let of = |name: &[u8]| text(members.get(name).cloned());
        let (Some(previous), Some(stated)) = (of(b"prev_hash"), stated) else {
            return Self::Other;
        };
        Self::Record(Entry {
            timestamp: of(b"timestamp"),
            session_id: of(b"session_id"),
            tool_name: of(b"tool_name"),
            server_name: of(b"server_name"),
            metadata: members
                .get(b"metadata".as_slice())
                .map(|tree| Cow::Owned(tree.to_bytes())),
            previous,
            stated,
            actual: Hash::of(&Tree::Object(members).to_bytes()),
        })
    }
}

fn text<'a>(tree: Option<Tree>) -> Option<Cow<'a, [u8]>> {
    match tree {
        Some(Tree::Text(text)) => Some(Cow::Owned(text)),
        Some(Tree::Scalar(_) | Tree::Array(_) | Tree::Object(_)) | None => None,
    }
}

impl Entry<'_> {
    /// Says whether the record has the hash it claims.
    pub(crate) fn is_genuine(&self) -> bool {
        *self.stated == self.actual.to_hex()
    }

    /// Says whether this is one of our own notes about the log, of the given name.
    pub(crate) fn is_note(&self, name: &str) -> bool {
        self.server_name.as_deref() == Some(b"rea")
            && self.tool_name.as_deref() == Some(name.as_bytes())
            && self.session_id.as_deref() == Some(b"system")
    }

    /// Returns the metadata of one of our own notes.
    pub(crate) fn details<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(self.metadata.as_deref()?).ok()
    }
}
