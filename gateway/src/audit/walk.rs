//! Follows the chain record by record. Pure: lines go in, findings come out.
//!
//! Verification and writing share it: the writer walks what it has not seen yet, and so knows the number
//! and hash of the last record, or the digest of the bytes at the end that are no record.

use sha2::{Digest, Sha256};

use super::{
    checkpoint::Mark,
    finding::{Finding, Kind, Verdict},
    hash::Hash,
    line::{Entry, Line},
    note,
    parse::Fault,
};

/// How many findings are kept; the rest is counted.
pub(crate) const MAX_FINDINGS: usize = 100;

/// What the next record must name as its predecessor.
#[derive(Clone, Debug)]
enum Running {
    /// Nothing has come yet.
    Start,
    /// This hash, as text.
    Hash([u8; 64]),
    /// What the last record states, though it is not its hash.
    Stated(Vec<u8>),
    /// Anything: the line before says nothing about it.
    Unknown,
}

/// The state of a walk along the chain.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    running: Running,
    /// How many records have gone by.
    records: u64,
    /// What must be added to `records` to get the number of the last one; `None` while it is not known.
    base: Option<u64>,
    last_good: Hash,
    /// What follows the last good record and is none: its digest so far, and its length.
    bad: Option<(Sha256, u64)>,
    file: String,
    /// The file before, for a look at what a rotation names.
    previous_file: Option<String>,
    line: u64,
    /// The predecessor that the first record of all names, if older segments are missing.
    head: Option<(Finding, Vec<u8>)>,
    /// The number of the last record that policy has deleted.
    deleted: u64,
    targets: Vec<Target>,
    repairs: u64,
    silent: bool,
    findings: Vec<Finding>,
    more: u64,
    worst: Verdict,
}

#[derive(Clone, Debug)]
struct Target {
    mark: Mark,
    seen: bool,
    /// What stands where the mark should.
    instead: Option<String>,
}

/// What a walk came to.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) worst: Verdict,
    pub(crate) findings: Vec<Finding>,
    /// How many findings are not listed.
    pub(crate) more: u64,
}

/// How a log ends.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// In a good record, or in nothing.
    Good(Hash),
    /// In lines that are no records, or not the records they state to be.
    Bad {
        /// The digest of these bytes, line feeds included.
        digest: Hash,
        /// How many they are.
        bytes: u64,
        /// The last good record before.
        last_good: Hash,
    },
}

/// What follows the last line feed of a log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rest {
    /// A whole record that lacks nothing but its line feed.
    Record,
    /// The beginning of a record, as a crash leaves it.
    Residue,
    /// Neither.
    Junk,
}

impl Walk {
    /// Begins at the first record of a log; holds the log to each of `targets`.
    pub(crate) fn new(targets: &[Mark]) -> Self {
        Self {
            running: Running::Start,
            records: 0,
            base: None,
            last_good: Hash::GENESIS,
            bad: None,
            file: String::new(),
            previous_file: None,
            line: 0,
            head: None,
            deleted: 0,
            targets: targets
                .iter()
                .map(|mark| Target {
                    mark: *mark,
                    seen: false,
                    instead: None,
                })
                .collect(),
            repairs: 0,
            silent: false,
            findings: Vec::new(),
            more: 0,
            worst: Verdict::Intact,
        }
    }

    /// Begins after a record that is known to be good.
    pub(crate) fn after(mark: Mark) -> Self {
        Self {
            running: Running::Hash(mark.hash.to_hex()),
            base: Some(mark.sequence),
            last_good: mark.hash,
            ..Self::new(&[])
        }
    }

    /// Goes on in another file.
    pub(crate) fn enter(&mut self, file: &str) {
        let before = std::mem::replace(&mut self.file, file.to_owned());
        self.previous_file = (!before.is_empty()).then_some(before);
        self.line = 0;
    }

    /// Follows without reporting, until [`Self::report_from_here`].
    pub(crate) fn be_silent(&mut self) {
        self.silent = true;
    }

