//! A signed note, kept outside the project, of how far the log had come.
//!
//! The chain alone cannot show that its end is missing, or that all of it was rewritten. The note can.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read, Write},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    error::{AuditError, Context},
    hash::Hash,
    key,
    lock::open_regular,
    record::iso,
};

/// The name of the key file in the user's state directory.
const KEY_FILE: &str = "checkpoint.key";
/// How many bytes a checkpoint file may have.
const MAX_BYTES: u64 = 4096;
/// What a signature covers begins with this, so that it can stand for nothing else.
const DOMAIN: &str = "rea audit checkpoint 1";

/// How far a log had come: the number of its last durable record, and that record's hash.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Mark {
    /// Counted from 1 over the life of the log, through rotations and deletions.
    pub(crate) sequence: u64,
    /// The hash of that record.
    pub(crate) hash: Hash,
    /// How long the live file was after that record; a hint where to look.
    pub(crate) offset: u64,
}

/// A signed note of how far a log had come.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The number of the last durable record, counted from 1 over the life of the log.
    pub sequence: u64,
    /// That record's hash, 64 hexadecimal digits.
    pub hash: String,
    /// The length of the live file after that record, in bytes.
    pub offset: u64,
    /// When the note was made.
    pub timestamp: String,
    /// Which log it is about: the digest of the log's path.
    pub log: String,
    /// The Ed25519 key that signed, 64 hexadecimal digits.
    pub public_key: String,
    /// The signature, 128 hexadecimal digits.
    pub signature: String,
}

impl Checkpoint {
    /// Returns what the signature covers.
    fn statement(&self) -> String {
        format!(
            "{DOMAIN}\n{}\n{}\n{}\n{}\n{}\n",
            self.sequence, self.hash, self.offset, self.timestamp, self.log
        )
    }

    /// Reads a checkpoint and checks its signature against the key it names.
    ///
    /// Whether that key is to be trusted is the caller's affair.
    pub fn from_json(text: &[u8]) -> Result<Self, &'static str> {
        let checkpoint: Self =
            serde_json::from_slice(text).map_err(|_| "it is not a checkpoint")?;
        checkpoint.check()?;
        Ok(checkpoint)
    }

    fn check(&self) -> Result<(), &'static str> {
        let (mut key, mut signature) = ([0; 32], [0; 64]);
        hex::decode_to_slice(&self.public_key, &mut key)
            .map_err(|_| "its public key is malformed")?;
        hex::decode_to_slice(&self.signature, &mut signature)
            .map_err(|_| "its signature is malformed")?;
        let key = VerifyingKey::from_bytes(&key).map_err(|_| "its public key is malformed")?;
        key.verify_strict(
            self.statement().as_bytes(),
            &Signature::from_bytes(&signature),
        )
        .map_err(|_| "its signature does not fit")
    }

    /// Returns one line of JSON, with a line feed.
    pub fn to_json(&self) -> String {
        // A struct of strings and numbers always has a JSON form.
        serde_json::to_string(self)
            .map(|text| text + "\n")
            .unwrap_or_default()
    }

    pub(crate) fn mark(&self) -> Result<Mark, &'static str> {
        let hash = Hash::from_hex(self.hash.as_bytes()).ok_or("its hash is malformed")?;
        Ok(Mark {
            sequence: self.sequence,
            hash,
            offset: self.offset,
        })
    }
}

/// Where the checkpoint of one log is kept.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    directory: PathBuf,
    log: String,
}

