//! One way to the server, and what is asked along it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

/// A process that answers on a pipe.
pub(crate) struct Lane {
    pub(crate) name: &'static str,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What stands before the names of tools.
    prefix: &'static str,
    line: Vec<u8>,
    last: u64,
}

impl Lane {
    /// Starts a command and opens a session.
    pub(crate) fn open(name: &'static str, prefix: &'static str, command: Command) -> Self {
        let mut lane = Self::start(name, prefix, command);
        lane.introduce();
        lane
    }

    /// Starts a command.
    pub(crate) fn start(name: &'static str, prefix: &'static str, mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            name,
            input: child.stdin.take().unwrap(),
            output: BufReader::with_capacity(64 * 1024, child.stdout.take().unwrap()),
            child,
            prefix,
            line: Vec::new(),
            last: 0,
        }
    }

    /// Opens a session and asks for the tools.
    pub(crate) fn introduce(&mut self) {
        self.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#);
        self.answer(0);
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let id = self.request("tools/list", "{}");
        self.answer(id);
    }

    /// Calls a tool and waits for its answer; returns how long that took.
    pub(crate) fn call(&mut self, tool: &str, arguments: &str) -> Duration {
        let begin = Instant::now();
        let id = self.ask(tool, arguments);
        self.answer(id);
        begin.elapsed()
    }

    /// Calls a tool this often, with so many calls open at a time; returns how long all of it took.
    pub(crate) fn calls(&mut self, tool: &str, arguments: &str, all: u64, open: u64) -> Duration {
        let begin = Instant::now();
        let mut asked = 0;
        while asked < open.min(all) {
            self.ask(tool, arguments);
            asked += 1;
        }
        for _ in 0..all {
            self.any_answer();
            if asked < all {
                self.ask(tool, arguments);
                asked += 1;
            }
        }
        begin.elapsed()
    }

    fn ask(&mut self, tool: &str, arguments: &str) -> u64 {
        let params = format!(
            r#"{{"name":"{}{tool}","arguments":{arguments}}}"#,
            self.prefix
        );
        self.request("tools/call", &params)
    }

    fn request(&mut self, method: &str, params: &str) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
        id
    }

    fn send(&mut self, line: &str) {
        self.input
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
    }

    /// Reads on until the answer to this request, which must be a result.
    fn answer(&mut self, id: u64) {
        let id = format!("\"id\":{id},");
        loop {
            self.next();
            let head = self.line.get(..200).unwrap_or(&self.line);
            let head = String::from_utf8_lossy(head);
            if head.contains(&id) {
                self.check();
                return;
            }
        }
    }

    fn any_answer(&mut self) {
        loop {
            self.next();
            if !self.line.starts_with(br#"{"jsonrpc":"2.0","method""#) {
                return self.check();
            }
        }
    }

    fn next(&mut self) {
        self.line.clear();
        let read = self.output.read_until(b'\n', &mut self.line).unwrap();
        assert!(read > 0, "{} has ended", self.name);
    }

    fn check(&self) {
        let line = &self.line;
        let head = String::from_utf8_lossy(line.get(..400).unwrap_or(line));
        assert!(
            head.contains("\"result\"") && !head.contains("isError"),
            "{}: {head}",
            self.name
        );
    }

    /// Returns the time that all threads of the process have had on a processor.
    pub(crate) fn processor_time(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let of = |path: &Path| -> Option<u64> {
            let stat = fs::read_to_string(path.join("schedstat")).ok()?;
            stat.split_whitespace().next()?.parse().ok()
        };
        let all = tasks.flatten().filter_map(|task| of(&task.path())).sum();
        Duration::from_nanos(all)
    }

    /// Returns how much memory the process holds, in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kilobytes * 1024
    }

    /// Closes the input and waits for the end.
    pub(crate) fn close(mut self) {
        drop(self.input);
        self.child.wait().unwrap();
    }
}
