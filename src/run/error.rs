//! Why a line was not started.

use std::ffi::NulError;
use std::io;
use std::path::PathBuf;

use crate::program::NotHeld;

/// A line that was not started. Whatever had been started of it has been killed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A stage is a builtin of a shell, and there is no shell here.
    #[error("stage {}: {name:?} is a builtin of {shell}; analyse the line for no shell", .stage + 1)]
    Builtin {
        /// The stage, counted from 0.
        stage: usize,
        /// The name of the builtin.
        name: String,
        /// The shell that the line was analysed for.
        shell: &'static str,
    },
    /// A file is no longer what was checked, or cannot be kept from being written to.
    #[error("stage {}: {source}", .stage + 1)]
    NotHeld {
        /// The stage, counted from 0.
        stage: usize,
        /// The file, and why.
        source: NotHeld,
    },
    /// The paths of the line mean other files here than where it was analysed.
    #[error(
        "the root, the working directory or the mounts are not those that the line was analysed \
         with; analyse it again"
    )]
    ElseWhere,
    /// The working directory cannot be entered.
    #[error("{}: cannot be entered: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A word cannot be passed to a program.
    #[error("stage {}: a word holds NUL: {source}", .stage + 1)]
    Nul {
        /// The stage, counted from 0.
        stage: usize,
        /// Where.
        source: NulError,
    },
    /// The system refused to start a program.
    #[error("stage {}: {}: cannot be started: {source}", .stage + 1, path.display())]
    Start {
        /// The stage, counted from 0.
        stage: usize,
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// This process ignores `SIGCHLD`, so nobody could tell how a program ends.
    #[error(
        "this process ignores SIGCHLD, so that the end of a program could not be told; handle it or set it to its default"
    )]
    ChildrenIgnored,
    /// A pipe or a file in memory could not be made.
    #[error("{doing}: {source}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}
