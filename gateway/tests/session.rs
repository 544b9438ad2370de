//! Whole sessions of an agent: real lines, a real shell, real files, every level, a halt in between.
#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may panic and print"
)]

mod peer;

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Output},
};

use peer::Peer;
use serde_json::{Value, json};

/// Returns the folder with the servers that we did not write, or says that the test is skipped.
fn peers() -> Option<PathBuf> {
    if let Some(folder) = env::var_os("REA_PEERS") {
        return Some(PathBuf::from(folder));
    }
    skip("REA_PEERS, a folder filled by tests/real/install");
    None
}

/// Says that a test is skipped, which must not be where everything is installed.
fn skip(needs: &str) {
    println!("skipped: needs {needs}");
    assert!(env::var_os("CI").is_none_or(|ci| ci != "true"), "{needs}");
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skip(program);
    }
    found
}

fn file(name: &str) -> String {
    format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A project with a shell server, whose lines run in `work`.
struct Project(tempfile::TempDir);

impl Project {
    fn new(level: &str) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        let work = project.at("work");
        fs::create_dir(&work).unwrap();
        fs::write(work.join("notes.txt"), "alpha one\nbeta two\nalpha three\n").unwrap();
        fs::write(work.join("other.txt"), "alpha\n").unwrap();
        fs::write(work.join(".env"), "TOKEN=secret\n").unwrap();
        fs::write(project.at("seen"), "").unwrap();
        project.register("");
        peer::policy(project.0.path(), level);
        project
    }

    fn at(&self, name: &str) -> PathBuf {
        // As the child sees it: `pwd` and the like go by the real path.
        fs::canonicalize(self.0.path()).unwrap().join(name)
    }

    /// Writes the registry: the shell, and more entries.
    fn register(&self, more: &str) {
        let text = format!(
            "version: \"1\"\nservers:\n  - name: sh\n    command: python3\n    args: [\"{}\", \"{}\"]\n    \
             cwd: work\n    env: {{PATH: /usr/bin:/bin, LC_ALL: C.UTF-8, HOME: /nonexistent}}\n    \
             shell_tools: {{bash: {{argument: command}}}}\n{more}",
            file("real/shell_server.py"),
            self.at("seen").display(),
        );
        fs::create_dir_all(self.at(".rea")).unwrap();
        fs::write(self.at(".rea/registry.yaml"), text).unwrap();
    }

    fn open(&self) -> Peer {
        let mut peer = Peer::start(peer::gateway(self.0.path()));
        peer.open("2025-11-25", "{}");
        peer
    }

    fn rea(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rea"))
            .args(arguments)
            .current_dir(self.0.path())
            .env("XDG_STATE_HOME", self.0.path().join("state"))
            .output()
            .unwrap()
    }

    /// Returns the lines that the shell got.
    fn seen(&self) -> Vec<String> {
        let seen = fs::read_to_string(self.at("seen")).unwrap();
        seen.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Holds the log to the rules, by our own verifier and by the one in Python, and returns the
    /// records of calls.
    fn records(&self) -> Vec<Value> {
        let ours = self.rea(&["audit", "verify"]);
        assert_eq!(ours.status.code(), Some(0), "{ours:?}");
        let log = fs::read_to_string(self.at(".rea/audit.jsonl")).unwrap();
        let second = Command::new("python3")
            .args([
                file("audit/second_verifier.py"),
                self.at(".rea").display().to_string(),
            ])
            .output()
            .unwrap();
        let told = String::from_utf8(second.stdout).unwrap();
        assert_eq!(told, format!("intact {}\n", log.lines().count()));
        let records = log.lines().map(|line| serde_json::from_str(line).unwrap());
        records
            .filter(|record: &Value| record["session_id"] != "system")
            .collect()
    }
}

fn ask(peer: &mut Peer, id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let request =
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string();
    peer.send(&request);
    loop {
        let answer: Value = serde_json::from_str(&peer.line().unwrap()).unwrap();
        if answer["id"] == id {
            return answer["result"].clone();
        }
    }
}

/// Returns what became of a call in one word: `passed`, `level`, the code of a refused line, or the
/// code of the denial.
fn word(result: &Value) -> String {
    let denial = &result["_meta"]["rea/denial"];
    let code = denial["code"].as_str().unwrap_or("passed");
    let word = match code {
        "tier-exceeds-autonomy" => "level",
        "shell-refused" => denial["shell"]["code"].as_str().unwrap(),
        other => other,
    };
    word.to_owned()
}

#[test]
fn real_lines_pass_or_are_denied_at_every_level_and_only_those_that_pass_are_run() {
    if !has("python3") || !has("git") {
        return;
    }
    let rows: Vec<Vec<&str>> = include_str!("data/session.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
        .collect();
    assert!(rows.len() >= 50, "only {} rows", rows.len());
    let mut wrong = Vec::new();
    for (column, level) in ["L0", "L1", "L2", "L3"].into_iter().enumerate() {
        let project = Project::new(level);
        let mut peer = project.open();
        let mut expected = Vec::new();
        for (id, row) in (1..).zip(&rows) {
            let result = ask(&mut peer, id, "sh__bash", &json!({"command": row[0]}));
            let (want, got) = (row[column + 1], word(&result));
            if got != want {
                wrong.push(format!("{level} {}: want {want}, got {got}", row[0]));
            }
            if got == "passed" {
                expected.push(row[0].to_owned());
            }
            let told = result.to_string();
            let denied = result["_meta"]["rea/denial"].is_object();
            if denied && told.contains(project.0.path().to_str().unwrap()) {
                wrong.push(format!("{level} {}: a path is in {told}", row[0]));
            }
        }
        peer.finish();
        if project.seen() != expected {
            wrong.push(format!("{level}: the shell got {:?}", project.seen()));
        }
        if level == "L0" {
            let text = fs::read_to_string(project.at("work/notes.txt")).unwrap();
            assert_eq!(text, "alpha one\nbeta two\nalpha three\n");
            assert_eq!(fs::read_dir(project.at("work")).unwrap().count(), 3);
        }
        wrong.extend(of_records(&project, &rows, column));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Holds the records of a session over the table against its rows.
fn of_records(project: &Project, rows: &[Vec<&str>], column: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut records = project.records().into_iter();
    for row in rows {
        let Some(mut record) = records.next() else {
            wrong.push(format!("{}: no record", row[0]));
            continue;
        };
        let tier = record["tier"].as_str().unwrap().to_owned();
        if record["metadata"]["phase"] == "started" {
            let finished = records.next().unwrap_or_default();
            if finished["metadata"]["call_id"] != record["metadata"]["call_id"] {
                wrong.push(format!("{}: no partner", row[0]));
            }
            record = finished;
        } else if tier != "read" && row[column + 1] == "passed" {
            wrong.push(format!("{}: nothing says that it started", row[0]));
        }
        let status = if row[column + 1] == "passed" {
            "allowed"
        } else {
            "denied"
        };
        if record["status"] != status {
            wrong.push(format!("{}: {}", row[0], record["status"]));
        }
        let shell = &record["metadata"]["shell"];
        let code = shell["code"].as_str().unwrap_or("plain");
        let refused = !["passed", "level"].contains(&row[column + 1]);
        if refused
            && (code != row[column + 1] || !shell["span"].is_array() || tier != "destructive")
        {
            wrong.push(format!("{}: {record}", row[0]));
        }
    }
    wrong
}

#[test]
fn an_agent_works_on_files_and_in_a_shell_until_a_halt_and_after_it() {
    let Some(peers) = peers() else { return };
    if !has("python3") {
        return;
    }
    let project = Project::new("L0");
    let script = peers.join("node/node_modules/.bin/mcp-server-filesystem");
    project.register(&format!(
        "  - name: fs\n    command: node\n    args: [\"{}\", \"{}\"]\n",
        script.display(),
        project.at("work").display(),
    ));
    let mut peer = project.open();
    let path = |name: &str| json!(project.at("work").join(name));
    let write = |name: &str| {
        let arguments = json!({"path": path(name), "content": "from the agent\n"});
        ("fs__write_file", arguments)
    };
    let folder = |name: &str| ("fs__create_directory", json!({"path": path(name)}));
    let line = |text: &str| ("sh__bash", json!({"command": text}));
    let read = |name: &str| ("fs__read_text_file", json!({"path": path(name)}));
    let health = || ("__rea__health", json!({}));
    // What happens to the project first; then the call, and what becomes of it.
    let steps = [
        ("", read("notes.txt"), "passed"),
        ("", line("grep -c alpha notes.txt"), "passed"),
        ("", folder("sub"), "level"),
        ("", line("touch made"), "level"),
        ("L1", folder("sub"), "passed"),
        // Its server says of itself that it destroys, as it replaces what is there.
        ("", write("new.txt"), "level"),
        ("", line("grep one notes.txt | tee new.txt"), "passed"),
        ("", read("new.txt"), "passed"),
        ("", line("rm new.txt"), "level"),
        ("", line("cat *.txt"), "glob"),
        ("L2", line("sed -i s/one/two/ new.txt"), "passed"),
        ("freeze", read("notes.txt"), "halted"),
        ("", folder("late"), "halted"),
        ("", line("touch late"), "halted"),
        ("", line("ls"), "halted"),
        ("", health(), "passed"),
        ("L3", line("touch late"), "halted"),
        ("unfreeze", line("rm new.txt"), "passed"),
        ("", line("ls; ls"), "list"),
        ("", write("last.txt"), "passed"),
        ("L0", folder("late"), "level"),
        ("", read("last.txt"), "passed"),
        ("", ("fs__no_such_tool", json!({})), "level"),
        ("", ("nobody__get_x", json!({})), "server-unknown"),
    ];
    let mut wrong = Vec::new();
    for (id, (before, (tool, arguments), want)) in (1..).zip(&steps) {
        match *before {
            "" => {}
            "freeze" | "unfreeze" => {
                let done = project.rea(&[before, "--reason", "a-secret-reason"]);
                assert!(done.status.success(), "{done:?}");
            }
            level => peer::policy(project.0.path(), level),
        }
        let got = word(&ask(&mut peer, id, tool, arguments));
        if got != *want {
            wrong.push(format!("{id} {tool} {arguments}: want {want}, got {got}"));
        }
    }
    let told = peer.finish().join("\n");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!told.contains("a-secret-reason"));

    let mut left: Vec<_> = fs::read_dir(project.at("work"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    let want = [".env", "last.txt", "notes.txt", "other.txt", "sub"];
    assert_eq!(left, want, "what was denied did not happen");

    let records = project.records();
    let count = |key: &str, value: &str| {
        let of = records
            .iter()
            .filter(|record| record[key] == value || record["metadata"][key] == value);
        of.count()
    };
    assert_eq!(count("phase", "started"), 5);
    assert_eq!(count("phase", "finished"), 5);
    assert_eq!(count("reason_code", "halted"), 5);
    assert_eq!(count("status", "error"), 0);
    // Two records for each call that changed something, one for each other, and the halt's own two.
    assert_eq!(records.len(), steps.len() + 5 + 2);
}
