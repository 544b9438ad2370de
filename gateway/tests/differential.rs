//! Plays every script under `scripts/` against a server, and against the same server behind the
//! gateway. The client must get to see the same bytes, ids, the names of tools and the gateway's own
//! tool aside.
//!
//! Where it does not, the script says why under `differs` and what comes instead under `through`.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod peer;

use std::{fs, path::Path, process::Command};

use peer::Peer;
use rea_gateway::gate::HEALTH_ENTRY;

/// How many scripts may show a difference. Raise it only with a reason that holds for ever.
const DIFFERENCES: usize = 13;

/// The fewest scripts there are, so that none gets lost.
const SCRIPTS: usize = 93;

#[derive(Debug, serde::Deserialize)]
#[serde(default)]
struct Script {
    /// What is shown.
    why: String,
    /// The protocol version of the client.
    version: String,
    /// The capabilities of the client.
    client: String,
    /// Whether the client opens a session first. If not, `@` in its lines stands for the members of
    /// `_meta` that every request needs instead.
    session: bool,
    step: Vec<Step>,
    differs: Option<String>,
    through: Vec<String>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            why: String::new(),
            version: "2025-11-25".to_owned(),
            client: "{}".to_owned(),
            session: true,
            step: Vec::new(),
            differs: None,
            through: Vec::new(),
        }
    }
}

/// What the client does.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Step {
    /// Writes a line. `%` stands before the name of a tool or a prompt.
    Send(String),
    /// Reads until a line holds this.
    Wait(String),
    /// Waits for a request with this method and answers it with a result.
    Answer { method: String, result: String },
}

#[test]
fn through_the_gateway_equals_direct() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(
        paths.len() >= SCRIPTS,
        "only {} scripts are left",
        paths.len()
    );
    let next = std::sync::Mutex::new(paths.iter());
    let wrong = std::sync::Mutex::new(Vec::new());
    let differences = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(path) = next.lock().unwrap().next() else {
                        return;
                    };
                    let text = fs::read_to_string(path).unwrap();
                    let script: Script = toml::from_str(&text)
                        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                    if script.differs.is_some() {
                        differences.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                    let compare = std::panic::AssertUnwindSafe(|| compare(path, &script));
                    let fault = std::panic::catch_unwind(compare)
                        .unwrap_or_else(|_| Some("it came to nothing, see above".to_owned()));
                    if let Some(fault) = fault {
                        wrong
                            .lock()
                            .unwrap()
                            .push(format!("{}: {fault}", path.display()));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(
        differences.into_inner(),
        DIFFERENCES,
        "the list of differences has changed"
    );
}

fn compare(path: &Path, script: &Script) -> Option<String> {
    if script.why.is_empty() {
        return Some("it does not say what it shows".to_owned());
    }
    let server = peer::scripted_server();
    let mut direct = Command::new(&server);
    direct.arg(path);
    let direct = play(script, Peer::start(direct), "");

    let root = tempfile::tempdir().unwrap();
    let line = [server.to_str().unwrap(), path.to_str().unwrap()];
    peer::registry(root.path(), &[("s", &line)], "    timeout: 20\n");
    let through = play(script, Peer::start(peer::gateway(root.path())), "s__");

    let same = direct == through;
    if script.differs.is_none() {
        (!same).then(|| first_difference(&direct, &through))
    } else if same {
        Some("it no longer differs; say so".to_owned())
    } else {
        let otherwise = through != script.through;
        otherwise.then(|| format!("differs in another way: {through:#?}"))
    }
}

/// Returns the first line that differs, and how many there are.
fn first_difference(direct: &[String], through: &[String]) -> String {
    let place = direct
        .iter()
        .zip(through)
        .take_while(|(one, other)| one == other)
        .count();
    let (one, other) = (direct.get(place), through.get(place));
    let (all, behind) = (direct.len(), through.len());
    format!("line {place} of {all} and {behind}:\n  direct  {one:?}\n  through {other:?}")
}

/// Plays the script and returns what the client saw, after the answer to `initialize`.
fn play(script: &Script, mut peer: Peer, prefix: &str) -> Vec<String> {
    if script.session {
        peer.open(&script.version, &script.client);
    }
    for step in &script.step {
        match step {
            Step::Send(line) => {
                let meta = peer::meta(&script.client);
                peer.send(&line.replace('%', prefix).replace('@', &meta));
            }
            Step::Wait(text) => {
                peer.wait(text);
            }
            Step::Answer { method, result } => {
                let asked = peer.wait(&format!(r#""method":"{method}""#));
                let asked: serde_json::Value = serde_json::from_str(&asked).unwrap();
                let id = asked.get("id").unwrap();
                peer.send(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
                ));
                for seen in &mut peer.seen {
                    *seen = seen.replace(
                        &format!(r#""method":"{method}""#),
                        &format!(r#""method":"{method}!""#),
                    );
                }
            }
        }
    }
    let seen = peer.finish();
    let opened = |line: &&String| !line.contains(r#""id":"open""#);
    seen.iter()
        .filter(opened)
        .map(|line| without_ids(line, prefix))
        .collect()
}

/// Takes out what may differ: the ids of requests of the server, the prefix of names, and
/// the tool of the gateway itself.
fn without_ids(line: &str, prefix: &str) -> String {
    let mut line = line
        .replace(&format!("{HEALTH_ENTRY},"), "")
        .replace(HEALTH_ENTRY, "")
        .replace(&format!("\"{prefix}"), "\"");
    let Ok(value) = serde_json::from_str::<serde_json::Value>(&line) else {
        return line;
    };
    if value.get("method").is_some() {
        if let Some(id) = value.get("id") {
            line = line.replace(&format!("\"id\":{id}"), "\"id\":#");
        }
        let token = value.pointer("/params/_meta/progressToken");
        if let Some(token) = token.filter(|_| value.get("id").is_some()) {
            line = line.replace(&format!("\"progressToken\":{token}"), "\"progressToken\":#");
        }
        let cancelled = value.pointer("/params/requestId");
        if let Some(id) = cancelled {
            line = line.replace(&format!("\"requestId\":{id}"), "\"requestId\":#");
        }
    }
    line
}
