//! What the log writes about itself: its rotations, repairs, breaks, gaps and deletions.
//!
//! Notes are ordinary records of server `rea`, session and level `system`. No caller can append one.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::record::{Record, iso};

/// The tool name of the first record after a rotation.
pub(crate) const ROTATION: &str = "audit.rotation";
/// The tool name of the note about a cut crash residue.
pub(crate) const REPAIR: &str = "audit.repair";
/// The tool name of the note that follows bytes which are no record.
pub(crate) const BREAK: &str = "audit.break";
/// The tool name of the note that the log is not as far as it had been.
pub(crate) const GAP: &str = "audit.gap";
/// The tool name of the note about segments that are deleted as policy says.
pub(crate) const RETENTION: &str = "audit.retention";

/// The live file was closed under this name, and a new one begun.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Rotated {
    pub(crate) rotated_from: String,
    pub(crate) rotated_at: String,
}

/// The last line had no line feed, as after a crash, and was cut off.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Repaired {
    /// How many bytes were cut.
    pub(crate) bytes: u64,
    /// Their SHA-256.
    pub(crate) sha256: String,
}

/// The log ended in whole lines that are no records. The note's predecessor is the digest of these bytes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Broken {
    /// How many bytes, line feeds included.
    pub(crate) bytes: u64,
    /// The hash of the last good record before them.
    pub(crate) last_good: String,
}

/// Why the log is known to be not what it was.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reason {
    /// It ends before the record that the checkpoint names.
    Short,
    /// It is long enough but does not hold the record that the checkpoint names.
    Rewritten,
}

/// The log is not what the checkpoint, or this process, knows it was.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Gap {
    pub(crate) reason: Reason,
    /// The number of this note; what lies between is missing.
    pub(crate) sequence: u64,
    /// How far the log had come.
    pub(crate) expected_sequence: u64,
    pub(crate) expected_hash: String,
    /// How far it was found to go.
    pub(crate) found_sequence: u64,
}

/// One deleted segment.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Removed {
    pub(crate) name: String,
    /// The hash of its last record, to which the next segment is linked.
    pub(crate) last_hash: String,
}

/// These segments are deleted, oldest first, right after this note is durable.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Retained {
    /// The number of this note, from which the others follow once the first segments are gone.
    pub(crate) sequence: u64,
    pub(crate) removed: Vec<Removed>,
}

fn details(note: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(note) {
        Ok(Value::Object(members)) => members,
        // A struct of strings and numbers always has the form of an object.
        Ok(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
        )
        | Err(_) => Map::new(),
    }
}

impl Rotated {
    pub(crate) fn record(from: &str, at: Timestamp) -> Record {
        let note = Self {
            rotated_from: from.to_owned(),
            rotated_at: iso(at),
        };
        Record {
            timestamp: Some(at),
            ..Record::note(ROTATION, details(&note))
        }
    }
}

impl Repaired {
    pub(crate) fn record(&self) -> Record {
        Record::note(REPAIR, details(self))
    }
}

impl Broken {
    pub(crate) fn record(&self) -> Record {
        Record::note(BREAK, details(self))
    }
}

impl Gap {
    pub(crate) fn record(&self) -> Record {
        Record::note(GAP, details(self))
    }
}

impl Retained {
    pub(crate) fn record(&self) -> Record {
        Record::note(RETENTION, details(self))
    }
}
