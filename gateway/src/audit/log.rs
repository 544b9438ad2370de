//! The log as its writer sees it: the open file, what is known about its end, and how records are added.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;

use super::{
    checkpoint::{Checkpoint, Mark, Notary, Place},
    error::{AuditError, Context},
    hash::Hash,
    key,
    lock::{Lock, open_regular},
    record::{Encoded, Record},
    segment,
    settings::{REMINDER, Settings},
    verify::resolve,
    walk::Walk,
};

/// Where a record is in the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Receipt {
    /// Its number, counted from 1 over the life of the log.
    pub sequence: u64,
    /// Its hash.
    pub hash: Hash,
}

/// The live file and what is known about its end. Nothing of it is read again unless it changed.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) file: File,
    /// Device and inode.
    pub(crate) id: (u64, u64),
    pub(crate) length: u64,
    pub(crate) walk: Walk,
    /// When its first record was written, if that can be told.
    pub(crate) first: Option<Timestamp>,
}

/// A log open for writing.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) root: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) notary: Notary,
    lock: Arc<Lock>,
    /// Whether the lock was not to be had the last time.
    locked_out: bool,
    pub(crate) live: Option<Live>,
    /// What was known when `live` was given up.
    pub(crate) remembered: Option<Mark>,
    /// The last record that is known to be on the medium.
    synced: Option<Mark>,
    /// Whether there are records that may not be.
    unsynced: bool,
    /// The number that the last checkpoint of this process names.
    noted: u64,
    rotation_retry: Option<Timestamp>,
    fault: Option<AuditError>,
    /// What the listener heard last, and when.
    told: Option<(&'static str, Instant)>,
}

/// How long the lock is waited for when it was not to be had the last time.
const NEXT_PATIENCE: Duration = Duration::from_millis(100);

impl Log {
    /// Opens the log of the project at `root`; makes `.rea` and the user's keys on first use.
    pub(crate) fn open(root: &Path, settings: Settings) -> Result<Self, AuditError> {
        let root = resolve(root)?;
        let directory = root.join(".rea");
        fs::create_dir_all(&directory).context("create", &directory)?;
        key::make_directory(&settings.state_directory)?;
        let notary = Notary::open(Place::of(&settings.state_directory, &root))?;
        let lock = Arc::new(Lock::open(&directory, &root)?);
        Ok(Self {
            root,
            directory,
            settings,
            notary,
            lock,
            locked_out: false,
            live: None,
            remembered: None,
            synced: None,
            unsynced: false,
            noted: 0,
            rotation_retry: None,
            fault: None,
            told: None,
        })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join(segment::LIVE)
    }

    /// Returns what last went wrong with a rotation or checkpoint, which no caller waited for.
    pub(crate) fn fault(&self) -> Option<&AuditError> {
        self.fault.as_ref()
    }

    fn note_fault(&mut self, error: AuditError) {
        let again = |&(code, at): &(&str, Instant)| code == error.code() && at.elapsed() < REMINDER;
        if !self.told.as_ref().is_some_and(again) {
            self.told = Some((error.code(), Instant::now()));
            self.settings.listener.tell(&error);
        }
        self.fault = Some(error);
    }

    /// Runs `action` as the only writer, with the end of the log known.
    fn alone<T>(
        &mut self,
        action: impl FnOnce(&mut Self) -> Result<T, AuditError>,
    ) -> Result<T, AuditError> {
        if !self.lock.is_current() {
            fs::create_dir_all(&self.directory).context("create", &self.directory)?;
            self.lock = Arc::new(Lock::open(&self.directory, &self.root)?);
        }
        let lock = Arc::clone(&self.lock);
        let patience = self.settings.lock_patience;
        // Whoever else has waited meanwhile has waited long enough.
        let patience = if self.locked_out {
            patience.min(NEXT_PATIENCE)
        } else {
            patience
        };
        let held = lock.exclusive(patience);
        self.locked_out = held.is_err();
        let _held = held?;
        self.refresh()?;
        action(self)
    }

    /// Adds records in order, all or none, and waits for the medium if `durable`.
    pub(crate) fn commit(
        &mut self,
        records: &[Encoded],
        durable: bool,
    ) -> Result<Vec<Receipt>, AuditError> {
        let receipts = self.alone(|log| {
            log.rotate_if_due()?;
            log.write(records)
        })?;
        // The lock is let go first: whoever writes next also syncs what was written here.
        if durable {
            self.sync()?;
        }
        Ok(receipts)
    }

    /// Rotates whatever the limits say; `None` when there is nothing to rotate.
    pub(crate) fn rotate_now(&mut self) -> Result<Option<String>, AuditError> {
        self.alone(Self::rotate)
    }

    fn rotate_if_due(&mut self) -> Result<(), AuditError> {
        let now = self.settings.clock.now();
        if !self.is_rotation_due(now) || self.rotation_retry.is_some_and(|retry| now < retry) {
            return Ok(());
        }
        match self.rotate() {
            Ok(_) => self.rotation_retry = None,
            Err(error) => {
                // Records matter more than the size of the file: go on with the one that is there.
                self.note_fault(error);
                self.rotation_retry = now.checked_add(jiff::SignedDuration::from_mins(1)).ok();
                self.forget();
                self.refresh()?;
            }
        }
        Ok(())
    }

