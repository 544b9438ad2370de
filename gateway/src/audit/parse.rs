//! Reads any JSON text as ECMAScript's `JSON.parse` does, and prints it back in the canonical form.
//!
//! This is the slow road, taken only by lines that are not already canonical. Strings are kept in their
//! canonical spelling, so that a lone surrogate (which no Rust string can hold) survives the trip.

use indexmap::IndexMap;

use super::canonical::{in_order, write_number, write_string_byte};

/// How deep arrays and objects may nest before a line counts as unreadable.
pub(crate) const MAX_DEPTH: usize = 256;

/// A JSON value, every scalar in its canonical spelling.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    /// `null`, `true`, `false` or a number.
    Scalar(Vec<u8>),
    /// A string: what stands between the quotes.
    Text(Vec<u8>),
    /// An array.
    Array(Vec<Tree>),
    /// An object; a repeated key keeps its first place and its last value.
    Object(IndexMap<Vec<u8>, Tree>),
}

/// Why a line is not JSON.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// The text stops early: it could be the beginning of a good line.
    End,
    /// The byte at this offset fits no JSON text.
    Syntax(usize),
    /// Nested deeper than [`MAX_DEPTH`].
    Deep,
}

impl Tree {
    /// Reads one JSON value that fills `bytes`, white space around it allowed.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                // What comes before the bad character may be at fault earlier still.
                let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
                return match Self::parse(good) {
                    Err(Fault::End) if error.error_len().is_none() => Err(Fault::End),
                    Err(fault @ (Fault::Syntax(_) | Fault::Deep)) => Err(fault),
                    Ok(_) | Err(Fault::End) => Err(Fault::Syntax(error.valid_up_to())),
                };
            }
        };
        let mut parser = Parser {
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
        };
        let tree = parser.value()?;
        parser.space();
        match parser.peek() {
            None => Ok(tree),
            Some(_) => Err(Fault::Syntax(parser.at)),
        }
    }

    /// Appends the canonical form.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Scalar(text) => out.extend_from_slice(text),
            Self::Text(text) => {
                out.push(b'"');
                out.extend_from_slice(text);
                out.push(b'"');
            }
            Self::Array(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                let ordered = in_order(
                    members
                        .iter()
                        .map(|(key, value)| (key.as_slice(), (key, value))),
                );
                for (index, (key, value)) in ordered.enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    out.push(b'"');
                    out.extend_from_slice(key);
                    out.extend_from_slice(b"\":");
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }

    /// Returns the canonical form.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }
}

