//! `rea grant` and `rea run --require-grant` as whole programs.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Changes something about a place.
type Change = fn(&Place);

struct Place {
    root: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            root: tempfile::tempdir().unwrap(),
        };
        for directory in ["bin", "state", "cache", "work"] {
            fs::create_dir(place.at(directory)).unwrap();
        }
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(path)
    }

    fn store(&self) -> PathBuf {
        self.at("state/rea/grants.json")
    }

    /// Puts a program into the first directory on PATH.
    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn rea(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rea"));
        command
            .args(words)
            .current_dir(self.at("work"))
            .env_clear()
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.at("bin").display()),
            )
            .env("HOME", self.at("work"))
            .env("USER", "ann")
            .env("REA_SESSION", "tests")
            .env("XDG_STATE_HOME", self.at("state"))
            .env("XDG_CACHE_HOME", self.at("cache"));
        command
    }

    fn add(&self, line: &str, scope: &str, lasting: &str) -> Output {
        let words = [
            "--scope", scope, "--for", lasting, "--reason", "a test", "--shell", "none",
        ];
        self.rea(&[&["grant", "add", line][..], &words].concat())
    }

    /// The same, with another PATH.
    fn check_on(&self, path: &str, line: &str) -> Option<i32> {
        self.command(&["grant", "check", line, "--shell", "none"])
            .env("PATH", path)
            .output()
            .unwrap()
            .status
            .code()
    }

    /// Returns the exit status of a check for a line that is to run without a shell.
    fn check(&self, line: &str) -> Option<i32> {
        self.rea(&["grant", "check", line, "--shell", "none"])
            .status
            .code()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_grant_goes_from_given_to_revoked() {
    let place = Place::new();
    place.program("tool", "#!/bin/sh\necho ran \"$@\"\n");
    assert_eq!(place.check("tool a"), Some(3));
    assert!(!place.store().exists(), "a check wrote something");

    let added = place.add("tool a", "prefix", "always");
    assert_eq!(added.status.code(), Some(0), "{}", text(&added.stderr));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.store()), 0o600);
    assert_eq!(mode(&place.at("state/rea")), 0o700);
    let rows = [
        ("tool a", 0),
        ("tool a b", 0),
        ("tool b", 3),
        ("tool", 3),
        ("tool a | tool b", 3),
    ];
    let rows = rows.map(|(line, want)| (line, Some(want), place.check(line)));
    assert!(rows.iter().all(|(_, want, got)| want == got), "{rows:?}");
    assert_eq!(place.check("tool $a"), Some(1));

    let listed = text(&place.rea(&["grant", "list"]).stdout);
    let id = listed.split_whitespace().next().unwrap().to_owned();
    let shown = text(&place.rea(&["grant", "show", &id]).stdout);
    for part in ["ann (uid", "a test", "sha256", "/bin/sh", "destructive"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(place.rea(&["grant", "revoke", &id]).status.code(), Some(0));
    assert_eq!(place.rea(&["grant", "revoke", &id]).status.code(), Some(1));
    assert_eq!(place.rea(&["grant", "show", &id]).status.code(), Some(1));
    assert_eq!(place.check("tool a"), Some(3));
}

