//! Where a user's files are, as the XDG base directory specification has it.

use std::{env, path::PathBuf};

/// The user's directory for what is kept between runs: `XDG_STATE_HOME` or `~/.local/state`.
pub fn state() -> Option<PathBuf> {
    of_user("XDG_STATE_HOME", ".local/state")
}

/// The user's directory for settings: `XDG_CONFIG_HOME` or `~/.config`.
pub fn config() -> Option<PathBuf> {
    of_user("XDG_CONFIG_HOME", ".config")
}

/// The user's directory for what can be found out again: `XDG_CACHE_HOME` or `~/.cache`.
pub fn cache() -> Option<PathBuf> {
    of_user("XDG_CACHE_HOME", ".cache")
}

/// Returns the path in `variable`, or else `below` in the home directory. A path that is not
/// absolute counts as none, as the specification demands; no home directory is needed where the
/// variable is set.
fn of_user(variable: &str, below: &str) -> Option<PathBuf> {
    let set = env::var_os(variable).map(PathBuf::from);
    let path = set.filter(|path| path.is_absolute());
    path.or_else(|| Some(env::home_dir()?.join(below)).filter(|path| path.is_absolute()))
}
