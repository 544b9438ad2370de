//! Everything that is no tool call, and what a denial looks like to a caller.

use rea_gateway::layer::{Answer, Code, Method, Request, Target, denial::META_KEY};
use serde_json::Value;

use crate::rig::{Outcome, Rig, named, statuses, tool};

fn asks(method: Method, name: &str) -> Request {
    let target = Target::Of {
        server: "s".to_owned(),
        name: name.to_owned(),
    };
    Request {
        method,
        target,
        ..tool("", "")
    }
}

#[tokio::test]
async fn every_method_has_its_tier_and_its_record() {
    let mut wrong = Vec::new();
    for level in ["L0", "L1"] {
        for method in Method::ALL {
            let rig = Rig::new(level);
            let writes = matches!(
                method,
                Method::UpdateTask | Method::CancelTask | Method::Sample | Method::Elicit
            );
            let name = if method == Method::CallTool {
                "get_x"
            } else {
                "mem://x"
            };
            let answer = rig.call(asks(method, name), Outcome::Result).await;
            let records = rig.records();
            let want = match (writes, level) {
                (true, "L0") => ("tier-exceeds-autonomy", "denied"),
                (true, _) => ("passed", "started:allowed finished:allowed"),
                (false, _) => ("passed", "allowed"),
            };
            let got = (named(&answer), statuses(&records));
            if (got.0, got.1.as_str()) != want {
                wrong.push(format!("{level} {}: {got:?}", method.as_str()));
            }
            let tool = method == Method::CallTool;
            let recorded = if tool { "get_x" } else { method.as_str() };
            assert!(records.iter().all(|record| record.tool_name == recorded));
            let name = (!tool).then_some("mem://x");
            for record in &records {
                assert_eq!(record.metadata.get("name").and_then(Value::as_str), name);
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_method_is_known_by_its_name_or_passes_no_layer() {
    for method in Method::ALL {
        assert_eq!(Method::named(method.as_str()), Some(method));
    }
    for free in [
        "ping",
        "tools/list",
        "resources/list",
        "logging/setLevel",
        "initialize",
        "",
    ] {
        assert_eq!(Method::named(free), None, "{free}");
    }
}

#[tokio::test]
async fn a_denial_is_a_failed_result_with_a_sentence_and_facts() {
    let rig = Rig::new("L1");
    let Answer::Denied(denial) = rig.call(tool("s", "delete_x"), Outcome::Result).await else {
        panic!("a destructive call passed at L1");
    };
    let result: Value = serde_json::from_str(denial.tool_result().get()).unwrap();
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"].as_array().unwrap().len(), 1);
    let sentence = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        sentence,
        "Autonomy level L1 does not permit `delete_x`, which is destructive and needs L3 \
         [tier-exceeds-autonomy]: find a way that changes less, or ask an operator."
    );
    let facts = &result["_meta"][META_KEY];
    for (key, value) in [
        ("code", "tier-exceeds-autonomy"),
        ("layer", "policy"),
        ("rule", "name-destroys:delete"),
        ("tier", "destructive"),
        ("level", "L1"),
        ("needed", "L3"),
    ] {
        assert_eq!(facts[key], value, "{key}");
    }
    assert_eq!(facts["hint"], Code::TierExceedsAutonomy.hint());

    let error: Value = serde_json::from_str(denial.rpc_error().get()).unwrap();
    assert_eq!(error["message"], sentence);
    assert_eq!(error["data"][META_KEY], *facts);
}

#[tokio::test]
async fn names_that_a_caller_makes_up_stay_short_and_leave_nothing_behind() {
    let rig = Rig::new("L3");
    let long = "x".repeat(100_000);
    for name in [long.as_str(), "a\u{202e}\n\u{1b}[2J", ""] {
        let answer = rig.call(tool(name, name), Outcome::Result).await;
        let Answer::Denied(denial) = answer else {
            panic!("passed")
        };
        assert_eq!(denial.code(), Code::ServerUnknown);
        assert!(denial.text().len() < 500, "{}", denial.text().len());
        assert!(
            !denial
                .text()
                .contains(|character: char| character.is_control())
        );
        let records = rig.records();
        assert_eq!(statuses(&records), "denied");
        assert!(records[0].tool_name.len() < 600 && records[0].server_name.len() < 600);
    }
    assert_eq!(
        rig.chain.servers().all().count(),
        9,
        "only what is registered and enabled"
    );
    assert_eq!(
        named(&rig.call(tool("off", "get_x"), Outcome::Result).await),
        "server-unknown"
    );
}
