//! An MCP server that says what a script tells it to say, well-behaved or not. For tests only.
//!
//! Its only argument is a TOML file. For every line that arrives, the first rule that fits is
//! followed; without one, the usual answer is given.
#![expect(clippy::panic, reason = "a test peer may panic on a wrong script")]

use std::{
    collections::HashMap,
    io::{self, BufRead as _, Write as _},
    process, thread,
    time::Duration,
};

use serde::Deserialize;
use serde_json::value::RawValue;

/// What the server does.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Script {
    /// Capabilities to declare, as JSON.
    capabilities: Option<String>,
    /// What to tell the model, if anything.
    instructions: Option<String>,
    /// The entries of `tools/list`, as JSON.
    tools: Option<String>,
    /// Whether `server/discover` is answered, and `initialize` is not.
    stateless: bool,
    /// Whether the end of standard input is ignored.
    deathless: bool,
    on: Vec<Rule>,
}

/// What to do about a line.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rule {
    /// The method of a request or notification; absent for replies.
    method: Option<String>,
    /// Its `name`, `uri` or `cursor`, if that matters.
    name: Option<String>,
    /// The server's own id that is answered, as it was spelled.
    reply: Option<String>,
    /// A name that must have been remembered before.
    after: Option<String>,
    /// How often the rule is followed; for ever if absent.
    times: Option<u32>,
    /// A name for the id of the request, for later.
    remember: Option<String>,
    /// Lines to write. `$id`, `$params`, `$quoted` (the same as a string), `$token`, `$result`,
    /// `$pad` and remembered names are put in.
    say: Vec<String>,
    /// A line to write this often, with `$n` counting.
    repeat: Option<Repeat>,
    /// Lines to write after that.
    finally: Vec<String>,
    /// How many bytes `$pad` has.
    pad: usize,
    /// What to do at last.
    then: Then,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    times: u32,
    line: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Then {
    /// Go on.
    #[default]
    Nothing,
    /// Exit with code 3.
    Exit,
    /// Never read or write again.
    Hang,
    /// Close standard output and stay.
    Close,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut script: Script =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut known: HashMap<String, String> = HashMap::new();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(read) = serde_json::from_str::<Line<'_>>(&line) else {
            continue;
        };
        let place = script.on.iter().position(|rule| fits(rule, &read, &known));
        match place.and_then(|place| script.on.get_mut(place)) {
            Some(rule) => {
                if let Some(times) = &mut rule.times {
                    *times = times.saturating_sub(1);
                }
                follow(rule, &read, &mut known);
            }
            None => usual(&script, &read),
        }
    }
    if script.deathless {
        sleep_for_ever();
    }
}

fn fits(rule: &Rule, line: &Line<'_>, known: &HashMap<String, String>) -> bool {
    let params = line.params.map_or("", RawValue::get);
    let named = |name: &String| {
        let params: serde_json::Value = serde_json::from_str(params).unwrap_or_default();
        ["name", "uri", "cursor", "requestId"].iter().any(|key| {
            let value = params.get(key);
            let spelled = |value: &serde_json::Value| match value.as_str() {
                Some(text) => text.to_owned(),
                None => value.to_string(),
            };
            value.map(spelled).as_ref() == Some(name)
        })
    };
    let id = line.id.map(|id| id.get().to_owned());
    rule.times != Some(0)
        && rule.method == line.method
        && rule
            .after
            .as_ref()
            .is_none_or(|name| known.contains_key(name))
        && rule.name.as_ref().is_none_or(named)
        && (line.method.is_some() || rule.reply == id)
}

fn follow(rule: &Rule, line: &Line<'_>, known: &mut HashMap<String, String>) {
    let raw = |value: Option<&RawValue>| value.map_or("null", RawValue::get).to_owned();
    let id = raw(line.id);
    if let Some(name) = &rule.remember {
        known.insert(name.clone(), id.clone());
    }
    let params = raw(line.params);
    let token = serde_json::from_str::<serde_json::Value>(&params).ok();
    let token =
        token.and_then(|params| Some(params.get("_meta")?.get("progressToken")?.to_string()));
    let pad = "x".repeat(rule.pad);
    let fill = |text: &str| {
        let mut text = text
            .replace(
                "$quoted",
                &serde_json::Value::from(params.as_str()).to_string(),
            )
            .replace("$params", &params)
            .replace("$result", &raw(line.result))
            .replace("$token", token.as_deref().unwrap_or("null"))
            .replace("$pad", &pad)
            .replace("$id", &id);
        for (name, id) in known.iter() {
            text = text.replace(&format!("${name}"), id);
        }
        text
    };
    for text in &rule.say {
        say(&fill(text));
    }
    if let Some(repeat) = &rule.repeat {
        let text = fill(&repeat.line);
        let all: Vec<String> = (1..=repeat.times)
            .map(|n| text.replace("$n", &n.to_string()))
            .collect();
        say(&all.join("\n"));
    }
    for text in &rule.finally {
        say(&fill(text));
    }
    match rule.then {
        Then::Nothing => {}
        Then::Exit => process::exit(3),
        Then::Hang => sleep_for_ever(),
        Then::Close => {
            // Every copy of the descriptor goes, then only the end of input is waited for.
            drop(close());
        }
    }
}

/// Closes standard output by putting `/dev/null` in its place.
fn close() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

fn sleep_for_ever() -> ! {
    loop {
        thread::sleep(Duration::from_mins(1));
    }
}

fn usual(script: &Script, line: &Line<'_>) {
    let (Some(id), Some(method)) = (line.id, line.method.as_deref()) else {
        return;
    };
    let id = id.get();
    let result = |result: &str| {
        say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ));
    };
    let capabilities = script.capabilities.as_deref().unwrap_or(r#"{"tools":{}}"#);
    let instructions = script.instructions.as_ref().map_or(String::new(), |text| {
        format!(
            r#","instructions":{}"#,
            serde_json::Value::from(text.as_str())
        )
    });
    let tools = script.tools.as_deref();
    let tools = tools.unwrap_or(r#"[{"name":"echo","inputSchema":{"type":"object"}}]"#);
    match method {
        "initialize" if !script.stateless => {
            let params: serde_json::Value = line
                .params
                .and_then(|params| serde_json::from_str(params.get()).ok())
                .unwrap_or_default();
            let version = params.get("protocolVersion").cloned().unwrap_or_default();
            result(&format!(
                r#"{{"protocolVersion":{version},"capabilities":{capabilities},"serverInfo":{{"name":"scripted","version":"1"}}{instructions}}}"#
            ));
        }
        "server/discover" if script.stateless => result(&format!(
            r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities},"ttlMs":0,"cacheScope":"private"{instructions}}}"#
        )),
        "ping" => result("{}"),
        "tools/list" => result(&format!(r#"{{"tools":{tools}}}"#)),
        "tools/call" => {
            let params = line.params.map_or("null", RawValue::get);
            let text = serde_json::Value::from(params);
            result(&format!(
                r#"{{"content":[{{"type":"text","text":{text}}}]}}"#
            ));
        }
        _ => say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
        )),
    }
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    if out
        .write_all(line.as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .is_err()
    {
        process::exit(1);
    }
    // An error shows at the next line.
    let _flushed = out.flush();
}
