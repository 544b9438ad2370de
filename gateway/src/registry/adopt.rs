//! From the `.mcp.json` of an MCP client to a registry, with a note for all that does not fit.

use std::{collections::BTreeSet, path::PathBuf};

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Map, Value};

use super::{Registry, Server, ServerName, Template, looks_secret};
use crate::{terminal::escaped, wire::json};

/// Where a client keeps the servers of a project, seen from the project's root.
pub const CLIENT_FILE: &str = ".mcp.json";

/// The name of a server whose own has no character that may stand in a name.
const NAMELESS: &str = "server";

/// A registry, and what people should know about how it came to be.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Adopted {
    /// The servers that the gateway can start.
    pub registry: Registry,
    /// What was changed or left out, one line each, safe to show. Without values of variables.
    pub notes: Vec<String>,
    /// Whether a value was copied that is a secret, going by its name.
    pub holds_secret: bool,
}

#[derive(Deserialize)]
struct ClientFile {
    #[serde(default, rename = "mcpServers")]
    servers: Map<String, Value>,
}

/// Reads the text of a `.mcp.json`.
///
/// Servers that are reached over a network and the gateway itself are left out. A server with
/// something that a registry cannot say is adopted but disabled. Each of these has its note.
///
/// # Errors
///
/// The text is no JSON object, or its `mcpServers` is none, or a key stands twice.
pub fn adopt(text: &str) -> Result<Adopted, serde_json::Error> {
    let object: Map<String, Value> = serde_json::from_str(text)?;
    let nothing = !object.contains_key("mcpServers");
    let file: ClientFile = serde_json::from_str(text)?;
    // Clients disagree on which of two equal keys counts.
    json::check(text).map_err(serde_json::Error::custom)?;
    let mut adopted = Adopted::default();
    if nothing {
        let note = "it has no mcpServers, so nothing was taken from it";
        adopted.notes.push(note.to_owned());
    }
    let mut taken = BTreeSet::new();
    for (name, value) in file.servers {
        let mut reader = Reader {
            shown: escaped(&name),
            adopted: &mut adopted,
            unfit: false,
        };
        if let Some(mut server) = reader.server(&name, value, &mut taken) {
            server.enabled &= !reader.unfit;
            adopted.registry.servers.push(server);
        }
    }
    Ok(adopted)
}

/// Reads one entry of the client's file.
struct Reader<'a> {
    /// The entry's own name, safe to show.
    shown: String,
    adopted: &'a mut Adopted,
    /// Whether something in it cannot be said in a registry.
    unfit: bool,
}

impl Reader<'_> {
    fn note(&mut self, text: &str) {
        self.adopted.notes.push(format!("{}: {text}", self.shown));
    }

    fn unfit(&mut self, text: &str) {
        self.unfit = true;
        self.note(&format!("{text}; disabled until you have corrected it"));
    }

    fn server(
        &mut self,
        name: &str,
        value: Value,
        taken: &mut BTreeSet<ServerName>,
    ) -> Option<Server> {
        let Value::Object(mut fields) = value else {
            self.note("left out: its entry is no object");
            return None;
        };
        let Some(Value::String(command)) = fields.remove("command") else {
            self.note("left out: it has no command, and the gateway only starts servers itself");
            return None;
        };
        if command.is_empty() || command.contains('\0') {
            self.note("left out: its command cannot be run");
            return None;
        }
        let args = self.args(fields.remove("args"));
        if is_gateway(&command, &args) {
            self.note("left out: it is the gateway itself");
            return None;
        }
        if command.contains("${") || args.iter().any(|argument| argument.contains("${")) {
            self.unfit("`${…}` in its command or arguments stays as it is; only `env` fills it in");
        }
        let mut server = Server::new(self.name(name, taken)?, command);
        server.args = args;
        server.env = self.env(fields.remove("env"));
        match fields.remove("cwd") {
            None => {}
            Some(Value::String(folder)) if !folder.is_empty() && !folder.contains('\0') => {
                server.cwd = Some(PathBuf::from(folder));
            }
            Some(_) => self.unfit("its `cwd` is no folder's name"),
        }
        server.enabled = fields.remove("disabled") != Some(Value::Bool(true));
        if fields.remove("type").is_some_and(|kind| kind != "stdio") {
            self.unfit("its `type` is not `stdio`");
        }
        let not_carried: BTreeSet<_> = fields.keys().collect();
        for key in not_carried {
            let key = escaped(key);
            self.note(&format!("`{key}` was not carried over"));
        }
        Some(server)
    }

    fn name(&mut self, name: &str, taken: &mut BTreeSet<ServerName>) -> Option<ServerName> {
        let allowed: String = (name.to_lowercase().chars())
            .map(|c| {
                if c.is_ascii_lowercase() || c.is_ascii_digit() {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        let base = match allowed.trim_matches('-') {
            "" => NAMELESS,
            base => base,
        };
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let chosen = std::iter::once(base.to_owned())
            .chain(numbered)
            .filter_map(|name| ServerName::new(&name))
            .find(|name| taken.insert(name.clone()))?;
        if chosen.as_str() != name {
            self.note(&format!("is named `{chosen}` in the registry"));
        }
        Some(chosen)
    }

    fn args(&mut self, value: Option<Value>) -> Vec<String> {
        let Some(value) = value else {
            return Vec::new();
        };
        let Value::Array(values) = value else {
            self.unfit("its `args` are no list");
            return Vec::new();
        };
        let all = values.len();
        let args: Vec<String> = values.into_iter().filter_map(text).collect();
        if args.len() < all {
            self.unfit("an argument that is no text was left out");
        }
        args
    }

    fn env(&mut self, value: Option<Value>) -> Vec<(String, Template)> {
        let Some(value) = value else {
            return Vec::new();
        };
        let Value::Object(variables) = value else {
            self.unfit("its `env` is no object");
            return Vec::new();
        };
        let mut env = Vec::new();
        for (name, value) in variables {
            let shown = escaped(&name);
            let named = !name.is_empty() && !name.contains(['=', '\0']);
            let template = text(value)
                .filter(|_| named)
                .and_then(|value| Template::new(&value).ok());
            let Some(template) = template else {
                self.unfit(&format!(
                    "`{shown}` in its `env` was left out; a value is text, with `${{NAME}}` and no default"
                ));
                continue;
            };
            if looks_secret(&name) && template.variables().next().is_none() {
                self.adopted.holds_secret = true;
                self.note(&format!(
                    "the value of `{shown}` was copied; better write `${{{shown}}}` and set it for the gateway"
                ));
            }
            env.push((name, template));
        }
        env
    }
}

/// Returns what a client would take for text.
fn text(value: Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}

/// Returns whether a command line starts `rea serve`, also through a runner of packages.
fn is_gateway(command: &str, args: &[String]) -> bool {
    let is_rea = |word: &str| word == "rea" || word.ends_with("/rea");
    let called = std::iter::once(command).chain(args.iter().map(String::as_str));
    args.iter().any(|argument| argument == "serve") && called.into_iter().any(is_rea)
}
