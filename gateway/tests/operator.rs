//! Runs `rea policy`, `rea check`, `rea freeze` and `rea unfreeze` as an operator does.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

struct Project(tempfile::TempDir);

impl Project {
    fn new(level: &str) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        fs::create_dir(project.path().join(".rea")).unwrap();
        project.write(
            "policy.yaml",
            &format!(
                "version: \"1\"\nprofile: minimal\ninstalled_by: t\ninstalled_at: t\n\
                 autonomy_level: {level}\nmax_autonomy_level: L3\n\
                 promotion_requires_human_approval: true\nblocked_paths: []\n"
            ),
        );
        project.write(
            "registry.yaml",
            "version: \"1\"\nservers:\n  - name: s\n    command: c\n    blocked_tools: [get_blocked]\n    \
             tier_overrides: {get_pinned: destructive, delete_low: read}\n    \
             shell_tools: {tidy: {argument: line}}\n  - {name: off, command: c, enabled: false}\n",
        );
        project
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(".rea").join(name), text).unwrap();
    }

    fn rea(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rea"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env("XDG_STATE_HOME", self.path().join("state"));
        command
    }

    /// Returns the exit status, and the object on standard output.
    fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.rea(arguments);
        let object = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (output.status.code().unwrap(), object)
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_policy_is_checked_with_its_place() {
    let project = Project::new("L1");
    let good = project.rea(&["policy", "check"]);
    assert_eq!(good.status.code(), Some(0));
    assert!(
        text(&good).contains("good; profile minimal, level L1 of at most L3"),
        "{}",
        text(&good)
    );
    assert!(text(&good).contains("blocked_paths is read and not enforced"));

    project.write("bad.yaml", "version: \"1\"\nprofile: 7\n");
    let bad = project.rea(&["policy", "check", ".rea/bad.yaml"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(
        text(&bad).starts_with(".rea/bad.yaml:2:10: "),
        "{}",
        text(&bad)
    );
    let (status, fault) = project.json(&["policy", "check", "--json", ".rea/bad.yaml"]);
    assert_eq!(
        (status, &fault["line"], &fault["column"]),
        (1, &2.into(), &10.into())
    );

    assert_eq!(
        project.rea(&["policy", "check", "none.yaml"]).status.code(),
        Some(1)
    );
    assert_eq!(
        project.rea(&["policy", "check", "--no-such"]).status.code(),
        Some(2)
    );
    assert_eq!(project.rea(&["policy"]).status.code(), Some(2));
}

#[test]
fn what_a_policy_comes_to_is_shown() {
    let project = Project::new("L1");
    let (status, facts) = project.json(&["policy", "show", "--json"]);
    assert_eq!((status, &facts["permits"]), (0, &"write".into()));
    assert_eq!(facts["shell"]["on_refused"], "deny");
    let lines = text(&project.rea(&["policy", "show"]));
    assert!(
        lines.contains("autonomy_level: L1\n") && lines.contains("audit.rotation: not set\n"),
        "{lines}"
    );
    project.write("policy.yaml", "broken");
    assert_eq!(project.rea(&["policy", "show"]).status.code(), Some(2));
}

#[test]
fn a_tool_is_explained() {
    // Tool, arguments, exit status, tier, the rule or the code that decides.
    let table = [
        ("s__get_x", "{}", 0, "read", "name-reads:get"),
        ("s__put_x", "{}", 0, "write", "name-writes:put"),
        (
            "s__delete_x",
            "{}",
            1,
            "destructive",
            "tier-exceeds-autonomy",
        ),
        ("s__get_blocked", "{}", 1, "read", "tool-blocked"),
        (
            "s__get_pinned",
            "{}",
            1,
            "destructive",
            "override:destructive",
        ),
        (
            "s__delete_low",
            "{}",
            1,
            "destructive",
            "override-ignored:read",
        ),
        (
            "s__tidy",
            r#"{"line":"ls *"}"#,
            1,
            "destructive",
            "line-refused:glob",
        ),
        ("s__tidy", r#"{"line":"ls"}"#, 0, "read", "line-plain:read"),
        (
            "s__tidy",
            r#"{"line":"rm x"}"#,
            1,
            "destructive",
            "line-plain:destructive",
        ),
        ("s__tidy", "", 0, "read", "registered-shell-tool"),
        (
            "s__tidy",
            r#"{"line":"no-such-program-here"}"#,
            1,
            "destructive",
            "line-refused:program-not-found",
        ),
        (
            "bash",
            r#"{"command":"a; b"}"#,
            1,
            "destructive",
            "line-refused:list",
        ),
        ("get_x", "{}", 0, "read", "name-reads:get"),
        ("nobody__get_x", "{}", 1, "read", "name-reads:get"),
        ("off__get_x", "{}", 1, "read", "name-reads:get"),
    ];
    let project = Project::new("L1");
    let mut wrong = Vec::new();
    for (tool, arguments, status, tier, word) in table {
        let mut words = vec!["policy", "explain", tool];
        if !arguments.is_empty() {
            words.extend(["--arguments", arguments]);
        }
        let people = text(&project.rea(&words));
        words.push("--json");
        let (code, answer) = project.json(&words);
        if code != status || answer["tier"] != tier || !answer.to_string().contains(word) {
            wrong.push(format!("{tool} {arguments}: {code} {answer}"));
        }
        if !people.contains(&format!("tier:    {tier}, by ")) {
            wrong.push(format!("{tool} {arguments}: {people}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_models_of_the_user_judge_lines_for_shells_too() {
    let project = Project::new("L0");
    let folder = project.path().join("config/rea/models");
    fs::create_dir_all(&folder).unwrap();
    let model = "names = [\"sort\"]\nsummary = \"ours\"\nmanual = [\"ours\"]\noperands = \"WRITE*\"\n\
                 [options]\nread = [\"-u\"]\n";
    let explain = |model: &str| {
        fs::write(folder.join("sort.toml"), model).unwrap();
        let output = project
            .command(&["policy", "explain", "s__tidy", "--json", "--arguments"])
            .arg(r#"{"line":"sort -u a"}"#)
            .env("XDG_CONFIG_HOME", project.path().join("config"))
            .output()
            .unwrap();
        let answer = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (output.status.code().unwrap(), answer)
    };
    let (status, answer) = explain(model);
    assert_eq!((status, &answer["tier"]), (1, &"write".into()), "{answer}");
    let replaces = "replaces-shipped = true\n".to_owned() + &model.replace("WRITE", "PATH");
    let (status, answer) = explain(&replaces);
    assert_eq!((status, &answer["tier"]), (0, &"read".into()), "{answer}");
    assert_eq!(answer["shell"]["replaced_models"][0], "sort");
    assert_eq!(explain("broken").0, 2, "nothing is judged by the rest");
}

#[test]
fn freezing_stops_is_on_record_and_is_undone_with_a_record() {
    let project = Project::new("L1");
    assert_eq!(
        project.rea(&["freeze"]).status.code(),
        Some(2),
        "a reason is needed"
    );
    assert_eq!(
        project.rea(&["freeze", "--reason", " \u{7}"]).status.code(),
        Some(2)
    );
    assert!(!project.path().join(".rea/HALT").exists());

    let frozen = project.rea(&["freeze", "--reason", "too\u{1b}[31m many\nmails"]);
    assert_eq!(frozen.status.code(), Some(0), "{frozen:?}");
    let (status, check) = project.json(&["check", "--json"]);
    assert_eq!((status, &check["halt"]["decision"]), (0, &"present".into()));
    let reason = check["halt"]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("too[31m manymails (frozen at 2"),
        "{reason}"
    );
    assert!(text(&project.rea(&["check"])).contains("FROZEN"));

    assert_eq!(project.rea(&["unfreeze"]).status.code(), Some(2));
    let unfrozen = project.rea(&["unfreeze", "--reason", "sorted"]);
    assert_eq!(unfrozen.status.code(), Some(0), "{unfrozen:?}");
    let again = project.rea(&["unfreeze", "--reason", "sorted"]);
    assert_eq!(
        (again.status.code(), text(&again).as_str()),
        (Some(0), "Nothing is frozen.\n")
    );

    let (_, check) = project.json(&["check", "--json"]);
    assert_eq!(check["halt"]["decision"], "absent");
    let records: Vec<Value> = check["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| serde_json::from_str(line.as_str().unwrap()).unwrap())
        .collect();
    let said: Vec<_> = records
        .iter()
        .map(|record| {
            let word = |value: &Value| value.as_str().unwrap().to_owned();
            (
                word(&record["tool_name"]),
                word(&record["metadata"]["reason"]),
                word(&record["autonomy_level"]),
            )
        })
        .collect();
    let expected = |tool: &str, reason: &str| (tool.to_owned(), reason.to_owned(), "L1".to_owned());
    assert_eq!(
        said,
        [
            expected("freeze", "too[31m manymails"),
            expected("unfreeze", "sorted")
        ]
    );
}

#[test]
fn nothing_is_frozen_where_no_gateway_serves() {
    let project = Project::new("L1");
    let below = project.path().join("below");
    fs::create_dir(&below).unwrap();
    for command in ["freeze", "unfreeze"] {
        let output = Command::new(env!("CARGO_BIN_EXE_rea"))
            .args([command, "--reason", "why"])
            .current_dir(&below)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("below has no .rea"), "{said}");
    }
    assert_eq!(fs::read_dir(&below).unwrap().count(), 0);
}

#[test]
fn freezing_works_without_a_record_and_unfreezing_does_not() {
    let project = Project::new("L1");
    // Where the keys should go there is something else.
    fs::write(project.path().join("state"), "").unwrap();
    let frozen = project.rea(&["freeze", "--reason", "why"]);
    assert_eq!(frozen.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&frozen.stderr).contains("not on record"));
    assert!(project.path().join(".rea/HALT").exists());
    assert_eq!(
        project.rea(&["unfreeze", "--reason", "why"]).status.code(),
        Some(2)
    );
    assert!(project.path().join(".rea/HALT").exists());
}

#[test]
fn what_stands_there_in_place_of_a_file_is_seen() {
    let project = Project::new("L1");
    symlink("nowhere", project.path().join(".rea/HALT")).unwrap();
    let (_, check) = project.json(&["check", "--json"]);
    assert_eq!(check["halt"]["decision"], "present");
    assert_eq!(
        project.rea(&["unfreeze", "--reason", "r"]).status.code(),
        Some(0)
    );
    assert_eq!(
        project.json(&["check", "--json"]).1["halt"]["decision"],
        "absent"
    );
}

#[test]
fn a_check_fails_when_the_policy_is_broken() {
    let project = Project::new("L1");
    assert_eq!(project.rea(&["check"]).status.code(), Some(0));
    project.write("policy.yaml", "autonomy_level: L9\n");
    let broken = project.rea(&["check"]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(
        text(&broken).contains("BROKEN") && text(&broken).contains("policy.yaml:1:17"),
        "{}",
        text(&broken)
    );
}

#[test]
fn nothing_that_a_terminal_obeys_is_shown() {
    let project = Project::new("L1");
    fs::write(project.path().join(".rea/HALT"), "\u{1b}[2Jwhy\u{202e}").unwrap();
    fs::write(
        project.path().join(".rea/audit.jsonl"),
        "{\"a\":\"\u{1b}]0;x\u{7}\"}\n",
    )
    .unwrap();
    for arguments in [vec!["check"], vec!["policy", "explain", "a\u{1b}[2J__b"]] {
        let shown = text(&project.rea(&arguments));
        let obeyed = |character: char| character != '\n' && character.is_control();
        assert!(
            !shown.contains(obeyed) && !shown.contains('\u{202e}'),
            "{shown:?}"
        );
    }
}
