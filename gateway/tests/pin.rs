//! `rea pin` as a person and a program call it.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::{Command, Output};

fn rea(cache: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rea"))
        .args(["pin"])
        .args(arguments)
        .arg("--cache")
        .arg(cache)
        .env("PATH", "/usr/bin:/bin")
        .output()
        .unwrap()
}

#[test]
fn a_program_is_shown_verified_and_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("pins.json");
    let text = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();

    let shown = rea(&cache, &["show", "cat", "--json"]);
    assert!(shown.status.success(), "{shown:?}");
    let object: serde_json::Value = serde_json::from_str(&text(&shown)).unwrap();
    assert_eq!(
        (&object["name"], &object["kind"]),
        (&"cat".into(), &"file".into())
    );
    let digest = object["sha256"].as_str().unwrap();
    let people = text(&rea(&cache, &["show", "cat"]));
    assert!(people.contains(digest), "{people}");

    let verified = rea(&cache, &["verify", "cat"]);
    assert!(
        verified.status.success() && text(&verified).contains(digest),
        "{verified:?}"
    );
    // Where digests are kept at all, a wrong one is found.
    if let Ok(kept) = std::fs::read_to_string(&cache) {
        std::fs::write(&cache, kept.replace(digest, &"0".repeat(64))).unwrap();
        let verified = rea(&cache, &["verify", "cat"]);
        assert_eq!(verified.status.code(), Some(1), "{verified:?}");
        assert!(text(&verified).contains("differs"), "{verified:?}");
        assert!(text(&rea(&cache, &["forget", "cat"])).starts_with("forgotten"));
        let verified = rea(&cache, &["verify", "cat"]);
        assert_eq!(verified.status.code(), Some(1), "{verified:?}");
        assert!(text(&verified).contains("not kept"), "{verified:?}");
        assert!(rea(&cache, &["show", "cat"]).status.success());
        assert!(rea(&cache, &["verify", "cat"]).status.success());
    }
    assert!(text(&rea(&cache, &["forget", "/no/such/file"])).starts_with("nothing is kept"));
}

#[test]
fn what_is_no_program_is_told_on_standard_error() {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("pins.json");
    for (name, code) in [
        ("no-such-program", "program-not-found"),
        ("/usr", "not-a-file"),
        ("a=b", "assignment"),
    ] {
        let output = rea(&cache, &["show", name]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(code), "{told}");
        assert!(output.stdout.is_empty());
    }
}
