//! Names that hold what they promise.

use std::fmt;

/// The name of the gateway itself, which no server may have.
pub(super) const OWN: &str = "rea";

/// A server's name: lower-case letters, digits and `-`, the first of them no `-`.
///
/// It has no underscore, so the first `__` of a tool's full name ends it. And it is not `rea`, the name
/// under which the gateway speaks about itself on record: no server may pass for it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ServerName(Box<str>);

impl ServerName {
    /// The rule in words, for messages.
    pub const RULE: &str = "lower-case letters, digits and `-`, with a letter or digit first (such as `my-files`), and not `rea`";

    /// Returns the name, or `None` if `text` breaks the rule.
    pub fn new(text: &str) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let (first, rest) = text.as_bytes().split_first()?;
        (text != OWN && allowed(*first) && rest.iter().all(|&byte| allowed(byte) || byte == b'-'))
            .then(|| Self(text.into()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The name of an environment variable: ASCII letters, digits and `_`, the first of them no digit.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct VariableName(Box<str>);

impl VariableName {
    /// The rule in words, for messages.
    pub const RULE: &str = "letters, digits and `_`, with no digit first (such as `HTTP_PROXY`)";

    /// Returns the name, or `None` if `text` breaks the rule.
    pub fn new(text: &str) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        let (first, rest) = text.as_bytes().split_first()?;
        (allowed(*first)
            && rest
                .iter()
                .all(|&byte| allowed(byte) || byte.is_ascii_digit()))
        .then(|| Self(text.into()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for VariableName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
