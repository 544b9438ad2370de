//! Turns the kill switch on and off.
//!
//! On is the safe side: what cannot be written as wished is written with less, and an entry that is
//! there already stays until another one stands in its place.

use std::{
    fs,
    io::{self, ErrorKind, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use tempfile::NamedTempFile;

use super::{clock::stamp, kill_switch::KillSwitch};

/// The most bytes of a reason that are written; with its moment it is read back whole.
const MAX_REASON_BYTES: usize = 960;

/// A reason for a halt: one line of printable text, not empty.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reason(String);

/// A text in which nothing can be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the reason is empty; say in a few words why")]
pub struct EmptyReason;

impl Reason {
    /// Takes what is printable of a text.
    ///
    /// # Errors
    ///
    /// [`EmptyReason`] if nothing is.
    pub fn new(text: &str) -> Result<Self, EmptyReason> {
        // What `escape_debug` would escape, a terminal could obey.
        let printable: String = text
            .chars()
            .filter(|character| {
                matches!(character, '\'' | '"' | '\\') || character.escape_debug().len() == 1
            })
            .collect();
        let trimmed = printable.trim();
        let kept = trimmed
            .get(..trimmed.floor_char_boundary(MAX_REASON_BYTES))
            .unwrap_or_default();
        if kept.is_empty() {
            return Err(EmptyReason);
        }
        Ok(Self(kept.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How the entry came to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Frozen {
    /// With its reason.
    Written,
    /// A folder stands there, which stops as well and holds no reason.
    ByFolder,
    /// Without its reason, which could not be written.
    Bare,
}

/// Turns the switch on, at the place that reaches furthest.
///
/// # Errors
///
/// When there is no entry after all.
pub fn freeze(switch: &KillSwitch, reason: &Reason, at: Timestamp) -> io::Result<Frozen> {
    let Some(place) = switch.places().last() else {
        return Err(io::Error::from(ErrorKind::NotFound));
    };
    let folder = place.parent().unwrap_or(place);
    fs::create_dir_all(folder)?;
    if place.symlink_metadata().is_ok_and(|entry| entry.is_dir()) {
        return Ok(Frozen::ByFolder);
    }
    write(folder, place, reason, at)
        .map(|()| Frozen::Written)
        .or_else(|error| {
            // A full disk often has room for an entry, and an entry is enough.
            match fs::File::create_new(place) {
                Ok(_) => Ok(Frozen::Bare),
                Err(found) if found.kind() == ErrorKind::AlreadyExists => Ok(Frozen::Bare),
                Err(_) => Err(error),
            }
        })
}

/// Writes beside the place and moves there, so that no link is followed and no moment is without an
/// entry.
fn write(folder: &Path, place: &Path, reason: &Reason, at: Timestamp) -> io::Result<()> {
    let mut file = NamedTempFile::with_prefix_in("HALT-", folder)?;
    writeln!(file, "{} (frozen at {})", reason.as_str(), stamp(at))?;
    // Whoever runs a gateway here should be able to see why it stands still.
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))?;
    file.as_file().sync_all()?;
    file.persist(place)?;
    fs::File::open(folder)?.sync_all()
}

/// Turns the switch off everywhere, and returns the places that had an entry.
///
/// # Errors
///
/// When an entry is still there; one that is a folder goes only if it is empty.
pub fn unfreeze(switch: &KillSwitch) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for place in switch.places() {
        let gone = match place.symlink_metadata() {
            Ok(entry) if entry.is_dir() => fs::remove_dir(place),
            Ok(_) => fs::remove_file(place),
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => Err(error),
        };
        gone?;
        removed.push(place.clone());
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::layer::kill_switch::{HALT_IN_PROJECT, Halt};

    fn project() -> (tempfile::TempDir, KillSwitch, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let switch = KillSwitch::of_project(folder.path());
        let halt = folder.path().join(HALT_IN_PROJECT);
        (folder, switch, halt)
    }

    #[test]
    fn a_reason_is_one_printable_line() {
        let table = [
            (" why \n", Some("why")),
            ("a\u{1b}[31m \"b\"\u{202e}", Some("a[31m \"b\"")),
            ("\u{7}\n", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(
                Reason::new(text).ok().as_ref().map(Reason::as_str),
                want,
                "{text:?}"
            );
        }
        assert!(Reason::new(&"é".repeat(5000)).unwrap().as_str().len() <= MAX_REASON_BYTES);
    }

    #[test]
    fn what_is_frozen_stops_with_its_reason_until_it_is_unfrozen() {
        let (_folder, switch, halt) = project();
        let reason = Reason::new("too many mails").unwrap();
        for _ in 0..2 {
            assert_eq!(
                freeze(&switch, &reason, Timestamp::UNIX_EPOCH).unwrap(),
                Frozen::Written
            );
            let Halt::Present { reason } = switch.probe() else {
                panic!("not frozen")
            };
            assert_eq!(
                reason,
                "too many mails (frozen at 1970-01-01T00:00:00.000Z)"
            );
        }
        assert_eq!(unfreeze(&switch).unwrap(), [halt]);
        assert_eq!(switch.probe(), Halt::Absent);
        assert_eq!(unfreeze(&switch).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn an_entry_of_another_kind_is_replaced_or_left_and_stops_at_every_moment() {
        let reason = Reason::new("why").unwrap();
        let (folder, switch, halt) = project();
        fs::create_dir(folder.path().join(".rea")).unwrap();
        let target = folder.path().join("target");
        fs::write(&target, "kept").unwrap();
        symlink(&target, &halt).unwrap();
        assert_eq!(
            freeze(&switch, &reason, Timestamp::UNIX_EPOCH).unwrap(),
            Frozen::Written
        );
        assert_eq!(
            fs::read_to_string(&target).unwrap(),
            "kept",
            "no link is followed"
        );
        assert!(!halt.symlink_metadata().unwrap().is_symlink());
        unfreeze(&switch).unwrap();

        fs::create_dir(&halt).unwrap();
        assert_eq!(
            freeze(&switch, &reason, Timestamp::UNIX_EPOCH).unwrap(),
            Frozen::ByFolder
        );
        fs::write(halt.join("x"), "").unwrap();
        unfreeze(&switch).unwrap_err();
        assert!(!switch.probe().lets_pass());
        fs::remove_file(halt.join("x")).unwrap();
        unfreeze(&switch).unwrap();
        assert_eq!(switch.probe(), Halt::Absent);
    }
}
