//! The builtins of the smaller shells that `/bin/sh` may be.

/// The builtins in the manual of dash 0.5.12, with `fc` and `history`, which are there when it is
/// built with line editing. The shell has no list to print, so it was asked about each with
/// `command -V`.
pub(super) const DASH: &[&str] = &[
    ".", ":", "[", "alias", "bg", "break", "cd", "chdir", "command", "continue", "echo", "eval",
    "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "history", "jobs", "kill",
    "local", "printf", "pwd", "read", "readonly", "return", "set", "shift", "test", "times",
    "trap", "true", "type", "ulimit", "umask", "unalias", "unset", "wait",
];

/// What `help` prints in the ash of busybox 1.35, and the names that its options can add.
///
/// Builds that prefer their own applets to the files on PATH run those instead; the file is then
/// busybox itself under another name.
pub(super) const BUSYBOX: &[&str] = &[
    ".", ":", "[", "[[", "alias", "bg", "break", "cd", "chdir", "command", "continue", "echo",
    "eval", "exec", "exit", "export", "false", "fg", "getopts", "hash", "help", "history", "jobs",
    "kill", "let", "local", "memleak", "printf", "pwd", "read", "readonly", "return", "set",
    "shift", "source", "test", "times", "trap", "true", "type", "ulimit", "umask", "unalias",
    "unset", "wait",
];
