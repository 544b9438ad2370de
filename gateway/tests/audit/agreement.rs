//! A second verifier, written in another language from the rules alone, agrees with ours.

use std::{fs, process::Command};

use proptest::{
    collection::vec,
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use rea_gateway::audit::{Durability, Record, Report, Verdict};
use serde_json::{Map, Value};

use crate::support::{Project, campaign};

const VERIFIER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/audit/second_verifier.py"
);

/// Returns what the second verifier says of each log; `None` when it cannot be run here.
fn second(projects: &[Project]) -> Option<Vec<String>> {
    let directories = projects.iter().map(|project| project.rea(""));
    let output = Command::new("python3")
        .arg(VERIFIER)
        .args(directories)
        .output()
        .ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

/// What ours says, in the words of the second.
fn first(report: &Report) -> String {
    match report.findings.first() {
        None => format!("intact {}", report.records),
        Some(finding) => format!(
            "tampered {} {}",
            finding.file,
            finding.record.unwrap_or(u64::MAX)
        ),
    }
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn skip() {
    assert!(std::env::var_os("CI").is_none(), "needs python3");
    eprintln!("skipped: needs python3");
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (any::<i32>(), -12..12_i32)
            .prop_map(|(digits, power)| Value::from(f64::from(digits) * 10_f64.powi(power))),
        any::<u64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let key = prop_oneof!["[0-9]{1,11}", any::<String>(), "[a-c]"];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        let members = vec((key.clone(), inner.clone()), 0..5);
        prop_oneof![
            vec(inner, 0..5).prop_map(Value::from),
            members.prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

#[test]
fn both_accept_what_we_write_whatever_is_in_it() {
    let project = Project::new();
    let audit = project.open();
    let mut runner = TestRunner::new(Config::default());
    let count = campaign(400, 10_000);
    for index in 0..count {
        let mut record = Record::new("t", "s");
        let mut draw = |what: BoxedStrategy<String>| what.new_tree(&mut runner).unwrap().current();
        record.tool_name = draw(any::<String>().boxed());
        record.session_id = draw("[\\x00-\\x7f]{0,9}".boxed());
        record.error = Some(draw(any::<String>().boxed()));
        record.metadata.insert(
            draw("[0-9a]{1,3}".boxed()),
            value().new_tree(&mut runner).unwrap().current(),
        );
        record.metadata.insert(
            "10".to_owned(),
            value().new_tree(&mut runner).unwrap().current(),
        );
        audit.append(&record, Durability::Buffered).unwrap();
        if index % 150 == 149 {
            audit.rotate().unwrap().unwrap();
        }
    }
    drop(audit);
    let report = project.verify();
    assert_eq!(report.verdict, Verdict::Intact);
    let Some(said) = second(&[project]) else {
        return skip();
    };
    assert_eq!(said, [first(&report)]);
    assert!(report.records >= u64::from(count));
}

#[test]
fn both_see_the_same_first_fault() {
    let lines: Vec<String> = {
        let project = Project::new();
        let audit = project.open();
        for index in 0..8 {
            let record = Record::new("t", "s")
                .with("n", f64::from(index) + 0.5)
                .with("text", "é\u{1}\"");
            audit.append(&record, Durability::Buffered).unwrap();
        }
        drop(audit);
        project.lines()
    };
    let text = lines.join("\n") + "\n";
    let mut texts = vec![
        text.replace("{\"timestamp\"", "{ \"timestamp\""),
        text.replace("0.5", "5e-1"),
        text.replace("0.5", "0.50"),
        text.replace("0.5", "0.5,\"n\":0.5"),
        text.replace("é", "\\u00e9"),
        text.replace('\n', "\r\n"),
        text.replace("\"text\":", "\"text\":1,\"text\":"),
        text.trim_end().to_owned(),
        text.replace("3.5", "3.50000000000000000001"),
        text.replace("3.5", "NaN"),
        text.replace("3.5", "03.5"),
        text.replace("é", "\\ud800"),
    ];
    for index in 0..8 {
        let mut changed = lines.clone();
        changed.swap(index, 7 - index);
        texts.push(changed.join("\n") + "\n");
        let mut changed = lines.clone();
        changed.remove(index);
        texts.push(changed.join("\n") + "\n");
        for put_in in ["", "{}", "null", "{\"prev_hash\":\"x\"}", "[", "\t"] {
            let mut changed = lines.clone();
            changed.insert(index, put_in.to_owned());
            texts.push(changed.join("\n") + "\n");
        }
    }
    let projects: Vec<Project> = texts
        .iter()
        .map(|text| {
            let project = Project::new();
            fs::write(project.live(), text).unwrap();
            project
        })
        .collect();
    let Some(said) = second(&projects) else {
        return skip();
    };
    assert_eq!(said.len(), texts.len());
    let (mut wrong, mut faults) = (Vec::new(), 0);
    for ((text, project), said) in texts.iter().zip(&projects).zip(said) {
        let ours = first(&project.verify_bare(&[]));
        faults += usize::from(said.starts_with("tampered"));
        if said != ours {
            wrong.push(format!("{said} and {ours}: {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        faults > 50 && faults < texts.len(),
        "{faults} of {}",
        texts.len()
    );
}
