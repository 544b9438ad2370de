//! The links of the chain: SHA-256 digests and how they are written.

use std::fmt;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A SHA-256 digest, written as 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first record of a chain names as its predecessor.
    pub const GENESIS: Self = Self([0; 32]);

    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the digest of several pieces as if they were one.
    pub(crate) fn of_pieces(pieces: &[&[u8]]) -> Self {
        let mut sha = Sha256::new();
        for piece in pieces {
            sha.update(piece);
        }
        Self(sha.finalize().into())
    }

    /// Finishes a digest that was fed piece by piece.
    pub(crate) fn finish(sha: Sha256) -> Self {
        Self(sha.finalize().into())
    }

    /// Reads 64 lowercase hexadecimal digits; anything else is no digest.
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        if text.iter().any(u8::is_ascii_uppercase) {
            return None;
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Returns the 64 digits as bytes, for splicing into a line.
    pub(crate) fn to_hex(self) -> [u8; 64] {
        let mut text = [b'0'; 64];
        // The lengths agree by type, so encoding cannot fail.
        let _ = hex::encode_to_slice(self.0, &mut text);
        text
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_64_lowercase_digits_are_a_digest() {
        let good = "7b2f227c1fcad8a2aabcae7e4cb6de47016816e4c22b7e9ac6de76e35f08a99c";
        let hash = Hash::from_hex(good.as_bytes()).unwrap();
        assert_eq!(hash.to_string(), good);
        assert_eq!(&hash.to_hex(), good.as_bytes());
        for bad in [
            &good[1..],
            &format!("{good}0"),
            &good.to_uppercase(),
            &"g".repeat(64),
            "",
        ] {
            assert_eq!(Hash::from_hex(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(Hash::GENESIS.to_string(), "0".repeat(64));
    }
}
