//! The machine as one value: what an answer may depend on besides the line and the files.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::environment::{Environment, split_path};
use super::foreign::Formats;
use super::ids::Ids;
use super::resolved::Resolved;
use super::search::Search;
use super::shell::Shell;
use super::stat::FileStat;
use crate::effect::Models;
use crate::plain::{Code, Line, Refusal, Span, Word};

/// Where and by whom a line is to be run.
///
/// Everything that decides which files are meant is in here: PATH, the working directory, the
/// effective user, the shell. A `Host` is a snapshot; changing the environment of the process
/// afterwards changes nothing.
#[derive(Clone, Debug)]
pub struct Host {
    path: Option<OsString>,
    working_directory: PathBuf,
    ids: Ids,
    shell: Shell,
    environment: Environment,
    writable_search: WritableSearch,
    formats: Formats,
    place: Place,
}

/// What to do about a line for a shell when a PATH directory before the match is writable by the
/// user: whoever has the user's rights can put another file there before the shell looks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum WritableSearch {
    /// Refuse the line as `path-writable`.
    #[default]
    Refuse,
    /// Report it as a fact, as is always done when no shell is to run the line.
    Report,
}

/// The part of the file tree that paths were looked up in.
///
/// Two processes in different mount namespaces, or with different roots, may mean different files
/// by one path. Whoever starts a pinned program compares its own place first.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Device and inode of the mount namespace; `None` where there is no `/proc`.
    pub mount_namespace: Option<(u64, u64)>,
    /// Device and inode of the root directory.
    pub root: (u64, u64),
    /// Device and inode of the working directory.
    pub working_directory: (u64, u64),
}

impl Place {
    /// Looks where this process is, with `working_directory` as the directory to work in.
    ///
    /// # Errors
    ///
    /// When the root or `working_directory` cannot be looked at, or the latter is no directory.
    pub fn of(working_directory: &Path) -> io::Result<Self> {
        let pair = |stat: FileStat| (stat.dev, stat.ino);
        let here = FileStat::of(working_directory)?;
        if !here.is_directory() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self {
            mount_namespace: FileStat::of(Path::new("/proc/self/ns/mnt")).ok().map(pair),
            root: pair(FileStat::of(Path::new("/"))?),
            working_directory: pair(here),
        })
    }
}

/// A machine that cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The process has no working directory, for example because it was removed.
    #[error("this process has no working directory: {0}; start it in one that exists")]
    NoWorkingDirectory(#[source] io::Error),
    /// The working directory given is not absolute.
    #[error("the working directory {} is not absolute; give the whole path", .0.display())]
    RelativeWorkingDirectory(PathBuf),
    /// The working directory given cannot be looked at.
    #[error("the working directory {} cannot be used: {source}", .path.display())]
    WorkingDirectory {
        /// The directory given.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl HostError {
    /// Refuses the first program of a line, since nothing can be looked up.
    pub(crate) fn refuse(&self, line: &Line) -> Refusal {
        let word = line.stages().next().map(|stage| stage.program());
        let word = word.unwrap_or(Word {
            text: "",
            span: Span::new(0, 0),
        });
        Refusal::of_word(Code::Unreadable, word).seeing(self.to_string())
    }
}

impl Host {
    /// Describes this process: its PATH, working directory, effective ids and environment, with
    /// bash as the shell.
    ///
    /// # Errors
    ///
    /// When the process has no working directory. A PATH that is not set is no error here; it
    /// refuses the first program that would be looked up in it.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is where the environment comes in"
    )]
    pub fn current() -> Result<Self, HostError> {
        let here = std::env::current_dir().map_err(HostError::NoWorkingDirectory)?;
        let host = Self::new(std::env::var_os("PATH"), here)?;
        Ok(host.with_environment(std::env::vars_os()))
    }

    /// Describes a machine with this PATH and working directory, the ids of this process, bash as
    /// the shell, and an environment in which nothing else is set.
    ///
    /// # Errors
    ///
    /// When the working directory is not absolute or not there.
    pub fn new(
        path: Option<OsString>,
        working_directory: impl Into<PathBuf>,
    ) -> Result<Self, HostError> {
        let working_directory = working_directory.into();
        Ok(Self {
            path,
            place: place(&working_directory)?,
            working_directory,
            ids: Ids::current(),
            shell: Shell::default(),
            environment: Environment::clean(),
            writable_search: WritableSearch::default(),
            formats: Formats::registered(),
        })
    }

    /// Replaces the PATH; `None` stands for one that is not set.
    #[must_use]
    pub fn with_path(self, path: Option<OsString>) -> Self {
        Self { path, ..self }
    }

    /// Replaces the working directory.
    ///
    /// # Errors
    ///
    /// When it is not absolute or not there.
    pub fn with_working_directory(self, path: impl Into<PathBuf>) -> Result<Self, HostError> {
        let working_directory = path.into();
        Ok(Self {
            place: place(&working_directory)?,
            working_directory,
            ..self
        })
    }

    /// Replaces the effective ids.
    #[must_use]
    pub fn with_ids(self, ids: Ids) -> Self {
        Self { ids, ..self }
    }

    /// Replaces the shell that will run the line.
    #[must_use]
    pub fn with_shell(self, shell: Shell) -> Self {
        Self { shell, ..self }
    }

    /// Replaces the environment that the shell will see. PATH is not taken from it.
    #[must_use]
    pub fn with_environment(
        self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        Self {
            environment: Environment::read(variables),
            ..self
        }
    }

    /// Replaces what is done about writable directories early on PATH.
    #[must_use]
    pub fn with_writable_search(self, writable_search: WritableSearch) -> Self {
        Self {
            writable_search,
            ..self
        }
    }

    /// Returns the PATH, or `None` if it is not set.
    pub fn path(&self) -> Option<&OsStr> {
        self.path.as_deref()
    }

    /// Returns the working directory, an absolute path.
    pub fn working_directory(&self) -> &Path {
        &self.working_directory
    }

    /// Returns the effective ids.
    pub const fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Returns the shell that will run the line.
    pub const fn shell(&self) -> Shell {
        self.shell
    }

    /// Returns where this machine's paths are looked up.
    pub const fn place(&self) -> Place {
        self.place
    }

    pub(crate) const fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) const fn writable_search(&self) -> WritableSearch {
        self.writable_search
    }

    pub(crate) const fn formats(&self) -> &Formats {
        &self.formats
    }

    /// Returns the elements of PATH in order, or `None` if it is not set.
    pub(crate) fn path_elements(&self) -> Option<impl Iterator<Item = &OsStr>> {
        self.path.as_deref().map(split_path)
    }

    /// Finds the file, or the builtin, that each stage of `line`, and each program that its arguments
    /// name, would run. The shipped models say which words name programs.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] that blames the word of the program, or the argument of a builtin that would
    /// make it run code.
    pub fn resolve(&self, line: Line) -> Result<Resolved<'_>, Refusal> {
        Resolved::new(self, line, &Models::shared(), &mut Search::new())
    }
}

fn place(working_directory: &Path) -> Result<Place, HostError> {
    if !working_directory.is_absolute() {
        return Err(HostError::RelativeWorkingDirectory(
            working_directory.to_owned(),
        ));
    }
    Place::of(working_directory).map_err(|source| HostError::WorkingDirectory {
        path: working_directory.to_owned(),
        source,
    })
}
