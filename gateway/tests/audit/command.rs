//! `rea audit` as it is typed: what it prints, and the code it ends with.

use std::{
    fs,
    process::{Command, Output},
};

use rea_gateway::audit::{Durability, Record, Status, Tier};
use serde_json::Value;

use crate::support::Project;

impl Project {
    fn rea_audit(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rea"))
            .arg("audit")
            .args(arguments)
            .current_dir(self.root())
            .env("XDG_STATE_HOME", self.state())
            .output()
            .unwrap()
    }

    /// Where the command keeps keys and checkpoints under the given `XDG_STATE_HOME`.
    fn fill_for_command(&self, count: usize) {
        let settings = rea_gateway::audit::Settings {
            state_directory: self.state().join("rea").join("audit"),
            ..self.settings()
        };
        let audit = rea_gateway::audit::Audit::open(&self.root(), settings).unwrap();
        for index in 0..count {
            let mut record = Record::new("t", if index % 2 == 0 { "even" } else { "odd" })
                .with("call_id", index.to_string());
            record.tier = Tier::Write;
            record.status = if index % 3 == 0 {
                Status::Denied
            } else {
                Status::Allowed
            };
            record.error = Some("esc \u{1b}[31m \u{9b}31m".to_owned());
            audit.append(&record, Durability::Durable).unwrap();
        }
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Collects what did not go as wanted.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn expect(&mut self, name: &str, output: &Output, want: i32, says: &str) {
        let told = out(output) + &err(output);
        if code(output) != want || !told.contains(says) {
            self.0.push(format!(
                "{name}: want {want} and {says:?}, got {} and {told}",
                code(output)
            ));
        }
    }

    fn assert_none(&self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}

#[test]
fn an_honest_log_ends_with_0_and_wrong_use_with_2() {
    let mut wrong = Wrong::default();
    let project = Project::new();
    wrong.expect(
        "no log",
        &project.rea_audit(&["verify"]),
        4,
        "there is no audit log",
    );
    wrong.expect(
        "no log to show",
        &project.rea_audit(&["show"]),
        4,
        "there is no audit log",
    );
    wrong.expect(
        "no log to rotate",
        &project.rea_audit(&["rotate"]),
        0,
        "nothing to rotate",
    );
    wrong.expect(
        "no log to note",
        &project.rea_audit(&["checkpoint"]),
        4,
        "there is no audit log",
    );
    project.fill_for_command(7);
    let verify = || project.rea_audit(&["verify"]);
    let since = |name: &str| project.rea_audit(&["verify", "--since", name]);
    wrong.expect("intact", &verify(), 0, "intact: 7 records in 1 files");
    wrong.expect(
        "checked",
        &verify(),
        0,
        "checked against the checkpoint of number 7",
    );
    wrong.expect(
        "rotated",
        &project.rea_audit(&["rotate"]),
        0,
        ".rea/audit.jsonl -> .rea/audit-",
    );
    wrong.expect(
        "after rotation",
        &verify(),
        0,
        "intact: 8 records in 2 files",
    );
    let segment = project.segments().remove(0);
    wrong.expect(
        "since live",
        &since("audit.jsonl"),
        0,
        "intact: 1 records in 1 files",
    );
    wrong.expect(
        "since segment",
        &since(&segment),
        0,
        "intact: 8 records in 2 files",
    );
    wrong.expect("since nothing", &since("../x"), 2, "no such segment");
    wrong.expect(
        "no such option",
        &project.rea_audit(&["verify", "--until", "x"]),
        2,
        "--until",
    );
    wrong.expect(
        "no such file",
        &project.rea_audit(&["verify", "--against", "nowhere"]),
        2,
        "nowhere",
    );
    wrong.assert_none();
}

#[test]
fn each_damage_to_a_log_has_its_exit_code() {
    let mut wrong = Wrong::default();
    let project = Project::new();
    project.fill_for_command(7);
    let verify = || project.rea_audit(&["verify"]);
    let text = project.text();
    fs::write(project.live(), text.replacen("even", "odd", 1)).unwrap();
    wrong.expect(
        "tampered",
        &verify(),
        1,
        "TAMPER DETECTED\naltered: audit.jsonl record 0",
    );
    fs::write(project.live(), "").unwrap();
    wrong.expect("truncated", &verify(), 3, "tail-missing");
    fs::remove_file(project.live()).unwrap();
    wrong.expect("deleted", &verify(), 3, "tail-missing");
    fs::create_dir(project.live()).unwrap();
    wrong.expect("unreadable", &verify(), 4, "not a regular file");
    wrong.assert_none();
}

#[test]
fn a_checkpoint_kept_elsewhere_holds_the_log() {
    let project = Project::new();
    project.fill_for_command(5);
    let printed = project.rea_audit(&["checkpoint"]);
    assert_eq!((code(&printed), err(&printed)), (0, String::new()));
    let kept = project.root().join("kept.json");
    fs::write(&kept, &printed.stdout).unwrap();
    project.fill_for_command(3);
    let verify = || code(&project.rea_audit(&["verify", "--against", "kept.json"]));
    assert_eq!(verify(), 0);

    // Without the user's own checkpoint the kept one still speaks.
    fs::remove_dir_all(project.state()).unwrap();
    assert_eq!(verify(), 0);
    let lines = project.lines();
    fs::write(project.live(), lines[..5].join("\n") + "\n").unwrap();
    assert_eq!(verify(), 0);
    fs::write(project.live(), lines[..4].join("\n") + "\n").unwrap();
    assert_eq!(verify(), 3);
    assert_eq!(code(&project.rea_audit(&["verify"])), 0);
    fs::remove_file(project.live()).unwrap();
    project.fill_for_command(9);
    assert_eq!(verify(), 1);
    let forged = out(&printed).replace("\"sequence\":5", "\"sequence\":4");
    fs::write(&kept, forged).unwrap();
    assert_eq!(verify(), 2);
}

#[test]
fn a_report_is_json_when_asked() {
    let project = Project::new();
    project.fill_for_command(2);
    let report: Value =
        serde_json::from_slice(&project.rea_audit(&["verify", "--json"]).stdout).unwrap();
    assert_eq!(
        (
            &report["verdict"],
            &report["records"],
            &report["checkpoint"]
        ),
        (&"intact".into(), &2.into(), &2.into())
    );
    fs::write(project.live(), project.text().replace("even", "odd")).unwrap();
    let output = project.rea_audit(&["verify", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(code(&output), 1);
    assert_eq!(report["verdict"], "tampered");
    assert_eq!(report["findings"][0]["kind"], "altered");
    assert_eq!(report["findings"][0]["record"], 0);
}

#[test]
fn records_are_shown_as_asked_and_cannot_steer_a_terminal() {
    let project = Project::new();
    project.fill_for_command(12);
    project.rea_audit(&["rotate"]);
    let count = |arguments: &[&str]| out(&project.rea_audit(arguments)).lines().count();
    assert_eq!(count(&["tail"]), 10);
    assert_eq!(count(&["tail", "-n", "13"]), 13);
    assert_eq!(count(&["tail", "-n", "100"]), 13);
    assert_eq!(count(&["show"]), 13);
    assert_eq!(count(&["show", "--server", "odd"]), 6);
    assert_eq!(count(&["show", "--server", "odd", "--status", "denied"]), 2);
    assert_eq!(count(&["show", "--call", "3"]), 1);
    assert_eq!(
        count(&["show", "--tool", "audit.rotation", "--session", "system"]),
        1
    );
    assert_eq!(count(&["show", "--since", "audit.jsonl"]), 1);
    assert_eq!(count(&["show", "--since", "2020-01-01T00:00:00Z"]), 13);
    assert_eq!(count(&["show", "--since", "2999-01-01T00:00:00Z"]), 0);
    assert_eq!(
        code(&project.rea_audit(&["show", "--since", "yesterday"])),
        2
    );
    assert_eq!(code(&project.rea_audit(&["tail", "-n", "0"])), 2);

    let shown = out(&project.rea_audit(&["show"]));
    assert!(
        shown.contains(
            "denied  write       unknown even/t 0 ms call=0 error=esc \\u{1b}[31m \\u{9b}31m\n"
        ),
        "{shown}"
    );
    let json = out(&project.rea_audit(&["show", "--json", "--call", "3"]));
    assert!(
        !(json.clone() + &shown).contains(['\u{1b}', '\u{9b}']),
        "{json}"
    );
    let record: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(record["error"], "esc \u{1b}[31m \u{9b}31m");

    fs::write(project.live(), "\u{1b}[31m\n").unwrap();
    assert_eq!(
        out(&project.rea_audit(&["tail", "-n", "1"])),
        "not a record: \\u{1b}[31m\n"
    );
    assert_eq!(
        out(&project.rea_audit(&["tail", "-n", "1", "--json"])),
        "{\"not_json\":\"\\\\u{1b}[31m\"}\n"
    );
}

#[test]
fn rotating_by_hand_deletes_what_the_policy_no_longer_keeps() {
    let policy = |more: &str| {
        format!(
            "version: \"1\"\nprofile: t\ninstalled_by: t\ninstalled_at: t\nautonomy_level: L1\n\
             max_autonomy_level: L1\npromotion_requires_human_approval: true\nblocked_paths: []\n{more}"
        )
    };
    let mut wrong = Wrong::default();
    let project = Project::new();
    let rotate =
        |wrong: &mut Wrong, name: &str, text: Option<String>, want: i32, segments: usize| {
            project.fill_for_command(3);
            match text {
                Some(text) => fs::write(project.rea("policy.yaml"), text).unwrap(),
                None => drop(fs::remove_file(project.rea("policy.yaml"))),
            }
            wrong.expect(name, &project.rea_audit(&["rotate"]), want, "");
            let found = project.segments().len();
            if found != segments {
                wrong.0.push(format!("{name}: {found} segments"));
            }
            wrong.expect(name, &project.rea_audit(&["verify"]), 0, "");
        };
    rotate(&mut wrong, "no policy", None, 0, 1);
    rotate(&mut wrong, "nothing said", Some(policy("")), 0, 2);
    let two = policy("audit: {retention: {max_segments: 2}}\n");
    rotate(&mut wrong, "two are kept", Some(two.clone()), 0, 2);
    rotate(&mut wrong, "a broken policy", Some("x".to_owned()), 4, 2);
    rotate(&mut wrong, "two are kept again", Some(two), 0, 2);
    let huge = policy(
        "audit: {retention: {max_segments: 18446744073709551615, max_age_days: 18446744073709551615}}\n",
    );
    rotate(&mut wrong, "more than can be", Some(huge), 0, 3);
    wrong.assert_none();
}
