//! A served gateway that is killed at any moment under load.
//!
//! Whatever a child saw of a call that changes something was on record before, whatever a client was
//! answered is on record, and the log verifies after every kill.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod peer;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use peer::Peer;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};
use serde_json::Value;

/// How often the gateway is killed; 30 unless this variable says otherwise.
const KILLS: &str = "REA_TEST_KILLS";
/// How many kills share a log; verifying it after each takes longer and longer.
const ROUNDS: u32 = 25;
/// How many calls are sent in a round, all at once.
const CALLS: u32 = 160;
/// After how many answers at most the gateway is killed, and how many microseconds later at most.
const LATEST: (usize, u64) = (150, 3_000);

#[test]
fn what_a_child_saw_before_a_kill_is_on_record() {
    let kills = env::var(KILLS).map_or(30, |kills| kills.parse().unwrap());
    assert!(kills > 0, "{KILLS} is 0");
    let mut random = TestRunner::deterministic();
    let mut moments = (0..kills).map(|_| {
        let moment = (0..LATEST.0, 0..LATEST.1);
        moment.new_tree(&mut random).unwrap().current()
    });
    let mut seen = 0;
    loop {
        let batch: Vec<_> = moments.by_ref().take(ROUNDS as usize).collect();
        if batch.is_empty() {
            break;
        }
        seen += kill_at(&batch);
    }
    assert!(
        seen > kills,
        "only {seen} calls that change something were seen by a child"
    );
}

/// Kills a gateway once at each of the moments, over one log. Returns how many calls that change
/// something a child saw.
fn kill_at(moments: &[(usize, u64)]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let script = root.join("script.toml");
    fs::write(&script, "").unwrap();
    fs::write(root.join("seen"), "").unwrap();
    let line = format!(
        "tee -a {} | {} {}",
        root.join("seen").display(),
        peer::scripted_server().display(),
        script.display()
    );
    let more = "    concurrency: 1000\n";
    peer::registry(root, &[("s", &["sh", "-c", &line])], more);
    let policy = root.join(".rea/policy.yaml");
    let text = fs::read_to_string(&policy).unwrap() + "audit: {rotation: {max_bytes: 60000}}\n";
    fs::write(&policy, text).unwrap();

    let mut answered = BTreeSet::new();
    for (round, &(answers, later)) in moments.iter().enumerate() {
        answered.extend(kill_once(root, round, answers, later));
        let verified = rea(root, &["audit", "verify", "--json"]);
        assert_eq!(
            verified.status.code(),
            Some(0),
            "round {round}, killed after {answers} answers and {later} us: {}",
            String::from_utf8_lossy(&verified.stdout)
        );
    }
    until_gone(root);
    let records = records(root);
    let seen = seen(root);
    let unrecorded: Vec<_> = seen
        .iter()
        .filter(|name| {
            !records
                .get(*name)
                .is_some_and(|phases| phases.contains("started"))
        })
        .collect();
    assert!(unrecorded.is_empty(), "a child saw {unrecorded:?}");
    let lost: Vec<_> = answered
        .iter()
        .filter(|name| {
            let phases = records.get(*name);
            let end = if name.starts_with("get") {
                ""
            } else {
                "finished"
            };
            !phases.is_some_and(|phases| phases.contains(end))
        })
        .collect();
    assert!(lost.is_empty(), "answered and not on record: {lost:?}");
    seen.len()
}

/// Serves, sends calls of every tier at once, kills the gateway, and returns the names of the calls
/// that were answered.
fn kill_once(root: &Path, round: usize, answers: usize, later: u64) -> Vec<String> {
    let mut peer = Peer::start(peer::gateway(root));
    peer.open("2025-11-25", "{}");
    let name = |id: u32| {
        let verb = match id % 4 {
            1 => "get",
            2 => "delete",
            _ => "put",
        };
        format!("{verb}_{round}_{id}")
    };
    let call = |id: u32| {
        let params = format!("{{\"name\":\"s__{}\",\"arguments\":{{}}}}", name(id));
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}\n"
        )
    };
    let calls: String = (0..CALLS).map(call).collect();
    peer.send_bytes(calls.as_bytes());
    let mut answered = Vec::new();
    let mut note = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap_or_default();
        let id = answer.get("id").and_then(Value::as_u64);
        if let Some(id) = id.filter(|_| answer.get("result").is_some()) {
            answered.push(name(u32::try_from(id).unwrap()));
        }
    };
    for _ in 0..answers {
        note(&peer.line().unwrap());
    }
    // Any moment will do; this is not a wait for something.
    thread::sleep(Duration::from_micros(later));
    peer.child.kill().unwrap();
    peer.child.wait().unwrap();
    while let Some(line) = peer.line() {
        note(&line);
    }
    answered
}

fn rea(root: &Path, arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_rea"))
        .args(arguments)
        .current_dir(root)
        .env("XDG_STATE_HOME", root.join("state"))
        .output()
        .unwrap()
}

/// Waits until no process has this project on its command line.
fn until_gone(root: &Path) {
    let root = root.to_str().unwrap();
    let lives = || {
        let processes = fs::read_dir("/proc").unwrap();
        let lines = processes.filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
        lines
            .into_iter()
            .any(|line| String::from_utf8_lossy(&line).contains(root))
    };
    let began = Instant::now();
    while lives() {
        assert!(
            began.elapsed() < peer::PATIENCE,
            "a child outlives its gateway"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the phases on record for each tool, an empty one for records without.
fn records(root: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut records: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in fs::read_dir(root.join(".rea")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let text = fs::read(path).unwrap();
        // The last line may be half a record.
        for line in String::from_utf8_lossy(&text).lines() {
            let Ok(record) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let text = |key: &str| record.pointer(key).and_then(Value::as_str);
            let name = text("/tool_name").unwrap_or_default().to_owned();
            let phase = text("/metadata/phase").unwrap_or_default().to_owned();
            records.entry(name).or_default().insert(phase);
        }
    }
    records
}

/// Returns the names of the calls that change something and reached a child, whole or in part.
fn seen(root: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(root.join("seen")).unwrap();
    let names = text.split("\"name\":\"").skip(1);
    let names = names.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    names
        .filter(|name| name.starts_with("put_") || name.starts_with("delete_"))
        .collect()
}
