//! What variables make a plain line run other code than it names.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::locale::keeps_utf8;

/// Variables that make a shell, the dynamic linker or a common program read code, options or the
/// name of another program. No list of these can be whole: a line run from here gets a clean
/// environment instead, and this one only warns about lines that somebody's shell will run.
const HAZARDS: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "BROWSER",
    "CDPATH",
    "DYLD_INSERT_LIBRARIES",
    "EDITOR",
    "ENV",
    "EXECIGNORE",
    "FPATH",
    "GCONV_PATH",
    "GLOBIGNORE",
    "GREP_OPTIONS",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "LESS",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "MAKEFLAGS",
    "MANPAGER",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NULLCMD",
    "PAGER",
    "POSIXLY_CORRECT",
    "PS4",
    "RIPGREP_CONFIG_PATH",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC_WRAPPER",
    "SHELLOPTS",
    "TAR_OPTIONS",
    "VISUAL",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

/// Beginnings of names that are hazards whatever follows.
const HAZARD_PREFIXES: &[&str] = &["BASH_FUNC_", "CARGO_", "GIT_", "LD_", "PERL", "PYTHON"];

/// Names with such a beginning that are no hazard: they only say how much is written, or where from.
const HARMLESS: &[&str] = &[
    "CARGO_HOME",
    "CARGO_INCREMENTAL",
    "CARGO_TERM_COLOR",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_SSL_CAINFO",
    "GIT_TERMINAL_PROMPT",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
];

/// What is worth knowing of an environment; the values are not kept.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Environment {
    /// The hazards that are set, in order.
    pub(crate) hazards: Vec<String>,
    /// Functions that bash takes from the environment, by name.
    functions: Vec<String>,
    keeps_utf8: bool,
}

impl Environment {
    /// Reads an environment in any order.
    pub(crate) fn read(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let (mut hazards, mut functions) = (Vec::new(), Vec::new());
        let mut locale = [const { None }; 3];
        for (name, value) in variables {
            let Some(name) = name.to_str() else { continue };
            if let Some(function) = exported_function(name) {
                functions.push(function.to_owned());
            }
            let place = ["LC_ALL", "LC_CTYPE", "LANG"]
                .iter()
                .position(|n| *n == name);
            if let Some(slot) = place.and_then(|place| locale.get_mut(place)) {
                *slot = Some(value).filter(|value| !value.is_empty());
            } else if is_hazard(name) && !value.is_empty() {
                hazards.push(name.to_owned());
            }
        }
        hazards.sort_unstable();
        let locale = locale.into_iter().flatten().next().unwrap_or_default();
        Self {
            hazards,
            functions,
            keeps_utf8: locale.to_str().is_some_and(keeps_utf8),
        }
    }

    /// Returns the environment that nothing is known of: no hazard, and the locale `C`.
    pub(crate) fn clean() -> Self {
        Self::read([])
    }

    /// Returns whether bash would run a function in place of a program of this name.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function == name)
    }

    /// Returns whether a shell reads text outside ASCII as it is written.
    pub(crate) const fn keeps_utf8(&self) -> bool {
        self.keeps_utf8
    }
}

fn is_hazard(name: &str) -> bool {
    let mut starts = HAZARD_PREFIXES.iter();
    let of_a_kind = starts.any(|start| name.starts_with(start)) && !HARMLESS.contains(&name);
    HAZARDS.contains(&name) || of_a_kind
}

/// Returns the name of the function that bash imports from such a variable.
fn exported_function(name: &str) -> Option<&str> {
    let name = name.strip_prefix("BASH_FUNC_")?;
    Some(
        name.strip_suffix("%%")
            .or(name.strip_suffix("()"))
            .unwrap_or(name),
    )
}

/// Splits a PATH into its elements, the empty ones included.
pub(crate) fn split_path(path: &OsStr) -> impl Iterator<Item = &OsStr> {
    path.as_bytes()
        .split(|&byte| byte == b':')
        .map(OsStr::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: &[(&str, &str)]) -> Environment {
        Environment::read(rows.iter().map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn hazards_functions_and_the_locale_are_kept() {
        let environment = read(&[
            ("HOME", "/home/a"),
            ("PAGER", "less"),
            ("BASH_ENV", ""),
            ("GIT_DIR", "x"),
            ("BASH_FUNC_ls%%", "() { id; }"),
            ("LANG", "zh_CN.GBK"),
            ("LC_ALL", ""),
        ]);
        assert_eq!(environment.hazards, ["BASH_FUNC_ls%%", "GIT_DIR", "PAGER"]);
        assert!(environment.defines("ls") && !environment.defines("cat"));
        assert!(!environment.keeps_utf8());
        assert!(read(&[("LC_ALL", "C.UTF-8"), ("LANG", "zh_CN.GBK")]).keeps_utf8());
        assert!(Environment::clean().keeps_utf8());
    }

    #[test]
    fn hazards_are_listed_once_and_in_order() {
        assert!(HAZARDS.is_sorted_by(|a, b| a < b));
    }
}
