//! Finds out how the log ends, when it is not known already, and sets right what can be set right.
//!
//! A crash residue is cut and noted. Lines that are no records stay, and a note that is chained to their
//! digest follows them. A log that is not as far as it is known to have been gets a note that says so.
//! Nothing of this happens silently, and nothing is built on what cannot be trusted.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
};

use jiff::Timestamp;

use super::{
    checkpoint::Mark,
    error::{AuditError, Context},
    hash::Hash,
    line::Line,
    lines::{self, Piece},
    lock::open_regular,
    log::{Live, Log},
    note,
    record::Record,
    segment::{self, Segment},
    walk::{End, Rest, Walk},
};

/// In how many bytes from the start the first record is looked for.
const FIRST_RECORD_BYTES: u64 = 65_536;

/// What follows the last line feed.
#[derive(Debug, Default)]
enum Loose {
    #[default]
    Nothing,
    /// To be cut: this many bytes, with this digest.
    Residue(u64, Hash),
    /// To be kept as a line of its own.
    Junk(Vec<u8>),
}

impl Log {
    /// Brings what is known about the end of the log up to date; the lock must be held.
    pub(crate) fn refresh(&mut self) -> Result<(), AuditError> {
        let path = self.path();
        let present = match fs::symlink_metadata(&path) {
            Ok(metadata) => Some(((metadata.dev(), metadata.ino()), metadata.size())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).context("inspect", &path),
        };
        match (present, self.live.as_ref()) {
            (Some((id, length)), Some(live)) if id == live.id && length == live.length => Ok(()),
            (Some((id, length)), Some(live)) if id == live.id && length > live.length => {
                self.grow()
            }
            (Some((id, _)), Some(live)) if id != live.id => self.follow(),
            (Some(_), Some(_) | None) => self.find_end(),
            (None, _) => {
                self.finish_rotation()?;
                self.find_end()
            }
        }
    }

    /// Reads what another process has appended.
    fn grow(&mut self) -> Result<(), AuditError> {
        let Some(mut live) = self.live.take() else {
            return Ok(());
        };
        self.remembered = Some(live.mark());
        let loose = read_on(&mut live, &self.path())?;
        self.settle_end(live, loose)
    }

    /// Goes on in a new live file, if the one that is known was rotated by another process just now.
    fn follow(&mut self) -> Result<(), AuditError> {
        self.forget_unless_last_segment()?;
        let Some(mut live) = self.live.take() else {
            return self.find_end();
        };
        self.remembered = Some(live.mark());
        let path = self.path();
        let loose = read_on(&mut live, &path)?;
        if !matches!(loose, Loose::Nothing) {
            return self.find_end();
        }
        let mut next = open_live(&path, live.walk)?;
        let loose = read_on(&mut next, &path)?;
        self.settle_end(next, loose)
    }

    fn forget_unless_last_segment(&mut self) -> Result<(), AuditError> {
        let last = segment::list(&self.directory)?.pop();
        let id =
            last.and_then(|last| fs::symlink_metadata(segment::path(&self.directory, &last)).ok());
        let id = id.map(|metadata| (metadata.dev(), metadata.ino()));
        if self.live.as_ref().map(|live| live.id) != id {
            self.forget();
        }
        Ok(())
    }

    /// Finds the end without knowing anything: from the checkpoint on, or else from the first record.
    fn find_end(&mut self) -> Result<(), AuditError> {
        self.forget();
        let path = self.path();
        if let Err(error) = fs::symlink_metadata(&path)
            && error.kind() == io::ErrorKind::NotFound
        {
            self.settings.disk.create(&path).context("create", &path)?;
            self.settings
                .disk
                .sync_directory(&self.directory)
                .context("sync", &self.directory)?;
        }
        let known = self.known()?;
        let mut live = open_live(&path, Walk::new(known.as_slice()))?;
        match known {
            Some(mark) if ends_with(&live.file, mark) => {
                live.walk = Walk::after(mark);
                live.length = mark.offset;
            }
            Some(_) | None => {
                live.walk.be_silent();
                for name in segment::list(&self.directory)? {
                    self.read_segment(&mut live.walk, &name)?;
                }
                live.walk.enter(segment::LIVE);
            }
        }
        live.walk.be_silent();
        let loose = read_on(&mut live, &path)?;
        self.settle_end(live, loose)
    }

    /// Returns how far the log is known to have come: by this process, or by the checkpoint.
    fn known(&self) -> Result<Option<Mark>, AuditError> {
        let place = self.notary.place();
        let noted = place
            .load()?
            .map(|checkpoint| checkpoint.mark())
            .transpose();
        let noted = noted.map_err(|problem| AuditError::Checkpoint {
            path: place.path(),
            problem,
        })?;
        let known = [self.remembered, noted]
            .into_iter()
            .flatten()
            .max_by_key(|mark| mark.sequence);
        Ok(known.filter(|mark| mark.sequence > 0))
    }

    fn read_segment(&self, walk: &mut Walk, name: &Segment) -> Result<(), AuditError> {
        let path = segment::path(&self.directory, name);
        let file = open_regular(OpenOptions::new().read(true), &path)?;
        walk.enter(&name.name());
        lines::read(file, |piece| match piece {
            Piece::Line(line) => walk.line(line),
            Piece::Long(bytes) => walk.long_line(bytes),
            Piece::Rest(rest) => drop(walk.take_rest(rest, false)),
        })
        .context("read", &path)
    }

