//! What one record says, and how it is spelled.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::tier::Tier;

use super::{
    canonical::{write_number, write_object, write_string},
    error::AuditError,
    hash::Hash,
};

/// How many bytes one record may have; what is longer is refused, so that it cannot be lost quietly.
pub const MAX_RECORD_BYTES: usize = 256 * 1024;
/// How many UTF-16 units of an error text are kept.
pub const MAX_ERROR_UNITS: usize = 4096;
/// What stands at the end of an error text that was cut.
const CUT_MARK: &str = "…[truncated]";
/// The server name under which the log speaks about itself.
pub(crate) const OWN_SERVER: &str = "rea";
/// The session and level of the log's notes about itself.
pub(crate) const OWN_SESSION: &str = "system";

/// How a call ended.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Status {
    /// It went through.
    Allowed,
    /// A layer said no.
    Denied,
    /// It was let through and failed on the way.
    Error,
}

impl Status {
    /// Returns the word that records use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Error => "error",
        }
    }
}

/// One entry of the log, before it has its place in the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When it happened, kept to the millisecond; `None` means when it is appended.
    pub timestamp: Option<Timestamp>,
    /// The session that made the call; a record from outside any session says `external`.
    pub session_id: String,
    /// The tool, without its server's prefix.
    pub tool_name: String,
    /// The server that has the tool.
    pub server_name: String,
    /// How far the call reaches.
    pub tier: Tier,
    /// How it ended.
    pub status: Status,
    /// The level in force, or `unknown`.
    pub autonomy_level: String,
    /// How long the call took, in milliseconds.
    pub duration_ms: u64,
    /// What went wrong; left out when empty, cut after [`MAX_ERROR_UNITS`].
    pub error: Option<String>,
    /// What was hidden from the record; left out when empty.
    pub redacted_fields: Vec<String>,
    /// Anything else; left out when empty. Numbers are kept as doubles.
    pub metadata: Map<String, Value>,
}

impl Record {
    /// Returns a record of an allowed read from outside any session; change what differs.
    pub fn new(tool_name: impl Into<String>, server_name: impl Into<String>) -> Self {
        Self {
            timestamp: None,
            session_id: "external".to_owned(),
            tool_name: tool_name.into(),
            server_name: server_name.into(),
            tier: Tier::Read,
            status: Status::Allowed,
            autonomy_level: "unknown".to_owned(),
            duration_ms: 0,
            error: None,
            redacted_fields: Vec::new(),
            metadata: Map::new(),
        }
    }

    /// Adds one member to the metadata.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// Makes this the record that must be durable before the call is let through.
    ///
    /// Sets `phase` and `call_id`, status `allowed` and duration 0.
    #[must_use]
    pub fn started(mut self, call_id: &str) -> Self {
        self.status = Status::Allowed;
        self.duration_ms = 0;
        self.with("phase", "started").with("call_id", call_id)
    }

    /// Makes this the partner of the record that [`Self::started`] made for the same call.
    #[must_use]
    pub fn finished(self, call_id: &str) -> Self {
        self.with("phase", "finished").with("call_id", call_id)
    }

    /// Returns a note of the log about itself.
    pub(crate) fn note(tool_name: &str, details: Map<String, Value>) -> Self {
        let mut note = Self::new(tool_name, OWN_SERVER);
        OWN_SESSION.clone_into(&mut note.session_id);
        OWN_SESSION.clone_into(&mut note.autonomy_level);
        note.metadata = details;
        note
    }

    /// Says whether the record would pass for one of the log's notes about itself.
    pub(crate) fn is_reserved(&self) -> bool {
        self.server_name == OWN_SERVER && self.tool_name.starts_with("audit.")
    }

