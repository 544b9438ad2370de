//! Tools that hand a line to a shell.

use rea_gateway::layer::{Answer, Request};
use serde_json::json;

use crate::rig::{Outcome, Rig, named, policy, tool};

fn runs(name: &str, arguments: &serde_json::Value) -> Request {
    Request {
        arguments: Some(arguments.to_string().into()),
        ..tool("s", name)
    }
}

#[tokio::test]
async fn a_refused_line_comes_back_with_what_to_write_instead() {
    let rig = Rig::new("L3");
    let answer = rig
        .call(
            runs("bash", &json!({"command": "cat *.md"})),
            Outcome::Result,
        )
        .await;
    let Answer::Denied(denial) = answer else {
        panic!("passed")
    };
    assert_eq!(denial.code().as_str(), "shell-refused");
    assert_eq!(denial.rule(), "line-refused:glob");
    let facts = denial.facts();
    assert_eq!(facts["shell"]["code"], "glob");
    assert_eq!(facts["shell"]["span"], json!([4, 5]));
    assert_eq!(facts["hint"], facts["shell"]["hint"]);
    assert!(denial.text().contains("bytes 4..5") && denial.text().contains("`*`"));

    let record = rig.records().remove(0);
    assert_eq!(record.metadata["shell"], facts["shell"]);
    assert_eq!(record.tier.as_str(), "destructive");
    assert!(
        !record.metadata["shell"].to_string().contains(".md"),
        "the line is not kept"
    );
    assert_eq!(rig.sent(), 0);
}

#[tokio::test]
async fn every_line_is_treated_as_the_policy_says() {
    let (mut rows, mut wrong) = (0, Vec::new());
    for row in include_str!("../data/shell.tsv").lines() {
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        let mut cells = row.split('\t');
        let [more, level, name, arguments, answer, reason] =
            std::array::from_fn(|_| cells.next().unwrap_or_else(|| panic!("{row}")));
        let more = if more == "-" {
            String::new()
        } else {
            format!("shell: {{{more}}}\n")
        };
        let rig = Rig::with_policy(&policy(level, &more));
        let request = Request {
            arguments: Some(arguments.into()),
            ..tool("s", name)
        };
        let got = rig.call(request, Outcome::Result).await;
        let records = rig.records();
        let reasons = records[0].metadata["tier_reasons"].as_array().unwrap();
        let got = (named(&got), reasons.last().unwrap().as_str().unwrap());
        if got != (answer, reason) {
            wrong.push(format!("{row}\n  got {got:?}"));
        }
        rows += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows >= 20, "only {rows} rows");
}

#[tokio::test]
async fn a_name_that_stands_twice_is_no_line() {
    let rig = Rig::new("L3");
    let twice = r#"{"command":"ls","command":"ls; rm x"}"#;
    let request = Request {
        arguments: Some(twice.into()),
        ..tool("s", "bash")
    };
    assert_eq!(
        named(&rig.call(request, Outcome::Result).await),
        "shell-refused"
    );
    for broken in ["", "[", "7", "null", "\"ls\""] {
        let request = Request {
            arguments: Some(broken.into()),
            ..tool("s", "bash")
        };
        assert_eq!(
            named(&rig.call(request, Outcome::Result).await),
            "shell-refused",
            "{broken}"
        );
    }
}
