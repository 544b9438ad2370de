//! The served gateway with its layers: the policy of the moment decides, the kill switch stops, and
//! everything is on record.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod peer;

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    thread,
    time::{Duration, Instant},
};

use peer::Peer;
use serde_json::{Value, json};

/// One line, as the server writes it so.
const TOOLS: &str = concat!(
    r#"[{"name":"get_note","inputSchema":{}},"#,
    r#"{"name":"write_note","inputSchema":{}},"#,
    r#"{"name":"get_all","inputSchema":{},"annotations":{"destructiveHint":true}}]"#,
);

/// Starts the gateway in front of one server, whose every line is kept in `seen`.
fn start(root: &Path, level: &str, more_policy: &str) -> Peer {
    let script = root.join("script.toml");
    fs::write(&script, format!("tools = '''{TOOLS}'''")).unwrap();
    let line = format!(
        "tee -a {} | {} {}",
        root.join("seen").display(),
        peer::scripted_server().display(),
        script.display()
    );
    peer::registry(root, &[("s", &["sh", "-c", &line])], "");
    peer::policy(root, level);
    let file = root.join(".rea/policy.yaml");
    let policy = fs::read_to_string(&file).unwrap() + more_policy;
    fs::write(file, policy).unwrap();
    let mut peer = Peer::start(peer::gateway(root));
    peer.open("2025-11-25", "{}");
    peer
}

