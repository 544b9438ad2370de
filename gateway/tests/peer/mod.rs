//! What the tests of the wire have in common: a client that writes and reads raw lines.
#![allow(dead_code, reason = "not every test uses everything")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

/// How long anything in a test may take before it counts as hanging, on a machine that is busy with much else.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// How much of what a peer last said on standard error is kept, in bytes.
const LAST_WORDS: usize = 16 * 1024;

/// A peer on the other end of a pipe, driven by raw lines.
pub(crate) struct Peer {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    /// Every line that arrived, in order.
    pub(crate) seen: Vec<String>,
    /// What it last said on standard error, for whoever reads why a test failed.
    said: Arc<Mutex<Vec<u8>>>,
}

impl Peer {
    /// Starts a program.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        let input = child.stdin.take();
        let said = keep_last_words(child.stderr.take().unwrap());
        let (to, lines) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                match output.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {
                        if to.send(line).is_err() {
                            return;
                        }
                    }
                }
            }
        });
        Self {
            child,
            input,
            lines,
            seen: Vec::new(),
            said,
        }
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().unwrap()).into_owned()
    }

    /// Writes a line.
    pub(crate) fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Writes bytes. A peer that is gone already is not an error here.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        if let Some(input) = &mut self.input {
            let _gone = input.write_all(bytes).and_then(|()| input.flush());
        }
    }

    /// Closes the peer's standard input.
    pub(crate) fn end(&mut self) {
        self.input = None;
    }

    /// Returns the next line, or `None` when no more come.
    pub(crate) fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                let line = String::from_utf8(line).unwrap();
                let line = line.strip_suffix('\n').unwrap_or(&line).to_owned();
                self.seen.push(line.clone());
                Some(line)
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                let said = self.said();
                panic!(
                    "no line for {PATIENCE:?}; so far: {:#?}; it said: {said}",
                    self.seen
                )
            }
        }
    }

    /// Reads on until a line holds `text`, and returns it. Lines that came before count too.
    pub(crate) fn wait(&mut self, text: &str) -> String {
        if let Some(line) = self.seen.iter().find(|line| line.contains(text)) {
            return line.clone();
        }
        while let Some(line) = self.line() {
            if line.contains(text) {
                return line;
            }
        }
        let ended = self.child.try_wait();
        let said = self.said();
        panic!(
            "the peer ended ({ended:?}) before it wrote {text}; it wrote {:#?} and said: {said}",
            self.seen
        );
    }

    /// Opens a session, as version `version` with these capabilities.
    pub(crate) fn open(&mut self, version: &str, capabilities: &str) {
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":"open","method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"test","version":"1"}}}}}}"#
        ));
        self.wait(r#""id":"open""#);
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// Closes the peer's input, reads the rest and waits for its end.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.end();
        while self.line().is_some() {}
        self.child.wait().unwrap();
        self.seen
    }
}

/// Returns the members of `_meta` of a request without a session.
pub(crate) fn meta(capabilities: &str) -> String {
    format!(
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"test","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{capabilities}"#
    )
}

/// Reads standard error to its end, and keeps the last of it.
fn keep_last_words(stderr: ChildStderr) -> Arc<Mutex<Vec<u8>>> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&said);
    let mut stderr = BufReader::new(stderr);
    thread::spawn(move || {
        while let Ok(piece @ [_, ..]) = stderr.fill_buf() {
            let length = piece.len();
            let mut kept = kept.lock().unwrap();
            kept.extend_from_slice(piece);
            let surplus = kept.len().saturating_sub(LAST_WORDS);
            kept.drain(..surplus);
            stderr.consume(length);
        }
    });
    said
}

/// Returns the path of the scripted server.
pub(crate) fn scripted_server() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_rea"))
        .with_file_name("examples")
        .join("scripted_server");
    assert!(path.exists(), "build the examples first: cargo test does");
    path
}

/// Returns the command that serves the project in `root`.
pub(crate) fn gateway(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rea"));
    command
        .arg("serve")
        .current_dir(root)
        .env("XDG_STATE_HOME", root.join("state"));
    command
}

/// Writes a policy of this level into `root`.
pub(crate) fn policy(root: &Path, level: &str) {
    let text = format!(
        "version: \"1\"\nprofile: test\ninstalled_by: test\ninstalled_at: now\n\
         autonomy_level: {level}\nmax_autonomy_level: L3\n\
         promotion_requires_human_approval: true\nblocked_paths: []\n"
    );
    std::fs::create_dir_all(root.join(".rea")).unwrap();
    // In one step, as a gateway may be reading it.
    let new = root.join(".rea/policy.new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, root.join(".rea/policy.yaml")).unwrap();
}

/// Writes a registry with these servers, each a name and its command line, into `root`. `more` is
/// added to every server. The policy beside it lets everything pass.
pub(crate) fn registry(root: &Path, servers: &[(&str, &[&str])], more: &str) {
    let mut text = String::from("version: \"1\"\nservers:\n");
    for (name, line) in servers {
        let quoted = |text: &&str| format!("{text:?}");
        let (command, args) = line.split_first().unwrap();
        let args: Vec<String> = args.iter().map(quoted).collect();
        let args = args.join(", ");
        let entry =
            format!("  - name: {name}\n    command: {command:?}\n    args: [{args}]\n{more}");
        text.push_str(&entry);
    }
    std::fs::create_dir_all(root.join(".rea")).unwrap();
    std::fs::write(root.join(".rea/registry.yaml"), text).unwrap();
    policy(root, "L3");
}
