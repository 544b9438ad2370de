//! Checks a whole log, beside a live writer if need be, in constant memory.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Serialize;

use super::{
    checkpoint::{Checkpoint, Place},
    error::{AuditError, Context},
    finding::{Finding, Kind, Verdict},
    lines::{self, Piece},
    lock::{Lock, open_regular},
    segment::{self, Segment},
    walk::{Found, Walk},
};

/// How long a writer is waited for before the log is read without its lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// What to check a log against.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The user's state directory, where the checkpoint is; `None`: no checkpoint is looked for.
    pub state_directory: Option<PathBuf>,
    /// Report only what is wrong from this segment on.
    pub since: Option<String>,
    /// Checkpoints that were kept elsewhere.
    pub against: Vec<Checkpoint>,
}

/// What a check of a log came to.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The worst of it.
    pub verdict: Verdict,
    /// How many records were checked.
    pub records: u64,
    /// In how many files.
    pub files: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// The number of the last record, counted over the life of the log.
    pub sequence: u64,
    /// How many crash residues were cut and noted.
    pub repairs: u64,
    /// How many bytes of crash residue stand at the end; the next writer will cut and note them.
    pub residue: u64,
    /// The number of the record that the user's own checkpoint names; `None` when there is none.
    pub checkpoint: Option<u64>,
    /// What is wrong, in the order of the log.
    pub findings: Vec<Finding>,
    /// How many findings more there were than are listed.
    pub more_findings: u64,
}

/// The files of a log as they were at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    directory: PathBuf,
    pub(crate) segments: Vec<Segment>,
    live: Option<(File, u64)>,
    checkpoint: Option<Result<Checkpoint, AuditError>>,
}

impl Snapshot {
    /// Notes which files there are and how long the live one is, with writers kept out for that moment.
    pub(crate) fn take(root: &Path, state_directory: Option<&Path>) -> Result<Self, AuditError> {
        let root = resolve(root)?;
        let directory = root.join(".rea");
        let lock = Lock::open_existing(&directory, &root);
        // A lock held for ever must not hide the log.
        let _held = lock
            .as_ref()
            .and_then(|lock| lock.shared(LOCK_PATIENCE).ok());
        // First the checkpoint, which is never ahead of the log; then the log.
        let checkpoint =
            state_directory.and_then(|state| Place::of(state, &root).load().transpose());
        let segments = segment::list(&directory)?;
        let path = directory.join(segment::LIVE);
        let live = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Ok(_) | Err(_) => {
                let file = open_regular(OpenOptions::new().read(true), &path)?;
                let length = file.metadata().context("inspect", &path)?.len();
                Some((file, length))
            }
        };
        Ok(Self {
            directory,
            segments,
            live,
            checkpoint,
        })
    }

    /// Says whether there is no file at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.live.is_none() && self.segments.is_empty()
    }

    /// Returns how many bytes there are to read.
    pub(crate) fn bytes(&self) -> u64 {
        let sizes = self
            .segments
            .iter()
            .filter_map(|name| fs::metadata(segment::path(&self.directory, name)).ok());
        sizes.map(|metadata| metadata.len()).sum::<u64>()
            + self.live.as_ref().map_or(0, |(_, length)| *length)
    }

    /// Opens every file, oldest first, and hands on its name, its content, and whether it is the live one.
    pub(crate) fn each(self, mut each: impl FnMut(&str, Result<Box<dyn Read>, AuditError>, bool)) {
        for name in &self.segments {
            let opened = open_regular(
                OpenOptions::new().read(true),
                &segment::path(&self.directory, name),
            );
            each(
                &name.name(),
                opened.map(|file| Box::new(file) as Box<dyn Read>),
                false,
            );
        }
        if let Some((file, length)) = self.live {
            each(segment::LIVE, Ok(Box::new(file.take(length))), true);
        }
    }
}

/// Returns the directory with all links resolved, or made absolute when it is not there.
pub(crate) fn resolve(root: &Path) -> Result<PathBuf, AuditError> {
    fs::canonicalize(root)
        .or_else(|_| std::path::absolute(root))
        .context("find", root)
}

