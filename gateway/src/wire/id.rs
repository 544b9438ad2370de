//! Request ids: kept as they were spelled, compared by what they mean.

use std::fmt;

use super::{json, limits::MAX_ID_BYTES};

/// The id of a request, a string or a number.
#[derive(Clone, Debug)]
pub struct Id {
    raw: String,
    key: Key,
}

/// What two spellings of one id have in common.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Key {
    /// A number, by its spelling: `1` and `1.0` are told apart, as no peer changes the spelling.
    Number(String),
    /// A string, unescaped.
    Text(String),
}

/// Why a value cannot be the id of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum BadId {
    /// Neither a string nor a number.
    #[error("the id must be a string or a number")]
    Kind,
    /// Longer than [`MAX_ID_BYTES`].
    #[error("the id is longer than {MAX_ID_BYTES} bytes, the limit of this gateway")]
    TooLong,
}

impl Id {
    /// Returns the id that `raw`, one valid JSON value, spells.
    ///
    /// # Errors
    /// When it is neither a string nor a number, or too long.
    pub fn parse(raw: &str) -> Result<Self, BadId> {
        let key = match raw.bytes().next() {
            Some(b'"') => {
                Key::Text(json::string(raw, &(0..raw.len())).unwrap_or_else(|| raw.to_owned()))
            }
            Some(b'-' | b'0'..=b'9') => Key::Number(raw.to_owned()),
            Some(_) | None => return Err(BadId::Kind),
        };
        if raw.len() > MAX_ID_BYTES {
            return Err(BadId::TooLong);
        }
        let raw = raw.to_owned();
        Ok(Self { raw, key })
    }

    /// Returns the id with this number, as we give it to servers.
    pub fn number(number: u64) -> Self {
        let raw = number.to_string();
        let key = Key::Number(raw.clone());
        Self { raw, key }
    }

    /// Returns the number if this is one that [`Id::number`] could have made.
    pub fn as_number(&self) -> Option<u64> {
        let number = self.raw.parse().ok()?;
        (Self::number(number).raw == self.raw).then_some(number)
    }

    /// Returns the id as it was spelled.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Returns what to compare ids by.
    pub const fn key(&self) -> &Key {
        &self.key
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Id {}

impl fmt::Display for Id {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_their_spelling_and_compare_by_meaning() {
        let id = |raw: &str| Id::parse(raw).unwrap();
        assert_eq!(id(r#""a""#), id(r#""\u0061""#));
        assert_eq!(id(r#""\u0061""#).raw(), r#""\u0061""#);
        assert_ne!(id(r#""1""#), id("1"));
        assert_ne!(id("1"), id("1.0"));
        let huge = "123456789012345678901234567890";
        assert_eq!(id(huge).raw(), huge);
        assert_eq!(id(huge).as_number(), None);
    }

    #[test]
    fn only_our_own_spelling_of_a_number_is_ours() {
        let table = [
            ("7", Some(7)),
            ("-7", None),
            ("+7", None),
            ("7.0", None),
            ("07", None),
            (r#""7""#, None),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
        ];
        for (raw, number) in table {
            let got = Id::parse(raw).ok().and_then(|id| id.as_number());
            assert_eq!(got, number, "{raw}");
        }
    }

    #[test]
    fn what_cannot_be_an_id_is_refused() {
        for raw in ["null", "true", "{}", "[1]", ""] {
            assert_eq!(Id::parse(raw), Err(BadId::Kind), "{raw}");
        }
        let long = format!("\"{}\"", "x".repeat(MAX_ID_BYTES));
        assert_eq!(Id::parse(&long), Err(BadId::TooLong));
    }
}
