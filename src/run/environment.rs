//! The variables that a line run from here sees: a list, never what is left of a longer one.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Variables that are taken over from the caller's environment if they are set there.
const TAKEN_OVER: &[&str] = &["HOME", "LOGNAME", "TERM", "TZ", "USER"];

/// The locale of every line: text is UTF-8, and messages are not translated.
const LOCALE: (&str, &str) = ("LANG", "C.UTF-8");

/// Variables that make a shell or the dynamic linker run code. They are never passed on, whoever
/// asks.
const NEVER: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "IFS",
    "PS4",
    "SHELLOPTS",
];

/// Beginnings of names that are never passed on.
const NEVER_PREFIXES: &[&str] = &["BASH_FUNC_", "LD_"];

/// The environment of a line run from here.
///
/// PATH is not in it: it is that of the host that the programs were looked up on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Returns the environment that holds nothing but `LANG=C.UTF-8`.
    pub fn clean() -> Self {
        let (name, value) = LOCALE;
        Self {
            variables: BTreeMap::from([(name.into(), value.into())]),
        }
    }

    /// Returns the clean environment with `HOME`, `LOGNAME`, `TERM`, `TZ` and `USER` as they are
    /// in `variables`.
    pub fn taken_from(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut environment = Self::clean();
        for (name, value) in variables {
            if TAKEN_OVER.iter().any(|taken| name == *taken) {
                environment.variables.insert(name, value);
            }
        }
        environment
    }

    /// Sets a variable.
    ///
    /// # Errors
    ///
    /// For a name that is empty or holds `=` or NUL, a value that holds NUL, `PATH`, and the
    /// variables that make a shell or the dynamic linker run code.
    pub fn set(
        &mut self,
        name: impl Into<OsString>,
        value: impl Into<OsString>,
    ) -> Result<(), EnvironmentError> {
        let (name, value) = (name.into(), value.into());
        check_name(&name)?;
        if value.as_bytes().contains(&0) {
            return Err(EnvironmentError::NulInValue(name));
        }
        self.variables.insert(name, value);
        Ok(())
    }

    /// Returns the variables in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Returns the entries as the kernel takes them, PATH among them.
    pub(super) fn entries(&self, path: Option<&OsStr>) -> Vec<CString> {
        let path = path.map(|path| (OsStr::new("PATH"), path));
        self.iter()
            .chain(path)
            .filter_map(|(name, value)| {
                let mut entry = name.to_owned().into_vec();
                entry.push(b'=');
                entry.extend_from_slice(value.as_bytes());
                // Neither half holds NUL: `set` and the kernel see to that.
                CString::new(entry).ok()
            })
            .collect()
    }
}

fn check_name(name: &OsStr) -> Result<(), EnvironmentError> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.contains(&b'=') || bytes.contains(&0) {
        return Err(EnvironmentError::NotAName(name.to_owned()));
    }
    if bytes == b"PATH" {
        return Err(EnvironmentError::Path);
    }
    let never = NEVER.iter().any(|never| name == *never);
    let begins = |prefix: &&str| bytes.starts_with(prefix.as_bytes());
    if never || NEVER_PREFIXES.iter().any(begins) {
        return Err(EnvironmentError::RunsCode(name.to_owned()));
    }
    Ok(())
}

/// A variable that cannot be set.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum EnvironmentError {
    /// The name is empty or holds `=` or NUL.
    #[error("{0:?} is no name for a variable; it must not be empty nor hold `=` or NUL")]
    NotAName(OsString),
    /// The value holds NUL.
    #[error("the value of {} holds NUL, which no variable can", .0.display())]
    NulInValue(OsString),
    /// PATH comes from the host.
    #[error("PATH is that of the host on which the programs were looked up; set it there")]
    Path,
    /// The variable makes a shell or the dynamic linker run code.
    #[error("{} makes a shell or the dynamic linker run other code; it is never passed on", .0.display())]
    RunsCode(OsString),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_taken_over() {
        let given = ["HOME", "BASH_ENV", "LANG", "LD_PRELOAD", "GIT_DIR", "PATH"];
        let environment = Environment::taken_from(given.map(|name| (name.into(), "x".into())));
        let entries = environment.entries(Some(OsStr::new("/bin")));
        let entries: Vec<_> = entries
            .iter()
            .map(|entry| entry.to_str().unwrap())
            .collect();
        assert_eq!(entries, ["HOME=x", "LANG=C.UTF-8", "PATH=/bin"]);
    }

    #[test]
    fn a_caller_cannot_add_what_runs_code() {
        let mut environment = Environment::clean();
        let refused = [
            "",
            "A=B",
            "A\0",
            "PATH",
            "BASH_ENV",
            "ENV",
            "BASH_FUNC_ls%%",
            "LD_PRELOAD",
            "LD_X",
        ];
        let taken: Vec<_> = refused
            .into_iter()
            .filter(|name| environment.set(*name, "x").is_ok())
            .collect();
        assert!(taken.is_empty(), "{taken:?}");
        assert!(environment.set("A", "x\0").is_err());
        environment.set("ENVIRONMENT", "a=b").unwrap();
        assert_eq!(environment.entries(None).len(), 2);
    }
}
