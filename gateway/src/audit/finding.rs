//! What verification can find wrong, each kind with the verdict it leads to.

use std::fmt;

use serde::{Serialize, Serializer};

/// What the log as a whole turned out to be. The worst finding decides.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every record is as it was written and where it was written, as far as can be known.
    Intact,
    /// Records are missing from an end of it.
    Truncated,
    /// Some of it cannot be read or compared, so nothing is promised.
    Unreadable,
    /// Records were changed, moved, added or taken out.
    Tampered,
}

impl Verdict {
    /// Returns the exit code of `rea audit verify`.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Intact => 0,
            Self::Tampered => 1,
            Self::Truncated => 3,
            Self::Unreadable => 4,
        }
    }

    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Truncated => "truncated",
            Self::Unreadable => "unreadable",
            Self::Tampered => "tampered",
        }
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal => $verdict:ident, $reason:literal;)+) => {
        /// The published kinds of findings. A name is never reworded and never reused.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Kind { $($(#[$doc])* $name,)+ }

        impl Kind {
            /// Every kind, so that a test can ask whether each one has a case.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the name that reports use.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Returns what this kind makes of the log.
            pub const fn verdict(self) -> Verdict {
                match self { $(Self::$name => Verdict::$verdict,)+ }
            }

            /// Returns what it means, in a sentence's length.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$name => $reason,)+ }
            }
        }
    };
}

kinds! {
    /// A record's content does not have the hash it states.
    Altered = "altered" => Tampered, "the record does not have the hash it states: its content was changed";
    /// A record does not follow the one before it.
    Unlinked = "unlinked" => Tampered, "the record does not follow the one before it: records were taken out, put in or moved";
    /// A record stands twice.
    Repeated = "repeated" => Tampered, "the record is a copy of the one before it";
    /// A whole line is not JSON.
    Unparsable = "unparsable" => Tampered, "the line is not JSON";
    /// A line is JSON without the members of a record.
    NotARecord = "not-a-record" => Tampered, "the line is not a record: it lacks prev_hash or hash";
    /// A segment between others is missing.
    SegmentMissing = "segment-missing" => Tampered, "the segment named by this rotation is not the one before it";
    /// A note's number does not fit its place.
    Misnumbered = "misnumbered" => Tampered, "the number in this note does not fit its place in the log";
    /// The log holds another record where the checkpoint has one.
    Rewritten = "rewritten" => Tampered, "the log does not hold the record that the checkpoint names: the chain was made anew";
    /// The log itself noted that it had been rewritten.
    RewriteNoted = "rewrite-noted" => Tampered, "rea noted here that the log before was not the one it had written";
    /// The log ends before the record that the checkpoint names.
    TailMissing = "tail-missing" => Truncated, "the log ends before the record that the checkpoint names";
    /// The first segments are missing and no note says that policy deleted them.
    HeadMissing = "head-missing" => Truncated, "older segments are missing, and no note says that they were deleted by policy";
    /// The log itself noted that its end was missing.
    GapNoted = "gap-noted" => Truncated, "rea noted here that records before were missing";
    /// A line is longer than can be read.
    TooLong = "too-long" => Unreadable, "the line is longer than 4 MiB";
    /// A line nests deeper than can be read.
    TooDeep = "too-deep" => Unreadable, "the line nests deeper than 256 levels";
    /// A file cannot be read to its end.
    Unreadable = "unreadable" => Unreadable, "the file cannot be read";
    /// The checkpoint names a record that policy has deleted since.
    NotComparable = "not-comparable" => Unreadable, "the record that the checkpoint names has been deleted by policy, so there is nothing to compare";
    /// The checkpoint is damaged or signed by somebody else.
    CheckpointUnusable = "checkpoint-unusable" => Unreadable, "the checkpoint cannot be used";
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One thing that is wrong with a log, and where.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// In which file, by its base name.
    pub file: String,
    /// In which line of it, counted from 0; `None` when it concerns the whole file or log.
    pub record: Option<u64>,
    /// What was expected there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was found instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.file)?;
        if let Some(record) = self.record {
            write!(f, " record {record}")?;
        }
        write!(f, ": {}", self.kind.reason())?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        if let Some(actual) = &self.actual {
            write!(f, "; found {actual}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_exit_codes_are_told_apart() {
        let names: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
        let verdicts = [
            Verdict::Intact,
            Verdict::Truncated,
            Verdict::Unreadable,
            Verdict::Tampered,
        ];
        assert_eq!(verdicts.map(Verdict::exit_code), [0, 3, 4, 1]);
        assert!(verdicts.is_sorted(), "the worst comes last");
    }
}