    /// Adds records of the log itself.
    pub(crate) fn write_notes(&mut self, notes: &[Record]) -> Result<Vec<Receipt>, AuditError> {
        let now = self.settings.clock.now();
        let encoded = notes
            .iter()
            .map(|note| note.encode(now))
            .collect::<Result<Vec<_>, _>>()?;
        self.write(&encoded)
    }

    /// Adds records at the end that is known; the lock must be held.
    pub(crate) fn write(&mut self, records: &[Encoded]) -> Result<Vec<Receipt>, AuditError> {
        let path = self.path();
        let Some(live) = self.live.as_mut() else {
            return Err(AuditError::Closed);
        };
        let mut bytes = Vec::with_capacity(records.iter().map(Encoded::len).sum());
        let mut hash = live.walk.tip();
        let mut receipts = Vec::with_capacity(records.len());
        for (record, sequence) in records.iter().zip(live.walk.sequence() + 1..) {
            hash = record.link(hash, &mut bytes);
            receipts.push(Receipt { sequence, hash });
        }
        if let Err(error) = self.settings.disk.append(&live.file, &bytes) {
            // Half a batch must not stay; if it cannot be cut now, the next look at the file will.
            let cut = self.settings.disk.cut(&live.file, live.length);
            if cut.is_err() {
                self.forget();
            }
            return Err(error).context("append to", &path);
        }
        self.unsynced = true;
        live.length += bytes.len() as u64;
        for receipt in &receipts {
            live.walk.append(receipt.hash);
        }
        if live.first.is_none() {
            live.first = Some(self.settings.clock.now());
        }
        // A writer that does not know our lock may have come between; then look again.
        if live
            .file
            .metadata()
            .map_or(true, |metadata| metadata.size() != live.length)
        {
            self.forget();
        }
        Ok(receipts)
    }

    /// Gives up what is known about the end, except how far it had come.
    pub(crate) fn forget(&mut self) {
        if let Some(live) = self.live.take() {
            self.remembered = Some(live.mark());
        }
    }

    /// Waits until everything written so far is on the medium.
    pub(crate) fn sync(&mut self) -> Result<(), AuditError> {
        let path = self.path();
        let Some(live) = &self.live else {
            // The end is in doubt. Only a sync of the file as it is now can still help.
            let file = open_regular(OpenOptions::new().read(true), &path)?;
            return self.settings.disk.sync(&file).context("sync", &path);
        };
        if let Err(error) = self.settings.disk.sync(&live.file) {
            self.forget();
            return Err(error).context("sync", &path);
        }
        self.synced = Some(live.mark());
        self.unsynced = false;
        Ok(())
    }

    /// Says whether something is left to do when no records come.
    pub(crate) fn is_restless(&self) -> bool {
        self.unsynced || self.synced.is_some_and(|mark| mark.sequence > self.noted)
    }

    /// Says whether so many durable records have come that a checkpoint should not wait longer.
    pub(crate) fn is_checkpoint_due(&self) -> bool {
        self.synced
            .is_some_and(|mark| mark.sequence >= self.noted + self.settings.checkpoint_records)
    }

    /// Syncs what is not, and makes a checkpoint; a fault is kept for [`Self::fault`].
    pub(crate) fn settle(&mut self) {
        let settled =
            if self.unsynced { self.sync() } else { Ok(()) }.and_then(|()| self.note_progress());
        if let Err(error) = settled {
            self.note_fault(error);
            // Not again before the next record.
            self.unsynced = false;
            self.noted = self.synced.map_or(self.noted, |mark| mark.sequence);
        }
    }

    fn note_progress(&mut self) -> Result<(), AuditError> {
        if self.synced.is_some_and(|mark| mark.sequence > self.noted) {
            self.alone(Self::advance_checkpoint)?;
        }
        Ok(())
    }

    /// Makes a checkpoint of what is on the medium; the lock must be held.
    pub(crate) fn advance_checkpoint(&mut self) -> Result<(), AuditError> {
        if let Some(mark) = self.synced {
            self.notary.advance(mark, self.settings.clock.now())?;
            self.noted = mark.sequence;
        }
        Ok(())
    }

    /// Syncs the log and returns a checkpoint of its last record; `None` when it has none.
    pub(crate) fn checkpoint_now(&mut self) -> Result<Option<Checkpoint>, AuditError> {
        self.alone(|log| {
            log.sync()?;
            if log.synced.is_some_and(|mark| mark.sequence == 0) {
                return Ok(None);
            }
            log.advance_checkpoint()?;
            log.notary.place().load()
        })
    }

    /// Begins again in a new live file, of which everything is on the medium.
    pub(crate) fn replace_live(&mut self, live: Live) {
        self.synced = Some(live.mark());
        self.unsynced = false;
        self.live = Some(live);
    }
}

impl Live {
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            sequence: self.walk.sequence(),
            hash: self.walk.tip(),
            offset: self.length,
        }
    }
}