    /// Reports from now on, whatever came before.
    pub(crate) fn report_from_here(&mut self) {
        if self.silent {
            self.silent = false;
            self.running = Running::Start;
            self.bad = None;
        }
    }

    /// Takes one whole line, without its line feed.
    pub(crate) fn line(&mut self, line: &[u8]) {
        match Line::read(line) {
            Line::Record(entry) => self.record(&entry, line),
            Line::Other => self.no_record(Kind::NotARecord, line),
            Line::Broken(Fault::Deep) => self.no_record(Kind::TooDeep, line),
            Line::Broken(Fault::End | Fault::Syntax(_)) => self.no_record(Kind::Unparsable, line),
        }
        self.line += 1;
    }

    /// Takes note of a line that is too long to be read.
    pub(crate) fn long_line(&mut self, bytes: u64) {
        self.find(Kind::TooLong, None, Some(format!("{bytes} bytes")));
        // Its content is not known, so its digest is not either; no break can refer to it.
        let (sha, length) = self.bad.take().unwrap_or_default();
        self.bad = Some((sha, length + bytes));
        self.running = Running::Unknown;
        self.line += 1;
    }

    /// Says what follows the last line feed, without taking it.
    pub(crate) fn rest(bytes: &[u8]) -> Rest {
        // After a loss of power a file may end in NULs that were never written.
        let written = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        let text = bytes.get(..written).unwrap_or_default();
        match Line::read(bytes) {
            Line::Record(entry) if entry.is_genuine() => Rest::Record,
            Line::Record(_) | Line::Other => Rest::Junk,
            Line::Broken(_) => match Line::read(text) {
                Line::Broken(Fault::End)
                    if text.is_empty()
                        || b"{\"timestamp\":".starts_with(text.get(..13).unwrap_or(text)) =>
                {
                    Rest::Residue
                }
                Line::Broken(_) | Line::Other | Line::Record(_) => Rest::Junk,
            },
        }
    }

    /// Takes note of a file that cannot be read to its end.
    pub(crate) fn unreadable(&mut self, error: &dyn std::fmt::Display) {
        self.find(Kind::Unreadable, None, Some(error.to_string()));
        self.running = Running::Unknown;
    }

    /// Takes what follows the last line feed: `live` if the file is one that may still be written to.
    ///
    /// Returns how many bytes of crash residue there are.
    pub(crate) fn take_rest(&mut self, bytes: &[u8], live: bool) -> u64 {
        match Self::rest(bytes) {
            Rest::Residue if live => return bytes.len() as u64,
            Rest::Record | Rest::Residue | Rest::Junk => self.line(bytes),
        }
        0
    }

    /// Puts this walk's own new record at the end.
    pub(crate) fn append(&mut self, hash: Hash) {
        self.running = Running::Hash(hash.to_hex());
        self.last_good = hash;
        self.bad = None;
        self.records += 1;
        self.line += 1;
        self.base.get_or_insert(0);
    }

    /// Moves the numbers on, after a note that says records are missing.
    pub(crate) fn renumber(&mut self, sequence: u64) {
        self.base = Some(sequence.saturating_sub(self.records));
    }

    /// Returns the number of the last record.
    pub(crate) fn sequence(&self) -> u64 {
        self.base.unwrap_or(0) + self.records
    }

    /// Returns how many records have gone by.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Returns how many crash residues were noted.
    pub(crate) fn repairs(&self) -> u64 {
        self.repairs
    }

    /// Returns what the next record must name as its predecessor.
    pub(crate) fn tip(&self) -> Hash {
        match self.end() {
            End::Good(hash) => hash,
            End::Bad { digest, .. } => digest,
        }
    }

    /// Says how the log ends.
    pub(crate) fn end(&self) -> End {
        match &self.bad {
            None => End::Good(self.last_good),
            Some((sha, bytes)) => End::Bad {
                digest: Hash::finish(sha.clone()),
                bytes: *bytes,
                last_good: self.last_good,
            },
        }
    }

    /// Forgets the targets, after what became of them has been noted.
    pub(crate) fn drop_targets(&mut self) {
        self.targets.clear();
    }

