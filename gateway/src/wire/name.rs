//! The names under which we offer what servers offer.
//!
//! A tool `read` of the server `files` is offered as `files__read`; prompts likewise. Server names
//! hold no underscore, so the first `__` always splits such a name back.
//!
//! Clients and model services take names of at most 64 characters out of `A-Z a-z 0-9 _ -`. A name
//! that would break this rule is shortened to `server__stem__digest`: the stem is the beginning of
//! the name with every other character replaced by `_`, the digest is 16 hexadecimal digits of
//! SHA-256 over server and name. It depends on these two only, so it never changes with what else is
//! offered. A name that already looks shortened is shortened too, so no server can choose a name
//! that another one is shortened to. If two digests meet all the same, the catalogue keeps the first
//! of the two and says so.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::limits::MAX_NAME_BYTES;

/// Stands between the server and what it offers.
pub const SEPARATOR: &str = "__";

/// Begins the names of our own tools. No server can be called so, for want of an underscore.
pub const RESERVED: &str = "__rea__";

/// Hexadecimal digits of a digest.
const DIGEST_DIGITS: usize = 16;

/// Bytes of the server name that a shortened name keeps.
const SHORT_SERVER_BYTES: usize = 20;

/// Returns the name under which `name` of `server` is offered.
pub fn offered(server: &str, name: &str) -> String {
    let plain = format!("{server}{SEPARATOR}{name}");
    let fits = plain.len() <= MAX_NAME_BYTES && !name.is_empty() && name.bytes().all(permitted);
    if fits && !looks_shortened(name) {
        return plain;
    }
    shortened(server, name)
}

/// Splits a name that was not shortened into server and name.
pub fn split(offered: &str) -> Option<(&str, &str)> {
    let (server, name) = offered.split_once(SEPARATOR)?;
    (!server.is_empty() && !name.is_empty() && !looks_shortened(name)).then_some((server, name))
}

/// Returns whether the name belongs to the gateway itself.
pub fn is_reserved(offered: &str) -> bool {
    offered.starts_with(RESERVED)
}

fn shortened(server: &str, name: &str) -> String {
    let kept = server.get(..SHORT_SERVER_BYTES).unwrap_or(server);
    let room = MAX_NAME_BYTES - kept.len() - 2 * SEPARATOR.len() - DIGEST_DIGITS;
    let clean = |character: char| match u8::try_from(character) {
        Ok(byte) if permitted(byte) => character,
        Ok(_) | Err(_) => '_',
    };
    let stem: String = name.chars().map(clean).take(room).collect();
    let digest = digest(server, name);
    format!("{kept}{SEPARATOR}{stem}{SEPARATOR}{digest}")
}

fn digest(server: &str, name: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(server.as_bytes());
    hash.update([0]);
    hash.update(name.as_bytes());
    let mut digits = String::new();
    for byte in hash.finalize().iter().take(DIGEST_DIGITS / 2) {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// Whether `name` ends as a shortened one does.
fn looks_shortened(name: &str) -> bool {
    name.rsplit_once(SEPARATOR).is_some_and(|(_, end)| {
        let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        end.len() == DIGEST_DIGITS && end.bytes().all(hexadecimal)
    })
}

const fn permitted(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_names_are_joined_and_the_rest_is_shortened() {
        let long = "x".repeat(80);
        let table = [
            ("files", "read", "files__read"),
            ("files", "read__all", "files__read__all"),
            ("a", "_b", "a___b"),
            ("files", "read.all", "files__read_all__"),
            ("files", "ä/b", "files____b__"),
            ("files", "", "files____"),
            (
                "files",
                "read__0123456789abcdef",
                "files__read__0123456789abcdef__",
            ),
            ("files", &long, "files__xxxx"),
            (&long, "read", "xxxxxxxxxxxxxxxxxxxx__read__"),
        ];
        for (server, name, begins) in table {
            let got = offered(server, name);
            assert!(got.starts_with(begins), "{server} {name}: {got}");
            assert!(got.len() <= MAX_NAME_BYTES, "{got}");
        }
    }

    #[test]
    fn exactly_the_limit_is_not_shortened() {
        let name = "x".repeat(MAX_NAME_BYTES - 7);
        assert_eq!(offered("files", &name), format!("files__{name}"));
        assert_ne!(
            offered("files", &format!("{name}x")).len(),
            MAX_NAME_BYTES + 1
        );
    }

    #[test]
    fn the_way_of_shortening_is_pinned() {
        // Changing these names would break what people wrote into their policies.
        assert_eq!(
            offered("files", "read.all"),
            "files__read_all__6e11c2c4d08ea5f0"
        );
    }

    fn server() -> impl Strategy<Value = String> {
        "[a-z0-9][a-z0-9-]{0,30}"
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-c_.]{0,4}",
            "[a-b_]{50,70}",
            "[a-f0-9_]{0,4}__[a-f0-9]{16}",
            "\\PC{0,12}"
        ]
    }

    proptest! {
        #[test]
        fn names_are_permitted_stable_and_told_apart(
            all in prop::collection::vec((server(), name()), 1..40),
        ) {
            let mut seen: BTreeMap<String, (String, String)> = BTreeMap::new();
            for (server, name) in all {
                let got = offered(&server, &name);
                prop_assert!(got.len() <= MAX_NAME_BYTES && got.bytes().all(permitted), "{}", got);
                prop_assert!(!is_reserved(&got));
                if let Some((of, tool)) = split(&got) {
                    prop_assert_eq!((of, tool), (server.as_str(), name.as_str()));
                }
                let before = seen.insert(got, (server.clone(), name.clone()));
                prop_assert!(before.is_none_or(|before| before == (server, name)));
            }
        }
    }
}
