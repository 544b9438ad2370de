//! The server that is asked, and a relay of bytes.

use std::{
    io::{self, BufRead as _, Read, Write},
    process::{Command, Stdio},
    thread,
};

use serde::Deserialize;
use serde_json::value::RawValue;

/// How much the relay reads at once, as much as a pipe holds.
const RELAY_BYTES: usize = 64 * 1024;

/// The tools of the server. By their names, `get_` reads and `put_` writes.
const TOOLS: &str = r#"[{"name":"get_echo","inputSchema":{"type":"object"}},{"name":"put_echo","inputSchema":{"type":"object"}},{"name":"get_large","inputSchema":{"type":"object"}}]"#;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow, default)]
    params: Params<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<&'a str>,
    #[serde(borrow)]
    arguments: Arguments<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    bytes: usize,
}

/// Answers on standard output what comes on standard input, as fast as that goes without tricks.
pub(crate) fn echo() {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let (mut line, mut answer, mut large) = (Vec::new(), Vec::new(), String::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).unwrap() == 0 {
            return;
        }
        let Ok(read) = serde_json::from_slice::<Line<'_>>(&line) else {
            continue;
        };
        let Some(id) = read.id else { continue };
        answer.clear();
        let arguments = read.params.arguments;
        match (read.method, read.params.name) {
            ("initialize", _) => write!(
                answer,
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"echo","version":"1"}}}}}}"#
            ),
            ("tools/list", _) => write!(
                answer,
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{TOOLS}}}}}"#
            ),
            ("tools/call", Some("get_large")) => {
                if large.len() != arguments.bytes {
                    large = "x".repeat(arguments.bytes);
                }
                write!(
                    answer,
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{large}"}}]}}}}"#
                )
            }
            ("tools/call", _) => write!(
                answer,
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{}}}]}}}}"#,
                arguments.text.map_or("null", RawValue::get)
            ),
            _ => write!(
                answer,
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
            ),
        }
        .unwrap();
        answer.push(b'\n');
        if output
            .write_all(&answer)
            .and_then(|()| output.flush())
            .is_err()
        {
            return;
        }
    }
}

/// Passes bytes on between its own standard input and output and those of a command, unread.
pub(crate) fn relay(command: &[String]) {
    let (program, arguments) = command.split_first().unwrap();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    thread::spawn(move || pass(io::stdin().lock(), to));
    pass(from, io::stdout().lock());
    child.wait().unwrap();
}

fn pass(mut from: impl Read, mut to: impl Write) {
    let mut buffer = vec![0; RELAY_BYTES];
    while let Ok(read) = from.read(&mut buffer)
        && let Some(bytes) = buffer.get(..read)
        && !bytes.is_empty()
        && to.write_all(bytes).and_then(|()| to.flush()).is_ok()
    {}
}
