//! What a path is known to be, by its text alone.

use std::borrow::Cow;

use super::facts::Facts;

/// Where a written path lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// Under the working directory.
    Inside,
    /// Somewhere else, or not known.
    Outside,
    /// Where programs take settings or code from.
    Protected,
    /// The device that forgets everything.
    Discard,
}

/// Names that programs take settings or code from, wherever they lie: start-up files of shells and
/// tools, and directories of hooks and keys.
const PROTECTED: &[&str] = &[
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".claude",
    ".codex",
    ".cshrc",
    ".curlrc",
    ".cursor",
    ".direnvrc",
    ".emacs",
    ".envrc",
    ".exrc",
    ".gdbinit",
    ".gemini",
    ".git",
    ".gitconfig",
    ".gnupg",
    ".hgrc",
    ".husky",
    ".inputrc",
    ".kshrc",
    ".login",
    ".mcp.json",
    ".mkshrc",
    ".netrc",
    ".npmrc",
    ".pam_environment",
    ".profile",
    ".psqlrc",
    ".pypirc",
    ".screenrc",
    ".sqliterc",
    ".ssh",
    ".tcshrc",
    ".tmux.conf",
    ".vimrc",
    ".wgetrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".yarnrc",
    ".yarnrc.yml",
    ".yashrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "authorized_keys",
    "crontab",
];

/// Ends of paths that programs take settings or code from.
const PROTECTED_ENDS: &[&str] = &[
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/bin",
    ".local/bin",
    ".config/systemd",
    ".config/git",
    ".config/fish",
    ".config/autostart",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".docker/config.json",
    ".kube/config",
    ".aws/config",
    ".aws/credentials",
    ".pip/pip.conf",
    ".config/pip",
    ".m2/settings.xml",
    "node_modules/.bin",
];

