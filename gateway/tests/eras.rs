//! The gateway between a client and a server that speak the protocol of different eras.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod peer;

use std::path::Path;

use peer::Peer;
use serde_json::{Value, json};

/// Starts the gateway in front of a scripted server.
fn start(root: &Path, script: &str) -> Peer {
    start_all(root, &[("s", script)])
}

/// Starts the gateway in front of scripted servers.
fn start_all(root: &Path, scripts: &[(&str, &str)]) -> Peer {
    let server = peer::scripted_server();
    let lines: Vec<(&str, [String; 2])> = (scripts.iter())
        .map(|(name, script)| {
            let file = root.join(format!("{name}.toml"));
            std::fs::write(&file, script).unwrap();
            let line = [&server, &file].map(|path| path.to_str().unwrap().to_owned());
            (*name, line)
        })
        .collect();
    let lines: Vec<(&str, [&str; 2])> = (lines.iter())
        .map(|(name, line)| (*name, [line[0].as_str(), line[1].as_str()]))
        .collect();
    let servers: Vec<(&str, &[&str])> = (lines.iter())
        .map(|(name, line)| (*name, line.as_slice()))
        .collect();
    peer::registry(root, &servers, "");
    Peer::start(peer::gateway(root))
}

/// Sends a request without a session.
fn ask(peer: &mut Peer, id: u64, method: &str, params: &str, capabilities: &str) {
    let meta = peer::meta(capabilities);
    let comma = if params.is_empty() { "" } else { "," };
    peer.send(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}"_meta":{{{meta}}}}}}}"#
    ));
}

