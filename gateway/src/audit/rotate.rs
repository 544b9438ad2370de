//! Closes the live file under another name and begins a new one, so that a crash between any two steps
//! leaves a log that verifies.
//!
//! 1. Sync the live file.
//! 2. Write and sync the next live file, which holds one note, under a name of its own.
//! 3. Rename the live file to the segment's name.
//! 4. Rename the next one to the live name.
//! 5. Sync the directory.
//!
//! Before step 3 the next file is dropped; between 3 and 4 whoever writes next does step 4.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::Path,
};

use jiff::{SignedDuration, Timestamp};

use super::{
    error::{AuditError, Context},
    line::Line,
    lock::open_regular,
    log::{Live, Log},
    note,
    segment::{self, Segment},
};

/// How many bytes the next live file may have to be taken for one.
const MAX_NEXT_BYTES: u64 = 65_536;

impl Log {
    /// Says whether the live file has reached a limit; an empty one never has.
    pub(crate) fn is_rotation_due(&self, now: Timestamp) -> bool {
        let (Some(limits), Some(live)) = (self.settings.keeping.rotation, &self.live) else {
            return false;
        };
        let age = SignedDuration::from_hours(24 * i64::from(limits.max_age_days));
        let old = live
            .first
            .is_some_and(|first| now.duration_since(first) >= age);
        live.length > 0 && (live.length >= limits.max_bytes || old)
    }

    /// Rotates, then deletes what policy no longer keeps; `None` when the live file is empty. Lock held.
    ///
    /// Returns the name of the new segment.
    pub(crate) fn rotate(&mut self) -> Result<Option<String>, AuditError> {
        let now = self.settings.clock.now();
        let disk = self.settings.disk.clone();
        let (path, next_path) = (self.path(), self.directory.join(segment::NEXT));
        let Some(live) = self.live.as_ref().filter(|live| live.length > 0) else {
            return Ok(None);
        };
        let name = Segment::next(&segment::list(&self.directory)?, now).name();
        let target = self.directory.join(&name);

        disk.sync(&live.file).context("sync", &path)?;
        self.drop_next()?;
        let next = disk.create(&next_path).context("create", &next_path)?;
        let mut marker = Vec::new();
        let hash = note::Rotated::record(&name, now)
            .encode(now)?
            .link(live.walk.tip(), &mut marker);
        let written = disk.append(&next, &marker).and_then(|()| disk.sync(&next));
        written.context("write", &next_path)?;
        let mut walk = live.walk.clone();
        walk.enter(segment::LIVE);
        walk.append(hash);
        let metadata = next.metadata().context("inspect", &next_path)?;
        let id = (metadata.dev(), metadata.ino());

        if target.exists() {
            let exists = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(exists).context("rename the live log to", &target);
        }
        disk.rename(&path, &target).context("rename", &path)?;
        disk.rename(&next_path, &path)
            .context("rename", &next_path)?;
        disk.sync_directory(&self.directory)
            .context("sync", &self.directory)?;
        self.replace_live(Live {
            file: next,
            id,
            length: marker.len() as u64,
            walk,
            first: Some(now),
        });
        self.advance_checkpoint()?;
        self.apply_retention(now)?;
        Ok(Some(name))
    }

    /// Finishes a rotation that stopped between its two renames, if there is one.
    pub(crate) fn finish_rotation(&self) -> Result<(), AuditError> {
        let next = self.directory.join(segment::NEXT);
        let last = segment::list(&self.directory)?.pop();
        if last.is_some_and(|last| begins_after(&next, &last.name())) {
            self.settings
                .disk
                .rename(&next, &self.path())
                .context("rename", &next)?;
            return self
                .settings
                .disk
                .sync_directory(&self.directory)
                .context("sync", &self.directory);
        }
        Ok(())
    }

    /// Removes the next live file of a rotation that stopped before its renames.
    fn drop_next(&self) -> Result<(), AuditError> {
        let next = self.directory.join(segment::NEXT);
        match fs::symlink_metadata(&next) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Ok(_) | Err(_) => self.settings.disk.remove(&next).context("remove", &next),
        }
    }
}

/// Says whether a file is the one that a rotation to the segment `last` has prepared.
fn begins_after(next: &Path, last: &str) -> bool {
    let Ok(file) = open_regular(OpenOptions::new().read(true), next) else {
        return false;
    };
    let mut content = Vec::new();
    let read = file.take(MAX_NEXT_BYTES + 1).read_to_end(&mut content);
    if read.is_err() || content.len() as u64 > MAX_NEXT_BYTES {
        return false;
    }
    let Some(line) = content.strip_suffix(b"\n") else {
        return false;
    };
    match Line::read(line) {
        Line::Record(entry) => {
            let named = entry
                .details::<note::Rotated>()
                .is_some_and(|rotated| rotated.rotated_from == last);
            entry.is_note(note::ROTATION) && entry.is_genuine() && named
        }
        Line::Other | Line::Broken(_) => false,
    }
}