/// Says where a path that is written lies.
pub(crate) fn place(path: &str, facts: &Facts<'_>) -> Place {
    if path.contains('\0') {
        return Place::Outside;
    }
    if matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr") {
        return Place::Discard;
    }
    let (absolute, path) = normal(path);
    let lower = lower(&path);
    let listed = |part: &str| PROTECTED.binary_search(&part).is_ok();
    let run = || PROTECTED_ENDS.iter().any(|end| has_run(&lower, end));
    if lower.split('/').any(listed) || (has_hidden(&lower) && run()) {
        return Place::Protected;
    }
    let inside = if absolute {
        facts.directory.is_some_and(|directory| {
            let (rooted, base) = normal(directory);
            let rest = path.strip_prefix(&*base);
            rooted
                && !base.is_empty()
                && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    } else {
        path.split('/').next() != Some("..")
    };
    if inside {
        Place::Inside
    } else {
        Place::Outside
    }
}

/// Returns whether the file is known to hold secrets.
pub(crate) fn is_secret(path: &str) -> bool {
    let (absolute, path) = reached(path);
    let path = lower(&path);
    let mut parts = path.split('/');
    let (first, second) = (parts.next(), parts.next());
    let name = path.rsplit('/').next().unwrap_or_default();
    if absolute && first == Some("proc") {
        return matches!(name, "environ" | "mem" | "kcore" | "kmem");
    }
    let passwords = ["shadow", "shadow-", "gshadow", "gshadow-", "sudoers"];
    if first == Some("etc") && second.is_some_and(|second| passwords.contains(&second)) {
        return true;
    }
    SECRET_NAMES.binary_search(&name).is_ok()
        || SECRET_EXTENSIONS
            .iter()
            .any(|end| name.len() > end.len() && name.ends_with(end))
        || (has_hidden(&path) && is_hidden_secret(&path, name))
}

/// The same for a path with a part that starts with a dot.
fn is_hidden_secret(path: &str, name: &str) -> bool {
    let public =
        name.strip_suffix(".pub").is_some() || matches!(name, "known_hosts" | "authorized_keys");
    let kept = |part: &str| matches!(part, ".ssh" | ".gnupg" | ".password-store");
    (!public && path.split('/').any(kept))
        || name.starts_with(".env.")
        || (name.starts_with(".env") && !name.starts_with(".envrc") && name.len() <= 5)
        || SECRET_ENDS.iter().any(|end| has_run(path, end))
}

/// File names that hold credentials.
const SECRET_NAMES: &[&str] = &[
    ".env",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    "_netrc",
    "application_default_credentials.json",
    "credentials.db",
    "credentials.json",
    "credentials.tfrc.json",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "service-account.json",
    "service_account.json",
    "terraform.tfstate",
    "wp-config.php",
];

/// Extensions of private keys and stores of keys.
const SECRET_EXTENSIONS: &[&str] = &[
    ".key",
    ".pem",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".p8",
];

/// Ends of paths that hold credentials.
const SECRET_ENDS: &[&str] = &[
    ".aws/credentials",
    ".docker/config.json",
    ".kube/config",
    ".config/gh/hosts.yml",
    ".config/gcloud",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/hub",
    ".azure",
    ".m2/settings.xml",
    ".config/rclone/rclone.conf",
    ".terraform.d/credentials.tfrc.json",
    ".mozilla",
    ".config/google-chrome",
];

/// Returns whether the path is a device that holds more than a stream of bytes.
pub(crate) fn is_device(path: &str) -> bool {
    let (absolute, path) = reached(path);
    let first = path.split('/').next().unwrap_or_default();
    // To `gawk` a file under these is a connection.
    if absolute && matches!(first, "inet" | "inet4" | "inet6") {
        return true;
    }
    if absolute && (is_held_elsewhere(&path) || is_drained(&path)) {
        return true;
    }
    let Some(name) = path.strip_prefix("dev/").filter(|_| absolute) else {
        return false;
    };
    let first = name.split('/').next().unwrap_or_default();
    !matches!(
        name,
        "null" | "zero" | "full" | "random" | "urandom" | "stdin" | "stdout" | "stderr"
    ) && !matches!(first, "fd" | "shm")
}

/// Returns whether the path is what another process has open, which may be a device.
fn is_held_elsewhere(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some("proc")
        && !matches!(parts.next(), Some("self" | "thread-self"))
        && parts.any(|part| part == "fd" || part == "map_files")
}

/// Returns whether what is read from the path is gone for everybody else.
fn is_drained(path: &str) -> bool {
    let (first, name) = (path.split('/').next(), path.rsplit('/').next());
    path == "proc/kmsg"
        || (first == Some("sys") && name.is_some_and(|name| name.starts_with("trace_pipe")))
}

/// Returns the same as [`normal`] for the file that the path could reach.
///
/// How far down the working directory lies is not known, so a path that climbs out of it may start
/// anywhere. The links under `/proc` and `/dev/fd` lead anywhere too.
fn reached(path: &str) -> (bool, Cow<'_, str>) {
    let (absolute, plain) = normal(path);
    let climbs = plain.starts_with("../");
    if !climbs && !path.contains("proc/") && !path.contains("fd/") {
        return (absolute, plain);
    }
    let (mut parts, mut anywhere): (Vec<&str>, bool) = (Vec::new(), absolute);
    for part in path.split('/') {
        if is_link(&parts) {
            parts.clear();
            anywhere = true;
        }
        match part {
            "" | "." => {}
            ".." => anywhere |= parts.pop().is_none(),
            name => parts.push(name),
        }
    }
    (anywhere, Cow::Owned(parts.join("/")))
}

/// Returns whether the parts name a link to a directory that some process has open or is in.
fn is_link(parts: &[&str]) -> bool {
    let of_process = match *parts {
        ["dev", "fd", _] => return true,
        ["proc", _, "task", _, ref rest @ ..] | ["proc", _, ref rest @ ..] => rest,
        _ => return false,
    };
    matches!(*of_process, ["root" | "cwd"] | ["fd" | "map_files", _])
}

/// Returns whether the path is absolute, and its parts with `.` and `..` resolved, joined by slashes.
///
/// A relative path that leaves its directory keeps its `..` at the start.
fn normal(path: &str) -> (bool, Cow<'_, str>) {
    let absolute = path.starts_with('/');
    let bare = path.strip_prefix('/').unwrap_or(path);
    if !bare.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return (absolute, Cow::Borrowed(bare));
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                _ if absolute => {}
                _ => parts.push(".."),
            },
            name => parts.push(name),
        }
    }
    (absolute, Cow::Owned(parts.join("/")))
}

fn lower(path: &str) -> Cow<'_, str> {
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(path.to_ascii_lowercase())
    } else {
        Cow::Borrowed(path)
    }
}