/// A cursor over text that is known to be UTF-8.
struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, Fault> {
        let byte = self.peek().ok_or(Fault::End)?;
        self.at += 1;
        Ok(byte)
    }

    /// Returns the fault for the byte just read.
    fn wrong(&self) -> Fault {
        Fault::Syntax(self.at.saturating_sub(1))
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Tree, Fault> {
        self.space();
        match self.next()? {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'"' => Ok(Tree::Text(self.string()?)),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' | b'0'..=b'9' => {
                self.at -= 1;
                self.number()
            }
            _ => Err(self.wrong()),
        }
    }

    fn nested(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<Tree, Fault>,
    ) -> Result<Tree, Fault> {
        if self.depth == MAX_DEPTH {
            return Err(Fault::Deep);
        }
        self.depth += 1;
        let tree = inner(self);
        self.depth -= 1;
        tree
    }

    fn object(&mut self) -> Result<Tree, Fault> {
        let mut members = IndexMap::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Tree::Object(members));
        }
        loop {
            self.space();
            if self.next()? != b'"' {
                return Err(self.wrong());
            }
            let key = self.string()?;
            self.space();
            if self.next()? != b':' {
                return Err(self.wrong());
            }
            let value = self.value()?;
            members.insert(key, value);
            self.space();
            match self.next()? {
                b',' => {}
                b'}' => return Ok(Tree::Object(members)),
                _ => return Err(self.wrong()),
            }
        }
    }

    fn array(&mut self) -> Result<Tree, Fault> {
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Tree::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.space();
            match self.next()? {
                b',' => {}
                b']' => return Ok(Tree::Array(items)),
                _ => return Err(self.wrong()),
            }
        }
    }

    fn literal(&mut self, word: &str) -> Result<Tree, Fault> {
        for want in word.bytes().skip(1) {
            if self.next()? != want {
                return Err(self.wrong());
            }
        }
        Ok(Tree::Scalar(word.as_bytes().to_vec()))
    }

    fn digits(&mut self) -> Result<(), Fault> {
        if !self.next()?.is_ascii_digit() {
            return Err(self.wrong());
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Tree, Fault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self
            .bytes
            .get(start..self.at)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let number: f64 = text
            .and_then(|text| text.parse().ok())
            .ok_or(Fault::Syntax(start))?;
        let mut out = Vec::new();
        write_number(number, &mut out);
        Ok(Tree::Scalar(out))
    }

    /// Reads on from after the opening quote, and returns the canonical spelling of what is inside.
    fn string(&mut self) -> Result<Vec<u8>, Fault> {
        let mut out = Vec::new();
        loop {
            match self.next()? {
                b'"' => return Ok(out),
                b'\\' => self.escape(&mut out)?,
                0x00..=0x1f => return Err(self.wrong()),
                byte => out.push(byte),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let byte = match self.next()? {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.code_unit(out),
            _ => return Err(self.wrong()),
        };
        write_string_byte(byte, out);
        Ok(())
    }

    /// Reads the digits after `\u`, and the second half of a surrogate pair if one follows.
    fn code_unit(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let unit = self.hex4()?;
        let mut code = unit;
        if (0xd800..0xdc00).contains(&unit) && self.bytes.get(self.at..self.at + 2) == Some(b"\\u")
        {
            let before = self.at;
            self.at += 2;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            } else {
                self.at = before;
            }
        }
        match char::from_u32(code) {
            Some(character) => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    write_string_byte(byte, out);
                }
            }
            None => out.extend_from_slice(format!("\\u{code:04x}").as_bytes()),
        }
        Ok(())
    }

    fn hex4(&mut self) -> Result<u32, Fault> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = char::from(self.next()?)
                .to_digit(16)
                .ok_or_else(|| self.wrong())?;
            unit = unit * 16 + digit;
        }
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ecmascript_reads_is_read_and_printed_as_it_would() {
        let mut wrong = Vec::new();
        for (text, want) in [
            (
                " { \"a\" : [ 1.0 , -0 , 1E400, 1e21 ] }\r",
                r#"{"a":[1,0,null,1e+21]}"#,
            ),
            (r#"{"b":1,"10":2,"9":3}"#, r#"{"9":3,"10":2,"b":1}"#),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#""\u0041\/\u00e9\u000A\u001F""#, "\"A/é\\n\\u001f\""),
            (
                r#""\ud83d\uDE00 \uD800x \uDC00\ud800\ud83d\ude00""#,
                "\"😀 \\ud800x \\udc00\\ud800😀\"",
            ),
            ("null", "null"),
            ("[]", "[]"),
            ("{}", "{}"),
        ] {
            let got = Tree::parse(text.as_bytes())
                .map(|tree| String::from_utf8(tree.to_bytes()).unwrap());
            if got.as_deref() != Ok(want) {
                wrong.push(format!("{text}: want {want}, got {got:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn what_stops_early_is_told_from_what_is_wrong() {
        let mut wrong = Vec::new();
        for (text, want) in [
            (&b"{\"a"[..], Fault::End),
            (b"", Fault::End),
            (b"{\"a\":tru", Fault::End),
            (b"{\"a\":1", Fault::End),
            (b"{\"a\":\"\xc3", Fault::End),
            (b"{\"a\":\"\\u00", Fault::End),
            (b"{\"a\":\"\xc3x\"}", Fault::Syntax(6)),
            (b"x\xc3", Fault::Syntax(0)),
            (b"{}\xc3", Fault::Syntax(2)),
            (b"{\"bad\n", Fault::Syntax(5)),
            (b"{}x", Fault::Syntax(2)),
            (b"01", Fault::Syntax(1)),
            (b"{,}", Fault::Syntax(1)),
            (b"\xef\xbb\xbf{}", Fault::Syntax(0)),
        ] {
            let got = Tree::parse(text);
            if got != Err(want) {
                wrong.push(format!(
                    "{}: want {want:?}, got {got:?}",
                    String::from_utf8_lossy(text)
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert_eq!(
            Tree::parse("[".repeat(100_000).as_bytes()),
            Err(Fault::Deep)
        );
    }
}
