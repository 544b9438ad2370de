//! The first three steps in one call.

use std::sync::Arc;

use super::cache::PinCache;
use super::host::{Host, HostError};
use super::pin;
use super::pinned::Pinned;
use super::resolved::Resolved;
use super::search::Search;
use super::store::StoreError;
use crate::effect::Models;
use crate::plain::{Line, Reader, Refusal};

/// Says which files `command` would run on this machine, and what it could do: reads, judges, resolves
/// and pins it, programs that its arguments name included.
///
/// It asks for PATH, the working directory, the ids and the environment of this process, with bash
/// as the shell that will run the line. Nothing is remembered; a caller in a loop keeps an
/// [`Analyzer`].
///
/// # Errors
///
/// A [`Refusal`] for a line that is not plain, and for a program that cannot be found, told from
/// others or read.
pub fn analyze(command: &str) -> Result<Pinned, Refusal> {
    let line = Reader::new().read(command)?;
    let host = Host::current().map_err(|error| error.refuse(&line))?;
    host.resolve(line)?.pin(&mut PinCache::in_memory())
}

/// Analyses one command after the other on one machine.
///
/// It keeps the parser, what it has learned of the directories on PATH, and the digests of the
/// files it has read. None of these changes an answer: a directory or a file that changed is
/// noticed.
#[derive(Debug)]
pub struct Analyzer {
    reader: Reader,
    host: Host,
    search: Search,
    cache: PinCache,
    models: Arc<Models>,
}

impl Analyzer {
    /// Returns one for this machine, which keeps digests in memory.
    pub fn new(host: Host) -> Self {
        Self::with_cache(host, PinCache::in_memory())
    }

    /// Returns one for this process, as [`analyze`] sees it.
    ///
    /// # Errors
    ///
    /// When the process has no working directory.
    pub fn current() -> Result<Self, HostError> {
        Host::current().map(Self::new)
    }

    /// Returns one for this machine, which uses and fills `cache`.
    pub fn with_cache(host: Host, cache: PinCache) -> Self {
        Self {
            reader: Reader::new(),
            host,
            search: Search::remembering(),
            cache,
            models: Models::shared(),
        }
    }

    /// Judges lines by these models from now on, instead of the shipped ones alone.
    #[must_use]
    pub fn with_models(self, models: Arc<Models>) -> Self {
        Self { models, ..self }
    }

    /// Returns the machine that answers are about.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Replaces the machine. The digests stay.
    pub fn set_host(&mut self, host: Host) {
        self.host = host;
        self.search = Search::remembering();
    }

    /// Says which files `command` would run, as [`analyze`] does.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] for a line that is not plain, and for a program that cannot be found, told
    /// from others or read.
    pub fn analyze(&mut self, command: &str) -> Result<Pinned, Refusal> {
        let line = self.reader.read(command)?;
        self.resolve_and_pin(line)
    }

    /// Says which files `command` would run, from bytes that may not be text.
    ///
    /// # Errors
    ///
    /// As [`Self::analyze`], and `not-utf8` and `too-long` with spans that count bytes.
    pub fn analyze_bytes(&mut self, command: &[u8]) -> Result<Pinned, Refusal> {
        let line = self.reader.read_bytes(command)?;
        self.resolve_and_pin(line)
    }

    fn resolve_and_pin(&mut self, line: Line) -> Result<Pinned, Refusal> {
        let resolved = Resolved::new(&self.host, line, &self.models, &mut self.search)?;
        pin::pin(resolved, &mut self.cache, &mut self.search)
    }

    /// Writes what was learned of files to where the cache came from.
    ///
    /// # Errors
    ///
    /// When the file of the cache cannot be replaced. No answer depends on it.
    pub fn save(&mut self) -> Result<(), StoreError> {
        self.cache.save()
    }
}
