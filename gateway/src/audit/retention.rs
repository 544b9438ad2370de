//! Deletes the oldest segments when policy no longer keeps them, and has that on record first.

use std::{
    fs::OpenOptions,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use jiff::{SignedDuration, Timestamp};

use super::{
    error::{AuditError, Context},
    line::Line,
    lines::MAX_LINE_BYTES,
    lock::open_regular,
    log::Log,
    note,
    segment::{self, Segment},
    settings::Retention,
};

/// How many segments one note lists at most; the next rotation deletes the next ones.
const MAX_REMOVED: usize = 64;

impl Log {
    /// Deletes what the limits no longer keep; the lock must be held.
    ///
    /// The note and a checkpoint are on the medium before the first file goes. A crash in between leaves
    /// files that the next rotation deletes again.
    pub(crate) fn apply_retention(&mut self, now: Timestamp) -> Result<(), AuditError> {
        let Some(limits) = self.settings.keeping.retention else {
            return Ok(());
        };
        let segments = segment::list(&self.directory)?;
        let removed = self.removable(&segments, limits, now);
        if removed.is_empty() {
            return Ok(());
        }
        let sequence = self.live.as_ref().map_or(0, |live| live.walk.sequence()) + 1;
        let retained = note::Retained { sequence, removed };
        self.write_notes(&[retained.record()])?;
        self.sync()?;
        self.advance_checkpoint()?;
        for removed in &retained.removed {
            let path = self.directory.join(&removed.name);
            self.settings.disk.remove(&path).context("remove", &path)?;
        }
        self.settings
            .disk
            .sync_directory(&self.directory)
            .context("sync", &self.directory)
    }

    /// Returns the segments to delete, each with the hash by which the file after it is linked to it.
    fn removable(
        &self,
        segments: &[Segment],
        limits: Retention,
        now: Timestamp,
    ) -> Vec<note::Removed> {
        let surplus = limits
            .max_segments
            .map_or(0, |most| segments.len().saturating_sub(most));
        let age = limits
            .max_age_days
            .map(|days| SignedDuration::from_hours(24 * i64::from(days)));
        let is_old = |name: &Segment| {
            let since = name.rotated_at().map(|rotated| now.duration_since(rotated));
            matches!((since, age), (Some(since), Some(age)) if since >= age)
        };
        let mut removed = Vec::new();
        for (index, name) in segments.iter().enumerate().take(MAX_REMOVED) {
            if index >= surplus && !is_old(name) {
                break;
            }
            let after = segments
                .get(index + 1)
                .map_or_else(|| self.path(), |next| segment::path(&self.directory, next));
            // A file whose link cannot be told stays, and all later ones with it.
            let Some(last_hash) = first_link(&after) else {
                break;
            };
            removed.push(note::Removed {
                name: name.name(),
                last_hash,
            });
        }
        removed
    }
}

/// Returns the predecessor that the first record of a file names.
fn first_link(path: &Path) -> Option<String> {
    let file = open_regular(OpenOptions::new().read(true), path).ok()?;
    let mut line = Vec::new();
    BufReader::new(file.take(MAX_LINE_BYTES as u64))
        .read_until(b'\n', &mut line)
        .ok()?;
    match Line::read(line.strip_suffix(b"\n")?) {
        Line::Record(entry) => String::from_utf8(entry.previous.into_owned()).ok(),
        Line::Other | Line::Broken(_) => None,
    }
}
