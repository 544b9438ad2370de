//! The machine that a line is meant for, from the command line and the environment.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use plainpipe::Analyzer;
use plainpipe::program::{Host, PinCache, Shell, WritableSearch};
use rea_gateway::directories;

use super::Failure;
use super::models::models;

/// The file of known digests, below the user's cache directory.
const CACHE: &str = "rea/pins.json";

/// Where programs are looked up.
#[derive(Args, Debug)]
pub(crate) struct Machine {
    /// Look programs up in these directories instead of PATH
    #[arg(long, value_name = "DIRECTORIES")]
    path: Option<OsString>,

    /// As if the line ran in this directory instead of the working directory
    #[arg(long, value_name = "DIRECTORY")]
    cwd: Option<PathBuf>,
}

impl Machine {
    /// Returns an analyser for this machine that uses the digests on disk, and the models of the user.
    ///
    /// A shell that searches PATH again may find another file where the user can write to an
    /// earlier directory: `writable` says whether that refuses a line or is told.
    pub(crate) fn analyzer(
        self,
        shell: Shell,
        writable: WritableSearch,
    ) -> Result<Analyzer, Failure> {
        let failed = |error| Failure::new("looking at this machine", error);
        let mut host = Host::current()
            .map_err(failed)?
            .with_shell(shell)
            .with_writable_search(writable);
        if let Some(path) = self.path {
            host = host.with_path(Some(path));
        }
        if let Some(cwd) = self.cwd {
            let cwd =
                std::path::absolute(cwd).map_err(|error| Failure::new("reading --cwd", error))?;
            host = host.with_working_directory(cwd).map_err(failed)?;
        }
        let cache = cache().map_or_else(PinCache::in_memory, PinCache::on_disk);
        Ok(Analyzer::with_cache(host, cache).with_models(models()?))
    }
}

/// Keeps what was learned of files. It only saves time, so a failure costs nothing but that.
pub(crate) fn keep(mut analyzer: Analyzer) {
    drop(analyzer.save());
}

/// Returns the file of known digests, or nothing if the user has no cache directory.
pub(crate) fn cache() -> Option<PathBuf> {
    Some(directories::cache()?.join(CACHE))
}
