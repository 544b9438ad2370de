//! How a line ended.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use serde::Serialize;

/// How one stage ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StageStatus {
    /// The program ended by itself.
    Exited {
        /// Its exit status.
        code: u8,
    },
    /// A signal ended the program.
    Signaled {
        /// The number of the signal.
        signal: i32,
        /// Whether the kernel was asked to write a core file.
        core: bool,
    },
}

impl StageStatus {
    /// Returns the number that a shell has in `$?`: the exit status, or 128 and the signal.
    pub fn code(self) -> u8 {
        match self {
            Self::Exited { code } => code,
            Self::Signaled { signal, .. } => u8::try_from(signal + 128).unwrap_or(u8::MAX),
        }
    }

    /// Returns whether the program said that all went well.
    pub fn success(self) -> bool {
        self.code() == 0
    }
}

impl From<ExitStatus> for StageStatus {
    fn from(status: ExitStatus) -> Self {
        // A process that was waited for has either ended or been ended.
        let exited = status.code().map(|code| Self::Exited {
            code: u8::try_from(code & 0xff).unwrap_or(u8::MAX),
        });
        exited.unwrap_or_else(|| Self::Signaled {
            signal: status.signal().unwrap_or_default(),
            core: status.core_dumped(),
        })
    }
}

/// Why a line was ended before its programs were done.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stopped {
    /// It ran for longer than it was given.
    TimeLimit {
        /// The time it was given.
        limit: Duration,
    },
    /// It wrote more than it was given room for.
    OutputLimit {
        /// The bytes it was given room for, standard output and error together.
        limit: u64,
    },
    /// Somebody opened a script for writing while it ran.
    ScriptOpenedForWriting {
        /// The stage of the script, counted from 0.
        stage: usize,
    },
}

/// How a line ended.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Outcome {
    /// How each stage ended.
    pub stages: Vec<StageStatus>,
    /// Why the line was ended from here, or `None` if its programs ended by themselves.
    pub stopped: Option<Stopped>,
}

impl Outcome {
    /// Returns the code of the last stage that failed, or 0, as shells do with `pipefail`.
    pub fn code(&self) -> u8 {
        let codes = self.stages.iter().rev().map(|status| status.code());
        codes.into_iter().find(|&code| code != 0).unwrap_or(0)
    }

    /// Returns the code of the last stage, as shells do without `pipefail`.
    pub fn last_code(&self) -> u8 {
        self.stages.last().map_or(0, |status| status.code())
    }

    /// Returns whether every stage ended well and by itself.
    pub fn success(&self) -> bool {
        self.stopped.is_none() && self.code() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_that_of_the_last_stage_that_failed() {
        let exited = |code| StageStatus::Exited { code };
        let pipe = StageStatus::Signaled {
            signal: 13,
            core: false,
        };
        let cases: &[(&[StageStatus], u8, u8)] = &[
            (&[exited(0)], 0, 0),
            (&[exited(1), exited(0)], 1, 0),
            (&[exited(1), exited(2), exited(0)], 2, 0),
            (&[exited(2), exited(1)], 1, 1),
            (&[pipe, exited(0)], 141, 0),
        ];
        for (stages, code, last) in cases {
            let outcome = Outcome {
                stages: stages.to_vec(),
                stopped: None,
            };
            assert_eq!((outcome.code(), outcome.last_code()), (*code, *last));
        }
    }
}