    /// Makes the end fit to be written on, with a note for each thing that was not.
    fn settle_end(&mut self, mut live: Live, loose: Loose) -> Result<(), AuditError> {
        let path = self.path();
        let disk = &self.settings.disk;
        let mut notes = Vec::new();
        match loose {
            Loose::Nothing => {}
            Loose::Residue(bytes, digest) => {
                disk.cut(&live.file, live.length).context("cut", &path)?;
                notes.push(
                    note::Repaired {
                        bytes,
                        sha256: digest.to_string(),
                    }
                    .record(),
                );
            }
            Loose::Junk(junk) => {
                disk.append(&live.file, b"\n").context("append to", &path)?;
                live.length += junk.len() as u64 + 1;
                live.walk.line(&junk);
            }
        }
        if let End::Bad {
            bytes, last_good, ..
        } = live.walk.end()
        {
            notes.insert(
                0,
                note::Broken {
                    bytes,
                    last_good: last_good.to_string(),
                }
                .record(),
            );
        }
        // After a rotation that lost its first record, the file must still begin with it.
        if live.length == 0
            && let Some(last) = segment::list(&self.directory)?.last()
        {
            notes.insert(
                0,
                note::Rotated::record(&last.name(), self.settings.clock.now()),
            );
        }
        let gap = self.gap(&live.walk, notes.len())?;
        let renumber = gap.as_ref().map(|(_, sequence)| *sequence);
        notes.extend(gap.map(|(note, _)| note));
        live.walk.drop_targets();
        self.live = Some(live);
        if !notes.is_empty() {
            self.write_notes(&notes)?;
            self.tell_of(&notes);
        }
        self.remembered = None;
        if let (Some(sequence), Some(live)) = (renumber, self.live.as_mut()) {
            live.walk.renumber(sequence);
            // What the note says must outlive the next crash, as the checkpoint no longer will say it.
            self.sync()?;
            self.advance_checkpoint()?;
        }
        Ok(())
    }

    /// Tells the listener of the notes that no rotation explains.
    fn tell_of(&self, notes: &[Record]) {
        let names = notes.iter().map(|note| note.tool_name.as_str());
        let found: Vec<_> = names.filter(|name| *name != note::ROTATION).collect();
        if !found.is_empty() {
            self.settings.listener.tell(&AuditError::Changed {
                path: self.path(),
                found: found.join(", "),
            });
        }
    }

    /// Returns the note that the log is not what it was, and the number it gets, if that is so.
    fn gap(&self, walk: &Walk, notes_before: usize) -> Result<Option<(Record, u64)>, AuditError> {
        if walk.has_seen_targets() {
            return Ok(None);
        }
        let Some(known) = self.known()? else {
            return Ok(None);
        };
        let found = walk.sequence();
        let reason = if found < known.sequence {
            note::Reason::Short
        } else {
            note::Reason::Rewritten
        };
        let sequence = known.sequence.max(found + notes_before as u64) + 1;
        let gap = note::Gap {
            reason,
            sequence,
            expected_sequence: known.sequence,
            expected_hash: known.hash.to_string(),
            found_sequence: found,
        };
        Ok(Some((gap.record(), sequence)))
    }
}

/// Opens the live file, of which nothing has been read.
pub(crate) fn open_live(path: &Path, mut walk: Walk) -> Result<Live, AuditError> {
    let file = open_regular(OpenOptions::new().read(true).append(true), path)?;
    let metadata = file.metadata().context("inspect", path)?;
    let first = first_timestamp(&file).context("read", path)?;
    walk.enter(segment::LIVE);
    Ok(Live {
        file,
        id: (metadata.dev(), metadata.ino()),
        length: 0,
        walk,
        first,
    })
}

/// Walks everything after the part that is known, and leaves the length at the last line feed.
fn read_on(live: &mut Live, path: &Path) -> Result<Loose, AuditError> {
    let mut loose = Loose::Nothing;
    let (walk, length) = (&mut live.walk, &mut live.length);
    let mut file = &live.file;
    file.seek(SeekFrom::Start(*length)).context("read", path)?;
    lines::read(file, |piece| match piece {
        Piece::Line(whole) => {
            *length += whole.len() as u64 + 1;
            walk.line(whole);
        }
        Piece::Long(bytes) => {
            *length += bytes;
            walk.long_line(bytes);
        }
        Piece::Rest(rest) => {
            loose = match Walk::rest(rest) {
                Rest::Record | Rest::Residue => Loose::Residue(rest.len() as u64, Hash::of(rest)),
                Rest::Junk => Loose::Junk(rest.to_vec()),
            };
        }
    })
    .context("read", path)?;
    Ok(loose)
}

/// Says whether the record that `mark` names ends at the offset that it names.
fn ends_with(file: &File, mark: Mark) -> bool {
    let mut end = [0; 67];
    let start = mark.offset.checked_sub(end.len() as u64);
    start.is_some_and(|start| file.read_exact_at(&mut end, start).is_ok())
        && end.starts_with(&mark.hash.to_hex())
        && end.ends_with(b"\"}\n")
}

/// Returns when the first record was written, if it can be told.
fn first_timestamp(mut file: &File) -> io::Result<Option<Timestamp>> {
    file.seek(SeekFrom::Start(0))?;
    let mut start = Vec::new();
    file.take(FIRST_RECORD_BYTES).read_to_end(&mut start)?;
    let line = start
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    Ok(match Line::read(line) {
        Line::Record(entry) => entry
            .timestamp
            .and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok()),
        Line::Other | Line::Broken(_) => None,
    })
}
