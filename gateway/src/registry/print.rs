//! Writes a registry as a file that reads as the same registry.

use std::fmt::Write as _;

use super::{Breaker, DEFAULT_CONCURRENCY, DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_START_TIMEOUT};
use super::{DEFAULT_TIMEOUT, Registry, Reviewer, Server, Shell};
use crate::yaml::quoted;

/// Returns the text; keys that have their default value are left out.
pub(super) fn registry(registry: &Registry) -> String {
    let mut out = String::from("version: \"1\"\n");
    if let Some(reviewer) = registry.reviewer {
        line(&mut out, 0, "reviewer", reviewer.as_str());
    }
    if registry.servers.is_empty() {
        line(&mut out, 0, "servers", "[]");
    } else {
        out.push_str("servers:\n");
        for entry in &registry.servers {
            server(&mut out, entry);
        }
    }
    out
}

fn server(out: &mut String, server: &Server) {
    let first = out.len();
    line(out, 4, "name", server.name.as_str());
    out.replace_range(first..first + 4, "  - ");
    line(out, 4, "command", &quoted(&server.command));
    list(out, "args", server.args.iter().map(String::as_str));
    if !server.env.is_empty() {
        out.push_str("    env:\n");
        for (name, value) in &server.env {
            line(out, 6, &quoted(name), &quoted(value.text()));
        }
    }
    let names = server
        .env_passthrough
        .iter()
        .map(super::VariableName::as_str);
    list(out, "env_passthrough", names);
    if let Some(cwd) = &server.cwd {
        line(out, 4, "cwd", &quoted(&cwd.to_string_lossy()));
    }
    if !server.enabled {
        line(out, 4, "enabled", "false");
    }
    if server.timeout != DEFAULT_TIMEOUT {
        line(out, 4, "timeout", &server.timeout.as_secs().to_string());
    }
    if server.start_timeout != DEFAULT_START_TIMEOUT {
        let seconds = server.start_timeout.as_secs();
        line(out, 4, "start_timeout", &seconds.to_string());
    }
    if server.max_message_bytes != DEFAULT_MAX_MESSAGE_BYTES {
        let bytes = server.max_message_bytes.to_string();
        line(out, 4, "max_message_bytes", &bytes);
    }
    list(
        out,
        "blocked_tools",
        server.blocked_tools.iter().map(String::as_str),
    );
    if !server.tier_overrides.is_empty() {
        out.push_str("    tier_overrides:\n");
        for (tool, tier) in &server.tier_overrides {
            line(out, 6, &quoted(tool), tier.as_str());
        }
    }
    if !server.shell_tools.is_empty() {
        out.push_str("    shell_tools:\n");
        for (tool, shell_tool) in &server.shell_tools {
            let argument = quoted(&shell_tool.argument);
            let shell = shell_tool.shell.as_str();
            let value = format!("{{argument: {argument}, shell: {shell}}}");
            line(out, 6, &quoted(tool), &value);
        }
    }
    if let Some(limit) = server.rate_limit {
        let (calls, seconds) = (limit.calls, limit.window.as_secs());
        let value = format!("{{calls: {calls}, seconds: {seconds}}}");
        line(out, 4, "rate_limit", &value);
    }
    if server.concurrency != DEFAULT_CONCURRENCY {
        line(out, 4, "concurrency", &server.concurrency.to_string());
    }
    if server.breaker != Breaker::default() {
        let (failures, cooldown) = (server.breaker.failures, server.breaker.cooldown.as_secs());
        let value = format!("{{failures: {failures}, cooldown: {cooldown}}}");
        line(out, 4, "breaker", &value);
    }
}

fn line(out: &mut String, indent: usize, key: &str, value: &str) {
    let _ = writeln!(out, "{:indent$}{key}: {value}", "");
}

fn list<'a>(out: &mut String, key: &str, values: impl Iterator<Item = &'a str>) {
    let values: Vec<_> = values.map(quoted).collect();
    if !values.is_empty() {
        line(out, 4, key, &format!("[{}]", values.join(", ")));
    }
}

impl Reviewer {
    /// Returns the word that the file uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::ClaudeSelf => "claude-self",
        }
    }
}

impl Shell {
    /// Returns the word that the file uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Sh => "sh",
            Self::Zsh => "zsh",
        }
    }
}
