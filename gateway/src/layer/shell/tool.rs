//! Tools that hand a line to a shell: which they are, and where the line stands.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value, value::RawValue};

use crate::{layer::tool_name::words, registry};

/// Names of tools that are well known to run a line, in words.
const KNOWN_TOOLS: &[&str] = &[
    "bash",
    "sh",
    "zsh",
    "shell",
    "terminal",
    "cmd",
    "exec",
    "execute",
    "run",
    "run command",
    "run commands",
    "run shell",
    "run shell command",
    "run terminal cmd",
    "run terminal command",
    "run in terminal",
    "run bash",
    "run bash command",
    "execute command",
    "execute shell",
    "execute shell command",
    "execute bash",
    "exec command",
    "shell exec",
    "shell command",
    "shell execute",
    "bash command",
    "bash exec",
    "local shell",
    "ssh exec",
    "terminal execute",
];

/// Names of arguments in which those tools take the line.
const KNOWN_ARGUMENTS: &[&str] = &[
    "command",
    "cmd",
    "commandLine",
    "command_line",
    "shell_command",
    "line",
    "script",
];

/// Arguments beside the line that are told to people and change nothing.
const TOLD_TO_PEOPLE: &[&str] = &["description", "explanation", "reason", "title"];

/// Arguments beside the line that say how long to wait or how much to show, as numbers, in words.
const LIMITS: &[&str] = &[
    "limit",
    "max output",
    "max output bytes",
    "max output chars",
    "max output length",
    "max output lines",
    "max output size",
    "timeout",
    "timeout ms",
    "timeout milliseconds",
    "timeout seconds",
    "timeout secs",
    "timeout sec",
];

/// Arguments beside the line that say whether to wait for its end, as truth values, in words.
const WAITING: &[&str] = &[
    "background",
    "blocking",
    "is background",
    "run in background",
    "wait",
];

/// The most characters of an argument's name that are kept.
const MAX_NAME_CHARACTERS: usize = 64;

/// A call of a tool that hands a line to a shell.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShellCall {
    /// Whether the registry names the tool; if not, the line can only make things stricter.
    pub registered: bool,
    /// The shell that runs the line: the registered one, else bash.
    pub shell: registry::Shell,
    /// The argument that holds the line, or should.
    pub argument: String,
    /// The line, or nothing if there is none to judge.
    pub line: Option<Line>,
}

/// A line, and what came with it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Line {
    /// The text.
    pub text: String,
    /// Another argument that may change what the line does, such as `cwd`.
    pub beside: Option<String>,
}

/// Finds the line of a call, if its tool takes one.
///
/// The registry's word counts first. Otherwise both the tool and the argument must have well-known
/// names, in any case style.
pub fn find(
    rules: Option<&registry::Server>,
    tool: &str,
    arguments: Option<&str>,
) -> Option<ShellCall> {
    if let Some(registered) = rules.and_then(|rules| rules.shell_tools.get(tool)) {
        let given = read(arguments).ok();
        return Some(ShellCall {
            registered: true,
            shell: registered.shell,
            argument: registered.argument.clone(),
            line: given.and_then(|given| given.line(&registered.argument)),
        });
    }
    if !KNOWN_TOOLS.contains(&words(tool).join(" ").as_str()) {
        return None;
    }
    let given = read(arguments).ok()?;
    let argument = KNOWN_ARGUMENTS
        .iter()
        .find(|known| given.of(known).is_some())?;
    Some(ShellCall {
        registered: false,
        shell: registry::Shell::default(),
        argument: (*argument).to_owned(),
        line: given.line(argument),
    })
}

/// Arguments of which no name stands twice, as the reader behind us might take the other one.
struct Given<'a>(Vec<(String, &'a RawValue)>);

fn read(arguments: Option<&str>) -> Result<Given<'_>, serde_json::Error> {
    arguments.map_or(Ok(Given(Vec::new())), serde_json::from_str)
}

impl<'a> Given<'a> {
    fn of(&self, name: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .find(|(given, _)| given == name)
            .map(|&(_, value)| value)
    }

    /// Returns the line in that argument, if it is one string of whole characters.
    fn line(&self, argument: &str) -> Option<Line> {
        let text = serde_json::from_str(self.of(argument)?.get()).ok()?;
        let beside = self
            .0
            .iter()
            .find(|(name, value)| name != argument && !changes_nothing(name, value.get()));
        Some(Line {
            text,
            beside: beside.map(|(name, _)| name.chars().take(MAX_NAME_CHARACTERS).collect()),
        })
    }
}

/// Returns whether an argument beside the line is one of those that are known to change nothing.
fn changes_nothing(name: &str, value: &str) -> bool {
    let listed = |list: &[&str]| list.contains(&words(name).join(" ").as_str());
    match value.bytes().next() {
        Some(b'n') => true,
        Some(b'"') => TOLD_TO_PEOPLE.contains(&name),
        Some(b'0'..=b'9') => listed(LIMITS),
        Some(b't' | b'f') => listed(WAITING),
        _ => false,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Given<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Once;

        impl<'de> de::Visitor<'de> for Once {
            type Value = Given<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("arguments")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Given<'de>, A::Error> {
                let mut seen = Map::new();
                let mut given = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    if seen.insert(name.clone(), Value::Null).is_some() {
                        return Err(de::Error::custom("a name stands twice"));
                    }
                    given.push((name, value));
                }
                Ok(Given(given))
            }
        }

        deserializer.deserialize_map(Once)
    }
}