impl Place {
    /// Returns the place for the log of the project at `root`, which must be resolved.
    pub(crate) fn of(state_directory: &Path, root: &Path) -> Self {
        Self {
            directory: state_directory.to_owned(),
            log: Hash::of(root.as_os_str().as_bytes()).to_string(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join(format!("{}.checkpoint", self.log))
    }

    /// Returns the checkpoint; `None` when none has been made, an error when it is not this user's.
    pub(crate) fn load(&self) -> Result<Option<Checkpoint>, AuditError> {
        let path = self.path();
        let problem = |problem| AuditError::Checkpoint {
            path: path.clone(),
            problem,
        };
        if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        let file = open_regular(OpenOptions::new().read(true), &path)?;
        let mut text = Vec::new();
        file.take(MAX_BYTES)
            .read_to_end(&mut text)
            .context("read", &path)?;
        let checkpoint = Checkpoint::from_json(&text).map_err(problem)?;
        let secret = key::load(&self.directory.join(KEY_FILE))?
            .ok_or_else(|| problem("the key that signed it is gone"))?;
        let ours = hex::encode(SigningKey::from_bytes(&secret).verifying_key().as_bytes());
        if checkpoint.public_key != ours {
            return Err(problem("it is signed by another key"));
        }
        if checkpoint.log != self.log {
            return Err(problem("it is about another log"));
        }
        checkpoint.mark().map_err(problem)?;
        Ok(Some(checkpoint))
    }
}

/// Signs and keeps checkpoints of one log.
#[derive(Debug)]
pub(crate) struct Notary {
    place: Place,
    key: SigningKey,
}

impl Notary {
    /// Opens the user's key; makes it on first use.
    pub(crate) fn open(place: Place) -> Result<Self, AuditError> {
        let key = SigningKey::from_bytes(&key::load_or_make(&place.directory, KEY_FILE)?);
        Ok(Self { place, key })
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    fn sign(&self, mark: Mark, now: Timestamp) -> Checkpoint {
        let mut checkpoint = Checkpoint {
            sequence: mark.sequence,
            hash: mark.hash.to_string(),
            offset: mark.offset,
            timestamp: iso(now),
            log: self.place.log.clone(),
            public_key: hex::encode(self.key.verifying_key().as_bytes()),
            signature: String::new(),
        };
        checkpoint.signature =
            hex::encode(self.key.sign(checkpoint.statement().as_bytes()).to_bytes());
        checkpoint
    }

    /// Replaces the checkpoint by one for `mark`, unless it is further on already. Call with the log locked.
    pub(crate) fn advance(&self, mark: Mark, now: Timestamp) -> Result<Checkpoint, AuditError> {
        if let Some(present) = self.place.load()?
            && present.sequence >= mark.sequence
        {
            return Ok(present);
        }
        let checkpoint = self.sign(mark, now);
        let path = self.place.path();
        // One name for all writers, as only one of them has the lock: what a killed one leaves is used again.
        let fresh = path.with_extension("checkpoint.new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = open_regular(&mut options, &fresh)?;
        file.write_all(checkpoint.to_json().as_bytes())
            .context("write", &fresh)?;
        file.sync_data().context("sync", &fresh)?;
        fs::rename(&fresh, &path).context("replace", &path)?;
        Ok(checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_only_moves_on_and_shows_any_change() {
        let state = tempfile::tempdir().unwrap();
        let notary = Notary::open(Place::of(state.path(), Path::new("/p"))).unwrap();
        assert_eq!(notary.place().load().unwrap(), None);
        let mark = |sequence| Mark {
            sequence,
            hash: Hash::of(&[7]),
            offset: 9,
        };
        let ten = notary.advance(mark(10), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(notary.advance(mark(9), Timestamp::UNIX_EPOCH).unwrap(), ten);
        assert_eq!(notary.place().load().unwrap(), Some(ten.clone()));

        let text = ten.to_json();
        let mut accepted = Vec::new();
        for (from, to) in [
            ("\"sequence\":10", "\"sequence\":11"),
            ("\"offset\":9", "\"offset\":8"),
            ("1970", "1971"),
            (&ten.hash[..8], "00000000"),
            (&ten.log[..8], "00000000"),
            (&ten.public_key[..8], "00000000"),
            (&ten.signature[..8], "00000000"),
            ("{", "{\"x\":1,"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            if Checkpoint::from_json(changed.as_bytes()).is_ok() {
                accepted.push(from.to_owned());
            }
        }
        assert!(accepted.is_empty(), "{}", accepted.join("\n"));
    }

    #[test]
    fn a_checkpoint_of_another_key_is_not_ours() {
        let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mark = Mark {
            sequence: 1,
            hash: Hash::GENESIS,
            offset: 0,
        };
        for state in [&ours, &theirs] {
            let place = Place::of(state.path(), Path::new("/p"));
            Notary::open(place)
                .unwrap()
                .advance(mark, Timestamp::UNIX_EPOCH)
                .unwrap();
        }
        let place = Place::of(ours.path(), Path::new("/p"));
        fs::copy(
            Place::of(theirs.path(), Path::new("/p")).path(),
            place.path(),
        )
        .unwrap();
        assert_eq!(place.load().unwrap_err().code(), "audit-checkpoint");
    }
}
