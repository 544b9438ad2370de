//! A place in a command.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A half-open byte range into a command exactly as it was received.
///
/// Both ends lie on character boundaries of that command. Serialises as `[start, end]`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(from = "(usize, usize)", into = "(usize, usize)")]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    pub(crate) const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Returns the span from the start of this one to the end of `last`, which does not start before it.
    pub(crate) const fn to(self, last: Self) -> Self {
        let end = if last.end > self.end {
            last.end
        } else {
            self.end
        };
        Self::new(self.start, end)
    }

    /// Returns whether `other` lies in this span.
    pub(crate) const fn holds(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Returns the text this span covers, or `None` if it is no slice of `command`.
    pub fn text(self, command: &str) -> Option<&str> {
        command.get(Range::from(self))
    }

    /// Returns the number of bytes covered.
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Returns whether no byte is covered, as in the span of an empty command.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl From<Span> for Range<usize> {
    fn from(span: Span) -> Self {
        span.start..span.end
    }
}

impl From<(usize, usize)> for Span {
    fn from((start, end): (usize, usize)) -> Self {
        Self { start, end }
    }
}

impl From<Span> for (usize, usize) {
    fn from(span: Span) -> Self {
        (span.start, span.end)
    }
}