/// Returns how many bytes [`verify`] will read, for a progress bar.
pub fn size(root: &Path) -> Result<u64, AuditError> {
    Snapshot::take(root, None).map(|snapshot| snapshot.bytes())
}

/// Checks the log of the project at `root`, and calls `progress` with the bytes read so far now and then.
///
/// Nothing is written. A record that a writer appends meanwhile is not looked at.
///
/// What it does not see: records after the last checkpoint that were cut off, and what somebody with the
/// user's own rights did to log, checkpoint and key alike. A checkpoint kept elsewhere sees both.
///
/// # Errors
/// When there is no log, or its directory cannot be read. What is wrong with the log is in the report.
pub fn verify(
    root: &Path,
    options: &Options,
    progress: &mut dyn FnMut(u64),
) -> Result<Report, AuditError> {
    let snapshot = Snapshot::take(root, options.state_directory.as_deref())?;
    let directory = snapshot.directory.clone();
    let mut unusable = Vec::new();
    let mut marks = Vec::new();
    let mut checkpoint = None;
    match &snapshot.checkpoint {
        None => {}
        Some(Err(error)) => unusable.push(error.to_string()),
        Some(Ok(own)) => {
            checkpoint = Some(own.sequence);
            marks.extend(own.mark());
        }
    }
    for kept in &options.against {
        match kept.mark() {
            Ok(mark) => marks.push(mark),
            Err(problem) => unusable.push(problem.to_owned()),
        }
    }
    if snapshot.live.is_none()
        && snapshot.segments.is_empty()
        && marks.is_empty()
        && unusable.is_empty()
    {
        return Err(AuditError::NoLog { directory });
    }

    let mut walk = Walk::new(&marks);
    if let Some(name) = &options.since {
        let known =
            Segment::from_name(name).is_some_and(|since| snapshot.segments.contains(&since));
        if !known && name != segment::LIVE {
            return Err(AuditError::NoSuchSegment {
                name: name.clone(),
                directory,
            });
        }
        walk.be_silent();
    }
    let (mut files, mut bytes, mut residue, mut before) = (0, 0, 0, 0);
    snapshot.each(|name, opened, live| {
        walk.enter(name);
        if options.since.as_deref() == Some(name) {
            walk.report_from_here();
            before = walk.records();
            files = 0;
        }
        files += 1;
        let read = opened.map(|source| {
            let counted = Counted {
                source,
                bytes: &mut bytes,
                progress,
            };
            lines::read(counted, |piece| match piece {
                Piece::Line(line) => walk.line(line),
                Piece::Long(length) => walk.long_line(length),
                Piece::Rest(rest) => residue += walk.take_rest(rest, live),
            })
        });
        match read {
            Ok(Ok(())) => {}
            Ok(Err(error)) => walk.unreadable(&error),
            Err(error) => walk.unreadable(&error),
        }
    });
    let (records, sequence, repairs) = (walk.records() - before, walk.sequence(), walk.repairs());
    if files == 0 {
        walk.enter(segment::LIVE);
    }
    let Found {
        worst,
        mut findings,
        more,
    } = walk.finish();
    let problems = unusable.into_iter().map(|problem| Finding {
        kind: Kind::CheckpointUnusable,
        file: segment::LIVE.to_owned(),
        record: None,
        expected: None,
        actual: Some(problem),
    });
    findings.extend(problems);
    let verdict = findings
        .iter()
        .map(|finding| finding.kind.verdict())
        .fold(worst, Verdict::max);
    Ok(Report {
        verdict,
        records,
        files,
        bytes,
        sequence,
        repairs,
        residue,
        checkpoint,
        findings,
        more_findings: more,
    })
}

/// Counts what goes through.
struct Counted<'a, R> {
    source: R,
    bytes: &'a mut u64,
    progress: &'a mut dyn FnMut(u64),
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        *self.bytes += count as u64;
        (self.progress)(*self.bytes);
        Ok(count)
    }
}
