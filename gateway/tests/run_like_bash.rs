//! `rea run` and bash must agree on output and status, line by line of `data/run.txt`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic and says what it skips"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What bash has builtins for; `rea run` has no shell, so bash is told to use the files too.
const BUILTINS: &str = "enable -n echo printf test true false pwd kill; ";

const FILES: &[(&str, &[u8])] = &[
    ("a.txt", b"banana\napple\ncherry\napple pie\nDate\n"),
    ("b.txt", b"apple\nbanana\nfig\n"),
    ("with space.txt", b"spaced out\n"),
    ("-dash.txt", b"dashing\n"),
    ("numbers.txt", b"10\n9\n2\n33\n1\n9\n-4\n"),
    ("repeated.txt", b"a\na\nb\nc\nc\nc\na\n"),
    ("table.txt", b"ann 3 red\nbob 1 blue\ncat 2 green\n"),
    ("table2.txt", b"ann x\nbob y\ndan z\n"),
    (
        "data.csv",
        b"name,age,town\nAnn,31,Oslo\nBob,28,Rome\nCy,44,Oslo\n",
    ),
    ("tabs.txt", b"a\tb\tc\n1\t2\t3\n"),
    (
        "long.txt",
        b"the quick brown fox jumps        over the lazy dog, and then some more of it\n",
    ),
    ("unicode.txt", "café\nnaïve\n日本語\n".as_bytes()),
    ("encoded.txt", b"aGVsbG8gd29ybGQK\n"),
    ("pairs.txt", b"a b b c\n"),
    ("sub/deep.txt", b"apple in a folder\n"),
    ("sub/more/deeper.txt", b"apple below\n"),
    ("sub2/deep.txt", b"pear in a folder\n"),
    ("empty", b""),
    ("repository/tracked.txt", b"first\nsecond\n"),
    ("repository/.gitignore", b"*.log\n"),
];

const SCRIPTS: &[(&str, &str)] = &[
    ("hello", "#!/bin/sh\necho \"hello $1 ($#)\"\n"),
    ("fails", "#!/bin/sh\necho failing >&2\nexit 42\n"),
    (
        "args",
        "#!/bin/bash\nfor a in \"$@\"; do printf '<%s>' \"$a\"; done\necho\n",
    ),
    (
        "python-like",
        "#!/usr/bin/env -S perl -w\nprint scalar(@ARGV), \"\\n\";\n",
    ),
];

