//! Many calls at once for a long time: no answer goes to another call, and nothing grows.

use std::{
    collections::HashSet,
    env, fs,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::peer::{self, Peer};

/// For how many seconds; 20 unless this variable says otherwise.
const SECONDS: &str = "REA_TEST_SOAK_SECONDS";
/// How many calls are open all the time.
const OPEN: u64 = 64;
/// How much memory the gateway may hold more at the end than when it was warm, in KiB.
const MAX_GROWTH: u64 = 4096;

#[test]
fn many_calls_for_a_long_time_are_not_crossed_and_nothing_grows() {
    let seconds = env::var(SECONDS).map_or(20, |seconds| seconds.parse().unwrap());
    let root = tempfile::tempdir().unwrap();
    let script = root.path().join("script");
    let tools = r#"tools = '[{"name":"get_echo"},{"name":"put_echo"}]'"#;
    fs::write(&script, tools).unwrap();
    let server = peer::scripted_server();
    let line: [&str; 2] = [server.to_str().unwrap(), script.to_str().unwrap()];
    let servers = ["a", "b", "c", "d"].map(|name| (name, line.as_slice()));
    peer::registry(root.path(), &servers, "");
    let mut peer = Peer::start(peer::gateway(root.path()));
    peer.open("2025-11-25", "{}");
    let gateway = peer.child.id();

    let (mut last, mut open, mut answered) = (0, HashSet::new(), 0_u64);
    let begin = Instant::now();
    let (whole, warm_up) = (
        Duration::from_secs(seconds),
        Duration::from_secs(seconds) / 4,
    );
    let (mut warm, mut highest) = (None, 0);
    while begin.elapsed() < whole || !open.is_empty() {
        while open.len() < usize::try_from(OPEN).unwrap() && begin.elapsed() < whole {
            last += 1;
            call(&mut peer, last);
            open.insert(last);
        }
        let line = peer.line().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        let Some(id) = answer["id"].as_u64() else {
            continue;
        };
        assert!(open.remove(&id), "nobody asked for {line}");
        let said = answer["result"]["content"][0]["text"].as_str().unwrap();
        let said: Value = serde_json::from_str(said).unwrap();
        assert_eq!(said["arguments"]["n"], id, "{line}");
        answered += 1;
        peer.seen.clear();
        if answered.is_multiple_of(256) {
            if warm.is_none() && begin.elapsed() > warm_up {
                warm = Some((resident(gateway), descriptors(gateway)));
            }
            highest = resident(gateway).max(highest);
        }
    }
    let (resident_warm, descriptors_warm) = warm.unwrap();
    let growth = highest.saturating_sub(resident_warm);
    println!(
        "{answered} calls in {seconds} s; {resident_warm} KiB resident when warm, {highest} at most; \
         {descriptors_warm} descriptors"
    );
    assert!(
        growth <= MAX_GROWTH,
        "{resident_warm} KiB grew to {highest}"
    );
    assert_eq!(descriptors(gateway), descriptors_warm);
    peer.finish();
    let verified = Command::new(env!("CARGO_BIN_EXE_rea"))
        .args(["audit", "verify"])
        .current_dir(root.path())
        .env("XDG_STATE_HOME", root.path().join("state"))
        .output()
        .unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

/// Calls a tool of one of the servers, in turn; every other one of it writes.
fn call(peer: &mut Peer, id: u64) {
    let server = ["a", "b", "c", "d"][usize::try_from(id % 4).unwrap()];
    let tool = if (id / 4).is_multiple_of(2) {
        "get_echo"
    } else {
        "put_echo"
    };
    peer.send(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{server}__{tool}","arguments":{{"n":{id}}}}}}}"#
    ));
}

/// Returns how much memory a process holds, in KiB.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.unwrap().split_whitespace().nth(1).unwrap();
    number.parse().unwrap()
}

fn descriptors(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}
