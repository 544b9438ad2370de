//! Finds the id of a message whose line is too long to keep.
//!
//! Servers write `id` before the result or behind it, so the whole line is walked as it passes by,
//! without keeping more than the id itself.

use super::limits::MAX_ID_BYTES;

/// Walks one JSON object piece by piece and remembers the value of its member `id`.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one independent fact about the place in the text"
)]
pub struct IdFinder {
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// Whether the next string at depth one is a key.
    expects_key: bool,
    /// The text being collected: a key, or the value of `id`.
    token: Vec<u8>,
    collecting: Collecting,
    id: Option<Vec<u8>>,
    method: bool,
}

#[derive(Debug, Default, PartialEq)]
enum Collecting {
    #[default]
    Nothing,
    Key,
    Value,
}

impl IdFinder {
    /// Walks on over `bytes`.
    pub fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    /// Returns whether a member `method` was seen at the top level.
    pub const fn saw_method(&self) -> bool {
        self.method
    }

    /// Returns the id as it was spelled, if one of a permitted kind was seen.
    pub fn finish(self) -> Option<String> {
        let id = String::from_utf8(self.id?).ok()?;
        let id = id.trim();
        let kind = id.bytes().next()?;
        let permitted = kind == b'"' || kind == b'-' || kind.is_ascii_digit();
        permitted.then(|| id.to_owned())
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_string = false;
                self.end_of_string();
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 && self.expects_key {
                    self.token.clear();
                    self.collecting = Collecting::Key;
                }
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth == 1 {
                    self.expects_key = byte == b'{';
                } else if self.collecting == Collecting::Value {
                    self.collecting = Collecting::Nothing; // no id is an object or an array
                }
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_of_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth == 1 => {
                self.end_of_value();
                self.expects_key = true;
            }
            b':' if self.depth == 1 => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.collecting == Collecting::Nothing {
            return;
        }
        if self.token.len() >= MAX_ID_BYTES {
            self.collecting = Collecting::Nothing;
            return;
        }
        self.token.push(byte);
    }

    fn end_of_string(&mut self) {
        if self.collecting != Collecting::Key {
            return;
        }
        self.expects_key = false;
        self.collecting = if self.token == b"\"id\"" {
            Collecting::Value
        } else {
            Collecting::Nothing
        };
        self.method |= self.token == b"\"method\"";
        self.token.clear();
    }

    fn end_of_value(&mut self) {
        if self.collecting == Collecting::Value {
            self.id = Some(std::mem::take(&mut self.token));
        }
        self.collecting = Collecting::Nothing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> (Option<String>, bool) {
        let mut finder = IdFinder::default();
        finder.feed(text.as_bytes());
        let method = finder.saw_method();
        (finder.finish(), method)
    }

    #[test]
    fn only_the_id_at_the_top_level_counts() {
        let table = [
            (r#"{"id":1}"#, Some("1"), false),
            (r#"{"id" : -12 , "result":{"id":2}}"#, Some("-12"), false),
            (
                r#"{"result":{"id":2},"id":"a\"b"}"#,
                Some(r#""a\"b""#),
                false,
            ),
            (r#"{"result":[{"id":2}],"jsonrpc":"2.0"}"#, None, false),
            (r#"{"x":"\"id\":3","method":"m"}"#, None, true),
            (r#"{"x":"id","y":1,"id":4}"#, Some("4"), false),
            (r#"{"id":null}"#, None, false),
            (r#"{"id":{"id":5}}"#, None, false),
            (r#"[{"id":6}]"#, None, false),
            ("noise", None, false),
            ("}}}}", None, false),
        ];
        for (text, id, method) in table {
            assert_eq!(find(text), (id.map(str::to_owned), method), "{text}");
        }
    }

    #[test]
    fn an_endless_id_is_not_kept() {
        let text = format!(r#"{{"id":"{}"}}"#, "a".repeat(MAX_ID_BYTES));
        assert_eq!(find(&text), (None, false));
    }
}
