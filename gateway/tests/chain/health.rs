//! The gateway's own tool, and the layers over the real log.

use std::{path::Path, sync::Arc};

use rea_gateway::{
    audit::{Audit, Settings, Verdict},
    layer::{
        Chain, Dispatch, GrantFile, KillSwitch, Machines, Parts, RawReply, health::ServerHealth,
    },
    policy::Live,
    registry::Registry,
};
use serde_json::{Value, value::RawValue};

use crate::rig::{REASON, REGISTRY, Rig, named, policy, statuses, tool};

#[tokio::test]
async fn health_answers_under_a_halt_says_no_reason_and_is_on_record() {
    let rig = Rig::new("L2");
    rig.halt();
    rig.set_policy("broken");
    let servers = [
        ("up", true, true, Some(3)),
        ("down", false, false, Some(9)),
        ("new", true, true, None),
    ]
    .map(|(name, connected, healthy, tools_count)| ServerHealth {
        name: name.to_owned(),
        connected,
        healthy,
        tools_count,
        last_error: (!healthy).then(|| "detail of a fault".to_owned()),
    });
    rig.clock.advance(std::time::Duration::from_millis(2_900));
    let result = rig.chain.health(&servers).await;
    assert!(!result.get().contains(REASON) && !result.get().contains("detail"));
    let result: Value = serde_json::from_str(result.get()).unwrap();
    let report: Value =
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    for (path, want) in [
        ("/gateway/halt", Value::from(true)),
        ("/gateway/halt_reason", Value::Null),
        ("/gateway/uptime_s", 2.into()),
        ("/policy/autonomy_level", "L2".into()),
        ("/policy/broken", true.into()),
        ("/downstreams/0/tools_count", 3.into()),
        ("/downstreams/1/tools_count", Value::Null),
        ("/downstreams/1/last_error", Value::Null),
        ("/summary/registered", 3.into()),
        ("/summary/healthy", 2.into()),
        ("/summary/total_tools", 3.into()),
        ("/summary/audit_fail_count", 0.into()),
    ] {
        assert_eq!(report.pointer(path), Some(&want), "{path}");
    }
    let records = rig.records();
    assert_eq!(statuses(&records), "allowed");
    assert_eq!(
        (
            records[0].tool_name.as_str(),
            records[0].server_name.as_str()
        ),
        ("health", "__rea__")
    );
    assert_eq!(records[0].metadata["halt_reason"], REASON);
    assert_eq!(
        records[0].metadata["downstream_errors"][0]["last_error"],
        "detail of a fault"
    );

    rig.chain.recorder().set_full(true);
    drop(rig.chain.health(&[]).await);
    let after = rig.chain.health(&[]).await;
    assert!(
        after.get().contains(r#"\"audit_fail_count\": 1"#),
        "{after}"
    );
}

#[tokio::test]
async fn over_the_real_log_every_write_has_its_pair_and_the_chain_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let file = root.join("policy.yaml");
    std::fs::write(&file, policy("L1", "")).unwrap();
    let notify: rea_gateway::policy::Notify = Arc::new(|_| ());
    let state = root.join("state");
    let registry = Registry::parse(Path::new("r"), REGISTRY).unwrap();
    let chain = Arc::new(Chain::new(Parts {
        machines: Machines::new(&registry, root, &[].into(), GrantFile::default()),
        kill_switch: KillSwitch::of_project(root),
        policy: Live::open(file, Arc::clone(&notify)).unwrap(),
        registry,
        recorder: Audit::open(root, Settings::new(&state)).unwrap(),
        session: "s".to_owned(),
        notify,
    }));
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..60 {
        let chain = Arc::clone(&chain);
        let name = ["get_x", "put_x", "delete_x"][number % 3];
        calls.spawn(async move {
            let reply = |_: Dispatch| async { Ok(RawReply::Result(RawValue::NULL.to_owned())) };
            named(&chain.call(tool("s", name), reply).await).to_owned()
        });
    }
    let answers = calls.join_all().await;
    assert_eq!(
        answers.iter().filter(|answer| *answer == "passed").count(),
        40
    );
    drop(chain);

    let mut pairs: std::collections::BTreeMap<String, Vec<String>> =
        std::collections::BTreeMap::new();
    let mut alone = 0;
    rea_gateway::audit::each(root, None, |line| {
        let record: Value = serde_json::from_slice(line).unwrap();
        let metadata = &record["metadata"];
        assert_eq!(metadata["arguments_hmac"].as_str().map(str::len), Some(64));
        match (metadata["call_id"].as_str(), metadata["phase"].as_str()) {
            (Some(call), Some(phase)) => pairs
                .entry(call.to_owned())
                .or_default()
                .push(phase.to_owned()),
            _ => alone += 1,
        }
        true
    })
    .unwrap();
    assert_eq!((pairs.len(), alone), (20, 40));
    assert!(
        pairs
            .values()
            .all(|phases| phases == &["started", "finished"]),
        "{pairs:?}"
    );
    let options = rea_gateway::audit::Options {
        state_directory: Some(state),
        ..rea_gateway::audit::Options::default()
    };
    let report = rea_gateway::audit::verify(root, &options, &mut |_| ()).unwrap();
    assert_eq!(report.verdict, Verdict::Intact);
}
