//! From found files to known ones.

use std::path::Path;

use super::cache::PinCache;
use super::host::Host;
use super::identity::Identity;
use super::interpreter::Chain;
use super::pinned::{FileProgram, Judged, Pinned, Program};
use super::read::{Format, ReadError, read};
use super::resolved::{Fault, Found, FoundFile, Resolved, shown};
use super::search::Search;
use super::stat::FileStat;
use super::trust::{Fact, Trust};
use super::walk::Walk;
use crate::plain::{Code, Refusal, Word};

/// One file that was pinned, and how well its content is known.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FilePin {
    pub(super) identity: Identity,
    /// Whether only root can change the file and every directory on its way.
    pub(super) protected: bool,
    /// Whether the state of the file tells this content from every later one.
    pub(super) settled: bool,
}

/// What pinning needs besides the file.
pub(super) struct Pinner<'a> {
    pub(super) host: &'a Host,
    pub(super) cache: &'a mut PinCache,
    pub(super) search: &'a mut Search,
}

/// Pins every program of a line.
pub(super) fn pin(
    resolved: Resolved<'_>,
    cache: &mut PinCache,
    search: &mut Search,
) -> Result<Pinned, Refusal> {
    let Resolved {
        host,
        line,
        found,
        effects,
        inner,
        models,
    } = resolved;
    let mut pinner = Pinner {
        host,
        cache,
        search,
    };
    let programs: Result<Vec<Program>, Refusal> = line
        .stages()
        .zip(found)
        .map(|(stage, found)| pinner.found(found, stage.program()))
        .collect();
    let programs = programs?;
    let inner: Result<Vec<Vec<Option<Program>>>, Refusal> = effects
        .stages
        .iter()
        .zip(inner)
        .map(|(stage, found)| {
            let calls = stage.inner.iter().zip(found);
            let programs = calls.map(|(call, found)| {
                let word = Word {
                    text: call.name().unwrap_or_default(),
                    span: call.program,
                };
                found.map(|found| pinner.found(found, word)).transpose()
            });
            programs.collect()
        })
        .collect();
    let judged = Judged {
        effects,
        inner: inner?,
        models,
    };
    Ok(Pinned::new(host, line, programs, judged))
}

impl Pinner<'_> {
    /// Pins what `word` was found to stand for.
    fn found(&mut self, found: Found, word: Word<'_>) -> Result<Program, Refusal> {
        match found {
            Found::Builtin(builtin) => Ok(Program::Builtin(builtin)),
            Found::File(file) => self
                .program(file)
                .map(|program| Program::File(Box::new(program)))
                .map_err(|fault| fault.blame(word)),
        }
    }

    fn program(&mut self, file: FoundFile) -> Result<FileProgram, Fault> {
        let called = file.path.file_name().and_then(|name| name.to_str());
        let (pin, format) = self.file(called.unwrap_or_default(), &file.way.walk)?;
        let mut chain = Chain::new(self, file.trust);
        chain.follow(&file.way.walk.real_path, &format, 0)?;
        let Chain {
            interpreters,
            mut trust,
            ..
        } = chain;
        let pins = interpreters.iter().map(|interpreter| &interpreter.pin);
        for pin in pins.chain([&pin]) {
            if !pin.protected && !pin.settled {
                trust.push(Trust::new(Fact::NotHeld, &pin.identity.real_path));
            }
        }
        trust.sort_unstable();
        trust.dedup();
        Ok(FileProgram {
            name: file.name,
            path: file.path,
            by_path: file.by_path,
            links: file.way.walk.links.clone(),
            pin,
            interpreters,
            trust,
        })
    }

    /// Says which file lies at the end of `walk`, reading it only if it has to be.
    pub(super) fn file(&mut self, called: &str, walk: &Walk) -> Result<(FilePin, Format), Fault> {
        let ids = self.host.ids();
        let protected =
            |path: &Path, stat: &FileStat| stat.uid == 0 && !ids.could_write(path, stat);
        let protected = walk
            .directories
            .iter()
            .all(|(path, stat)| protected(path, stat))
            && protected(&walk.real_path, &walk.stat);
        let known = self.cache.find(&walk.real_path, &walk.stat);
        let (digest, format, settled) = if let Some(entry) = known {
            (entry.digest, entry.format.clone(), true)
        } else {
            if let Some(directory) = self.cache.folding_directory(walk) {
                let seen = format!("{directory} takes upper and lower case for the same");
                return Err(Fault::new(Code::Unreadable, seen));
            }
            let reading = read(&walk.real_path, &walk.stat, self.host.formats());
            let reading = reading.map_err(|error| of_read(&walk.real_path, &error))?;
            let settled = self.cache.keep(&walk.real_path, &reading, protected);
            (reading.digest, reading.format, settled)
        };
        let identity = Identity::new(called, &walk.real_path, &walk.stat, digest);
        let pin = FilePin {
            identity,
            protected,
            settled,
        };
        Ok((pin, format))
    }
}

fn of_read(path: &Path, error: &ReadError) -> Fault {
    let code = match error {
        ReadError::System(_) => Code::Unreadable,
        ReadError::TooLarge => Code::TooLarge,
        ReadError::Changed => Code::ChangedWhileReading,
    };
    Fault::new(code, format!("{}: {error}", shown(path)))
}