fn answer(peer: &mut Peer, id: u64) -> Value {
    let line = peer.wait(&format!(r#""id":{id},"#));
    serde_json::from_str(&line).unwrap()
}

#[test]
fn a_server_without_sessions_asks_a_client_with_one() {
    let root = tempfile::tempdir().unwrap();
    let mut peer = start(
        root.path(),
        r#"
        stateless = true
        [[on]]
        method = "tools/call"
        times = 1
        say = ['{"jsonrpc":"2.0","id":$id,"result":{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object"}}}},"requestState":"abc"}}']
        [[on]]
        method = "tools/call"
        say = ['{"jsonrpc":"2.0","id":$id,"result":{"resultType":"complete","content":[],"saw":$params}}']
        "#,
    );
    peer.open("2025-11-25", r#"{"elicitation":{}}"#);
    peer.send(r#"{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"name":"s__echo","arguments":{"n":1.0}}}"#);
    let asked: Value = serde_json::from_str(&peer.wait("elicitation/create")).unwrap();
    assert_eq!(asked["params"]["message"], "who?");
    let id = &asked["id"];
    peer.send(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept","content":{{"name":"x"}}}}}}"#
    ));
    let saw = answer(&mut peer, 71)["result"]["saw"].clone();
    assert_eq!(saw["name"], "echo");
    assert_eq!(saw["requestState"], "abc");
    assert_eq!(saw["inputResponses"]["who"]["content"]["name"], "x");
    let meta = &saw["_meta"];
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "test");
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        json!({ "elicitation": {} })
    );
    peer.finish();
}

#[test]
fn a_server_with_sessions_asks_a_client_without() {
    let root = tempfile::tempdir().unwrap();
    let mut peer = start(
        root.path(),
        r#"
        [[on]]
        method = "tools/call"
        remember = "call"
        say = ['{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"who?"}}']
        [[on]]
        reply = '"q"'
        say = ['{"jsonrpc":"2.0","id":$call,"result":{"content":[],"got":$result}}']
        "#,
    );
    let can = r#"{"elicitation":{}}"#;
    ask(&mut peer, 1, "tools/call", r#""name":"s__echo""#, can);
    let asked = answer(&mut peer, 1)["result"].clone();
    assert_eq!(asked["resultType"], "input_required");
    let (key, request) = asked["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    assert_eq!(request["method"], "elicitation/create");
    assert_eq!(request["params"]["message"], "who?");
    let state = &asked["requestState"];

    // A state that nobody gave out, and one that belongs to another call.
    ask(
        &mut peer,
        2,
        "tools/call",
        r#""name":"s__echo","requestState":"rea:00""#,
        can,
    );
    assert_eq!(answer(&mut peer, 2)["error"]["code"], -32602);
    ask(
        &mut peer,
        3,
        "tools/call",
        &format!(r#""name":"s__other","requestState":{state}"#),
        can,
    );
    assert_eq!(answer(&mut peer, 3)["error"]["code"], -32602);

    // Coming back with nothing only asks again.
    ask(
        &mut peer,
        4,
        "tools/call",
        &format!(r#""name":"s__echo","requestState":{state}"#),
        can,
    );
    let again = answer(&mut peer, 4)["result"].clone();
    assert_eq!(again["resultType"], "input_required");
    let state = &again["requestState"];
    let back = format!(
        r#""name":"s__echo","requestState":{state},"inputResponses":{{"{key}":{{"action":"accept","n":1.0}}}}"#
    );
    ask(&mut peer, 5, "tools/call", &back, can);
    let line = peer.wait(r#""id":5,"#);
    assert!(
        line.contains(r#""got":{"action":"accept","n":1.0}"#),
        "{line}"
    );
    assert!(line.contains(r#""resultType":"complete""#), "{line}");
    peer.finish();
}

#[test]
fn a_client_with_a_session_hears_of_resources_of_a_server_without() {
    let root = tempfile::tempdir().unwrap();
    let mut peer = start(
        root.path(),
        r#"
        stateless = true
        capabilities = '{"tools":{},"resources":{"subscribe":true}}'
        [[on]]
        method = "subscriptions/listen"
        say = [
          '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":$id}}}',
          '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://a","_meta":{"io.modelcontextprotocol/subscriptionId":$id}}}',
        ]
        "#,
    );
    peer.open("2025-11-25", "{}");
    peer.send(
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x://a"}}"#,
    );
    let updated = peer.wait("notifications/resources/updated");
    assert_eq!(
        updated,
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://a"}}"#
    );
    assert_eq!(answer(&mut peer, 1)["result"], json!({}));
    let seen = peer.finish();
    assert!(
        !seen.iter().any(|line| line.contains("acknowledged")),
        "{seen:#?}"
    );
}

#[test]
fn a_client_without_a_session_hears_of_changes_of_a_server_with_one() {
    let root = tempfile::tempdir().unwrap();
    let mut peer = start(
        root.path(),
        r#"
        capabilities = '{"tools":{"listChanged":true},"resources":{"subscribe":true}}'
        [[on]]
        method = "resources/subscribe"
        say = ['{"jsonrpc":"2.0","id":$id,"result":{}}']
        [[on]]
        method = "tools/list"
        after = "changed"
        say = ['{"jsonrpc":"2.0","id":$id,"result":{"tools":[]}}']
        [[on]]
        method = "tools/call"
        remember = "changed"
        say = [
          '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
          '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}',
          '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://a/b"}}',
          '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://z"}}',
          '{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}',
        ]
        "#,
    );
    ask(&mut peer, 1, "tools/list", "", "{}");
    let listed = answer(&mut peer, 1)["result"].clone();
    assert_eq!(listed["tools"][0]["name"], "__rea__health");
    assert_eq!(listed["tools"][1]["name"], "s__echo");
    assert_eq!(
        (&listed["ttlMs"], &listed["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    let filter = r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["x://a"]}"#;
    ask(&mut peer, 7, "subscriptions/listen", filter, "{}");
    let first = peer.wait("acknowledged");
    assert!(
        first.contains(r#""io.modelcontextprotocol/subscriptionId":7"#),
        "{first}"
    );
    ask(&mut peer, 2, "tools/call", r#""name":"s__echo""#, "{}");
    answer(&mut peer, 2);
    for text in [
        "notifications/tools/list_changed",
        "notifications/resources/updated",
    ] {
        let line = peer.wait(text);
        assert!(
            line.contains(r#""io.modelcontextprotocol/subscriptionId":7"#),
            "{line}"
        );
    }
    let seen = peer.finish();
    assert!(
        !seen
            .iter()
            .any(|line| line.contains("x://z") || line.contains("prompts")),
        "{seen:#?}"
    );
    let end = seen.iter().find(|line| line.contains(r#""id":7"#)).unwrap();
    assert!(end.contains(r#""resultType":"complete""#), "{end}");
}

#[test]
fn the_gateway_says_what_it_is_in_either_era() {
    let root = tempfile::tempdir().unwrap();
    let mut peer = start(root.path(), "");
    ask(&mut peer, 1, "server/discover", "", "{}");
    let found = answer(&mut peer, 1)["result"].clone();
    assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(found["resultType"], "complete");
    peer.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#);
    let refused = answer(&mut peer, 2)["error"].clone();
    assert_eq!(refused["code"], -32022);
    assert_eq!(refused["data"]["requested"], "2099-01-01");
    peer.send(r#"{"jsonrpc":"2.0","id":3,"method":"server/discover"}"#);
    assert_eq!(answer(&mut peer, 3)["error"]["code"], -32601);
    peer.finish();
}

#[test]
fn what_servers_say_about_themselves_is_in_the_first_answer() {
    let root = tempfile::tempdir().unwrap();
    let mut peer = start_all(
        root.path(),
        &[
            ("a", "instructions = 'Ask \"a\" first.'"),
            ("b", "instructions = 'Then b.'"),
            ("c", "[[on]]\nmethod = \"initialize\"\nthen = \"hang\""),
        ],
    );
    peer.open("2025-11-25", "{}");
    let opened: Value = serde_json::from_str(&peer.wait(r#""id":"open""#)).unwrap();
    let said = opened["result"]["instructions"].as_str().unwrap();
    assert!(
        said.ends_with("\n\n## a\n\nAsk \"a\" first.\n\n## b\n\nThen b."),
        "{said}"
    );
    assert!(said.contains("missing here: c."), "{said}");
    assert!(opened["result"]["capabilities"]["tasks"].is_null());
    ask(&mut peer, 1, "server/discover", "", "{}");
    let discovered = answer(&mut peer, 1);
    let said = discovered["result"]["instructions"].as_str().unwrap();
    assert!(said.contains("## b\n\nThen b."), "{said}");
    peer.finish();
}

#[test]
fn a_task_is_asked_about_where_it_is() {
    let root = tempfile::tempdir().unwrap();
    let has_tasks = r#"
        capabilities = '{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}'
        [[on]]
        method = "tools/call"
        say = ['{"jsonrpc":"2.0","id":$id,"result":{"task":{"taskId":"t","status":"working","ttl":null}}}',
          '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":0.50}}']
        [[on]]
        method = "tasks/get"
        say = ['{"jsonrpc":"2.0","id":$id,"result":{"taskId":"t","status":"completed","saw":$params}}']
    "#;
    let mut peer = start_all(root.path(), &[("a", ""), ("b", has_tasks)]);
    peer.open("2025-11-25", "{}");
    let opened: Value = serde_json::from_str(&peer.wait(r#""id":"open""#)).unwrap();
    assert_eq!(
        opened["result"]["capabilities"]["tasks"],
        json!({ "cancel": {}, "requests": { "tools": { "call": {} } } })
    );
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b__echo","task":{"ttl":60000},"_meta":{"progressToken":"p"}}}"#);
    assert_eq!(answer(&mut peer, 1)["result"]["task"]["taskId"], "t");
    // Its progress goes on after the call was answered.
    peer.wait(r#""progressToken":"p","progress":0.50"#);
    let tasks = |peer: &mut Peer, id: u64, method: &str, task: &str| {
        peer.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"taskId":{task}}}}}"#
        ));
        answer(peer, id)
    };
    let got = tasks(&mut peer, 2, "tasks/get", "\"t\"");
    assert_eq!(got["result"]["saw"], json!({ "taskId": "t" }));
    // The server's own words.
    let refused = tasks(&mut peer, 3, "tasks/cancel", "\"t\"");
    assert_eq!(refused["error"]["message"], "Method not found");
    for (id, task) in [(4, "\"unknown\""), (5, "7")] {
        let refused = tasks(&mut peer, id, "tasks/get", task);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let refused = tasks(&mut peer, 6, "tasks/list", "\"t\"");
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    peer.finish();
    // Before that version there were none.
    let mut peer = start_all(root.path(), &[("a", ""), ("b", has_tasks)]);
    peer.open("2025-06-18", "{}");
    assert!(!peer.wait(r#""id":"open""#).contains("tasks"));
    peer.finish();
}

#[test]
fn a_resource_that_is_not_there_is_said_so_in_the_words_of_the_client() {
    let with_resources = r#"
        capabilities = '{"resources":{}}'
        [[on]]
        method = "resources/list"
        say = ['{"jsonrpc":"2.0","id":$id,"result":{"resources":[]}}']
        [[on]]
        method = "resources/templates/list"
        say = ['{"jsonrpc":"2.0","id":$id,"result":{"resourceTemplates":[]}}']
        [[on]]
        method = "resources/read"
        say = ['{"jsonrpc":"2.0","id":$id,"error":{"message":"Resource not found","code":-32002,"data":{"uri":"x://a"}}}']
    "#;
    let root = tempfile::tempdir().unwrap();
    let mut peer = start(root.path(), with_resources);
    peer.open("2025-11-25", "{}");
    peer.send(r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x://a"}}"#);
    assert_eq!(answer(&mut peer, 1)["error"]["code"], -32002);
    ask(&mut peer, 2, "resources/read", r#""uri":"x://a""#, "{}");
    let error = answer(&mut peer, 2)["error"].clone();
    assert_eq!(error["code"], -32602);
    assert_eq!(error["data"]["uri"], "x://a");
    peer.finish();
}

#[test]
fn notifications_that_a_server_cannot_take_do_not_count_against_it() {
    let root = tempfile::tempdir().unwrap();
    let mut peer = start(
        root.path(),
        r#"
        stateless = true
        [[on]]
        method = "tools/call"
        say = ['{"jsonrpc":"2.0","id":$id,"result":{"resultType":"complete","content":[]}}']
        "#,
    );
    peer.open("2025-11-25", "{}");
    let call = |peer: &mut Peer, id: u64| {
        peer.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"s__echo","arguments":{{}}}}}}"#
        ));
        answer(peer, id)
    };
    assert_eq!(call(&mut peer, 1)["result"]["content"], json!([]));
    // More than open the circuit breaker.
    for _ in 0..12 {
        peer.send(r#"{"jsonrpc":"2.0","method":"notifications/vendor"}"#);
    }
    let log = || std::fs::read_to_string(root.path().join(".rea/audit.jsonl")).unwrap();
    let judged = || log().matches("\"phase\":\"finished\"").count() >= 13;
    let patience = std::time::Instant::now() + peer::PATIENCE;
    while !judged() && std::time::Instant::now() < patience {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(judged(), "{}", log());
    assert_eq!(call(&mut peer, 2)["result"]["content"], json!([]));
    peer.finish();
}
