//! A line on its way out.

use std::fmt;

use super::json::Span;

/// How far into a line a part may begin that is replaced without moving what stands behind it.
const HEAD_BYTES: usize = 16 * 1024;

/// Says right before a line is written whether it still may be.
pub struct Guard(Box<dyn FnOnce() -> bool + Send>);

impl Guard {
    /// Returns a guard that asks `may_go`. It must not block, nor send anything along the same way.
    pub fn new(may_go: impl FnOnce() -> bool + Send + 'static) -> Self {
        Self(Box::new(may_go))
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Guard")
    }
}

/// A line on its way out, without its line feed. It may be in two pieces, so that another id can be
/// put into a large one without copying the rest.
#[derive(Debug)]
pub struct Outgoing {
    head: String,
    body: String,
    /// Where the second piece begins in `body`; on a boundary of characters.
    from: usize,
    guard: Option<Guard>,
}

impl From<String> for Outgoing {
    fn from(body: String) -> Self {
        Self {
            head: String::new(),
            body,
            from: 0,
            guard: None,
        }
    }
}

impl Outgoing {
    /// Returns `text` with `new` in the place of the part at `span`, or `None` if there is no such part.
    pub fn replacing(mut text: String, span: Span, new: &str) -> Option<Self> {
        text.get(span.clone())?;
        if span.start > HEAD_BYTES {
            text.replace_range(span, new);
            return Some(text.into());
        }
        Some(Self {
            head: [text.get(..span.start)?, new].concat(),
            from: span.end,
            body: text,
            guard: None,
        })
    }

    /// Returns the same line, to be written only if `guard` lets it.
    #[must_use]
    pub fn guarded(self, guard: Option<Guard>) -> Self {
        Self { guard, ..self }
    }

    /// Asks its guard, if it has one that has not been asked.
    pub fn may_go(&mut self) -> bool {
        self.guard.take().is_none_or(|Guard(may_go)| may_go())
    }

    /// Returns how many bytes it has.
    pub fn bytes(&self) -> usize {
        self.head.len() + self.tail().len()
    }

    /// Returns its pieces, in order.
    pub fn pieces(&self) -> [&str; 2] {
        [&self.head, self.tail()]
    }

    /// Adds to its end.
    pub fn push_str(&mut self, more: &str) {
        self.body.push_str(more);
    }

    /// Returns it in one piece.
    pub fn into_string(self) -> String {
        if self.head.is_empty() && self.from == 0 {
            self.body
        } else {
            self.pieces().concat()
        }
    }

    /// Returns the buffer of its larger piece, for other use.
    pub fn into_buffer(self) -> Vec<u8> {
        self.body.into_bytes()
    }

    fn tail(&self) -> &str {
        self.body.get(self.from..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_replaced_wherever_it_stands() {
        let bulk = "x".repeat(HEAD_BYTES);
        for (before, after) in [("{\"id\":", "}"), (bulk.as_str(), "}"), ("", bulk.as_str())] {
            for new in ["", "7", "\"a longer one\""] {
                let text = format!("{before}12{after}");
                let span = before.len()..before.len() + 2;
                let mut line = Outgoing::replacing(text, span, new).unwrap();
                line.push_str("\n");
                let want = format!("{before}{new}{after}\n");
                assert_eq!(line.bytes(), want.len());
                assert_eq!(line.pieces().concat(), want);
                assert_eq!(line.into_string(), want);
            }
        }
        assert!(Outgoing::replacing("é".to_owned(), 1..2, "x").is_none());
        assert!(Outgoing::replacing("é".to_owned(), 0..9, "x").is_none());
    }
}