fn ask(peer: &mut Peer, id: u64, method: &str, params: &Value) -> Value {
    peer.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
    let line = peer.wait(&format!(r#""id":{id},"#));
    serde_json::from_str(&line).unwrap()
}

/// Calls a tool and returns the code of the denial, or `passed`.
fn call(peer: &mut Peer, id: u64, tool: &str) -> String {
    let params = json!({"name": tool, "arguments": {"text": "x"}});
    let answer = ask(peer, id, "tools/call", &params);
    let result = &answer["result"];
    let denial = &result["_meta"]["rea/denial"];
    assert_eq!(result["isError"] == true, denial.is_object(), "{answer}");
    denial["code"].as_str().unwrap_or("passed").to_owned()
}

/// Returns how often `text` has reached the server, once it has done so `least` times: `tee` passes
/// lines on before it notes them.
fn reached(root: &Path, text: &str, least: usize) -> usize {
    let patience = Instant::now() + peer::PATIENCE;
    loop {
        let seen = fs::read_to_string(root.join("seen")).unwrap();
        let count = seen.lines().filter(|line| line.contains(text)).count();
        if count >= least || Instant::now() > patience {
            return count;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn rea(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rea"))
        .args(arguments)
        .current_dir(root)
        .env("XDG_STATE_HOME", root.join("state"))
        .output()
        .unwrap()
}

#[test]
fn the_policy_of_the_moment_and_the_kill_switch_decide_and_all_is_on_record() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut peer = start(root, "L0", "");

    let list = ask(&mut peer, 1, "tools/list", &json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    let told: Vec<_> = (tools.iter())
        .map(|tool| (&tool["name"], &tool["_meta"]["rea/denial"]["needed"]))
        .collect();
    assert_eq!(
        json!(told),
        json!([
            ["__rea__health", null],
            ["s__get_note", null],
            ["s__write_note", "L1"],
            ["s__get_all", "L3"],
        ])
    );

    let params = json!({"name": "s__write_note", "arguments": {"text": "x"}});
    let denied = ask(&mut peer, 2, "tools/call", &params)["result"].clone();
    let facts = &denied["_meta"]["rea/denial"];
    assert_eq!(denied["isError"], true);
    assert_eq!(
        json!([
            facts["code"],
            facts["layer"],
            facts["tier"],
            facts["level"],
            facts["needed"]
        ]),
        json!(["tier-exceeds-autonomy", "policy", "write", "L0", "L1"])
    );
    assert_eq!(call(&mut peer, 3, "s__get_note"), "passed");
    // Lines arrive in order, so what was sent before the last one has been seen with it.
    assert_eq!(reached(root, "get_note", 1), 1);
    assert_eq!(reached(root, "write_note", 0), 0);

    peer::policy(root, "L3");
    assert_eq!(call(&mut peer, 4, "s__write_note"), "passed");
    assert_eq!(reached(root, "write_note", 1), 1);
    assert_eq!(call(&mut peer, 5, "nobody__get_x"), "server-unknown");

    fs::write(root.join(".rea/HALT"), "secret reason").unwrap();
    for (id, tool) in [(6, "s__get_note"), (7, "s__write_note")] {
        assert_eq!(call(&mut peer, id, tool), "halted", "{tool}");
    }
    let health = json!({"name": "__rea__health"});
    let health = ask(&mut peer, 8, "tools/call", &health);
    let health = health["result"]["content"][0]["text"].as_str().unwrap();
    let health: Value = serde_json::from_str(health).unwrap();
    assert_eq!(health["gateway"]["halt"], true);
    assert_eq!(health["summary"]["healthy"], 1);
    assert_eq!(health["downstreams"][0]["tools_count"], 3);
    fs::remove_file(root.join(".rea/HALT")).unwrap();
    assert_eq!(call(&mut peer, 9, "s__get_note"), "passed");
    assert_eq!(
        (reached(root, "get_note", 2), reached(root, "write_note", 1)),
        (2, 1)
    );

    let seen = peer.finish().join("\n");
    assert!(!seen.contains("secret reason"), "{seen}");
    let verified = rea(root, &["audit", "verify"]);
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
    let log = fs::read_to_string(root.join(".rea/audit.jsonl")).unwrap();
    let on_record: Vec<String> = (log.lines())
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["session_id"] != "system")
        .map(|record| {
            let text = |key: &str| record[key].as_str().unwrap_or_default();
            let started = record["metadata"]["phase"] == "started";
            let phase = if started { " started" } else { "" };
            format!("{} {}{phase}", text("tool_name"), text("status"))
        })
        .collect();
    assert_eq!(
        on_record,
        [
            "write_note denied",
            "get_note allowed",
            "write_note allowed started",
            "write_note allowed",
            "get_x denied",
            "get_note denied",
            "write_note denied",
            "health allowed",
            "get_note allowed",
        ]
    );
}

#[test]
fn the_log_is_kept_as_the_policy_of_the_moment_says() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut peer = start(root, "L3", "");
    let segments = || {
        let names = fs::read_dir(root.join(".rea")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("audit-")).count()
    };
    assert_eq!(call(&mut peer, 1, "s__get_note"), "passed");
    assert_eq!(call(&mut peer, 2, "s__get_note"), "passed");
    assert_eq!(segments(), 0);
    let policy = root.join(".rea/policy.yaml");
    let more = "audit: {rotation: {max_bytes: 1}, retention: {max_segments: 2}}\n";
    fs::write(&policy, fs::read_to_string(&policy).unwrap() + more).unwrap();
    for id in 3..9 {
        assert_eq!(call(&mut peer, id, "s__get_note"), "passed");
    }
    assert_eq!(segments(), 2);
    peer.finish();
    let verified = rea(root, &["audit", "verify"]);
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
}

#[test]
fn what_is_hidden_or_unknown_is_not_milder_for_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut peer = start(root, "L1", "gateway: {tools: {hide_denied: true}}\n");
    let list = ask(&mut peer, 1, "tools/list", &json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(
        json!(names),
        json!(["__rea__health", "s__get_note", "s__write_note"])
    );
    assert_eq!(call(&mut peer, 2, "s__get_all"), "tier-exceeds-autonomy");
    let unknown = ask(&mut peer, 3, "vendor/delete", &json!({}));
    assert_eq!(
        unknown["error"]["data"]["rea/denial"]["code"], "tier-exceeds-autonomy",
        "{unknown}"
    );
    assert_eq!(call(&mut peer, 4, "s__write_note"), "passed");
    assert_eq!(reached(root, "write_note", 1), 1);
    assert_eq!(
        (
            reached(root, "get_all", 0),
            reached(root, "vendor/delete", 0)
        ),
        (0, 0)
    );
    peer.finish();
}

#[test]
fn under_a_halt_no_server_is_started_to_learn_whose_a_name_is() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mark = root.join("started");
    // It ends at once, so that every call would start it again.
    let line = format!("echo x >> {}", mark.display());
    peer::registry(root, &[("s", &["sh", "-c", &line])], "");
    let mut peer = Peer::start(peer::gateway(root));
    peer.open("2025-11-25", "{}");
    assert_eq!(call(&mut peer, 1, "__rea__health"), "passed");
    let starts = || fs::read_to_string(&mark).map_or(0, |text| text.lines().count());
    // The start that comes with the session.
    let began = Instant::now();
    while starts() == 0 {
        assert!(began.elapsed() < peer::PATIENCE, "it is not started");
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::write(root.join(".rea/HALT"), "").unwrap();
    let before = starts();
    // Long enough that without a halt it would have been started again.
    let began = Instant::now();
    let mut ids = 10..;
    while began.elapsed() < Duration::from_millis(1_500) {
        for tool in ["s__get_note", "nobody__get_note", "note"] {
            let id = ids.next().unwrap();
            assert_eq!(call(&mut peer, id, tool), "halted", "{tool}");
        }
    }
    let read = json!({"uri": "x://y"});
    let read = ask(&mut peer, 6, "resources/read", &read);
    assert_eq!(
        read["error"]["data"]["rea/denial"]["code"], "halted",
        "{read}"
    );
    assert_eq!(starts(), before, "started under a halt");
    fs::remove_file(root.join(".rea/HALT")).unwrap();
    while starts() == before {
        assert!(began.elapsed() < peer::PATIENCE, "without a halt it is");
        let params = json!({"name": "s__get_note"});
        let answer = ask(&mut peer, ids.next().unwrap(), "tools/call", &params);
        assert!(answer["error"].is_object(), "{answer}");
    }
    peer.finish();
}

#[test]
fn without_a_policy_nothing_is_served() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mark = root.join("started");
    let line = format!("touch {}; exec cat", mark.display());
    peer::registry(root, &[("s", &["sh", "-c", &line])], "");
    let policy = root.join(".rea/policy.yaml");
    let commands: [&[&str]; 3] = [&["serve"], &["tools"], &["call", "s", "get_x"]];
    for (text, advice) in [
        (None, "rea init --minimal"),
        (Some("x: 1\n"), "rea policy check"),
    ] {
        match text {
            Some(text) => fs::write(&policy, text).unwrap(),
            None => fs::remove_file(&policy).unwrap(),
        }
        for command in commands {
            let output = rea(root, command);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{command:?}: {told}");
            assert!(output.stdout.is_empty(), "{command:?}");
            assert!(told.contains(advice), "{command:?}: {told}");
        }
    }
    assert!(!mark.exists(), "a server was started");
}

#[test]
fn a_request_without_an_id_reaches_nobody() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut peer = start(root, "L3", "");
    let request =
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "write_note"}});
    peer.send(&request.to_string());
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/vendor"}"#);
    assert_eq!(call(&mut peer, 1, "s__get_note"), "passed");
    assert_eq!(reached(root, "notifications/vendor", 1), 1);
    fs::write(root.join(".rea/HALT"), "").unwrap();
    peer.send(r#"{"jsonrpc":"2.0","method":"notifications/other"}"#);
    assert_eq!(call(&mut peer, 2, "s__get_note"), "halted");
    fs::remove_file(root.join(".rea/HALT")).unwrap();
    assert_eq!(call(&mut peer, 3, "s__get_note"), "passed");
    assert_eq!(reached(root, "get_note", 2), 2);
    assert_eq!(
        (reached(root, "write_note", 0), reached(root, "other", 0)),
        (0, 0)
    );
    peer.finish();
    let log = fs::read_to_string(root.join(".rea/audit.jsonl")).unwrap();
    assert!(log.contains("notifications/vendor"), "{log}");
    assert!(log.contains("notifications/other"), "{log}");
}