    /// Says whether every target has gone by.
    pub(crate) fn has_seen_targets(&self) -> bool {
        self.targets.iter().all(|target| target.seen)
    }

    /// Ends the walk, and returns what was found.
    pub(crate) fn finish(mut self) -> Found {
        if let Some((finding, _)) = self.head.take() {
            self.findings.insert(0, finding);
        }
        let sequence = self.sequence();
        for Target { mark, instead, .. } in self.targets.into_iter().filter(|target| !target.seen) {
            let found = Some(format!("{sequence} records"));
            let (kind, actual) = if sequence < mark.sequence {
                (Kind::TailMissing, found)
            } else if mark.sequence <= self.deleted {
                (Kind::NotComparable, found)
            } else {
                (Kind::Rewritten, instead.or(found))
            };
            let expected = Some(format!("record {} with hash {}", mark.sequence, mark.hash));
            self.findings.push(Finding {
                kind,
                file: self.file.clone(),
                record: None,
                expected,
                actual,
            });
        }
        let listed = self
            .findings
            .iter()
            .map(|finding| finding.kind.verdict())
            .max();
        Found {
            worst: self.worst.max(listed.unwrap_or(Verdict::Intact)),
            findings: self.findings,
            more: self.more,
        }
    }

    fn record(&mut self, entry: &Entry<'_>, line: &[u8]) {
        let genuine = entry.is_genuine();
        self.check_link(entry, genuine);
        self.records += 1;
        if genuine {
            self.running = Running::Hash(entry.actual.to_hex());
            self.last_good = entry.actual;
            self.bad = None;
            self.heed(entry);
        } else {
            let (expected, actual) = (entry.actual.to_string(), lossy(&entry.stated));
            self.find(Kind::Altered, Some(expected), Some(actual));
            self.running = Running::Stated(entry.stated.to_vec());
            self.mark_bad(line);
        }
        let sequence = self.sequence();
        for target in &mut self.targets {
            if genuine && entry.actual == target.mark.hash {
                target.seen = true;
            } else if sequence == target.mark.sequence {
                target.instead = Some(format!(
                    "{} record {} with hash {}",
                    self.file, self.line, entry.actual
                ));
            }
        }
    }

    fn check_link(&mut self, entry: &Entry<'_>, genuine: bool) {
        let previous: &[u8] = &entry.previous;
        let expected = match &self.running {
            Running::Start => return self.check_start(entry),
            Running::Unknown => return self.check_break(entry),
            Running::Hash(hash) if *hash == *previous => return,
            Running::Stated(stated) if *stated == *previous => return,
            Running::Hash(hash) => hash.to_vec(),
            Running::Stated(stated) => stated.clone(),
        };
        if self.follows_bad(entry) {
            return;
        }
        if !genuine && self.bad.is_none() {
            // The record is reported as altered; its link may be what was altered.
            return;
        }
        let kind = if *entry.stated == *expected {
            Kind::Repeated
        } else if self.line == 0 && self.names_another_file(entry) {
            Kind::SegmentMissing
        } else {
            Kind::Unlinked
        };
        self.find(kind, Some(lossy(&expected)), Some(lossy(previous)));
    }

    /// Judges the first record of all: it begins a chain, or goes on after a rotation.
    fn check_start(&mut self, entry: &Entry<'_>) {
        let previous: &[u8] = &entry.previous;
        if *previous == Hash::GENESIS.to_hex() {
            self.base.get_or_insert(0);
        } else if entry.is_note(note::ROTATION) {
            if !self.silent && self.records == 0 {
                let actual = entry
                    .details::<note::Rotated>()
                    .map(|rotated| rotated.rotated_from);
                let finding = self.finding(Kind::HeadMissing, None, actual);
                self.head = Some((finding, previous.to_vec()));
            }
        } else if entry.is_genuine() {
            self.find(
                Kind::Unlinked,
                Some(Hash::GENESIS.to_string()),
                Some(lossy(previous)),
            );
        }
    }

