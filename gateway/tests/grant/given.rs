//! What is given, what it covers, and what is said.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::place::{Place, text};

/// Changes something about a place.
type Change = fn(&Place);

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
