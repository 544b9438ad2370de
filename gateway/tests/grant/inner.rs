//! Programs inside the arguments of others.

use crate::place::Place;

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
