//! Digests of what a call carried: enough to recognise it again with the key, and nothing to read.

use std::{fmt, path::Path};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{error::AuditError, key};

/// The name of the key file in the user's state directory.
const KEY_FILE: &str = "digest.key";

/// Makes HMAC-SHA-256 digests under a random key of this user.
///
/// Without the key nobody can find out by trial what a short argument was.
#[derive(Clone)]
pub(crate) struct Digester(Hmac<Sha256>);

impl Digester {
    /// Returns the digester with the key in `directory`; makes the key on first use.
    pub(crate) fn open(directory: &Path) -> Result<Self, AuditError> {
        let secret = key::load_or_make(directory, KEY_FILE)?;
        Ok(Self::with_key(&secret))
    }

    fn with_key(secret: &key::Secret) -> Self {
        // A key of one block's length needs no check.
        let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
        for (place, byte) in block.iter_mut().zip(secret) {
            *place = *byte;
        }
        Self(Hmac::new(&block))
    }

    /// Returns the digest of `bytes`, 64 hexadecimal digits.
    pub(crate) fn digest(&self, bytes: &[u8]) -> String {
        let mut mac = self.0.clone();
        mac.update(bytes);
        hex::encode(mac.finalize().into_bytes())
    }
}

impl fmt::Debug for Digester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digester")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_published_one_and_differs_by_key() {
        // A zero-padded key equals the key itself in HMAC, so the fourth case of RFC 4231 serves.
        let mut key = [0; 32];
        for (place, byte) in key.iter_mut().zip(1..=25) {
            *place = byte;
        }
        let digester = Digester::with_key(&key);
        assert_eq!(
            digester.digest(&[0xcd; 50]),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        );
        key[0] = 0;
        assert_ne!(Digester::with_key(&key).digest(b"x"), digester.digest(b"x"));
    }
}