/// Returns whether a part of the path starts with a dot.
fn has_hidden(path: &str) -> bool {
    path.starts_with('.') || path.contains("/.")
}

/// Returns whether the parts of `run` stand next to one another in `path`.
fn has_run(path: &str, run: &str) -> bool {
    path.match_indices(run).any(|(at, _)| {
        let before = path.get(..at).unwrap_or_default();
        let after = path.get(at + run.len()..).unwrap_or_default();
        (before.is_empty() || before.ends_with('/')) && (after.is_empty() || after.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_their_runs_have_a_hidden_part() {
        for table in [PROTECTED, SECRET_NAMES] {
            assert!(table.is_sorted_by(|a, b| a < b), "{table:?}");
        }
        for run in PROTECTED_ENDS.iter().chain(SECRET_ENDS) {
            assert!(has_hidden(run), "{run}");
        }
    }

    #[test]
    fn a_path_is_known_by_its_normal_form() {
        let here = Facts {
            directory: Some("/home/a/p"),
            ..Facts::default()
        };
        let rows = [
            ("a/b", Place::Inside),
            ("./a/../b/", Place::Inside),
            ("..", Place::Outside),
            ("a/../../b", Place::Outside),
            ("..a", Place::Inside),
            ("/home/a/p", Place::Inside),
            ("/home/a/p/x", Place::Inside),
            ("/home/a/../a/p//x", Place::Inside),
            ("/home/a/px", Place::Outside),
            ("/home/a", Place::Outside),
            ("/", Place::Outside),
            ("x/.GIT/config", Place::Protected),
            (".cargo/./config.toml", Place::Protected),
            ("a/node_modules/.bin/x", Place::Protected),
            ("authorized_keys", Place::Protected),
            ("/dev/null", Place::Discard),
        ];
        let wrong: Vec<_> = rows
            .iter()
            .map(|&(path, want)| (path, want, place(path, &here)))
            .filter(|(_, want, found)| want != found)
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        let rows = [
            (".env", true),
            ("a/.ENV", true),
            (".env.local", true),
            (".envrc", true),
            (".environment", false),
            ("env", false),
            ("/proc/1/environ", true),
            ("proc/1/environ", false),
            ("/etc/./shadow", true),
            ("//etc//shadow", true),
            ("../../../etc/shadow", true),
            ("a/../../etc/./shadow", true),
            ("../../proc/1/environ", true),
            (concat!("/proc/self/", "root", "/etc/shadow"), true),
            ("/proc/self/cwd/../../etc/shadow", true),
            (concat!("/proc/self/", "root", "/proc/1/environ"), true),
            (concat!("proc/7/task/8/", "root", "/etc/shadow"), true),
            ("/proc/self/fd/3/../etc/shadow", true),
            ("/dev/fd/3/etc/shadow", true),
            ("/etc/passwd", false),
            ("../etc/passwd", false),
            ("/proc/self/status", false),
            ("/home/a/.ssh/id_x", true),
            ("/home/a/.ssh/id_x.pub", false),
            ("a.pem", true),
            (".pem", false),
            (".aws//credentials", true),
            ("aws/credentials", false),
            ("id_rsa", true),
        ];
        let wrong: Vec<_> = rows
            .iter()
            .filter(|(path, want)| is_secret(path) != *want)
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        let rows = [
            ("/dev", false),
            ("/dev/sda", true),
            ("/dev/null", false),
            ("/dev/fd/3", false),
            ("/dev/shm/x", false),
            ("/dev/disk/by-id/x", true),
            ("dev/sda", false),
            ("/x/../dev/mem", true),
            ("../../../../../dev/watchdog", true),
            ("../../inet/tcp/0/h/80", true),
            (concat!("/proc/self/", "root", "/dev/watchdog"), true),
            ("/proc/self/cwd/../dev/sda", true),
            (concat!("/proc/thread-self/", "root", "/dev/sda"), true),
            ("/proc/self/fd/0", false),
            ("/proc/1234/fd/5", true),
            ("/proc/1/status", false),
            ("/proc/kmsg", true),
            ("/sys/kernel/tracing/trace_pipe", true),
            ("/sys/class/net", false),
            ("../dev/null", false),
            ("..", false),
        ];
        let wrong: Vec<_> = rows
            .iter()
            .filter(|(path, want)| is_device(path) != *want)
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