#[test]
fn json_has_the_verdict_and_what_a_prompt_needs() {
    let place = Place::new();
    place.program("tool", "#!/bin/sh\n");
    let json = |words: &[&str]| -> serde_json::Value {
        let output = place.rea(&[words, &["--json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let check = ["grant", "check", "tool a", "--shell", "none"];
    let verdict = json(&check);
    assert_eq!(verdict["verdict"], "not-granted");
    assert_eq!(verdict["missing"][0]["why"]["kind"], "no-grant");
    assert_eq!(verdict["line"]["stages"][0]["argv"][1], "a");

    place.add("tool a", "exact", "once");
    let verdict = json(&check);
    assert_eq!(verdict["verdict"], "granted");
    assert_eq!(verdict["once"][0], verdict["grants"][0]);
    let listed = json(&["grant", "list"]);
    assert_eq!(listed["grants"][0]["scope"]["argv"][0], "tool");
    assert_eq!(listed["grants"][0]["counts"], true);

    place.program("tool", "#!/bin/sh\n# another\n");
    let verdict = json(&check);
    assert_eq!(verdict["verdict"], "drifted");
    let drift = &verdict["drifts"][0];
    assert_ne!(
        drift["then"]["identity"]["sha256"],
        drift["now"]["identity"]["sha256"]
    );
    assert_eq!(json(&["grant", "check", "a;b"])["verdict"], "refused");
}

#[test]
fn whatever_changes_about_a_program_is_drift() {
    let changes: [(&str, &str, Change); 7] = [
        ("upgraded in place", "tool", |place| {
            place.program("tool", "#!/bin/sh\n# newer\n");
        }),
        ("same name earlier on PATH", "true", |place| {
            place.program("true", "#!/bin/sh\n");
        }),
        ("symlink re-pointed", "link", |place| {
            fs::remove_file(place.at("bin/link")).unwrap();
            place.program("other", "#!/bin/sh\n# other\n");
            symlink("other", place.at("bin/link")).unwrap();
        }),
        ("interpreter changed", "mine", |place| {
            fs::copy("/bin/bash", place.at("bin/interpreter")).unwrap();
        }),
        ("env finds another file", "named", |place| {
            place.program("sh", "#!/bin/bash\n");
        }),
        ("mode changed", "tool", |place| {
            let path = place.at("bin/tool");
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
        }),
        ("moved elsewhere", "link", |place| {
            fs::remove_file(place.at("bin/link")).unwrap();
            fs::create_dir(place.at("elsewhere")).unwrap();
            fs::hard_link(place.at("bin/tool"), place.at("elsewhere/tool")).unwrap();
            symlink("../elsewhere/tool", place.at("bin/link")).unwrap();
        }),
    ];
    let mut wrong = Vec::new();
    for (what, line, change) in changes {
        let place = Place::new();
        place.program("tool", "#!/bin/sh\n");
        symlink("tool", place.at("bin/link")).unwrap();
        fs::copy("/bin/dash", place.at("bin/interpreter")).unwrap();
        let interpreter = place.at("bin/interpreter");
        place.program("mine", &format!("#!{}\n", interpreter.display()));
        place.program("named", "#!/usr/bin/env sh\n");
        place.add(line, "name", "always");
        let before = place.check(line);
        change(&place);
        let after = place.check(line);
        if (before, after) != (Some(0), Some(4)) {
            wrong.push(format!("{what}: {before:?}, then {after:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn another_name_for_the_same_file_is_not_granted() {
    let place = Place::new();
    place.program("tool", "#!/bin/sh\n");
    place.add("tool", "name", "always");
    symlink("tool", place.at("bin/alias")).unwrap();
    fs::hard_link(place.at("bin/tool"), place.at("bin/twin")).unwrap();
    assert_eq!(
        [place.check("alias"), place.check("twin")],
        [Some(3), Some(3)]
    );
}

#[test]
fn programs_that_run_programs_need_the_dangerous_word() {
    let place = Place::new();
    for line in ["env", "sh", "bash", "xargs", "find", "/usr/bin/env"] {
        assert_eq!(
            place.add(line, "name", "always").status.code(),
            Some(1),
            "{line}"
        );
    }
    for line in [
        "sh -c",
        "nice -n 5",
        "timeout 5",
        "env LANG=C",
        "bash -O extglob",
        "sudo -u root",
    ] {
        if line.starts_with("sudo") {
            place.program("sudo", "#!/bin/sh\n");
        }
        let given = place.add(line, "prefix", "always");
        assert_eq!(given.status.code(), Some(1), "{line}");
    }
    assert_eq!(
        place.add("sh -c 'echo a'", "exact", "always").status.code(),
        Some(0)
    );
    let words = [
        "grant",
        "add",
        "env",
        "--scope",
        "name",
        "--for",
        "always",
        "--reason",
        "x",
        "--shell",
        "none",
        "--dangerous-any-arguments",
    ];
    assert_eq!(place.rea(&words).status.code(), Some(0));
    assert_eq!(
        [place.check("env ls"), place.check("sh -c 'echo b'")],
        [Some(0), Some(3)]
    );
}

#[test]
fn a_program_inside_a_wrapper_needs_a_grant_of_its_own() {
    let place = Place::new();
    // What a wrapper opens anew must not be the user's to change, so this is a program of the system.
    let exact = |line: &str| place.add(line, "exact", "always").status.code();
    let check = |line: &str| place.check_on("/usr/bin:/bin", line);
    let line = "nice -n 5 timeout 9 wc a";
    assert_eq!(check(line), Some(3));
    assert_eq!(exact("wc a"), Some(0));
    assert_eq!(exact("timeout 9 wc a"), Some(0));
    assert_eq!(check("timeout 9 wc a"), Some(0));
    assert_eq!(check(line), Some(3));
    assert_eq!(exact(line), Some(0));
    let rows = [
        (line, 0),
        ("nice -n 5 timeout 9 wc b", 3),
        ("nice -n 5 timeout 8 wc a", 3),
        ("timeout 9 nice wc a", 3),
        ("find . -exec wc a ;", 1),
        (r"find . -exec wc a \;", 3),
        ("nice -n 5 frobnicate", 1),
        ("nice -n 5 ./frobnicate", 1),
    ];
    let rows = rows.map(|(line, want)| (line, Some(want), check(line)));
    assert!(rows.iter().all(|(_, want, got)| want == got), "{rows:?}");

    // A call with words from elsewhere is no call with the words that stand for them.
    assert_eq!(exact(r"find . -exec grep a {} \;"), Some(0));
    assert_eq!(exact("find . -name x"), Some(0));
    let rows = [
        (r"find . -exec grep a {} \;", 0),
        ("grep a {}", 3),
        (r"find . -exec grep b {} \;", 3),
    ];
    let rows = rows.map(|(line, want)| (line, Some(want), check(line)));
    assert!(rows.iter().all(|(_, want, got)| want == got), "{rows:?}");

    // Where it is not looked up here, the grant of the wrapper has to name it.
    assert_eq!(exact("env -i wc a"), Some(0));
    assert_eq!(check("env -i wc a"), Some(0));
    assert_eq!(check("env -i wc b"), Some(3));
}

#[test]
fn a_program_inside_a_wrapper_drifts_and_is_not_held() {
    let place = Place::new();
    place.program("tool", "#!/bin/sh\n");
    assert_eq!(
        place.add("nice tool a", "exact", "always").status.code(),
        Some(0)
    );
    let check = |words: &[&str]| {
        let all = [
            &["grant", "check", "nice tool a", "--shell", "none", "--json"][..],
            words,
        ];
        let output = place.rea(&all.concat());
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), object)
    };
    let (status, object) = check(&[]);
    assert_eq!(status, Some(3), "the user can change it before nice looks");
    assert_eq!(object["missing"][0]["why"]["kind"], "not-held");
    assert_eq!(object["missing"][0]["inner"], 0);
    let (status, object) = check(&["--dangerous-not-held"]);
    assert_eq!(status, Some(0));
    assert_eq!(object["inner_grants"][0].as_array().unwrap().len(), 1);
    let inner = &object["line"]["stages"][0]["inner"][0];
    assert_eq!(inner["argv"], serde_json::json!(["tool", "a"]));
    assert_eq!(inner["program"]["called"], "tool");
    assert_eq!(inner["tier"], "destructive");

    place.program("tool", "#!/bin/sh\n# another\n");
    let (status, object) = check(&["--dangerous-not-held"]);
    assert_eq!(status, Some(4));
    assert_eq!(object["drifts"][0]["inner"], 0);
}

#[test]
fn a_line_with_a_wrapper_runs_with_all_its_grants() {
    let place = Place::new();
    place.add("nice -n 1 printenv REA_TEST", "exact", "once");
    place.add("nice -n 1 cat a", "exact", "once");
    fs::write(place.at("work/a"), "said\n").unwrap();
    let run = |line: &str| {
        let output = place
            .command(&["run", "--require-grant", line])
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap();
        (output.status.code(), text(&output.stdout))
    };
    assert_eq!(run("nice -n 1 cat a"), (Some(0), "said\n".to_owned()));
    assert_eq!(run("nice -n 1 cat a"), (Some(125), String::new()));
    // Both grants were used up, that of the wrapper and that of the program inside it.
    assert_eq!(place.check_on("/usr/bin:/bin", "cat a"), Some(3));
}

#[test]
fn a_prefix_is_compared_by_meaning_and_reaches_no_higher_than_it_does() {
    let place = Place::new();
    place.program("git", "#!/bin/sh\n");
    assert_eq!(
        place
            .add("git log --oneline", "prefix", "always")
            .status
            .code(),
        Some(0)
    );
    let rows = [
        ("git log --oneline -5 f", 0),
        ("git log -5 --oneline", 0),
        ("git log -5", 3),
        ("git -c a=b log --oneline", 3),
        ("git log --oneline --output=x", 3),
    ];
    let rows = rows.map(|(line, want)| (line, Some(want), place.check(line)));
    assert!(rows.iter().all(|(_, want, got)| want == got), "{rows:?}");
    let words = [
        "grant", "add", "git log", "--scope", "prefix", "--for", "always", "--reason", "x",
    ];
    let words = [&words[..], &["--shell", "none", "--ceiling", "write"]].concat();
    assert_eq!(place.rea(&words).status.code(), Some(0));
    assert_eq!(place.check("git log --oneline --output=x"), Some(0));
    assert_eq!(place.check("git log --output=/etc/x"), Some(3));
}

#[test]
fn a_once_grant_is_used_once_however_many_try() {
    let place = Place::new();
    place.program("tool", "#!/bin/sh\necho ran\n");
    for round in 0..5 {
        place.add("tool", "exact", "once");
        assert_eq!(place.check("tool"), Some(0), "a check used it up");
        let tries = (0..4).map(|_| {
            let mut rea = place.command(&["run", "--require-grant", "tool"]);
            rea.stdout(std::process::Stdio::piped()).spawn().unwrap()
        });
        let tries: Vec<_> = tries.collect::<Vec<_>>().into_iter().collect();
        let ends = tries
            .into_iter()
            .map(|child| child.wait_with_output().unwrap());
        let ran = ends
            .filter(|end| end.status.success())
            .map(|end| end.stdout);
        assert_eq!(
            ran.collect::<Vec<_>>(),
            [b"ran\n".to_vec()],
            "round {round}"
        );
        assert_eq!(place.check("tool"), Some(3));
    }
    place.add("tool", "exact", "once");
    let take = ["grant", "check", "tool", "--shell", "none", "--take"];
    assert_eq!(place.rea(&take).status.code(), Some(0));
    assert_eq!(place.rea(&take).status.code(), Some(3));
    // One for each stage, and each is used by one stage only.
    place.add("tool | tool", "exact", "once");
    assert_eq!(place.check("tool | tool | tool"), Some(3));
    assert_eq!(place.check("tool | tool"), Some(0));
    let ran = place.rea(&["run", "--require-grant", "tool | tool"]);
    assert_eq!(ran.stdout, b"ran\n");
    assert_eq!(place.check("tool"), Some(3));
    let pruned = text(&place.rea(&["grant", "prune"]).stdout);
    assert_eq!(pruned.lines().count(), 8, "{pruned}");
}

#[test]
fn sessions_times_and_ceilings_are_kept() {
    let place = Place::new();
    place.program("tool", "#!/bin/sh\n");
    place.add("tool session", "exact", "session");
    place.add("tool time", "exact", "1h");
    place.add("tool over", "exact", "1s");
    assert_eq!(
        [place.check("tool session"), place.check("tool time")],
        [Some(0), Some(0)]
    );
    let mut other = place.command(&["grant", "check", "tool session", "--shell", "none"]);
    assert_eq!(
        other
            .env("REA_SESSION", "other")
            .output()
            .unwrap()
            .status
            .code(),
        Some(3)
    );
    while place.check("tool over") == Some(0) {
        std::thread::yield_now();
    }
    assert_eq!(place.check("tool over"), Some(3));
    let words = [
        "grant",
        "add",
        "tool low",
        "--scope",
        "exact",
        "--for",
        "always",
        "--reason",
        "x",
        "--shell",
        "none",
        "--ceiling",
        "read",
    ];
    assert_eq!(place.rea(&words).status.code(), Some(0));
    assert_eq!(
        place.check("tool low"),
        Some(3),
        "what no model speaks for is destructive"
    );
    for bad in ["forever", "0s", "-1h", ""] {
        assert_eq!(
            place.add("tool", "exact", bad).status.code(),
            Some(2),
            "{bad:?}"
        );
    }
}

#[test]
fn what_was_hardly_meant_is_said() {
    let place = Place::new();
    place.program("tool", "#!/bin/sh\n");
    place.program("script", "#!/bin/sh\r\n");
    let said = |words: &[&str]| {
        let output = place.rea(words);
        (
            output.status.code(),
            text(&output.stdout) + &text(&output.stderr),
        )
    };
    let add = |lasting: &'static str, more: &'static [&'static str]| {
        let words = ["--scope", "name", "--reason", "a test", "--shell", "none"];
        [
            &["grant", "add", "tool", "--for", lasting],
            &words[..],
            more,
        ]
        .concat()
    };
    let rows: [(Vec<&str>, i32, &str); 6] = [
        (add("9999999h", &[]), 2, "`always`"),
        (add("1M", &[]), 2, "`min` or `months`"),
        (add("-1h", &[]), 2, "such as 2h"),
        (add("1h", &["--ceiling", "read"]), 0, "does not cover"),
        (add("1h 1min", &[]), 0, "tool"),
        (vec!["run", "script"], 127, "carriage return"),
    ];
    for (words, status, part) in rows {
        let (code, said) = said(&words);
        assert_eq!(code, Some(status), "{words:?}: {said}");
        assert!(said.contains(part), "{words:?}: {said}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_like_any_line() {
    let place = Place::new();
    let line = OsStr::from_bytes(b"tool \xff");
    let rows: [(&[&str], i32); 3] = [
        (&["run"], 125),
        (&["grant", "check"], 1),
        (
            &[
                "grant", "add", "--scope", "name", "--for", "once", "--reason", "x",
            ],
            1,
        ),
    ];
    for (words, status) in rows {
        let output = place.command(words).arg(line).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
        assert!(
            said.contains("not-utf8") && said.contains('^'),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn what_a_shell_would_open_anew_is_only_granted_where_nobody_can_change_it() {
    let place = Place::new();
    place.program("tool", "#!/bin/sh\n");
    place.add("tool", "name", "always");
    place.add("cat", "name", "always");
    let check = |words: &[&str]| place.rea(&[&["grant", "check"], words].concat());
    let not_held = check(&["tool"]);
    assert_eq!(not_held.status.code(), Some(3));
    assert!(text(&not_held.stdout).contains("not-held"));
    assert_eq!(
        check(&["tool", "--dangerous-not-held"]).status.code(),
        Some(0)
    );
    assert_eq!(check(&["cat", "--path", "/usr/bin"]).status.code(), Some(0));
    // A builtin that only prints needs none.
    assert_eq!(check(&["echo a"]).status.code(), Some(0));
}

#[test]
fn a_store_that_cannot_be_trusted_is_an_error_and_not_an_empty_one() {
    let good = "{\"version\":1,\"grants\":[]}";
    let rows = [
        ("", 5),
        ("{}", 5),
        ("[]", 5),
        ("{\"version\":1}", 5),
        ("{\"version\":0,\"grants\":[]}", 5),
        ("{\"version\":2,\"grants\":{\"later\":true}}", 5),
        ("{\"version\":1,\"grants\":[],\"more\":1}", 5),
        ("{\"version\":1,\"grants\":[],\"grants\":[]}", 5),
        ("{\"version\":1,\"grants\":[]}}", 5),
        (
            "{\"version\":1,\"grants\":[{\"id\":\"0000000000000000\"}]}",
            5,
        ),
        (good, 3),
    ];
    let place = Place::new();
    place.program("tool", "#!/bin/sh\n");
    fs::create_dir(place.at("state/rea")).unwrap();
    let write = |content: &str| {
        fs::write(place.store(), content).unwrap();
        fs::set_permissions(place.store(), fs::Permissions::from_mode(0o600)).unwrap();
    };
    let mut wrong = Vec::new();
    for (content, want) in rows {
        write(content);
        let got = place.check("tool");
        let added = place.add("tool", "name", "always").status.code();
        let run = place.rea(&["run", "--require-grant", "tool"]).status.code();
        if got != Some(want) || (want == 5 && (added, run) != (Some(5), Some(125))) {
            wrong.push(format!("{content}: {got:?} {added:?} {run:?}"));
        }
        if want == 5 && fs::read_to_string(place.store()).unwrap() != content {
            wrong.push(format!("{content}: was replaced"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    // Ways in which somebody else could have written it, or will.
    let spoils: [(&str, Change); 5] = [
        ("open to others", |place| {
            fs::set_permissions(place.store(), fs::Permissions::from_mode(0o644)).unwrap();
        }),
        ("a symlink", |place| {
            fs::rename(place.store(), place.at("state/real")).unwrap();
            symlink(place.at("state/real"), place.store()).unwrap();
        }),
        ("a hard link", |place| {
            fs::hard_link(place.store(), place.at("state/twin")).unwrap();
        }),
        ("a directory that others may write to", |place| {
            let directory = place.at("state/rea");
            fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
        }),
        ("a directory", |place| {
            fs::remove_file(place.store()).unwrap();
            fs::create_dir(place.store()).unwrap();
        }),
    ];
    for (what, spoil) in spoils {
        let place = Place::new();
        place.program("tool", "#!/bin/sh\n");
        place.add("tool", "name", "always");
        assert_eq!(place.check("tool"), Some(0));
        spoil(&place);
        assert_eq!(place.check("tool"), Some(5), "{what}");
    }
}

#[test]
fn run_ends_as_its_help_says() {
    let place = Place::new();
    place.program("tool", "#!/bin/sh\nexit 9\n");
    let rows: [(&[&str], i32); 12] = [
        (&["--cwd", "/nowhere", "true"], 125),
        (&["--time-limit", "0s", "true"], 2),
        (&["--output-limit", "0", "true"], 2),
        (&["true"], 0),
        (&["tool"], 9),
        (&["tool | true"], 9),
        (&["sh -c 'kill -9 $$'"], 137),
        (&["nosuchprogram"], 127),
        (&["./nosuchprogram"], 127),
        (&["cat *.md"], 125),
        (&["--require-grant", "tool"], 125),
        (&["--time-limit", "100ms", "sleep 300"], 124),
    ];
    let mut wrong = Vec::new();
    for (words, want) in rows {
        let output = place.rea(&[&["run"], words].concat());
        if output.status.code() != Some(want) {
            wrong.push(format!(
                "{words:?}: {:?}, not {want}: {}",
                output.status,
                text(&output.stderr)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let limited = place.rea(&["run", "--output-limit", "10", "yes"]);
    assert_eq!(
        (limited.stdout.len(), limited.status.code()),
        (10, Some(124))
    );
}

#[test]
fn signals_are_passed_on() {
    let place = Place::new();
    place.program(
        "tool",
        "#!/usr/bin/perl\n$SIG{USR1} = sub { print \"got it\\n\"; exit 5 };\n\
        $| = 1; print \"up\\n\"; sleep 300;\n",
    );
    let mut rea = place.command(&["run", "tool"]);
    let mut child = rea.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert_eq!(line, "up\n");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::USR1).unwrap();
    line.clear();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert_eq!(
        (line.as_str(), child.wait().unwrap().code()),
        ("got it\n", Some(5))
    );
}
