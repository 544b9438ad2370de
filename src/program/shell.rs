//! Who will run the line.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The shell that will be given the line, or none.
///
/// A shell has names of its own, which come before the files on PATH.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shell {
    /// Bash, with no start-up file read.
    #[default]
    Bash,
    /// Whatever `/bin/sh` is: the names of dash, `bash --posix` and busybox taken together.
    Sh,
    /// Zsh, with no start-up file read.
    Zsh,
    /// No shell: the words are executed as they are, and only files exist.
    None,
}

impl Shell {
    /// Every choice.
    pub const ALL: &'static [Self] = &[Self::Bash, Self::Sh, Self::Zsh, Self::None];

    /// Returns the name that the command line uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Sh => "sh",
            Self::Zsh => "zsh",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that is no [`Shell`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no shell is called {0:?}; use bash, sh, zsh or none")]
pub struct UnknownShell(String);

impl FromStr for Shell {
    type Err = UnknownShell;

    fn from_str(name: &str) -> Result<Self, UnknownShell> {
        let found = Self::ALL.iter().find(|shell| shell.as_str() == name);
        found.copied().ok_or_else(|| UnknownShell(name.to_owned()))
    }
}