#[test]
fn a_halt_stops_a_call_that_waits_for_its_server() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let script = root.join("script.toml");
    fs::write(&script, format!("tools = '''{TOOLS}'''")).unwrap();
    // It starts when it is let, and has no tools before.
    let line = format!(
        "while [ ! -e {} ]; do sleep 0.02; done; tee -a {} | {} {}",
        root.join("go").display(),
        root.join("seen").display(),
        peer::scripted_server().display(),
        script.display()
    );
    // The first start is given up, when the name is looked for; the call itself waits for the second.
    peer::registry(
        root,
        &[("s", &["sh", "-c", &line])],
        "    start_timeout: 2\n",
    );
    peer::policy(root, "L3");
    let mut peer = Peer::start(peer::gateway(root));
    peer.open("2025-11-25", "{}");
    for (id, tool) in [(1, "s__write_note"), (2, "s__get_note")] {
        let params = json!({"name": tool, "arguments": {"text": "x"}});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        peer.send(&request.to_string());
    }
    let log = || fs::read_to_string(root.join(".rea/audit.jsonl")).unwrap_or_default();
    let started = || log().contains("\"phase\":\"started\"");
    let patience = Instant::now() + peer::PATIENCE;
    while !started() && Instant::now() < patience {
        thread::sleep(Duration::from_millis(5));
    }
    fs::write(root.join(".rea/HALT"), "").unwrap();
    fs::write(root.join("go"), "").unwrap();
    for id in [1, 2] {
        let answer: Value = serde_json::from_str(&peer.wait(&format!(r#""id":{id},"#))).unwrap();
        let code = &answer["result"]["_meta"]["rea/denial"]["code"];
        assert_eq!(code, "halted", "{answer}");
    }
    fs::remove_file(root.join(".rea/HALT")).unwrap();
    assert_eq!(call(&mut peer, 3, "s__get_note"), "passed");
    assert_eq!(reached(root, "get_note", 1), 1);
    assert_eq!(reached(root, "write_note", 0), 0);
    peer.finish();
    let ended = |line: &&str| line.contains("write_note") && line.contains("\"denied\"");
    assert_eq!(log().lines().filter(ended).count(), 1, "{}", log());
}

#[test]
fn a_halt_stops_a_call_that_waits_for_the_log() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut peer = start(root, "L3", "");
    assert_eq!(call(&mut peer, 1, "s__write_note"), "passed");
    let lock = fs::File::options()
        .append(true)
        .open(root.join(".rea/audit.lock"))
        .unwrap();
    lock.lock().unwrap();
    let params = json!({"name": "s__write_note", "arguments": {"text": "x"}});
    let request = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    peer.send(&request.to_string());
    // It needs a moment to get to the log; where it does not, the halt stops it earlier.
    thread::sleep(Duration::from_millis(200));
    fs::write(root.join(".rea/HALT"), "").unwrap();
    lock.unlock().unwrap();
    let answer: Value = serde_json::from_str(&peer.wait(r#""id":2,"#)).unwrap();
    let code = &answer["result"]["_meta"]["rea/denial"]["code"];
    assert_eq!(code, "halted", "{answer}");
    fs::remove_file(root.join(".rea/HALT")).unwrap();
    assert_eq!(call(&mut peer, 3, "s__get_note"), "passed");
    assert_eq!(reached(root, "get_note", 1), 1);
    assert_eq!(reached(root, "write_note", 1), 1);
    peer.finish();
}
