//! The one spelling of a JSON value that the hash covers: what ECMAScript's `JSON.stringify` prints.
//!
//! No white space; only the escapes that JSON demands; numbers are doubles with the fewest digits that
//! read back the same; in every object the keys that are array indexes come first, in numeric order.

use serde_json::{Map, Value};

/// Appends `text` as a JSON string.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        write_string_byte(byte, out);
    }
    out.push(b'"');
}

/// Appends one byte of a string's UTF-8, escaped where JSON demands it.
pub(crate) fn write_string_byte(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        0x00..=0x1f => {
            let digit = DIGITS.get(usize::from(byte & 0xf)).copied().unwrap_or(b'0');
            out.extend_from_slice(if byte < 0x10 { b"\\u000" } else { b"\\u001" });
            out.push(digit);
            return;
        }
        0x20.. => {
            out.push(byte);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Appends a double; what is not finite becomes `null`, and minus zero becomes `0`.
pub(crate) fn write_number(number: f64, out: &mut Vec<u8>) {
    if number.is_finite() {
        out.extend_from_slice(ryu_js::Buffer::new().format_finite(number).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

/// Appends any value.
pub(crate) fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number.as_f64().unwrap_or(f64::NAN), out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => write_object(members, out),
    }
}

/// Appends an object.
pub(crate) fn write_object(members: &Map<String, Value>, out: &mut Vec<u8>) {
    out.push(b'{');
    let ordered = in_order(
        members
            .iter()
            .map(|(key, value)| (key.as_bytes(), (key, value))),
    );
    for (index, (key, value)) in ordered.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(key, out);
        out.push(b':');
        write_value(value, out);
    }
    out.push(b'}');
}

/// Returns the members of an object in the order in which they are written, given each with its key.
pub(crate) fn in_order<'a, T>(
    members: impl Iterator<Item = (&'a [u8], T)>,
) -> impl Iterator<Item = T> {
    let (mut indexes, mut others) = (Vec::new(), Vec::new());
    for (key, member) in members {
        match array_index(key) {
            Some(index) => indexes.push((index, member)),
            None => others.push(member),
        }
    }
    indexes.sort_by_key(|(index, _)| *index);
    indexes.into_iter().map(|(_, member)| member).chain(others)
}

/// Returns the number that `key` spells if it is an array index: 0 to 4294967294, no leading zero.
pub(crate) fn array_index(key: &[u8]) -> Option<u32> {
    let digits = !key.is_empty() && key.len() <= 10 && key.iter().all(u8::is_ascii_digit);
    if !digits || (key.len() > 1 && key.first() == Some(&b'0')) {
        return None;
    }
    let number = key
        .iter()
        .fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0'));
    u32::try_from(number)
        .ok()
        .filter(|index| *index != u32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_print_as_ecmascript_prints_them() {
        let mut wrong = Vec::new();
        for (number, want) in [
            (0.1 + 0.2, "0.30000000000000004"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (5e-324, "5e-324"),
            (1.0, "1"),
            (-0.0, "0"),
            (-1.5, "-1.5"),
            (1234.0, "1234"),
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
            (f64::NEG_INFINITY, "null"),
        ] {
            let mut got = Vec::new();
            write_number(number, &mut got);
            if got != want.as_bytes() {
                wrong.push(format!(
                    "{number:e}: want {want}, got {}",
                    String::from_utf8_lossy(&got)
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn array_indexes_come_first_at_every_depth() {
        let keys = [
            "2",
            "10",
            "01",
            "-1",
            "1.5",
            "4294967294",
            "4294967295",
            "a",
            "1",
        ];
        let object: Map<String, Value> = keys
            .iter()
            .map(|key| ((*key).to_owned(), json!({"b": 0, "0": 1})))
            .collect();
        let mut got = Vec::new();
        write_object(&object, &mut got);
        let want: Vec<String> = [
            "1",
            "2",
            "10",
            "4294967294",
            "01",
            "-1",
            "1.5",
            "4294967295",
            "a",
        ]
        .iter()
        .map(|key| format!("\"{key}\":{{\"0\":1,\"b\":0}}"))
        .collect();
        assert_eq!(
            String::from_utf8(got).unwrap(),
            format!("{{{}}}", want.join(","))
        );
    }

    #[test]
    fn strings_carry_no_escape_that_json_does_not_demand() {
        let mut got = Vec::new();
        write_string(
            "\u{0}\u{8}\t\n\u{b}\u{c}\r\u{1f} \"\\/\u{7f}\u{80}\u{2028}\u{feff}\u{1f600}",
            &mut got,
        );
        let want = "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\u{7f}\u{80}\u{2028}\u{feff}\u{1f600}\"";
        assert_eq!(String::from_utf8(got).unwrap(), want);
    }
}
