//! From the file's shapes to servers that keep their promises; every fault is collected.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroU64},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Breaker, DEFAULT_BREAKER_COOLDOWN, DEFAULT_BREAKER_FAILURES, DEFAULT_CONCURRENCY,
    DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_START_TIMEOUT, DEFAULT_TIMEOUT, Faults, MAX_COUNT,
    MAX_MESSAGE_BYTES, MAX_SECONDS, MIN_MESSAGE_BYTES, RateLimit, Registry, Server, ServerName,
    ShellTool, Template, VariableName, file, looks_secret,
    template::{BadPlace, BadTemplate},
};
use crate::yaml::{Entries, Fault, Located, Place, Whole, excerpt};

/// The only version of the file that there is.
const VERSION: &str = "1";

pub(super) fn registry(path: &Path, read: file::Registry) -> Result<Registry, Faults> {
    let mut check = Check {
        path,
        faults: Vec::new(),
    };
    if read.version.value != VERSION {
        check.blame(
            read.version.place,
            format!("version {}", excerpt(&read.version.value)),
            "`\"1\"`",
            "write `version: \"1\"`",
        );
    }
    let mut first_places: BTreeMap<String, Place> = BTreeMap::new();
    let mut servers = Vec::with_capacity(read.servers.len());
    for Located { value, place } in read.servers {
        let name = value.name.clone();
        servers.extend(check.server(value, place));
        if let Some(first) = first_places.get(&name.value) {
            let line = first.line;
            check.blame(
                name.place,
                format!("a second server named {}", excerpt(&name.value)),
                format!("a name that is not that of line {line}"),
                "rename or remove one of the two",
            );
        } else {
            first_places.insert(name.value, name.place);
        }
    }
    if check.faults.is_empty() {
        Ok(Registry {
            servers,
            reviewer: read.reviewer,
        })
    } else {
        check.faults.sort_by_key(|fault| fault.place);
        Err(Faults(check.faults))
    }
}

struct Check<'a> {
    path: &'a Path,
    faults: Vec<Fault>,
}

