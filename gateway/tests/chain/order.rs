//! What must hold between calls: states, changes in mid-session, callers that go away.

use std::{fs, sync::Arc, time::Duration};

use rea_gateway::layer::{
    Annotations, Answer, Code, Dispatch, Durability, Fault, RawReply, Request, breaker::Circuit,
};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::rig::{Outcome, Rig, named, policy, seen, statuses, tool};

#[tokio::test]
async fn a_started_record_is_durable_before_the_server_hears_of_the_call() {
    let rig = Rig::new("L3");
    let chain = Arc::clone(&rig.chain);
    let answer = rig
        .chain
        .call(tool("s", "delete_x"), move |call: Dispatch| {
            let before = chain.recorder().take();
            async move {
                assert_eq!(before.len(), 1);
                assert_eq!(before[0].1, Durability::Durable);
                assert_eq!(before[0].0.metadata["phase"], "started");
                assert_eq!((call.server(), call.name()), ("s", "delete_x"));
                assert_eq!(call.arguments(), Some(r#"{"a":"content-of-an-argument"}"#));
                Ok(RawReply::Result(RawValue::NULL.to_owned()))
            }
        })
        .await;
    assert_eq!(named(&answer), "passed");
    assert_eq!(statuses(&rig.records()), "finished:allowed");
}

#[tokio::test]
async fn a_policy_changed_in_mid_session_holds_for_the_next_call() {
    let rig = Rig::new("L0");
    let mut got = Vec::new();
    for level in ["L0", "L1", "L3", "L0"] {
        rig.set_policy(&policy(level, ""));
        for name in ["put_x", "delete_x"] {
            got.push(named(&rig.call(tool("s", name), Outcome::Result).await).to_owned());
        }
        let levels = rig.records();
        assert!(
            levels.iter().all(|record| record.autonomy_level == level),
            "denied ones too"
        );
    }
    let no = "tier-exceeds-autonomy";
    assert_eq!(got, [no, no, "passed", no, "passed", "passed", no, no]);
}

#[tokio::test]
async fn a_call_under_way_is_neither_stopped_nor_rescued_by_the_switch() {
    let rig = Rig::new("L1");
    let halt = rig.folder.path().join(".rea/HALT");
    let at = halt.clone();
    let answer = rig
        .chain
        .call(tool("s", "get_x"), move |_: Dispatch| {
            fs::write(at, "").unwrap();
            std::future::ready(Ok(RawReply::Result(RawValue::NULL.to_owned())))
        })
        .await;
    assert_eq!(named(&answer), "passed");
    assert_eq!(
        named(&rig.call(tool("s", "get_x"), Outcome::Result).await),
        "halted"
    );
    fs::remove_file(halt).unwrap();
    assert_eq!(
        named(&rig.call(tool("s", "get_x"), Outcome::Result).await),
        "passed"
    );
}

#[tokio::test]
async fn many_calls_at_once_each_see_the_switch_at_their_own_entry() {
    let rig = Rig::new("L1");
    let mut calls = tokio::task::JoinSet::new();
    rig.halt();
    for _ in 0..10 {
        let chain = Arc::clone(&rig.chain);
        calls.spawn(async move {
            let unreachable = |_: Dispatch| async { Err::<RawReply, _>(Fault::Cancelled) };
            named(&chain.call(tool("s", "get_x"), unreachable).await).to_owned()
        });
    }
    assert!(
        calls
            .join_all()
            .await
            .iter()
            .all(|answer| answer == "halted")
    );
    assert_eq!(rig.records().len(), 10);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_a_record_and_gives_everything_back() {
    let rig = Rig::new("L1");
    for (name, records) in [
        ("get_x", "error"),
        ("put_x", "started:allowed finished:error"),
    ] {
        let (running, runs) = oneshot::channel();
        let chain = Arc::clone(&rig.chain);
        let request = tool("narrow", name);
        let task = tokio::spawn(async move {
            chain
                .call(request, move |_: Dispatch| {
                    running.send(()).unwrap();
                    std::future::pending::<Result<RawReply, Fault>>()
                })
                .await
        });
        runs.await.unwrap();
        assert_eq!(rig.chain.servers().named("narrow").unwrap().running(), 1);
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(rig.chain.servers().named("narrow").unwrap().running(), 0);
        assert_eq!(statuses(&rig.records()), records);
    }
}

#[tokio::test]
async fn answers_are_no_faults_of_the_server_whatever_they_say() {
    let rig = Rig::new("L1");
    for outcome in [
        Outcome::Error,
        Outcome::Result,
        Outcome::Fault(Fault::Cancelled),
    ] {
        for _ in 0..20 {
            drop(rig.call(tool("frail", "get_x"), outcome.clone()).await);
        }
        let circuit = rig.chain.servers().named("frail").unwrap().circuit().0;
        assert_eq!(circuit, Circuit::Closed, "{outcome:?}");
    }
    for fault in [
        Fault::Down(String::new()),
        Fault::Lost(String::new()),
        Fault::TimedOut(Duration::ZERO),
    ] {
        drop(
            rig.call(tool("frail", "get_x"), Outcome::Fault(fault.clone()))
                .await,
        );
        let (circuit, retry_at) = rig.chain.servers().named("frail").unwrap().circuit();
        assert_eq!(circuit, Circuit::Open, "{fault}");
        assert!(retry_at.is_some());
        rig.clock.advance(Duration::from_secs(30));
        assert_eq!(
            named(&rig.call(tool("frail", "get_x"), Outcome::Result).await),
            "passed"
        );
    }
    let told = rig.told.lock().unwrap().join("\n");
    for cause in ["failure_threshold", "cooldown_elapsed", "recovered"] {
        assert!(told.contains(cause), "{told}");
    }
}

#[tokio::test]
async fn one_server_in_trouble_is_no_trouble_for_the_others() {
    let rig = Rig::new("L1");
    drop(
        rig.call(
            tool("frail", "get_x"),
            Outcome::Fault(Fault::Lost(String::new())),
        )
        .await,
    );
    drop(rig.call(tool("rate", "get_x"), Outcome::Result).await);
    assert_eq!(
        named(&rig.call(tool("frail", "get_x"), Outcome::Result).await),
        "circuit-open"
    );
    assert_eq!(
        named(&rig.call(tool("rate", "get_x"), Outcome::Result).await),
        "rate-exceeded"
    );
    assert_eq!(
        named(&rig.call(tool("steady", "get_x"), Outcome::Result).await),
        "passed"
    );
    rig.clock.advance(Duration::from_mins(1));
    assert_eq!(
        named(&rig.call(tool("rate", "get_x"), Outcome::Result).await),
        "passed"
    );
}

#[tokio::test]
async fn a_call_that_may_not_pass_uses_up_nothing() {
    let rig = Rig::new("L0");
    for _ in 0..5 {
        let answer = rig.call(tool("rate", "put_x"), Outcome::Result).await;
        assert_eq!(named(&answer), "tier-exceeds-autonomy");
    }
    assert_eq!(
        named(&rig.call(tool("rate", "get_x"), Outcome::Result).await),
        "passed"
    );
}

#[tokio::test]
async fn annotations_and_pins_raise_and_never_lower() {
    let hints = |read_only, destructive| Annotations {
        read_only,
        destructive,
    };
    let (yes, no) = (Some(true), Some(false));
    let table = [
        ("get_x", hints(None, None), "read"),
        ("get_x", hints(yes, None), "read"),
        ("get_x", hints(no, None), "write"),
        ("get_x", hints(no, no), "write"),
        ("get_x", hints(no, yes), "destructive"),
        ("get_x", hints(yes, yes), "destructive"),
        ("put_x", hints(yes, no), "write"),
        ("delete_x", hints(yes, no), "destructive"),
        ("get_pinned", hints(yes, no), "destructive"),
        ("delete_lowered", hints(yes, no), "destructive"),
    ];
    let mut wrong = Vec::new();
    for (name, annotations, tier) in table {
        let rig = Rig::new("L3");
        let request = Request {
            annotations,
            ..tool("s", name)
        };
        drop(rig.call(request, Outcome::Result).await);
        let got = rig.records()[0].tier;
        if got.as_str() != tier {
            wrong.push(format!("{name} {annotations:?}: {got}, not {tier}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test]
async fn reading_without_records_follows_the_policy_and_is_said_loudly() {
    for (more, want) in [
        ("", "audit-unavailable"),
        ("audit: {on_failure: allow}\n", "passed"),
    ] {
        let rig = Rig::with_policy(&policy("L1", more));
        rig.chain.recorder().set_full(true);
        assert_eq!(
            named(&rig.call(tool("s", "get_x"), Outcome::Result).await),
            want
        );
        assert_eq!(
            named(&rig.call(tool("s", "put_x"), Outcome::Result).await),
            "audit-unavailable"
        );
        assert_eq!(rig.sent(), 1, "the write never happened");
        let told = rig.told.lock().unwrap().clone();
        assert!(
            told.iter().all(|line| line.starts_with("AUDIT FAILED: ")),
            "{told:?}"
        );
        assert!(told.len() >= 2);
    }
}

#[tokio::test]
async fn a_tool_that_would_always_be_denied_is_known_before_it_is_called() {
    let table = [
        ("L0", "get_x", None),
        ("L0", "put_x", Some(Code::TierExceedsAutonomy)),
        ("L1", "put_x", None),
        ("L1", "delete_x", Some(Code::TierExceedsAutonomy)),
        ("L3", "delete_x", None),
        ("L3", "get_blocked", Some(Code::ToolBlocked)),
        ("L1", "get_pinned", Some(Code::TierExceedsAutonomy)),
        ("L3", "bash", None),
        ("L3", "tidy", None),
    ];
    let mut wrong = Vec::new();
    for (level, name, want) in table {
        let rig = Rig::new(level);
        let ask = || rig.chain.always_denied("s", name, Annotations::default());
        let got = ask().map(|denial| denial.code());
        if got != want {
            wrong.push(format!("{level} {name}: {got:?}, not {want:?}"));
        }
        rig.set_policy("broken");
        assert_eq!(
            ask().map(|denial| denial.code()),
            want,
            "the list does not flicker"
        );
        assert_eq!(rig.records().len(), 0);
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test]
async fn what_a_server_says_in_an_error_is_not_kept() {
    let rig = Rig::new("L1");
    let answer = rig.call(tool("s", "get_x"), Outcome::Error).await;
    let Answer::Passed(screened) = &answer else {
        panic!("{}", seen(&answer, "s"))
    };
    assert!(
        matches!(screened.reply(), RawReply::Error(_)),
        "the caller gets it as it came"
    );
    let spelled = format!("{:?}", rig.records());
    assert!(!spelled.contains("secret"), "{spelled}");
}