    /// Judges the first record after a line that states no hash.
    fn check_break(&mut self, entry: &Entry<'_>) {
        if entry.is_note(note::BREAK) && !self.follows_bad(entry) && self.bad.is_some() {
            let digest = self
                .bad
                .as_ref()
                .map(|(sha, _)| Hash::finish(sha.clone()).to_string());
            self.find(Kind::Unlinked, digest, Some(lossy(&entry.previous)));
        }
    }

    /// Says whether this is the note that bridges the bad bytes before it.
    fn follows_bad(&self, entry: &Entry<'_>) -> bool {
        self.bad.as_ref().is_some_and(|(sha, _)| {
            entry.is_note(note::BREAK) && *entry.previous == Hash::finish(sha.clone()).to_hex()
        })
    }

    fn names_another_file(&self, entry: &Entry<'_>) -> bool {
        entry.is_note(note::ROTATION)
            && entry
                .details::<note::Rotated>()
                .is_some_and(|rotated| Some(rotated.rotated_from) != self.previous_file)
    }

    /// Does what one of the log's own notes asks for.
    fn heed(&mut self, entry: &Entry<'_>) {
        if entry.is_note(note::REPAIR) {
            self.repairs += 1;
        } else if entry.is_note(note::GAP) {
            let Some(gap) = entry.details::<note::Gap>() else {
                return self.find(Kind::Misnumbered, None, None);
            };
            self.jump(gap.sequence, true);
            let kind = match gap.reason {
                note::Reason::Short => Kind::GapNoted,
                note::Reason::Rewritten => Kind::RewriteNoted,
            };
            let expected = format!(
                "record {} with hash {}",
                gap.expected_sequence, gap.expected_hash
            );
            self.find(
                kind,
                Some(expected),
                Some(format!("{} records", gap.found_sequence)),
            );
        } else if entry.is_note(note::RETENTION) {
            let Some(retained) = entry.details::<note::Retained>() else {
                return self.find(Kind::Misnumbered, None, None);
            };
            self.jump(retained.sequence, false);
            let explained = self.head.as_ref().is_some_and(|(_, previous)| {
                retained
                    .removed
                    .iter()
                    .any(|removed| removed.last_hash.as_bytes() == previous)
            });
            if explained {
                self.head = None;
                self.deleted = self.base.unwrap_or(0);
            }
        }
    }

    /// Takes the number that a note states for itself; `ahead` if it may leave some out.
    fn jump(&mut self, sequence: u64, ahead: bool) {
        let here = self.base.map(|base| base + self.records);
        let fits = match here {
            None => sequence >= self.records,
            Some(here) if ahead => sequence >= here,
            Some(here) => sequence == here,
        };
        if fits {
            self.renumber(sequence);
        } else {
            let expected = format!("number {}", here.unwrap_or(self.records));
            self.find(
                Kind::Misnumbered,
                Some(expected),
                Some(format!("number {sequence}")),
            );
        }
    }

    fn no_record(&mut self, kind: Kind, line: &[u8]) {
        self.find(kind, None, None);
        self.mark_bad(line);
        self.running = Running::Unknown;
    }

    fn mark_bad(&mut self, line: &[u8]) {
        let (sha, bytes) = self.bad.get_or_insert_with(Default::default);
        sha.update(line);
        sha.update(b"\n");
        *bytes += line.len() as u64 + 1;
    }

    fn finding(&self, kind: Kind, expected: Option<String>, actual: Option<String>) -> Finding {
        Finding {
            kind,
            file: self.file.clone(),
            record: Some(self.line),
            expected,
            actual,
        }
    }

    fn find(&mut self, kind: Kind, expected: Option<String>, actual: Option<String>) {
        if self.silent {
            return;
        }
        self.worst = self.worst.max(kind.verdict());
        if self.findings.len() < MAX_FINDINGS {
            let finding = self.finding(kind, expected, actual);
            self.findings.push(finding);
        } else {
            self.more += 1;
        }
    }
}

/// Returns a stated hash for a report, cut to what a hash may have.
fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text.get(..64).unwrap_or(text)).into_owned()
}
