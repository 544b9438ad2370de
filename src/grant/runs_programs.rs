//! Programs that exist to run other programs or code from their arguments.

/// The names, without versions. A grant of any arguments to one of these is a grant of
/// everything, so it has to be asked for in those words.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "ash", "at", "awk", "bash", "batch", "brew", "bun", "bunx", "busybox", "bwrap", "cargo",
    "chroot", "chrt", "clojure", "cmake", "crontab", "cscript", "csh", "dash", "dbus-run-session",
    "deno", "direnv", "doas", "docker", "ed", "elixir", "emacs", "entr", "env", "erl", "ex",
    "expect", "fakeroot", "find", "firejail", "fish", "flock", "gawk", "gdb", "ghc", "gmake", "go",
    "gradle", "groovy", "guile", "ionice", "irb", "java", "jshell", "ksh", "ksh93", "kubectl",
    "ld.so", "lldb", "lua", "luajit", "make", "mawk", "mksh", "nawk", "nice", "ninja", "nix",
    "nix-shell", "node", "nodejs", "nohup", "npm", "npx", "nsenter", "nvim", "ocaml", "osascript",
    "parallel", "pdksh", "perl", "php", "pipx", "pkexec", "pnpm", "podman", "poetry", "posh",
    "prlimit", "proot", "psql", "pwsh", "pypy", "python", "rake", "rc", "rea", "rlwrap", "ruby",
    "run-parts", "runcon", "runuser", "rush", "sash", "scala", "screen", "script", "sed", "setarch",
    "setpriv", "setsid", "sg", "sh", "socat", "sqlite3", "ssh", "start-stop-daemon", "stdbuf",
    "strace", "su", "sudo", "sudoedit", "swift", "systemd-run", "taskset", "tclsh", "tcsh", "time",
    "timeout", "tmux", "toybox", "ts-node", "tsx", "unbuffer", "unshare", "uv", "uvx", "valgrind",
    "vi", "view", "vim", "wasmtime", "watch", "watchexec", "wish", "xargs", "xvfb-run", "yarn",
    "yash", "zsh",
];

/// Returns whether a program called so exists to run other programs, whichever version it is:
/// `python3.12` is a `python`.
pub(super) fn runs_programs(name: &str) -> bool {
    let listed = |name: &str| NAMES.binary_search(&name).is_ok();
    let loader = name.starts_with("ld-linux") || name.starts_with("ld-musl");
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    loader || listed(name) || listed(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_versions_do_not_matter() {
        assert!(NAMES.is_sorted_by(|a, b| a < b), "{:?}", {
            let mut sorted = NAMES.to_vec();
            sorted.sort_unstable();
            sorted
        });
        for name in [
            "env",
            "xargs",
            "sudo",
            "nice",
            "timeout",
            "sh",
            "bash",
            "python",
            "node",
            "perl",
            "find",
            "awk",
            "python3",
            "python3.12",
            "perl5.36",
            "lua5.4",
            "bash-5.2",
            "ksh93",
            "ld-linux-x86-64.so.2",
        ] {
            assert!(runs_programs(name), "{name}");
        }
        for name in [
            "git",
            "ls",
            "cat",
            "grep",
            "jq",
            "7z",
            "sha256sum",
            "b2sum",
            "",
        ] {
            assert!(!runs_programs(name), "{name}");
        }
    }
}
