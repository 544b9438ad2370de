//! Looks into JSON text without rebuilding it: where members stand, whether keys repeat, and how to
//! put other text in place of a part. What is not named keeps its bytes.

use std::{borrow::Cow, collections::HashSet, ops::Range};

use memchr::memchr2;

use super::{limits::MAX_NESTING, skip};

/// A half-open byte range of some text.
pub type Span = Range<usize>;

/// One member of an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Member {
    /// The key, unescaped.
    pub key: String,
    /// Where the value stands.
    pub value: Span,
}

/// Why text is not passed on.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Fault {
    /// Two members of one object have the same key: parsers disagree on which one counts.
    #[error("the key \"{0}\" stands twice in one object; send it once")]
    RepeatedKey(String),
    /// Nested deeper than [`MAX_NESTING`].
    #[error("nested deeper than {MAX_NESTING} levels, the limit of this gateway")]
    TooDeep,
    /// A key that is not text, such as one with half a surrogate pair.
    #[error("the key {0} is not valid text")]
    BadKey(String),
}

/// Returns the members of the object at `span` of `text` in their order, or `None` if there is none.
pub fn members(text: &str, span: &Span) -> Option<Vec<Member>> {
    let bytes = text.get(..span.end)?.as_bytes();
    let mut at = skip::blank(bytes, span.start);
    let mut all = Vec::new();
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    at = skip::blank(bytes, at + 1);
    if bytes.get(at) != Some(&b'}') {
        loop {
            let start = skip::key(bytes, at)?;
            let key = text.get(at..skip::string(bytes, at)?)?;
            let end = skip::value(bytes, start)?;
            all.push(Member {
                key: unquoted(key)?,
                value: start..end,
            });
            at = skip::blank(bytes, end);
            match bytes.get(at)? {
                b',' => at = skip::blank(bytes, at + 1),
                b'}' => break,
                _ => return None,
            }
        }
    }
    (skip::blank(bytes, at + 1) == span.end).then_some(all)
}

/// Returns the text of a string from its quotes on.
fn unquoted(quoted: &str) -> Option<String> {
    let inner = quoted.get(1..quoted.len() - 1)?;
    if inner.contains('\\') {
        serde_json::from_str(quoted).ok()
    } else {
        Some(inner.to_owned())
    }
}

/// Returns where the value of `key` stands in the object at `span` of `text`.
pub fn member(text: &str, span: &Span, key: &str) -> Option<Span> {
    let all = members(text, span)?;
    all.into_iter()
        .find(|member| member.key == key)
        .map(|member| member.value)
}

/// Follows `path` from object to object and returns where the last value stands.
pub fn at(text: &str, span: &Span, path: &[&str]) -> Option<Span> {
    path.iter()
        .try_fold(span.clone(), |span, key| member(text, &span, key))
}

/// Returns the elements of the array at `span` of `text`, or `None` if there is none.
pub fn elements(text: &str, span: &Span) -> Option<Vec<Span>> {
    let bytes = text.get(..span.end)?.as_bytes();
    let mut at = skip::blank(bytes, span.start);
    let mut all = Vec::new();
    if bytes.get(at) != Some(&b'[') {
        return None;
    }
    at = skip::blank(bytes, at + 1);
    if bytes.get(at) != Some(&b']') {
        loop {
            let end = skip::value(bytes, at)?;
            all.push(at..end);
            at = skip::blank(bytes, end);
            match bytes.get(at)? {
                b',' => at = skip::blank(bytes, at + 1),
                b']' => break,
                _ => return None,
            }
        }
    }
    (skip::blank(bytes, at + 1) == span.end).then_some(all)
}

/// Returns the text of the string at `span`, or `None` if there is no string.
pub fn string(text: &str, span: &Span) -> Option<String> {
    serde_json::from_str(text.get(span.clone())?).ok()
}

/// Returns `text` spelled as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// Checks that no object in `text`, which must be valid JSON, has a key twice or is nested too deep.
///
/// # Errors
/// The first [`Fault`] found.
pub fn check(text: &str) -> Result<(), Fault> {
    let bytes = text.as_bytes();
    let mut open: Vec<Option<HashSet<Cow<'_, str>>>> = Vec::new();
    let mut expects_key = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                if open.len() >= MAX_NESTING {
                    return Err(Fault::TooDeep);
                }
                expects_key = byte == b'{';
                open.push(expects_key.then(HashSet::new));
            }
            b'}' | b']' => {
                open.pop();
                expects_key = false;
            }
            b',' => expects_key = matches!(open.last(), Some(Some(_))),
            b'"' => {
                let end = end_of_string(bytes, at);
                if expects_key {
                    expects_key = false;
                    let key = key(text, at..end)?;
                    if let Some(Some(keys)) = open.last_mut()
                        && let Some(repeated) = keys.replace(key)
                    {
                        return Err(Fault::RepeatedKey(repeated.chars().take(64).collect()));
                    }
                }
                at = end + 1;
            }
            _ => {}
        }
    }
    Ok(())
}

fn key(text: &str, span: Span) -> Result<Cow<'_, str>, Fault> {
    let inner = text.get(span.clone()).unwrap_or_default();
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let quoted = text.get(span.start.saturating_sub(1)..=span.end);
    let quoted = quoted.unwrap_or_default();
    serde_json::from_str(quoted)
        .map(Cow::Owned)
        .map_err(|_| Fault::BadKey(quoted.chars().take(64).collect()))
}

/// Returns where the string whose text starts at `at` ends: the place of its closing quote.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return at;
        }
        at += 2;
    }
    bytes.len()
}

