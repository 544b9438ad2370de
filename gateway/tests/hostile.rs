//! Servers and clients that do what they should not: the other side goes on unharmed, every request
//! gets its one answer, and only messages are written to standard output.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod peer;

use std::path::Path;

use peer::Peer;
use serde_json::Value;

/// Starts the gateway in front of servers with these scripts, called `a`, `b` and so on.
fn start(root: &Path, scripts: &[&str], more: &str) -> Peer {
    let server = peer::scripted_server();
    let files: Vec<_> = (scripts.iter().enumerate())
        .map(|(index, script)| {
            let file = root.join(format!("{index}.toml"));
            std::fs::write(&file, script).unwrap();
            file
        })
        .collect();
    let lines: Vec<[&str; 2]> = (files.iter())
        .map(|file| [server.to_str().unwrap(), file.to_str().unwrap()])
        .collect();
    let names = ["a", "b", "c", "d"];
    let servers: Vec<(&str, &[&str])> = (names.iter().zip(&lines))
        .map(|(name, line)| (*name, line.as_slice()))
        .collect();
    peer::registry(root, &servers, more);
    Peer::start(peer::gateway(root))
}

fn call(peer: &mut Peer, id: u64, tool: &str) {
    peer.send(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"n":{id}}}}}}}"#
    ));
}

