//! A place in a program text.

/// Reads a text character by character.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Takes `text` if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Takes characters as long as `wanted` holds, and returns them.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest
            .find(|character| !wanted(character))
            .unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    pub(super) fn skip_blanks(&mut self) {
        self.take_while(|character| character == ' ' || character == '\t');
    }

    pub(super) fn is_done(&self) -> bool {
        self.rest().is_empty()
    }
}

/// Returns whether names of variables and functions may hold the character.
pub(super) fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
