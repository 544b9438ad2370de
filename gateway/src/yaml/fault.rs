//! What is wrong with a file, and the parser's errors put into such words.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde_saphyr::{Error, MessageFormatter as _};

use crate::terminal::escaped;

use super::{MAX_ALIASES, MAX_DEPTH, MAX_EVENTS};

/// The longest excerpt of the file that a message shows, in characters.
const MAX_EXCERPT: usize = 80;

/// A position in a file.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Place {
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
}

impl From<serde_saphyr::Location> for Place {
    fn from(location: serde_saphyr::Location) -> Self {
        let small = |number| u32::try_from(number).unwrap_or(u32::MAX); // a file has 1 MiB at most
        Self {
            line: small(location.line()),
            column: small(location.column()),
        }
    }
}

/// One thing that is wrong with a file.
///
/// Displays as one line: `FILE:LINE:COLUMN: FOUND; expected EXPECTED; ADVICE`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct Fault {
    /// The file, as it was named by the caller.
    pub file: PathBuf,
    /// Where in the file, if the fault has a place there.
    pub place: Option<Place>,
    /// What stands there.
    pub found: String,
    /// What should stand there.
    pub expected: String,
    /// What to do next.
    pub advice: String,
    /// Whether the file is simply not there.
    pub missing: bool,
}

impl Fault {
    /// Returns a fault at a place in `file`.
    pub fn at(
        file: &Path,
        place: Place,
        found: impl Into<String>,
        expected: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            file: file.to_owned(),
            place: Some(place),
            found: found.into(),
            expected: expected.into(),
            advice: advice.into(),
            missing: false,
        }
    }

    /// Returns a fault that concerns `file` as a whole.
    pub fn whole(
        file: &Path,
        found: impl Into<String>,
        expected: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            file: file.to_owned(),
            place: None,
            found: found.into(),
            expected: expected.into(),
            advice: advice.into(),
            missing: false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:", self.file.display())?;
        if let Some(Place { line, column }) = self.place {
            write!(formatter, "{line}:{column}:")?;
        }
        write!(
            formatter,
            " {}; expected {}; {}",
            self.found, self.expected, self.advice
        )
    }
}

/// Puts the parser's error into our words.
pub(super) fn explain(file: &Path, error: &Error) -> Fault {
    let error = error.without_snippet();
    let (found, expected, advice) = words(error);
    let place = error
        .location()
        .filter(|location| location.line() > 0)
        .map(Place::from);
    Fault {
        place,
        ..Fault::whole(file, found, expected, advice)
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's list is open; the last arm explains what it adds in its own words"
)]
fn words(error: &Error) -> (String, String, String) {
    match error {
        Error::AliasError { error, .. } => words(error),
        Error::SerdeUnknownField {
            field, expected, ..
        } => (
            format!("unknown key {}", excerpt(field)),
            one_of(expected),
            "correct its spelling or remove it".into(),
        ),
        Error::SerdeMissingField { field, .. } => (
            format!("the key `{field}` is missing"),
            format!("`{field}`"),
            "add it".into(),
        ),
        Error::SerdeUnknownVariant { expected, .. } => (
            "unknown word".into(),
            one_of(expected),
            "write one of these words".into(),
        ),
        Error::SerdeInvalidType { expected, .. } => (
            "a value of another type".into(),
            expected.clone(),
            "write such a value".into(),
        ),
        Error::SerdeInvalidValue { expected, .. } => (
            "a value that does not fit".into(),
            expected.clone(),
            "correct the value".into(),
        ),
        Error::InvalidScalar { ty, .. } => (
            "a value that does not fit".into(),
            kind(ty).to_owned(),
            "correct the value".into(),
        ),
        Error::InvalidBooleanStrict { .. } => (
            "a value that does not fit".into(),
            "`true` or `false`".into(),
            "write one of the two".into(),
        ),
        Error::NullIntoString { .. } | Error::QuotingRequired { .. } => (
            "a number, truth value or nothing where a string belongs".into(),
            "a string".into(),
            "put quotes around the value".into(),
        ),
        Error::DuplicateMappingKey { key, .. } => (
            key.as_deref().map_or_else(
                || "a key stands twice".into(),
                |key| format!("the key {} stands twice", excerpt(key)),
            ),
            "each key once".into(),
            "remove one of the two".into(),
        ),
        Error::MergeKeyNotAllowed { .. } => (
            "a merge key".into(),
            "keys that are written out".into(),
            "write the merged keys out".into(),
        ),
        Error::Unexpected { expected, .. } => (
            "a value of another shape".into(),
            kind(expected).to_owned(),
            "correct the value or its indentation".into(),
        ),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => (
            "more nesting, aliases or values than this file may have".into(),
            format!("at most {MAX_DEPTH} levels, {MAX_ALIASES} aliases and {MAX_EVENTS} values"),
            "write it more simply".into(),
        ),
        Error::Eof { .. } => ("nothing".into(), "a value".into(), "write the file".into()),
        Error::MultipleDocuments { .. } => (
            "a second document".into(),
            "one document".into(),
            "remove the `---` and what follows it".into(),
        ),
        other => (
            clean(&serde_saphyr::UserMessageFormatter.format_message(other)),
            "one YAML 1.2 document".into(),
            "correct the syntax".into(),
        ),
    }
}

/// Quotes text of the file for a message: one line, no control characters, bounded.
pub fn excerpt(text: &str) -> String {
    format!("`{}`", clean(text))
}

fn clean(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_EXCERPT).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    escaped(&shown)
}

/// Names what the parser's words for a shape or a type mean to a reader of the file.
fn kind(parsers: &str) -> &str {
    match parsers {
        "sequence start" => "a list",
        "mapping start" => "a mapping",
        "string scalar" => "a string",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        other => other,
    }
}

fn one_of(words: &[&str]) -> String {
    match words {
        [] => "nothing".into(),
        [one] => format!("`{one}`"),
        [most @ .., last] => format!("`{}` or `{last}`", most.join("`, `")),
    }
}