    /// Spells the record, leaving open what comes before it in the chain.
    pub(crate) fn encode(&self, now: Timestamp) -> Result<Encoded, AuditError> {
        let mut head = b"{\"timestamp\":\"".to_vec();
        head.extend_from_slice(iso(self.timestamp.unwrap_or(now)).as_bytes());
        head.extend_from_slice(b"\",\"session_id\":");
        write_string(&self.session_id, &mut head);
        head.extend_from_slice(b",\"tool_name\":");
        write_string(&self.tool_name, &mut head);
        head.extend_from_slice(b",\"server_name\":");
        write_string(&self.server_name, &mut head);
        head.extend_from_slice(b",\"tier\":");
        write_string(self.tier.as_str(), &mut head);
        head.extend_from_slice(b",\"status\":");
        write_string(self.status.as_str(), &mut head);
        head.extend_from_slice(b",\"autonomy_level\":");
        write_string(&self.autonomy_level, &mut head);
        head.extend_from_slice(b",\"duration_ms\":");
        #[expect(clippy::cast_precision_loss, reason = "the format knows doubles only")]
        write_number(self.duration_ms as f64, &mut head);
        head.extend_from_slice(b",\"prev_hash\":\"");

        let mut tail = b"\"".to_vec();
        if let Some(error) = self.error.as_deref().filter(|error| !error.is_empty()) {
            tail.extend_from_slice(b",\"error\":");
            write_string(&cut(error), &mut tail);
        }
        if !self.redacted_fields.is_empty() {
            tail.extend_from_slice(b",\"redacted_fields\":[");
            for (index, field) in self.redacted_fields.iter().enumerate() {
                if index > 0 {
                    tail.push(b',');
                }
                write_string(field, &mut tail);
            }
            tail.push(b']');
        }
        if !self.metadata.is_empty() {
            tail.extend_from_slice(b",\"metadata\":");
            write_object(&self.metadata, &mut tail);
        }
        let encoded = Encoded { head, tail };
        let bytes = encoded.len();
        if bytes > MAX_RECORD_BYTES {
            return Err(AuditError::TooLong {
                bytes,
                limit: MAX_RECORD_BYTES,
            });
        }
        Ok(encoded)
    }
}

/// A spelled record with a gap for the hash of its predecessor.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Encoded {
    /// Returns the length of the finished line, its line feed included.
    pub(crate) fn len(&self) -> usize {
        self.head.len() + 64 + self.tail.len() + b",\"hash\":\"\"}\n".len() + 64
    }

    /// Appends the finished line, with its line feed, and returns the record's own hash.
    pub(crate) fn link(&self, previous: Hash, out: &mut Vec<u8>) -> Hash {
        let previous = previous.to_hex();
        let hash = Hash::of_pieces(&[&self.head, &previous, &self.tail, b"}"]);
        for piece in [
            &self.head[..],
            &previous,
            &self.tail,
            b",\"hash\":\"",
            &hash.to_hex(),
            b"\"}\n",
        ] {
            out.extend_from_slice(piece);
        }
        hash
    }
}

/// Returns UTC with milliseconds, as `2026-01-02T03:04:05.678Z`.
pub(crate) fn iso(timestamp: Timestamp) -> String {
    timestamp.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

fn cut(error: &str) -> String {
    let mut units = 0;
    for (at, character) in error.char_indices() {
        units += character.len_utf16();
        if units > MAX_ERROR_UNITS {
            let kept = error.get(..at).unwrap_or_default();
            return format!("{kept}{CUT_MARK}");
        }
    }
    error.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_cut_by_utf16_units_and_never_inside_a_character() {
        let just = "é".repeat(MAX_ERROR_UNITS);
        assert_eq!(cut(&just), just);
        let over = format!("{}😀", "x".repeat(MAX_ERROR_UNITS - 1));
        assert_eq!(
            cut(&over),
            format!("{}{CUT_MARK}", "x".repeat(MAX_ERROR_UNITS - 1))
        );
    }

    #[test]
    fn a_record_past_the_limit_is_refused() {
        let record = Record::new("t", "s").with("x", "y".repeat(MAX_RECORD_BYTES));
        assert!(matches!(
            record.encode(Timestamp::UNIX_EPOCH),
            Err(AuditError::TooLong { .. })
        ));
    }

    #[test]
    fn the_announced_length_is_the_length() {
        let record = Record::new("t\n", "s").started("c");
        let encoded = record.encode(Timestamp::UNIX_EPOCH).unwrap();
        let mut line = Vec::new();
        encoded.link(Hash::GENESIS, &mut line);
        assert_eq!(line.len(), encoded.len());
    }
}
