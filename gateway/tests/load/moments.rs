//! A gateway that is ended at any moment, in any way, leaves no process behind.

use std::{
    collections::HashMap,
    env, fs,
    path::Path,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};
use serde_json::Value;

use crate::peer::{self, PATIENCE, Peer};

/// How often the gateway is ended; 20 unless this variable says otherwise.
const MOMENTS: &str = "REA_TEST_MOMENTS";
/// The variable that marks every process of one gateway.
const MARK: &str = "REA_TEST_MARK";
/// How many gateways live at the same time.
const AT_ONCE: usize = 4;
/// After how many microseconds at most a gateway is ended; by then it is busy with calls.
const LATEST: u64 = 1_200_000;
/// The ways of ending it.
const WAYS: [&str; 4] = ["eof", "TERM", "KILL", "INT"];

#[test]
fn nothing_is_left_whenever_and_however_it_ends() {
    let count = env::var(MOMENTS).map_or(20, |count| count.parse().unwrap());
    let mut random = TestRunner::deterministic();
    let mut moment = || (0..LATEST).new_tree(&mut random).unwrap().current();
    let moments: Vec<u64> = (0..count).map(|_| moment()).collect();
    let (next, seen) = (AtomicUsize::new(0), Mutex::new(HashMap::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(moment) = moments.get(number)
                {
                    let way = WAYS[number % WAYS.len()];
                    let (processes, answers) = end(way, Duration::from_micros(*moment));
                    let mut seen = seen.lock().unwrap();
                    let (most, all) = seen.entry(way).or_insert((0, 0));
                    *most = processes.max(*most);
                    *all += answers;
                }
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), WAYS.len().min(count), "{seen:?}");
    if count >= 20 {
        // Three servers with a lifeline each, grandchildren, and the gateway.
        let busy = seen.values().all(|(most, all)| *most >= 9 && *all > 0);
        assert!(busy, "ends of idle gateways prove nothing: {seen:?}");
    }
}

/// Starts a gateway, keeps it busy, ends it at that moment and waits until nothing is left. Returns how
/// many processes there were, and how many calls were answered.
fn end(way: &str, moment: Duration) -> (usize, usize) {
    let root = tempfile::tempdir().unwrap();
    let what = format!("{way} after {moment:?}");
    let mark = root.path().display().to_string();
    let mut peer = start(root.path(), &mark);
    let begin = Instant::now();
    peer.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#);
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let mut asked = 1;
    while begin.elapsed() < moment {
        let server = ["plain", "parent", "deaf"][asked % 3];
        peer.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{asked},"method":"tools/call","params":{{"name":"{server}__get_echo","arguments":{{}}}}}}"#
        ));
        asked += 1;
        thread::sleep(Duration::from_millis(1)); // leaves time to the others
    }
    let processes = marked(&mark).len();
    if way == "eof" {
        peer.end();
    } else {
        let id = peer.child.id().to_string();
        let status = Command::new("kill").args(["-s", way, &id]).status();
        assert!(status.unwrap().success(), "{what}");
    }
    let mut answers = HashMap::new();
    while let Some(line) = peer.line() {
        let answer: Value = match serde_json::from_str(&line) {
            Ok(answer) => answer,
            // Killed in the middle of a line.
            Err(_) if way == "KILL" => break,
            Err(error) => panic!("{what}: {error}: {line}"),
        };
        if let Some(id) = answer.get("id").and_then(Value::as_u64) {
            *answers.entry(id).or_insert(0) += 1;
        }
    }
    peer.child.wait().unwrap();
    let twice = answers.values().any(|count| *count > 1);
    assert!(!twice, "{what}: answered twice");
    if way == "eof" {
        // Everything was said before the end, so everything has its answer.
        assert_eq!(answers.len(), asked, "{what}");
    }
    let waiting = Instant::now();
    loop {
        let left = marked(&mark);
        if left.is_empty() {
            return (processes, answers.len().saturating_sub(1));
        }
        assert!(waiting.elapsed() < PATIENCE, "{what}: {left:#?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a gateway in front of a server that does as it should, one with grandchildren in and out of its
/// session, and one that does not want to end; the last one also answers nothing.
fn start(root: &Path, mark: &str) -> Peer {
    let server = peer::scripted_server();
    let server = server.display();
    let file = |name: &str, script: &str| {
        let file = root.join(name);
        fs::write(&file, script).unwrap();
        file.display().to_string()
    };
    let plain = file("plain", "");
    let deaf = file(
        "deaf",
        "deathless = true\n[[on]]\nmethod = \"tools/call\"\n",
    );
    let run = |more: &str, script: &str| format!("{more} exec {server} {script}");
    let parent = run(
        "sleep 600 & setsid sleep 600 & (setsid sh -c 'sleep 600 &' &);",
        &plain,
    );
    let deaf = run("trap '' TERM INT HUP;", &deaf);
    let plain = run("", &plain);
    let servers: [(&str, &[&str]); 3] = [
        ("plain", &["sh", "-c", &plain]),
        ("parent", &["sh", "-c", &parent]),
        ("deaf", &["sh", "-c", &deaf]),
    ];
    peer::registry(
        root,
        &servers,
        &format!("    env_passthrough: [{MARK}]\n    concurrency: 2000\n"),
    );
    let mut gateway = peer::gateway(root);
    gateway.env(MARK, mark);
    Peer::start(gateway)
}

/// Returns the command lines of all processes that carry the mark.
fn marked(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let carries = |path: &Path| {
        let variables = fs::read(path.join("environ")).unwrap_or_default();
        let mut variables = variables.split(|byte| *byte == 0);
        variables.any(|variable| variable == wanted.as_bytes())
    };
    let line = |path: &Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .map(|process| process.path())
        .filter(|path| carries(path))
        .map(|path| line(&path))
        .collect()
}
