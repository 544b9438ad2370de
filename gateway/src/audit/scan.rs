//! The fast road: proves in one pass that a line is already in canonical form, and finds its members.
//!
//! The scanner may shrug (`None`) at any line; the parser then decides. It must never vouch for a line
//! that parsing and printing would change, which a property test holds it to.

use super::canonical::array_index;

/// How deep the scanner follows before it leaves the line to the parser.
const MAX_DEPTH: usize = 32;
/// How many keys of one object the scanner compares before it leaves the line to the parser.
const MAX_KEYS: usize = 24;
/// How many digits a number may have and still be sure to print back the same.
const MAX_DIGITS: usize = 15;

/// The members of a record that matter to the chain: strings without their quotes, metadata as JSON.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Members<'a> {
    pub(crate) timestamp: Option<&'a [u8]>,
    pub(crate) session_id: Option<&'a [u8]>,
    pub(crate) tool_name: Option<&'a [u8]>,
    pub(crate) server_name: Option<&'a [u8]>,
    pub(crate) prev_hash: Option<&'a [u8]>,
    pub(crate) metadata: Option<&'a [u8]>,
    pub(crate) hash: Option<&'a [u8]>,
    /// The line up to the comma before `hash`; with a closing brace it is what the hash covers.
    pub(crate) body: &'a [u8],
}

/// Returns the members of `line` if it is surely canonical, with `hash` as its last member.
pub(crate) fn scan(line: &[u8]) -> Option<Members<'_>> {
    std::str::from_utf8(line).ok()?;
    let mut scanner = Scanner { bytes: line, at: 0 };
    let mut members = Members::default();
    scanner.take(b'{')?;
    let mut keys = Keys::new();
    loop {
        let comma = scanner.at.checked_sub(1)?;
        let key = scanner.string()?;
        keys.add(key)?;
        scanner.take(b':')?;
        let quoted = scanner.peek() == Some(b'"');
        let start = scanner.at;
        scanner.value(0)?;
        let whole = line.get(start..scanner.at)?;
        let text = if quoted {
            whole.get(1..whole.len().checked_sub(1)?)
        } else {
            None
        };
        match key {
            b"timestamp" => members.timestamp = text,
            b"session_id" => members.session_id = text,
            b"tool_name" => members.tool_name = text,
            b"server_name" => members.server_name = text,
            b"prev_hash" => members.prev_hash = text,
            b"metadata" => members.metadata = Some(whole),
            b"hash" => {
                members.hash = text;
                members.body = line.get(..comma).filter(|body| body.len() > 1)?;
                scanner.take(b'}')?;
                return (scanner.at == line.len()).then_some(members);
            }
            _ => {}
        }
        scanner.take(b',')?;
    }
}

/// The keys of one object so far: no repeats, and array indexes first and rising.
struct Keys<'a> {
    seen: [&'a [u8]; MAX_KEYS],
    count: usize,
    last_index: Option<u32>,
    named: bool,
}

impl<'a> Keys<'a> {
    const fn new() -> Self {
        Self {
            seen: [&[]; MAX_KEYS],
            count: 0,
            last_index: None,
            named: false,
        }
    }

    fn add(&mut self, key: &'a [u8]) -> Option<()> {
        match array_index(key) {
            Some(index) => {
                if self.named || self.last_index.is_some_and(|last| last >= index) {
                    return None;
                }
                self.last_index = Some(index);
            }
            None => self.named = true,
        }
        if self.seen.get(..self.count)?.contains(&key) {
            return None;
        }
        *self.seen.get_mut(self.count)? = key;
        self.count += 1;
        Some(())
    }
}

