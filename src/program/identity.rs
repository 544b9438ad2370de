//! Which file a program is, exactly.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::stat::FileStat;

/// A SHA-256 digest. Displays and serialises as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Digest([u8; 32]);

impl Digest {
    pub(crate) const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// A text that is no [`Digest`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a SHA-256 digest is 64 lower-case hexadecimal digits, not {0:?}")]
pub struct NoDigest(String);

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Self, NoDigest> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let read = || {
            let mut bytes = [0; 32];
            let (pairs, rest) = text.as_bytes().as_chunks::<2>();
            if !rest.is_empty() || pairs.len() != bytes.len() {
                return None;
            }
            for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
                *byte = digit(*high)? << 4 | digit(*low)?;
            }
            Some(Self(bytes))
        };
        read().ok_or_else(|| NoDigest(text.to_owned()))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Which file a program is: the name it is called by, where it lies, its state and its content.
///
/// A program made of many (busybox, coreutils, the shims of toolchain managers) does what its
/// called name says, so the name is part of the identity.
#[derive(Clone, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The last part of the path that the program is called by.
    pub called: String,
    /// The path without symlinks, `.` and `..`; it is UTF-8.
    pub real_path: PathBuf,
    /// The SHA-256 digest of the content.
    pub sha256: Digest,
    /// The size in bytes.
    pub size: u64,
    /// The permission bits, set-id and sticky bits included, without the type.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// When the content last changed, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// When the content or the inode last changed, in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// The device.
    pub dev: u64,
    /// The inode.
    pub ino: u64,
}

impl Identity {
    pub(crate) fn new(called: &str, real_path: &Path, stat: &FileStat, sha256: Digest) -> Self {
        Self {
            called: called.to_owned(),
            real_path: real_path.to_owned(),
            sha256,
            size: stat.size,
            mode: stat.permissions(),
            uid: stat.uid,
            gid: stat.gid,
            mtime_ns: stat.mtime_ns,
            ctime_ns: stat.ctime_ns,
            dev: stat.dev,
            ino: stat.ino,
        }
    }

    /// Adds the fields to those of a larger object.
    pub(crate) fn serialize_into<S: SerializeStruct>(
        &self,
        object: &mut S,
    ) -> Result<(), S::Error> {
        object.serialize_field("called", &self.called)?;
        object.serialize_field("real_path", &self.real_path)?;
        object.serialize_field("sha256", &self.sha256)?;
        object.serialize_field("size", &self.size)?;
        object.serialize_field("mode", &self.mode)?;
        object.serialize_field("uid", &self.uid)?;
        object.serialize_field("gid", &self.gid)?;
        object.serialize_field("mtime_ns", &self.mtime_ns)?;
        object.serialize_field("ctime_ns", &self.ctime_ns)?;
        object.serialize_field("dev", &self.dev)?;
        object.serialize_field("ino", &self.ino)
    }

    /// Returns whether `stat` is that of a regular file in the very state that was pinned.
    pub(crate) fn is_state(&self, stat: &FileStat) -> bool {
        stat.is_file() && *self == Self::new(&self.called, &self.real_path, stat, self.sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_and_nothing_else_does() {
        let digest = Digest::new(std::array::from_fn(|index| {
            index.to_le_bytes()[0].wrapping_mul(7)
        }));
        assert_eq!(digest.to_string().parse(), Ok(digest));
        let text = digest.to_string();
        for wrong in [
            "",
            "00",
            &text[1..],
            &format!("{text}0"),
            &text.to_uppercase(),
        ] {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
    }
}
