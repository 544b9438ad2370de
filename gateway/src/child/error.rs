//! Why a child could not be started.

use std::{io, path::PathBuf, time::Duration};

use super::MissingVariables;

/// Why a child could not be started.
///
/// Its text is for the operator: it says what to do, names programs and folders of this machine, and
/// no value of a variable. [`StartError::for_client`] is what others may see.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A `${NAME}` in its registry entry has no value.
    #[error("{0}; set them for the gateway, or change `env` in the registry")]
    Missing(#[from] MissingVariables),
    /// The folder to run in is not there.
    #[error("`cwd` is no folder: {}; create it or correct the registry", .0.display())]
    Folder(PathBuf),
    /// The program cannot be run.
    #[error(
        "cannot run `{command}`: {error}; install it, or correct `command` or PATH in the registry"
    )]
    Program {
        /// The program, as the registry names it.
        command: String,
        /// What the system said.
        error: io::Error,
    },
    /// It did not even begin to run in this time.
    #[error("did not begin to run within {} s; raise `start_timeout` if that is normal", .0.as_secs())]
    Slow(Duration),
    /// The lifeline could not be started; a fault of this machine or of ours.
    #[error("no lifeline for it: {0}; check the limits on processes and open files")]
    Lifeline(io::Error),
}

impl StartError {
    /// Returns a text that names nothing of this machine but variables.
    pub fn for_client(&self) -> String {
        match self {
            Self::Missing(missing) => missing.to_string(),
            Self::Folder(_) => "its `cwd` is no folder".to_owned(),
            Self::Program { error, .. } => format!("its program cannot be run: {}", error.kind()),
            Self::Slow(limit) => format!("did not begin to run within {} s", limit.as_secs()),
            Self::Lifeline(error) => format!("no lifeline for it: {}", error.kind()),
        }
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::Lifeline(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::VariableName;

    #[test]
    fn what_a_client_sees_names_no_path() {
        let path = "/secret/place";
        let cases = [
            StartError::Missing(MissingVariables(vec![VariableName::new("A").unwrap()])),
            StartError::Folder(path.into()),
            StartError::Program {
                command: path.to_owned(),
                error: io::Error::from_raw_os_error(2),
            },
            StartError::Slow(Duration::from_secs(3)),
            StartError::Lifeline(io::Error::other(path)),
        ];
        for error in cases {
            let shown = error.for_client();
            assert!(!shown.contains(path), "{shown}");
            assert!(!shown.is_empty());
        }
    }
}