/// Returns the word that says what went wrong with the call.
fn fault(peer: &mut Peer, id: u64) -> String {
    let line = peer.wait(&format!(r#""id":{id},"#));
    let answer: Value = serde_json::from_str(&line).unwrap();
    let word = answer.pointer("/error/data/rea").and_then(Value::as_str);
    word.unwrap_or("none").to_owned()
}

#[test]
fn a_line_beyond_the_limit_is_answered_wherever_its_id_stands() {
    let root = tempfile::tempdir().unwrap();
    let script = r#"
        [[on]]
        method = "tools/call"
        name = "before"
        pad = 17000000
        say = ['{"jsonrpc":"2.0","id":$id,"result":{"text":"$pad"}}']
        [[on]]
        method = "tools/call"
        name = "behind"
        pad = 17000000
        say = ['{"result":{"text":"$pad","id":5},"jsonrpc":"2.0","id":$id}']
    "#;
    let mut peer = start(root.path(), &[script], "");
    peer.open("2025-11-25", "{}");
    call(&mut peer, 1, "a__before");
    assert_eq!(fault(&mut peer, 1), "answer-too-long");
    call(&mut peer, 2, "a__behind");
    assert_eq!(fault(&mut peer, 2), "answer-too-long");
    call(&mut peer, 3, "a__echo");
    assert_eq!(fault(&mut peer, 3), "none");
    peer.finish();
}

#[test]
fn a_server_that_ends_in_a_call_answers_it_and_is_started_again_once() {
    let root = tempfile::tempdir().unwrap();
    let marks = root.path().join("started");
    let script = r#"
        [[on]]
        method = "tools/call"
        name = "die"
        then = "exit"
    "#;
    let file = root.path().join("0.toml");
    std::fs::write(&file, script).unwrap();
    let server = peer::scripted_server();
    let line = format!(
        "echo x >> {}; exec {} {}",
        marks.display(),
        server.display(),
        file.display()
    );
    peer::registry(root.path(), &[("a", &["sh", "-c", &line])], "");
    let mut peer = Peer::start(peer::gateway(root.path()));
    peer.open("2025-11-25", "{}");
    call(&mut peer, 1, "a__die");
    assert_eq!(fault(&mut peer, 1), "server-exited");
    for id in 2..10 {
        call(&mut peer, id, "a__echo");
    }
    for id in 2..10 {
        assert_eq!(fault(&mut peer, id), "none");
    }
    peer.finish();
    let starts = std::fs::read_to_string(marks).unwrap().lines().count();
    assert_eq!(starts, 2, "eight calls share one new start");
}

#[test]
fn a_server_that_does_not_start_holds_nobody_up() {
    let root = tempfile::tempdir().unwrap();
    let hangs = r#"
        [[on]]
        method = "initialize"
        then = "hang"
    "#;
    let mut peer = start(root.path(), &[hangs, ""], "    start_timeout: 3\n");
    peer.open("2025-11-25", "{}");
    call(&mut peer, 1, "b__echo");
    assert_eq!(fault(&mut peer, 1), "none");
    peer.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    let list = peer.wait(r#""id":2,"#);
    assert!(
        list.contains("\"b__echo") && !list.contains("\"a__"),
        "{list}"
    );
    call(&mut peer, 3, "a__echo");
    assert_eq!(fault(&mut peer, 3), "server-not-running");
    peer.finish();
}

#[test]
fn a_server_that_hangs_in_a_call_times_out_alone() {
    let root = tempfile::tempdir().unwrap();
    let hangs = r#"
        [[on]]
        method = "tools/call"
        then = "hang"
    "#;
    let mut peer = start(root.path(), &[hangs, ""], "    timeout: 1\n");
    peer.open("2025-11-25", "{}");
    call(&mut peer, 1, "a__echo");
    call(&mut peer, 2, "b__echo");
    assert_eq!(fault(&mut peer, 2), "none");
    assert_eq!(fault(&mut peer, 1), "timed-out");
    peer.finish();
}

#[test]
fn a_server_that_closes_its_output_or_its_ears_does_not_stay_in_the_way() {
    let root = tempfile::tempdir().unwrap();
    let closes = r#"
        deathless = true
        [[on]]
        method = "tools/call"
        then = "close"
    "#;
    let mut peer = start(root.path(), &[closes, ""], "");
    peer.open("2025-11-25", "{}");
    call(&mut peer, 1, "a__echo");
    assert_eq!(fault(&mut peer, 1), "server-exited");
    call(&mut peer, 2, "b__echo");
    assert_eq!(fault(&mut peer, 2), "none");
    peer.finish();
}

#[test]
fn endless_pages_end() {
    let root = tempfile::tempdir().unwrap();
    let pages: Vec<String> = (0..40)
        .map(|page| {
            format!(
                "[[on]]\nmethod = \"tools/list\"\nname = \"{page}\"\nsay = ['{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{{\"tools\":[{{\"name\":\"t{page}\"}}],\"nextCursor\":\"{}\"}}}}']\n",
                (page + 1) % 40
            )
        })
        .collect();
    let first = "[[on]]\nmethod = \"tools/list\"\nsay = ['{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[],\"nextCursor\":\"0\"}}']\n";
    let script = pages.concat() + first;
    let mut peer = start(root.path(), &[&script], "");
    peer.open("2025-11-25", "{}");
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let list = peer.wait(r#""id":1,"#);
    assert_eq!(list.matches("a__t").count(), 40, "{list}");
    assert!(!list.contains("nextCursor"));
    peer.finish();
}

#[test]
fn a_long_list_is_served_in_pages_of_our_own() {
    let root = tempfile::tempdir().unwrap();
    let tools: Vec<String> = (0..2500).map(|n| format!(r#"{{"name":"t{n}"}}"#)).collect();
    let script = format!("tools = '[{}]'", tools.join(","));
    let mut peer = start(root.path(), &[&script], "");
    peer.open("2025-11-25", "{}");
    let (mut cursor, mut names) = (String::new(), Vec::new());
    for id in 1..=3 {
        peer.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{{cursor}}}}}"#
        ));
        let page: Value = serde_json::from_str(&peer.wait(&format!(r#""id":{id},"#))).unwrap();
        let tools = page["result"]["tools"].as_array().unwrap().clone();
        names.extend(
            tools
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned()),
        );
        cursor = format!(r#""cursor":{}"#, page["result"]["nextCursor"]);
        assert_eq!(page["result"]["nextCursor"].is_null(), id == 3);
    }
    let own = std::iter::once("__rea__health".to_owned());
    let want: Vec<String> = own.chain((0..2500).map(|n| format!("a__t{n}"))).collect();
    assert_eq!(names, want);
    for bad in [r#""x""#, r#""rea:9:9""#, "3", r#""rea:1:999999""#] {
        peer.send(&format!(
            r#"{{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{{"cursor":{bad}}}}}"#
        ));
        assert_eq!(fault(&mut peer, 9), "bad-params");
        peer.seen.clear();
    }
    peer.finish();
}

#[test]
fn names_stay_within_their_limit_and_lead_back() {
    let root = tempfile::tempdir().unwrap();
    let long = "x".repeat(90);
    let script = format!(r#"tools = '[{{"name":"{long}"}},{{"name":"a.b/c"}},{{"name":"ok"}}]'"#);
    let mut peer = start(root.path(), &[&script], "");
    peer.open("2025-11-25", "{}");
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let list: Value = serde_json::from_str(&peer.wait(r#""id":1,"#)).unwrap();
    let names: Vec<&str> = (list["result"]["tools"].as_array().unwrap().iter())
        .map(|tool| tool["name"].as_str().unwrap())
        .skip(1) // the tool of the gateway itself
        .collect();
    let own = [long.as_str(), "a.b/c", "ok"];
    for (id, (name, own)) in (2..).zip(names.iter().zip(own)) {
        assert!(name.len() <= 64, "{name}");
        call(&mut peer, id, name);
        let line = peer.wait(&format!(r#""id":{id},"#));
        assert!(line.contains(&format!(r#"\"name\":\"{own}\""#)), "{line}");
    }
    for (id, unknown, code) in [
        (20, "__rea__nothing", "name-reserved"),
        (21, "a", "name-without-server"),
        (22, "z__x", "server-unknown"),
        (23, "", "name-without-server"),
    ] {
        call(&mut peer, id, unknown);
        let line = peer.wait(&format!(r#""id":{id},"#));
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["result"]["_meta"]["rea/denial"]["code"], code);
    }
    peer.finish();
}

#[test]
fn a_client_that_breaks_every_rule_gets_one_answer_a_line() {
    let root = tempfile::tempdir().unwrap();
    let mut peer = start(root.path(), &[""], "");
    let table = [
        ("noise", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1", -32700),
        ("3", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"ping","params":[1]}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","id":"y","method":"ping"}"#,
            -32600,
        ),
        ("[]", -32600),
    ];
    for (line, code) in table {
        peer.send(line);
        let answer: Value = serde_json::from_str(&peer.line().unwrap()).unwrap();
        assert_eq!(answer["error"]["code"], code, "{line}");
    }
    peer.send_bytes(b"\xff\xfe\n");
    assert!(peer.line().unwrap().contains("UTF-8"));
    let long = "x".repeat(17_000_000);
    peer.send(&format!(
        r#"{{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{{"x":"{long}"}}}}"#
    ));
    let line = peer.line().unwrap();
    assert!(
        line.contains(r#""id":"long""#) && line.contains("line-too-long"),
        "{line}"
    );
    // Answers to nothing get no answer, and requests before `initialize` do.
    peer.send(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#);
    peer.send(r#"{"jsonrpc":"2.0","id":5,"result":{},"error":{}}"#);
    peer.send(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nothing"}}"#,
    );
    peer.send(r#"{"jsonrpc":"2.0","id":"early","method":"tools/list"}"#);
    assert!(peer.line().unwrap().contains("a__echo"));
    // A batch, then the same after a version without batches; and a second `initialize`.
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},7,{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    peer.open("2025-03-26", "{}");
    peer.send(batch);
    let answers: Value = serde_json::from_str(&peer.line().unwrap()).unwrap();
    assert_eq!(answers.as_array().unwrap().len(), 3, "{answers}");
    peer.seen.clear();
    peer.open("2025-11-25", "{}");
    peer.send(batch);
    assert!(peer.line().unwrap().contains("no batches"));
    peer.finish();
}

#[test]
fn malformed_lines_do_not_start_a_storm() {
    let root = tempfile::tempdir().unwrap();
    let mut peer = start(root.path(), &[""], "");
    for _ in 0..300 {
        peer.send("noise");
    }
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    peer.wait(r#""id":1,"#);
    let errors = peer
        .finish()
        .iter()
        .filter(|line| line.contains("-32700"))
        .count();
    assert_eq!(errors, 100);
}

#[test]
fn cancelling_everything_leaves_nothing_open() {
    let root = tempfile::tempdir().unwrap();
    let silent = r#"
        [[on]]
        method = "tools/call"
        name = "never"
        [[on]]
        method = "tools/call"
    "#;
    let mut peer = start(root.path(), &[silent, ""], "    concurrency: 200\n");
    peer.open("2025-11-25", "{}");
    for id in 1..200 {
        call(&mut peer, id, "a__never");
    }
    for id in 1..200 {
        peer.send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#));
    }
    call(&mut peer, 500, "b__echo");
    peer.wait(r#""id":500,"#);
    let seen = peer.finish();
    assert_eq!(seen.len(), 2, "cancelled calls get no answer: {seen:#?}");
}

#[test]
fn standard_output_carries_messages_only() {
    let root = tempfile::tempdir().unwrap();
    let noisy = r#"
        [[on]]
        method = "tools/call"
        say = ["plain text", "", "{", "[", "null", "\"text\"", "\u0000\u001b[2J", '{"jsonrpc":"2.0","id":77,"result":{}}',
          '{"jsonrpc":"2.0","id":$id,"result":{}}', '{"jsonrpc":"2.0","id":$id,"result":{}}']
    "#;
    let mut peer = start(root.path(), &[noisy, "nonsense"], "");
    peer.send("nonsense");
    peer.open("2025-11-25", "{}");
    for id in 1..20 {
        call(&mut peer, id, "a__echo");
        peer.wait(&format!(r#""id":{id},"#));
    }
    call(&mut peer, 30, "b__echo");
    assert_eq!(fault(&mut peer, 30), "server-not-running");
    for line in peer.finish() {
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
    }
}

#[test]
fn closing_at_any_byte_ends_the_gateway() {
    let root = tempfile::tempdir().unwrap();
    let script = root.path().join("0.toml");
    std::fs::write(&script, "").unwrap();
    let server = peer::scripted_server();
    peer::registry(
        root.path(),
        &[("a", &[server.to_str().unwrap(), script.to_str().unwrap()])],
        "",
    );
    let text = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__echo","arguments":{}}}"#,
        "\n",
    );
    let cuts: Vec<usize> = (0..=text.len()).step_by(13).collect();
    for cut in cuts {
        let mut peer = Peer::start(peer::gateway(root.path()));
        peer.send_bytes(&text.as_bytes()[..cut]);
        for line in peer.finish() {
            serde_json::from_str::<Value>(&line).unwrap();
        }
    }
}