impl Check<'_> {
    fn blame(
        &mut self,
        place: Place,
        found: impl Into<String>,
        expected: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.faults
            .push(Fault::at(self.path, place, found, expected, advice));
    }

    /// Returns the server, or `None` after blaming its name; other faults are blamed too.
    fn server(&mut self, read: file::Server, place: Place) -> Option<Server> {
        let name = self.name(&read.name);
        let command = self.filled("a command", read.command);
        let args = (read.args.into_iter())
            .map(|argument| self.without_nul("an argument", argument))
            .collect();
        let env = self.env(read.env);
        let env_passthrough = (read.env_passthrough.into_iter())
            .filter_map(|variable| self.passed_through(&variable))
            .collect();
        let cwd = read
            .cwd
            .map(|folder| PathBuf::from(self.filled("a folder", folder)));
        let timeout = self.seconds("timeout", read.timeout.as_ref(), DEFAULT_TIMEOUT);
        let start_timeout = self.seconds(
            "start_timeout",
            read.start_timeout.as_ref(),
            DEFAULT_START_TIMEOUT,
        );
        let max_message_bytes = self.message_bytes(read.max_message_bytes.as_ref());
        let blocked_tools = (read.blocked_tools.into_iter())
            .map(|tool| self.filled("a tool", tool))
            .collect();
        let shell_tools = (read.shell_tools.into_iter())
            .map(|(tool, read)| {
                let argument = self.filled("an argument's name", read.argument);
                let shell = read.shell.unwrap_or_default();
                (tool, ShellTool { argument, shell })
            })
            .collect();
        let rate_limit = read.rate_limit.map(|limit| {
            let calls = self.within("calls", &limit.calls, 1..=MAX_COUNT);
            let seconds = self.within("seconds", &limit.seconds, 1..=MAX_SECONDS);
            RateLimit {
                calls: NonZeroU64::new(calls).unwrap_or(NonZeroU64::MIN),
                window: Duration::from_secs(seconds),
            }
        });
        let concurrency = self.count(
            "concurrency",
            read.concurrency.as_ref(),
            DEFAULT_CONCURRENCY,
        );
        let breaker = read
            .breaker
            .map_or_else(Breaker::default, |breaker| Breaker {
                failures: self.count(
                    "failures",
                    breaker.failures.as_ref(),
                    DEFAULT_BREAKER_FAILURES,
                ),
                cooldown: self.seconds(
                    "cooldown",
                    breaker.cooldown.as_ref(),
                    DEFAULT_BREAKER_COOLDOWN,
                ),
            });
        Some(Server {
            name: name?,
            command,
            args,
            env,
            env_passthrough,
            cwd,
            enabled: read.enabled.is_none_or(|flag| flag.0),
            timeout,
            start_timeout,
            max_message_bytes,
            blocked_tools,
            tier_overrides: read.tier_overrides,
            shell_tools,
            rate_limit,
            concurrency,
            breaker,
            place,
        })
    }

    fn name(&mut self, name: &Located<String>) -> Option<ServerName> {
        let checked = ServerName::new(&name.value);
        if checked.is_none() {
            self.blame(
                name.place,
                format!("the server name {}", excerpt(&name.value)),
                ServerName::RULE,
                "rename the server",
            );
        }
        checked
    }

    /// Blames a text that is empty or that no process can be given.
    fn filled(&mut self, what: &str, text: Located<String>) -> String {
        if text.value.is_empty() {
            self.blame(
                text.place,
                format!("{what} that is empty"),
                what,
                "fill it in or remove the key",
            );
        }
        self.without_nul(what, text)
    }

    fn without_nul(&mut self, what: &str, text: Located<String>) -> String {
        if text.value.contains('\0') {
            self.blame(
                text.place,
                format!("{what} with a NUL character"),
                "text that a process can be given",
                "remove the `\\0`",
            );
        }
        text.value
    }

    fn env(&mut self, entries: Entries<String>) -> Vec<(String, Template)> {
        let mut env = Vec::with_capacity(entries.0.len());
        for (name, value) in entries.0 {
            if name.value.is_empty() || name.value.contains(['=', '\0']) {
                self.blame(
                    name.place,
                    format!("the variable name {}", excerpt(&name.value)),
                    "a name without `=` and NUL",
                    "correct the name",
                );
            }
            match Template::new(&value.value) {
                Ok(template) => env.push((name.value.clone(), template)),
                Err(bad) => self.bad_template(&name.value, value.place, bad),
            }
            self.without_nul("a value", value);
        }
        env
    }

    fn bad_template(&mut self, variable: &str, place: Place, bad: BadTemplate) {
        let what = match bad.kind {
            BadPlace::Empty => "`${}` without a name",
            BadPlace::NotAName => "`${…}` around something that is no variable name",
            BadPlace::Unended => "`${` without `}`",
        };
        let (variable, after) = (excerpt(variable), bad.offset);
        self.blame(
            place,
            format!("{what}, after {after} characters of the value of {variable}"),
            format!("`${{NAME}}` where NAME has {}", VariableName::RULE),
            "correct the placeholder; defaults and commands are not supported",
        );
    }

    fn passed_through(&mut self, variable: &Located<String>) -> Option<VariableName> {
        let shown = excerpt(&variable.value);
        let Some(name) = VariableName::new(&variable.value) else {
            self.blame(
                variable.place,
                format!("the variable name {shown}"),
                VariableName::RULE,
                "correct the name",
            );
            return None;
        };
        if looks_secret(name.as_str()) {
            self.blame(
                variable.place,
                format!("{shown} in `env_passthrough`, by its name a secret"),
                "variables that are no secrets",
                format!("if this server needs it, say so under `env`: `{name}: \"${{{name}}}\"`"),
            );
        }
        Some(name)
    }

    fn within(&mut self, key: &str, number: &Located<Whole>, range: RangeInclusive<u64>) -> u64 {
        let Whole(value) = number.value;
        if !range.contains(&value) {
            let (least, most) = (range.start(), range.end());
            self.blame(
                number.place,
                format!("`{key}: {value}`"),
                format!("{least} to {most}"),
                "correct the number",
            );
        }
        value
    }

    fn seconds(
        &mut self,
        key: &str,
        number: Option<&Located<Whole>>,
        default: Duration,
    ) -> Duration {
        number.map_or(default, |number| {
            Duration::from_secs(self.within(key, number, 1..=MAX_SECONDS))
        })
    }

    fn count(
        &mut self,
        key: &str,
        number: Option<&Located<Whole>>,
        default: NonZeroU32,
    ) -> NonZeroU32 {
        number.map_or(default, |number| {
            let count = self.within(key, number, 1..=MAX_COUNT);
            (u32::try_from(count).ok())
                .and_then(NonZeroU32::new)
                .unwrap_or(default)
        })
    }

    fn message_bytes(&mut self, number: Option<&Located<Whole>>) -> usize {
        number.map_or(DEFAULT_MAX_MESSAGE_BYTES, |number| {
            let range = MIN_MESSAGE_BYTES..=MAX_MESSAGE_BYTES;
            let bytes = self.within("max_message_bytes", number, range);
            usize::try_from(bytes).unwrap_or(DEFAULT_MAX_MESSAGE_BYTES)
        })
    }
}
