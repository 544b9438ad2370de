//! Finds where JSON values end, without looking at more than that takes: most of what passes the wire is
//! large strings, whose ends are searched for many bytes at a time.
//!
//! What is passed over is checked to be JSON all the same; only that `\u` escapes come in pairs where
//! they must is left to whoever reads the text.

use memchr::memchr2;

/// Returns where the value that begins at `at` of `text` ends, or `None` if there is none.
pub(super) fn value(text: &[u8], mut at: usize) -> Option<usize> {
    let mut open = Vec::new();
    loop {
        at = match text.get(at)? {
            b'{' => {
                let inside = blank(text, at + 1);
                if text.get(inside) == Some(&b'}') {
                    inside + 1
                } else {
                    open.push(b'}');
                    at = key(text, inside)?;
                    continue;
                }
            }
            b'[' => {
                let inside = blank(text, at + 1);
                if text.get(inside) == Some(&b']') {
                    inside + 1
                } else {
                    open.push(b']');
                    at = inside;
                    continue;
                }
            }
            b'"' => string(text, at)?,
            b't' => literal(text, at, b"true")?,
            b'f' => literal(text, at, b"false")?,
            b'n' => literal(text, at, b"null")?,
            _ => number(text, at)?,
        };
        // What it stands in may end with it, and what that stands in.
        loop {
            let Some(close) = open.last() else {
                return Some(at);
            };
            at = blank(text, at);
            let byte = text.get(at)?;
            if byte == close {
                open.pop();
                at += 1;
                continue;
            }
            if *byte != b',' {
                return None;
            }
            let next = blank(text, at + 1);
            at = if *close == b'}' {
                key(text, next)?
            } else {
                next
            };
            break;
        }
    }
}

/// Returns where the value begins whose key begins at `at`.
pub(super) fn key(text: &[u8], at: usize) -> Option<usize> {
    let end = blank(text, string(text, at)?);
    (text.get(end) == Some(&b':')).then(|| blank(text, end + 1))
}

/// Returns where the string that begins at `at` ends: behind its closing quote.
pub(super) fn string(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        let rest = text.get(at..)?;
        let found = memchr2(b'"', b'\\', rest)?;
        let plain = rest.get(..found)?;
        // Without a way out halfway, so that many bytes are looked at together.
        let lowest = plain.iter().copied().fold(u8::MAX, u8::min);
        if lowest < b' ' {
            return None;
        }
        at += found;
        if rest.get(found) == Some(&b'"') {
            return Some(at + 1);
        }
        at = escape(text, at)?;
    }
}

/// Returns where the escape that begins at `at` ends.
fn escape(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => {
            let digits = text.get(at + 2..at + 6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 6)
        }
        _ => None,
    }
}

/// Returns where the number that begins at `at` ends.
fn number(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at + usize::from(text.get(at) == Some(&b'-'));
    at = match text.get(at)? {
        b'0' => at + 1,
        _ => digits(text, at)?,
    };
    if text.get(at).is_some_and(u8::is_ascii_digit) {
        return None; // a zero before other digits
    }
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let sign = matches!(text.get(at + 1), Some(b'+' | b'-'));
        at = digits(text, at + 1 + usize::from(sign))?;
    }
    Some(at)
}

/// Returns where the digits end of which the first stands at `at`.
fn digits(text: &[u8], at: usize) -> Option<usize> {
    let all = text.get(at..)?;
    let count = all.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then_some(at + count)
}

fn literal(text: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    text.get(at..)?.starts_with(word).then_some(at + word.len())
}

/// Returns where the blanks end that may stand at `at`.
pub(super) fn blank(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    /// What JSON is made of, whole and broken.
    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"\"",
        "\"\\u00e9\"",
        "\"\\ud800\"",
        "\"\\u12\"",
        "\"\\x\"",
        "\"\\\\\"",
        "\"\\\"\"",
        "\"é\"",
        "\"\u{1}\"",
        "\"",
        "\\",
        "0",
        "-0",
        "12",
        "01",
        "-",
        "1.",
        "1.5",
        ".5",
        "1e9",
        "1E+",
        "1e-2",
        "1e",
        "+1",
        "true",
        "tru",
        "false",
        "null",
        " ",
        "\n",
        "\u{c}",
        "\u{a0}",
        "{\"a\":",
        "[1,",
        "\"k\":1",
        "NaN",
    ];

    fn whole(text: &str) -> bool {
        let bytes = text.as_bytes();
        value(bytes, blank(bytes, 0)).map(|end| blank(bytes, end)) == Some(bytes.len())
    }

    fn by_serde(text: &str) -> bool {
        serde_json::from_str::<&RawValue>(text).is_ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn it_takes_for_json_what_the_other_parser_does(
            pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12),
        ) {
            let text = pieces.concat();
            prop_assert_eq!(whole(&text), by_serde(&text), "{:?}", text);
        }

        #[test]
        fn it_does_so_for_good_json_with_one_byte_changed(
            value in any::<Vec<(String, f64, bool)>>(),
            at in any::<prop::sample::Index>(),
            byte in prop::sample::select(b"\"\\{}[],:01.eE+-tfn u\x01".to_vec()),
        ) {
            let mut text = serde_json::to_string(&value).unwrap().into_bytes();
            prop_assert!(whole(std::str::from_utf8(&text).unwrap()));
            let at = at.index(text.len());
            text[at] = byte;
            if let Ok(text) = std::str::from_utf8(&text) {
                prop_assert_eq!(whole(text), by_serde(text), "{:?}", text);
            }
        }
    }
}
