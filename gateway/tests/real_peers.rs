//! Servers and clients that we did not write, direct and through the gateway.
//!
//! They are looked for in the folder `REA_PEERS`: `node/node_modules` with
//! `@modelcontextprotocol/server-everything`, `server-filesystem`, `server-memory`; `py`, a virtual
//! environment with `mcp`, `mcp-server-git` and `mcp-server-time`; `inspector/node_modules` with
//! `@modelcontextprotocol/inspector` and a `node` that is new enough for it; and `rmcp/rmcp-peer`, a
//! client made of the Rust SDK. `tests/real/install` puts them there.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod peer;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use peer::Peer;
use serde_json::{Value, json};

/// How long to wait before asking again for what a server that is slow to start has not told yet.
const AGAIN: Duration = Duration::from_millis(500);

/// Returns the folder with the peers, or says that the test is skipped.
fn peers() -> Option<PathBuf> {
    if let Some(folder) = env::var_os("REA_PEERS") {
        return Some(PathBuf::from(folder));
    }
    println!("skipped: needs REA_PEERS, a folder filled by tests/real/install");
    assert!(
        env::var_os("CI").is_none_or(|ci| ci != "true"),
        "REA_PEERS must be set where CI is"
    );
    None
}

/// A real server and what is asked of it.
struct Server {
    name: &'static str,
    command: Vec<String>,
    /// Tools and their arguments.
    calls: Vec<(&'static str, Value)>,
    /// Other requests: method and parameters.
    asks: Vec<(&'static str, Value)>,
    /// Whether it also speaks without sessions.
    both: bool,
}

fn servers(peers: &Path, work: &Path) -> Vec<Server> {
    let node = |name: &str, more: &[&Path]| {
        let script = peers.join("node/node_modules/.bin").join(name);
        let mut command = vec!["node".to_owned(), script.display().to_string()];
        command.extend(more.iter().map(|path| path.display().to_string()));
        command
    };
    let python = |name: &str, more: &[&str]| {
        let mut command = vec![peers.join("py/bin").join(name).display().to_string()];
        command.extend(more.iter().map(|text| (*text).to_owned()));
        command
    };
    let files = work.join("files");
    fs::create_dir_all(&files).unwrap();
    fs::write(files.join("a.txt"), "text with \u{e9} and \u{1f600}\n").unwrap();
    let files = files.canonicalize().unwrap();
    let repository = work.join("repository");
    let made = Command::new("git")
        .args(["init", "-q", "-b", "main"])
        .arg(&repository)
        .status();
    assert!(made.unwrap().success());
    vec![
        Server {
            name: "everything",
            command: node("mcp-server-everything", &[]),
            calls: vec![
                ("echo", json!({ "message": "\u{e9}\u{1f600}" })),
                ("get-sum", json!({ "a": 1.5, "b": 2 })),
                ("get-tiny-image", json!({})),
                ("get-structured-content", json!({ "location": "New York" })),
                (
                    "get-annotated-message",
                    json!({ "messageType": "error", "includeImage": true }),
                ),
                ("get-resource-links", json!({ "count": 3 })),
                ("echo", json!({ "wrong": 1 })),
                ("no-such-tool", json!({})),
            ],
            asks: vec![
                ("prompts/get", json!({ "name": "%simple-prompt" })),
                ("prompts/get", json!({ "name": "%no-such-prompt" })),
                (
                    "completion/complete",
                    json!({
                        "ref": { "type": "ref/prompt", "name": "%completable-prompt" },
                        "argument": { "name": "department", "value": "E" },
                    }),
                ),
                (
                    "resources/read",
                    json!({ "uri": "demo://resource/static/document/features.md" }),
                ),
                ("resources/read", json!({ "uri": "demo://nowhere" })),
                ("logging/setLevel", json!({ "level": "error" })),
                ("no/such/method", json!({})),
            ],
            both: false,
        },
        tools_only(
            "filesystem",
            node("mcp-server-filesystem", &[&files]),
            vec![
                ("read_text_file", json!({ "path": files.join("a.txt") })),
                ("list_directory", json!({ "path": files })),
                ("read_text_file", json!({ "path": "/etc/passwd" })),
            ],
            false,
        ),
        tools_only(
            "memory",
            node("mcp-server-memory", &[]),
            vec![
                ("search_nodes", json!({ "query": "nothing that is there" })),
                ("open_nodes", json!({ "names": ["nobody"] })),
            ],
            false,
        ),
        tools_only(
            "git",
            python(
                "mcp-server-git",
                &["--repository", repository.to_str().unwrap()],
            ),
            vec![
                ("git_status", json!({ "repo_path": repository })),
                ("git_log", json!({ "repo_path": "/nowhere" })),
            ],
            true,
        ),
        tools_only(
            "time",
            python("mcp-server-time", &["--local-timezone", "UTC"]),
            vec![(
                "convert_time",
                json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Nowhere" }),
            )],
            true,
        ),
    ]
}

fn tools_only(
    name: &'static str,
    command: Vec<String>,
    calls: Vec<(&'static str, Value)>,
    both: bool,
) -> Server {
    Server {
        name,
        command,
        calls,
        asks: Vec::new(),
        both,
    }
}

/// Writes a registry in front of one server and returns the command for it.
fn behind(root: &Path, server: &Server) -> Command {
    let line: Vec<&str> = server.command.iter().map(String::as_str).collect();
    peer::registry(root, &[("s", &line)], "");
    peer::gateway(root)
}

fn direct(server: &Server) -> Command {
    let (program, arguments) = server.command.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Asks everything and returns the answers, by what was asked, as they were written.
fn ask(server: &Server, command: Command, prefix: &str, stateless: bool) -> Vec<(String, String)> {
    let mut peer = Peer::start(command);
    if !stateless {
        peer.open("2025-11-25", "{}");
    }
    let mut all: Vec<(String, Value)> = [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ]
    .map(|method| (method.to_owned(), json!({})))
    .to_vec();
    if server.name != "everything" {
        all.truncate(1); // a server without prompts says so, a gateway has none to list
    }
    for (tool, arguments) in &server.calls {
        let params = json!({ "name": format!("%{tool}"), "arguments": arguments });
        all.push(("tools/call".to_owned(), params));
    }
    all.extend(
        server
            .asks
            .iter()
            .map(|(method, params)| ((*method).to_owned(), params.clone())),
    );
    if !prefix.is_empty() {
        // A server that is slow to start is listed later, and this compares what is listed.
        for id in 1000.. {
            peer.send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":{{{}}}}}}}"#,
                if stateless { peer::meta("{}") } else { String::new() }
            ));
            let listed = peer.wait(&format!("\"id\":{id},"));
            if listed.contains(&format!("\"{prefix}")) {
                break;
            }
            assert!(id < 1100, "nothing is ever listed of {}", server.name);
            std::thread::sleep(AGAIN);
        }
    }
    let mut answers = Vec::new();
    for (id, (method, params)) in (100..).zip(all) {
        let mut params = params.to_string();
        if stateless {
            let comma = if params == "{}" { "" } else { "," };
            let meta = peer::meta("{}");
            params = format!(
                "{{\"_meta\":{{{meta}}}{comma}{}",
                params.strip_prefix('{').unwrap()
            );
        }
        let asked = format!("{method} {params}");
        let params = params.replace("\"%", &format!("\"{prefix}"));
        peer.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
        let line = loop {
            let line = peer.line().unwrap();
            if line.contains(&format!("\"id\":{id}")) {
                break line;
            }
        };
        let line = line.replace(&format!("\"{prefix}"), "\"");
        answers.push((asked, line));
    }
    peer.end();
    let _ended = peer.child.kill();
    peer.child.wait().unwrap();
    answers
}

/// What may differ in an answer of a server, and why.
fn same(asked: &str, direct: &str, through: &str) -> bool {
    if direct == through {
        return true;
    }
    if !asked.contains("/list ") {
        return false;
    }
    // Lists are put together anew: what they hold is the same, what is around it is ours.
    let entries = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap();
        let result = answer.get("result").cloned().unwrap_or_default();
        let keys = ["tools", "prompts", "resources", "resourceTemplates"];
        keys.map(|key| {
            let mut list = result.get(key)?.as_array()?.clone();
            // The gateway's own tool.
            list.retain(|entry| entry.get("name").and_then(Value::as_str) != Some("__rea__health"));
            Some(list)
        })
    };
    entries(direct) == entries(through)
}

#[test]
fn real_servers_answer_the_same_through_the_gateway() {
    let Some(peers) = peers() else { return };
    let work = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for server in servers(&peers, work.path()) {
        for stateless in [false, true] {
            if stateless && !server.both {
                continue;
            }
            let root = tempfile::tempdir().unwrap();
            let alone = ask(&server, direct(&server), "", stateless);
            let through = ask(&server, behind(root.path(), &server), "s__", stateless);
            assert!(!alone.is_empty());
            for ((asked, one), (_, other)) in alone.iter().zip(&through) {
                if !same(asked, one, other) {
                    wrong.push(format!(
                        "{} {asked}\n  direct  {one}\n  through {other}",
                        server.name
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_real_client_sees_the_same_in_both_eras() {
    let Some(peers) = peers() else { return };
    let work = tempfile::tempdir().unwrap();
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/sdk_client.py");
    let mut wrong = Vec::new();
    for server in servers(&peers, work.path()) {
        let calls: Vec<Value> = (server.calls.iter())
            .filter(|(tool, _)| *tool != "no-such-tool")
            .map(|(tool, arguments)| json!([tool, arguments]))
            .collect();
        let root = tempfile::tempdir().unwrap();
        let run = |mode: &str, prefix: &str, command: &[String]| {
            let output = Command::new(peers.join("py/bin/python"))
                .arg(&client)
                .args([mode, prefix, &json!(calls).to_string(), "--"])
                .args(command)
                .current_dir(root.path())
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(
                output.status.success(),
                "{} {mode}: {}",
                server.name,
                String::from_utf8_lossy(&output.stderr)
            );
            text
        };
        behind(root.path(), &server);
        let gateway = [env!("CARGO_BIN_EXE_rea").to_owned(), "serve".to_owned()];
        let modes: &[&str] = if server.both {
            &["legacy", "2026-07-28"]
        } else {
            &["legacy"]
        };
        for mode in modes {
            let (one, other) = (run(mode, "", &server.command), run(mode, "s__", &gateway));
            assert!(one.lines().count() >= 2, "{one}");
            for (one, other) in one.lines().zip(other.lines()) {
                if one != other {
                    wrong.push(format!(
                        "{} {mode}\n  direct  {one}\n  through {other}",
                        server.name
                    ));
                }
            }
        }
        // A client without sessions in front of a server that only has them.
        if !server.both {
            let other = run("2026-07-28", "s__", &gateway);
            let one = run("legacy", "", &server.command);
            let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
            if first(&one) != first(&other) {
                wrong.push(format!(
                    "{} bridged\n  direct  {}\n  through {}",
                    server.name,
                    first(&one),
                    first(&other)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Runs a client and returns what it printed, which must be something.
fn printed(command: &mut Command, what: &str) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {said}");
    assert!(!output.stdout.is_empty(), "{what} printed nothing: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Removes the gateway's prefix and its own tool from what a client printed.
fn own_removed(printed: &str) -> Value {
    let printed = printed.replace("\"s__", "\"");
    let mut value: Value = serde_json::from_str(&printed).unwrap();
    if let Some(tools) = value.get_mut("tools").and_then(Value::as_array_mut) {
        tools.retain(|tool| tool.get("name").and_then(Value::as_str) != Some("__rea__health"));
    }
    value
}

/// Whether a client was told that there is nothing of the kind.
fn is_empty_list(value: &Value) -> bool {
    let keys = ["tools", "prompts", "resources"];
    let mut lists = keys.iter().filter_map(|key| value.get(key)?.as_array());
    lists.any(Vec::is_empty)
}

#[test]
fn the_inspector_sees_the_same() {
    let Some(peers) = peers() else { return };
    let work = tempfile::tempdir().unwrap();
    let modules = peers.join("inspector/node_modules");
    let inspect = |server: &[String], root: &Path, asked: &[String]| {
        let mut command = Command::new(modules.join("node/bin/node"));
        command
            .arg(modules.join(".bin/mcp-inspector"))
            .arg("--cli")
            .args(server)
            .args(asked)
            .current_dir(root)
            .env("HOME", root); // it hands that down, and no other place for the keys of the log
        own_removed(&printed(&mut command, &format!("{server:?} {asked:?}")))
    };
    let gateway = [env!("CARGO_BIN_EXE_rea").to_owned(), "serve".to_owned()];
    let compare = |server: &Server| {
        let root = tempfile::tempdir().unwrap();
        behind(root.path(), server);
        let everything = server.name == "everything";
        let asks: &[&[&str]] = if everything {
            &[
                &["tools/list"],
                &["prompts/list"],
                &["resources/list"],
                &[
                    "tools/call",
                    "--tool-arg",
                    "message=hi",
                    "--tool-name",
                    "echo",
                ],
                &["prompts/get", "--prompt-name", "simple-prompt"],
            ]
        } else {
            &[&["tools/list"]]
        };
        let mut wrong = Vec::new();
        for ask in asks {
            let line = |prefix: &str| {
                let mut line: Vec<String> = vec!["--method".to_owned()];
                line.extend(ask.iter().map(|word| (*word).to_owned()));
                // The last word of a call is a name.
                if let (true, Some(name)) = (ask.len() > 1, line.last_mut()) {
                    name.insert_str(0, prefix);
                }
                line
            };
            let one = inspect(&server.command, root.path(), &line(""));
            // It asks once and ends, so a server that is slow to start may be listed the next time only.
            let mut other = Value::Null;
            for _ in 0..5 {
                other = inspect(&gateway, root.path(), &line("s__"));
                if !is_empty_list(&other) {
                    break;
                }
            }
            if one != other {
                wrong.push(format!(
                    "{} {ask:?}\n  direct  {one}\n  through {other}",
                    server.name
                ));
            }
        }
        wrong
    };
    let servers = servers(&peers, work.path());
    let wrong: Vec<String> = servers.iter().flat_map(compare).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_client_of_the_rust_sdk_sees_the_same() {
    let Some(peers) = peers() else { return };
    let work = tempfile::tempdir().unwrap();
    let gateway = [env!("CARGO_BIN_EXE_rea").to_owned(), "serve".to_owned()];
    let mut wrong = Vec::new();
    for server in servers(&peers, work.path()) {
        let root = tempfile::tempdir().unwrap();
        behind(root.path(), &server);
        let calls: Vec<Value> = (server.calls.iter())
            .map(|(tool, arguments)| json!([tool, arguments]))
            .collect();
        let run = |prefix: &str, command: &[String]| {
            let mut client = Command::new(peers.join("rmcp/rmcp-peer"));
            client
                .args(["client", prefix, &json!(calls).to_string()])
                .args(command)
                .current_dir(root.path())
                .env("XDG_STATE_HOME", root.path().join("state"));
            printed(&mut client, server.name)
        };
        let (one, other) = (run("", &server.command), run("s__", &gateway));
        assert_eq!(one.lines().count(), 4 + calls.len(), "{one}");
        assert_eq!(other.lines().count(), 4 + calls.len(), "{other}");
        for (one, other) in one.lines().zip(other.lines()) {
            if one != other {
                wrong.push(format!(
                    "{}\n  direct  {one}\n  through {other}",
                    server.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