/// Puts each edit's text in the place of its span; everything between keeps its bytes.
/// Returns `None` if the spans overlap or are not spans of `text`.
pub fn splice(text: &str, mut edits: Vec<(Span, String)>) -> Option<String> {
    edits.sort_by_key(|(span, _)| (span.start, span.end));
    let added: usize = edits.iter().map(|(_, new)| new.len()).sum();
    let mut spliced = String::with_capacity(text.len() + added);
    let mut from = 0;
    for (span, new) in edits {
        spliced.push_str(text.get(from..span.start)?);
        spliced.push_str(&new);
        from = span.end;
    }
    spliced.push_str(text.get(from..)?);
    Some(spliced)
}

/// Returns the edit that puts `new`, one or more members such as `"a":1`, at the front of the object
/// at `span` of `text`.
pub fn insert_members(text: &str, span: &Span, new: &str) -> Option<(Span, String)> {
    let inside = text.get(span.clone())?.strip_prefix('{')?;
    let comma = if inside.trim_start().starts_with('}') {
        ""
    } else {
        ","
    };
    let place = span.start + 1;
    Some((place..place, format!("{new}{comma}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, value::RawValue};

    use super::*;

    #[test]
    fn repeated_keys_are_found_however_they_are_spelled() {
        let table = [
            (r#"{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}"#, None),
            (r#"{"a":"a","b":["a","a"]}"#, None),
            (r#"{"a":1,"a":2}"#, Some("a")),
            (r#"{"a":1,"\u0061":2}"#, Some("a")),
            (r#"[{"x":[{"k":1, "z":{}, "k" : 2}]}]"#, Some("k")),
            (r#"{"a\\":1,"a\"":2,"a":3}"#, None),
            (r#"{"":1,"":2}"#, Some("")),
        ];
        for (text, repeated) in table {
            let want = repeated.map_or(Ok(()), |key| Err(Fault::RepeatedKey(key.to_owned())));
            assert_eq!(check(text), want, "{text}");
        }
        assert!(matches!(check(r#"{"\ud800":1}"#), Err(Fault::BadKey(_))));
    }

    #[test]
    fn the_limit_of_nesting_is_the_one_of_the_parsers_behind_us() {
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(check(&nested(MAX_NESTING)), Ok(()));
        assert_eq!(check(&nested(MAX_NESTING + 1)), Err(Fault::TooDeep));
        assert!(serde_json::from_str::<Value>(&nested(MAX_NESTING)).is_ok());
        assert!(serde_json::from_str::<Value>(&nested(MAX_NESTING + 1)).is_err());
    }

    #[test]
    fn members_are_inserted_into_empty_and_filled_objects() {
        for (text, want) in [
            ("{}", r#"{"n":1}"#),
            ("{ }", r#"{"n":1 }"#),
            (r#"{ "a":1}"#, r#"{"n":1, "a":1}"#),
        ] {
            let edit = insert_members(text, &(0..text.len()), r#""n":1"#).unwrap();
            assert_eq!(splice(text, vec![edit]).unwrap(), want);
        }
        assert_eq!(insert_members("[]", &(0..2), r#""n":1"#), None);
    }

    #[test]
    fn edits_that_overlap_or_leave_the_text_are_refused() {
        let edit = |span: Span| (span, "x".to_owned());
        assert_eq!(splice("abcd", vec![edit(0..2), edit(1..3)]), None);
        assert_eq!(splice("abcd", vec![edit(3..5)]), None);
        assert_eq!(splice("aé", vec![edit(2..3)]), None);
        assert_eq!(
            splice("abcd", vec![edit(3..4), edit(0..1)]).unwrap(),
            "xbcx"
        );
    }

    /// Any JSON value, with spaces where they are permitted.
    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            "-?[1-9][0-9]{0,30}(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?",
            "\\PC{0,8}".prop_map(|text| quoted(&text)),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5)
                    .prop_map(|all| format!("[ {}]", all.join(" ,"))),
                prop::collection::vec(("[a-c\"\\\\é]{0,2}", inner), 0..5).prop_map(|all| {
                    let member = |(key, value)| format!("{} : {value}", quoted(key));
                    let all: Vec<String> = all
                        .iter()
                        .map(|(k, v)| (k.as_str(), v))
                        .map(member)
                        .collect();
                    format!("{{ {} }}", all.join(","))
                }),
            ]
        })
    }

    /// Whether any object in the text has a key twice, by way of the parser.
    fn repeats(text: &str) -> bool {
        let span = 0..text.len();
        if let Some(all) = members(text, &span) {
            let keys: HashSet<&str> = all.iter().map(|member| member.key.as_str()).collect();
            return keys.len() != all.len() || all.iter().any(|m| repeats(&text[m.value.clone()]));
        }
        let all = elements(text, &span).unwrap_or_default();
        all.iter().any(|element| repeats(&text[element.clone()]))
    }

    proptest! {
        #[test]
        fn the_walk_agrees_with_the_parser_about_repeated_keys(text in json()) {
            prop_assert_eq!(check(&text).is_err(), repeats(&text), "{}", text);
        }

        #[test]
        fn spans_cover_the_values_and_splicing_the_same_text_changes_nothing(text in json()) {
            let span = 0..text.len();
            let spans: Vec<Span> = members(&text, &span)
                .map(|all| all.into_iter().map(|member| member.value).collect())
                .or_else(|| elements(&text, &span))
                .unwrap_or_default();
            let same = |span: &Span| (span.clone(), text[span.clone()].to_owned());
            let edits = spans.iter().map(same).collect();
            prop_assert_eq!(splice(&text, edits), Some(text.clone()));
            for span in spans {
                prop_assert!(serde_json::from_str::<&RawValue>(&text[span]).is_ok());
            }
        }
    }
}
