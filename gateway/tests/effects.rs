//! The tier and the reasons of `rea analyze`, `rea explain RULE` and `rea models`.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn rea(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rea"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(arguments: &[&str]) -> String {
    String::from_utf8(rea(arguments).stdout).unwrap()
}

#[test]
fn json_has_the_tier_of_the_line_and_of_each_stage() {
    let command = "cat a.txt | sort -o out.txt --compress-program=sh";
    let answer: Value =
        serde_json::from_str(&text(&["analyze", "--syntax-only", "--json", command])).unwrap();
    assert_eq!(answer["tier"], "destructive");
    assert_eq!(answer["stages"][0]["tier"], "read");
    assert_eq!(answer["stages"][1]["tier"], "destructive");
    assert_eq!(answer["paths"][0]["path"], "a.txt");
    assert_eq!(answer["paths"][0]["access"], "read");
    assert_eq!(answer["stages"][1]["paths"][0]["access"], "write");
    let effects = answer["effects"].as_array().unwrap();
    let met: Vec<&Value> = effects.iter().map(|effect| &effect["rule"]).collect();
    assert_eq!(met, [&json!("writes-file"), &json!("runs-program")]);
    let last = effects.last().unwrap();
    assert_eq!(last["kind"], "runs-program");
    assert_eq!(last["word"], "--compress-program=sh");
    assert_eq!(last["span"], json!([28, 49]));
    assert!(
        last["reason"]
            .as_str()
            .is_some_and(|reason| !reason.is_empty())
    );
}

#[test]
fn people_see_carets_under_the_word_of_each_reason() {
    let shown = text(&["analyze", "--syntax-only", "git log --output=x"]);
    for part in [
        "tier: write",
        "--output=x",
        "^^^^^^^^^^",
        "(writes-file)",
        "writes: x",
        "more: rea explain writes-file",
    ] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    let shown = text(&["analyze", "--syntax-only", "git status"]);
    assert!(
        shown.contains("tier: read") && !shown.contains('^'),
        "{shown}"
    );
}

#[test]
fn every_rule_is_explained() {
    for rule in plainpipe::effect::Rule::ALL {
        let output = rea(&["explain", rule.as_str()]);
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && shown.contains(rule.reason()),
            "{rule}: {shown}"
        );
    }
    assert!(text(&["explain"]).contains("writes-outside"));
}

#[test]
fn models_are_listed_shown_and_checked() {
    assert!(text(&["models", "list"]).lines().count() > 120);
    assert!(text(&["models", "show", "sort"]).contains("--compress-program"));
    assert_eq!(
        rea(&["models", "show", "frobnicate"]).status.code(),
        Some(1)
    );

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let rows = [
        (
            "names = [\"x\"]\nsummary = \"does x\"\nmanual = [\"man x\"]\n",
            0,
            "sound",
        ),
        (
            "names = [\"x\"]\nsummary = \"does x\"\nmanual = [\"man x\"]\n[options]\nfrob = [\"-a\"]\n",
            1,
            "frob",
        ),
        ("names = [\"x\"]\ntypo = 1\n", 1, "typo"),
        ("names =", 1, ""),
    ];
    for (model, status, part) in rows {
        fs::write(&file, model).unwrap();
        let output = rea(&["models", "check", file.to_str().unwrap()]);
        let shown = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(status), "{model}: {shown}");
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    assert_eq!(
        rea(&["models", "check", "/no/such/file"]).status.code(),
        Some(2)
    );
}
