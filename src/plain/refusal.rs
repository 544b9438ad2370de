//! Why a command was not accepted, and which bytes of it are to blame.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::code::Code;
use super::escape::Visible;
use super::limits::MAX_BYTES;
use super::line::Word;
use super::span::Span;

/// How many bytes of the blamed text a [`Refusal`] keeps for its message.
const FOUND_BYTES: usize = 48;

/// A command that was not accepted.
///
/// `Display` is one line of printable text. [`Snippet`](super::Snippet) draws the command with
/// carets under the span. Serialises as
/// `{"verdict":"refused","code":…,"span":[start,end],"message":…,"help":…}`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[must_use = "a refusal that nobody looks at lets the command through"]
pub struct Refusal {
    code: Code,
    span: Span,
    found: Box<str>,
    /// Whether `found` is the whole of what is blamed.
    whole: bool,
    /// What was seen on the machine, for a reason that the text alone does not show.
    seen: Option<Box<str>>,
    /// A hint for this very line, in place of that of the code.
    hint: Option<Box<str>>,
}

impl Refusal {
    /// Blames `span` of `command`; a span that is no slice of it blames nothing in particular.
    pub(crate) fn new(code: Code, span: Span, command: &str) -> Self {
        Self::about(code, span, span.text(command).unwrap_or_default())
    }

    /// Blames a word for what was seen on the machine.
    pub(crate) fn of_word(code: Code, word: Word<'_>) -> Self {
        Self::about(code, word.span, word.text)
    }

    fn about(code: Code, span: Span, blamed: &str) -> Self {
        let kept = blamed.floor_char_boundary(FOUND_BYTES);
        Self {
            code,
            span,
            found: blamed.get(..kept).unwrap_or_default().into(),
            whole: kept == blamed.len(),
            seen: None,
            hint: None,
        }
    }

    /// Adds what was seen on the machine, as the end of a sentence.
    pub(crate) fn seeing(self, seen: impl Into<Box<str>>) -> Self {
        Self {
            seen: Some(seen.into()),
            ..self
        }
    }

    /// Replaces the hint of the code by one for this very line.
    pub(crate) fn hinting(self, hint: impl Into<Box<str>>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// Returns the refusal of a command that is longer than [`MAX_BYTES`], for callers that stop
    /// keeping its bytes at the limit: `head` is its start, `length` how many bytes it has in all.
    pub fn too_long(head: &[u8], length: usize) -> Self {
        let head = head.get(..MAX_BYTES).unwrap_or(head);
        // A character that the limit cuts in two belongs to what is too much.
        let cut = match std::str::from_utf8(head) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => head.len(),
        };
        Self::new(Code::TooLong, Span::new(cut, length), "")
    }

    /// Returns the reason, under the name that policies and logs use.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Returns the narrowest part of the command that shows the reason.
    pub const fn span(&self) -> Span {
        self.span
    }

    /// Returns the start of the text that the span covers, at most 48 bytes of it.
    pub fn found(&self) -> &str {
        &self.found
    }

    /// Returns one sentence that says what was found and why it is refused.
    pub fn message(&self) -> String {
        let summary = self.code.summary();
        let mut message = if self.found.is_empty() {
            summary.to_owned()
        } else {
            let cut = if self.whole { "" } else { "…" };
            format!("`{}{cut}`: {summary}", Visible(&self.found))
        };
        if let Some(seen) = &self.seen {
            message.push_str(": ");
            message.push_str(&Visible(seen).to_string());
        }
        message
    }

    /// Returns what to write or do instead, printable text.
    pub fn help(&self) -> &str {
        self.hint.as_deref().unwrap_or(self.code.help())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { start, end } = self.span;
        write!(
            f,
            "{} at bytes {start}..{end}: {}",
            self.code,
            self.message()
        )
    }
}

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Refusal", 5)?;
        object.serialize_field("verdict", "refused")?;
        object.serialize_field("code", &self.code)?;
        object.serialize_field("span", &self.span)?;
        object.serialize_field("message", &self.message())?;
        object.serialize_field("help", self.help())?;
        object.end()
    }
}