/// Lays out the directory that every line runs in. Times are fixed, so that two of them are alike.
fn lay_out(root: &Path) -> PathBuf {
    let home = root.join("home");
    for (name, content) in FILES {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let binary: Vec<u8> = (0..=255).cycle().take(5000).collect();
    fs::write(home.join("binary.bin"), binary).unwrap();
    for (name, text) in SCRIPTS {
        let path = home.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink("a.txt", home.join("link.txt")).unwrap();
    let script = "set -e; mv repository/tracked.txt repository/.gitignore .; rmdir repository; \
        git init -q -b main .; git config user.name Ann; git config user.email ann@example.org; \
        git config core.abbrev 8; git add tracked.txt .gitignore; git commit -q -m first; \
        echo third >> tracked.txt; git commit -q -a -m 'second: more'; \
        git branch other; echo fourth >> tracked.txt; echo x > ignored.log; echo n > new-file.txt; \
        git update-index -q --refresh || true; \
        find . -exec touch -h -d @1700000000 '{}' +; git status >/dev/null";
    let made = Command::new("bash")
        .args(["--norc", "-c", script])
        .current_dir(&home)
        .env_clear()
        .envs(environment(&home))
        .env("GIT_AUTHOR_DATE", "2024-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2024-01-02T03:04:05Z")
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    home
}

fn environment(home: &Path) -> BTreeMap<&'static str, &str> {
    let home = home.to_str().unwrap();
    BTreeMap::from([
        ("PATH", PATH),
        ("HOME", home),
        ("TZ", "UTC"),
        ("LANG", "C.UTF-8"),
    ])
}

fn with_bash(home: &Path, line: &str) -> Output {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-o", "pipefail", "-c"]);
    // In a line of its own, so that nothing is put in front of the one that is compared.
    bash.arg(format!("unset XDG_CACHE_HOME; {BUILTINS}\n{line}"));
    run(&mut bash, home)
}

fn with_rea(home: &Path, line: &str) -> Output {
    let mut rea = Command::new(env!("CARGO_BIN_EXE_rea"));
    rea.args(["run", "--", line]);
    run(&mut rea, home)
}

fn run(command: &mut Command, home: &Path) -> Output {
    command
        .current_dir(home)
        .env_clear()
        .envs(environment(home))
        // Read by rea, which does not pass it on, and taken away from bash.
        .env("XDG_CACHE_HOME", home.with_file_name("cache"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Returns what differs, or `None`.
fn difference(bash: &Output, rea: &Output) -> Option<String> {
    // bash becomes the last program of its text, and then dies as that does.
    let status = |output: &Output| {
        let signal = output.status.signal().map(|signal| signal + 128);
        output.status.code().or(signal)
    };
    if status(bash) != status(rea) {
        let said = String::from_utf8_lossy(&rea.stderr).into_owned();
        return Some(format!(
            "status {:?}, not {:?}: {said}",
            status(rea),
            status(bash)
        ));
    }
    // bash and rea put a missing program and a signal into their own words.
    if matches!(status(bash), Some(126 | 127)) {
        return None;
    }
    let reports = String::from_utf8_lossy(&bash.stderr).contains("bash: line ");
    let errors = |output: &Output| {
        if reports {
            Vec::new()
        } else {
            output.stderr.clone()
        }
    };
    let pairs = [
        ("output", bash.stdout.clone(), rea.stdout.clone()),
        ("errors", errors(bash), errors(rea)),
    ];
    pairs
        .into_iter()
        .find(|(_, bash, rea)| bash != rea)
        .map(|(what, bash, rea)| {
            let show = |bytes: &[u8]| {
                String::from_utf8_lossy(bytes.get(..400).unwrap_or(bytes)).into_owned()
            };
            format!("{what}: {:?}, not {:?}", show(&rea), show(&bash))
        })
}

/// Lists every path below `root` with its kind, mode and content.
fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let inner = path.strip_prefix(root).unwrap().to_owned();
            // The index and the objects hold times and the order of things.
            if inner.starts_with(".git/") || inner.ends_with(".git") {
                continue;
            }
            let meta = path.symlink_metadata().unwrap();
            let content = if meta.is_dir() {
                left.push(path);
                String::from("directory")
            } else if meta.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else {
                format!(
                    "{:o} {:?}",
                    meta.permissions().mode(),
                    fs::read(&path).unwrap()
                )
            };
            found.insert(inner, content);
        }
    }
    found
}

/// Yields the lines, and whether each changes files.
fn lines() -> Vec<(bool, String)> {
    let rows = include_str!("data/run.txt").lines();
    rows.filter(|row| !row.is_empty() && !row.starts_with('#'))
        .map(|row| match row.strip_prefix("+ ") {
            Some(line) => (true, line.to_owned()),
            None => (false, row.to_owned()),
        })
        .collect()
}

#[test]
fn rea_run_agrees_with_bash() {
    for needed in ["bash", "git"] {
        let there = PATH
            .split(':')
            .any(|directory| Path::new(directory).join(needed).exists());
        if !there {
            assert!(std::env::var_os("CI").is_none(), "needs {needed}");
            eprintln!("skipped: needs {needed}");
            return;
        }
    }
    let root = tempfile::tempdir().unwrap();
    let shared = lay_out(root.path());
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (changes, line) in lines() {
        let found = if changes {
            // One path for both, since some programs print where they are.
            let mut seen = Vec::new();
            for run in [with_bash, with_rea] {
                let root = tempfile::tempdir().unwrap();
                let fixed = root.path().join("x");
                fs::create_dir(&fixed).unwrap();
                let home = lay_out(&fixed);
                let mut output = run(&home, &line);
                for text in [&mut output.stdout, &mut output.stderr] {
                    let told = String::from_utf8_lossy(text).into_owned();
                    *text = told
                        .replace(root.path().to_str().unwrap(), "ROOT")
                        .into_bytes();
                }
                seen.push((output, tree(&home)));
            }
            let [(bash, left_by_bash), (rea, left_by_rea)] = seen.as_slice() else {
                panic!("two runs");
            };
            let trees = (left_by_bash != left_by_rea).then(|| {
                let only = |one: &BTreeMap<PathBuf, String>, other: &BTreeMap<PathBuf, String>| {
                    let only = one
                        .iter()
                        .filter(|(path, content)| other.get(*path) != Some(*content));
                    only.map(|(path, _)| path.clone()).collect::<Vec<_>>()
                };
                let (bash, rea) = (
                    only(left_by_bash, left_by_rea),
                    only(left_by_rea, left_by_bash),
                );
                format!("files: {rea:?}, not {bash:?}")
            });
            difference(bash, rea).or(trees)
        } else {
            difference(&with_bash(&shared, &line), &with_rea(&shared, &line))
        };
        compared += 1;
        wrong.extend(found.map(|found| format!("{line}\n    {found}")));
    }
    assert!(compared >= 300, "only {compared} lines");
    assert!(
        wrong.is_empty(),
        "{} of {compared}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
