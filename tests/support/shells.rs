//! The shells that lines are held against, where they are installed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A shell, or a mode of one, as it is started.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    /// What messages call it.
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    /// What stands before the script or `-c`.
    pub(crate) arguments: &'static [&'static str],
}

struct Known {
    name: &'static str,
    programs: &'static [&'static str],
    arguments: &'static [&'static str],
}

const KNOWN: &[Known] = &[
    known("bash", &["bash"], &[]),
    known("bash --posix", &["bash"], &["--posix"]),
    known("dash", &["dash"], &[]),
    known("zsh -f", &["zsh"], &["-f"]),
    known("mksh", &["mksh"], &[]),
    known("busybox sh", &["busybox"], &["sh"]),
    known("ksh93", &["ksh93", "ksh"], &[]),
    known("yash", &["yash"], &[]),
];

const fn known(
    name: &'static str,
    programs: &'static [&'static str],
    arguments: &'static [&'static str],
) -> Known {
    Known {
        name,
        programs,
        arguments,
    }
}

/// Returns the shells of the table that are installed.
///
/// # Panics
///
/// Where the environment says `CI=true` and one is missing; elsewhere the test says what it skips.
pub(crate) fn installed() -> Vec<Shell> {
    let mut shells = Vec::new();
    for known in KNOWN {
        match known.programs.iter().find_map(|program| on_path(program)) {
            Some(program) => shells.push(Shell {
                name: known.name,
                program,
                arguments: known.arguments,
            }),
            None => skip(known.programs.first().copied().unwrap_or_default()),
        }
    }
    shells
}

/// Says that a part of a test is left out because `needed` is missing, which CI does not allow.
pub(crate) fn skip(needed: &str) {
    assert!(
        variable("CI").is_none_or(|ci| ci != "true"),
        "CI needs {needed}"
    );
    eprintln!("skipped: needs {needed}");
}

/// Returns the file of a program that is on the `PATH` of the test.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = variable("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_absolute() && Path::is_file(file))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test is told by its environment what to do"
)]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the number that an environment variable gives, or `otherwise` if it is not set.
pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    match variable(name) {
        None => otherwise,
        Some(value) => value
            .to_str()
            .and_then(|value| value.replace('_', "").parse().ok())
            .unwrap_or_else(|| panic!("{name} must be a number, not {}", value.display())),
    }
}