/// Returns where the first quote, backslash or control character of a string is.
///
/// Looks at eight bytes at a time; most of a log is strings.
fn special(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    // The top bit of each byte that is less than `bound`; the lowest one set is right, those above may not be.
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word & TOPS;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
        let found = below(word, 0x20) | quote | backslash;
        if found != 0 {
            return Some(index * 8 + (found.trailing_zeros() / 8) as usize);
        }
    }
    let found = rest
        .iter()
        .position(|byte| matches!(byte, b'"' | b'\\' | 0x00..=0x1f))?;
    Some(words.len() * 8 + found)
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, want: u8) -> Option<()> {
        (self.peek()? == want).then(|| self.at += 1)
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes
            .get(self.at..)?
            .starts_with(word)
            .then(|| self.at += word.len())
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.take(b'{')?;
        if self.take(b'}').is_some() {
            return Some(());
        }
        let mut keys = Keys::new();
        loop {
            keys.add(self.string()?)?;
            self.take(b':')?;
            self.value(depth + 1)?;
            if self.take(b'}').is_some() {
                return Some(());
            }
            self.take(b',')?;
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.take(b'[')?;
        if self.take(b']').is_some() {
            return Some(());
        }
        loop {
            self.value(depth + 1)?;
            if self.take(b']').is_some() {
                return Some(());
            }
            self.take(b',')?;
        }
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let start = self.at;
        loop {
            let rest = self.bytes.get(self.at..)?;
            self.at += special(rest)?;
            match self.peek()? {
                b'"' => {
                    let text = self.bytes.get(start..self.at);
                    self.at += 1;
                    return text;
                }
                b'\\' => self.escape()?,
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let rest = self.bytes.get(self.at..)?;
        self.at += match rest.get(1)? {
            b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r' => 2,
            b'u' => match rest.get(2..6)? {
                // The control characters that have a short form must use it.
                [b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f']
                | [b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f'] => 6,
                _ => return None,
            },
            _ => return None,
        };
        Some(())
    }

    /// Takes a plain decimal short enough that the double nearest to it prints back the same.
    fn number(&mut self) -> Option<()> {
        let minus = self.take(b'-').is_some();
        let start = self.at;
        let whole = self.digits();
        let zero = self.bytes.get(start) == Some(&b'0');
        if whole == 0 || (zero && whole > 1) {
            return None;
        }
        let mut fraction = 0;
        if self.take(b'.').is_some() {
            let from = self.at;
            fraction = self.digits();
            let digits = self.bytes.get(from..self.at)?;
            // Below 1e-6 an exponent is used; a trailing zero is never printed.
            if digits.last().is_none_or(|last| *last == b'0')
                || (zero && digits.starts_with(b"000000"))
            {
                return None;
            }
        }
        let negative_zero = minus && zero && fraction == 0;
        let exponent = matches!(self.peek(), Some(b'e' | b'E'));
        (whole + fraction <= MAX_DIGITS && !negative_zero && !exponent).then_some(())
    }

    fn digits(&mut self) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::audit::parse::Tree;

    #[test]
    fn only_a_line_that_prints_back_the_same_is_vouched_for() {
        let mut wrong = Vec::new();
        for (line, vouched) in [
            (r#"{"a":1,"hash":"x"}"#, true),
            (r#"{"a":"\u0007\u001f\n\"é😀","hash":"x"}"#, true),
            (
                r#"{"a":[-1.5,0,0.25,{"1":[],"2":{},"x":null}],"hash":"x"}"#,
                true,
            ),
            (r#"{"hash":"x"}"#, false),
            (r#"{"hash":"x","a":1}"#, false),
            (r#"{"a":1, "hash":"x"}"#, false),
            (r#"{"a":1,"hash":"x"} "#, false),
            (r#"{"a":1.0,"hash":"x"}"#, false),
            (r#"{"a":-0,"hash":"x"}"#, false),
            (r#"{"a":01,"hash":"x"}"#, false),
            (r#"{"a":0.0000001,"hash":"x"}"#, false),
            (r#"{"a":1e21,"hash":"x"}"#, false),
            (r#"{"a":9007199254740993,"hash":"x"}"#, false),
            (r#"{"a":"\u0008","hash":"x"}"#, false),
            (r#"{"a":"\u000A","hash":"x"}"#, false),
            (r#"{"a":"\/","hash":"x"}"#, false),
            (r#"{"a":1,"a":2,"hash":"x"}"#, false),
            (r#"{"a":{"b":1,"1":2},"hash":"x"}"#, false),
            (r#"{"a":{"2":1,"1":2},"hash":"x"}"#, false),
        ] {
            if scan(line.as_bytes()).is_some() != vouched {
                wrong.push(format!("{line}: want {vouched}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    proptest! {
        #[test]
        fn the_first_special_byte_is_found_wherever_it_is(
            bytes in proptest::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), any::<u8>(), Just(0xa2), Just(0x21)], 0..40),
        ) {
            let plain = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0x00..=0x1f));
            prop_assert_eq!(special(&bytes), plain);
        }

        #[test]
        fn the_fast_road_never_contradicts_the_slow_one(
            inner in r#"[-0-9.eE]{1,9}|\{("[ab1-3]":[0-9],?){0,4}\}|"(\\u[0d][08][0-9a-fA-F]{2}|\\[bfnrtu/"\\]|[a-c /é😀]){0,6}"|\[[0-9,]*\]"#,
        ) {
            let line = format!("{{\"k\":{inner},\"hash\":\"x\"}}");
            if scan(line.as_bytes()).is_some() {
                let printed = Tree::parse(line.as_bytes()).map(|tree| tree.to_bytes());
                prop_assert_eq!(printed.as_deref(), Ok(line.as_bytes()));
            }
        }
    }
}
