//! The words of a call while it is judged.

use std::borrow::Cow;

use crate::plain::{Span, Stage};

/// A word, and the bytes of the command that wrote it.
///
/// The words of a shell line inside a word all have the span of that word.
#[derive(Clone, Debug)]
pub(crate) struct Arg<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) span: Span,
}

impl<'a> Arg<'a> {
    pub(crate) fn new(text: impl Into<Cow<'a, str>>, span: Span) -> Self {
        Self {
            text: text.into(),
            span,
        }
    }

    /// Returns a word of which nothing is known but that it is no option.
    pub(crate) fn unknown(span: Span) -> Self {
        Self::new(UNKNOWN, span)
    }
}

/// The text of a word that is only known when the line runs. No word of a plain line holds a NUL.
pub(crate) const UNKNOWN: &str = "/\0";

/// The same for a path of which it is known that it lies under the working directory.
pub(crate) const INSIDE: &str = "./\0";

/// Returns whether the line tells the whole of `text`.
pub(crate) fn is_known(text: &str) -> bool {
    !text.contains('\0')
}

/// Returns `text` with signs for what only the run tells.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if is_known(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(INSIDE, "{}").replace(UNKNOWN, "…"))
}

/// Returns the words of a stage.
pub(crate) fn of_stage<'a>(stage: &Stage<'a>) -> Vec<Arg<'a>> {
    stage
        .words()
        .map(|word| Arg::new(word.text, word.span))
        .collect()
}
