//! `rea policy`: is the policy good, what does it come to, and what does it say to a tool?

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::{Args, Subcommand};
use rea_gateway::{
    layer::{
        Annotations, Denial, Method, policy as layer_policy,
        shell::{self, Machines, ShellLine},
        tier::{self, Judgement},
    },
    policy::{AuditFailure, InjectionMode, OnRefused, PATH_IN_PROJECT, Policy, Snapshot},
    registry::{self, Registry},
    terminal::escaped,
    wire::name,
    yaml::{self, Fault},
};
use serde_json::{Value, json};

use super::{Answer, Failure, written};

/// Checks, shows and explains the policy in .rea/policy.yaml.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(Check),
    Show(Show),
    Explain(Explain),
}

/// Says whether a policy is good, and where not.
///
/// Exit status: 0 if it is good, 1 if it is not, 2 if the command was used wrongly.
#[derive(Args, Debug)]
struct Check {
    /// The policy, if it is not .rea/policy.yaml
    file: Option<PathBuf>,

    /// Print one JSON object instead of text for people
    #[arg(long)]
    json: bool,
}

/// Prints what the policy comes to, every default filled in.
///
/// Exit status: 0 if it is good, 2 if it is not.
#[derive(Args, Debug)]
struct Show {
    /// Print one JSON object instead of text for people
    #[arg(long)]
    json: bool,
}

/// Says what would become of a call of TOOL now, and which rules say so.
///
/// Of a tool that takes a line for a shell the line decides: without --arguments the mildest one
/// speaks for all.
///
/// Exit status: 0 if it would pass, 1 if it would be denied, 2 if nobody can tell.
#[derive(Args, Debug)]
struct Explain {
    /// The tool as it is offered, `SERVER__TOOL`, or the name of a tool without a server
    tool: String,

    /// Arguments of the call as a JSON object, for tools that take a line for a shell
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,

    /// Print one JSON object instead of text for people
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub(crate) fn run(self) -> Answer {
        match self.command {
            Command::Check(check) => check.run(),
            Command::Show(show) => show.run(),
            Command::Explain(explain) => explain.run(),
        }
    }
}

pub(super) fn load(file: &Path) -> Result<Policy, Fault> {
    Policy::parse(file, &yaml::text_of(file)?)
}

/// Returns what the file says and this version does not do yet.
pub(super) fn unenforced(policy: &Policy) -> Vec<&'static str> {
    let mut notes = vec!["blocked_paths is read and not enforced by this version"];
    if !policy.redact.is_empty() {
        notes.push("redact.patterns is read and not applied by this version");
    }
    notes.push("injection_detection is read and not applied by this version");
    notes
}

impl Check {
    fn run(self) -> Answer {
        let file = self.file.unwrap_or_else(|| PATH_IN_PROJECT.into());
        let mut out = io::stdout().lock();
        let (outcome, status) = match load(&file) {
            Ok(policy) => (good(&mut out, &file, &policy, self.json), ExitCode::SUCCESS),
            Err(fault) => (bad(&mut out, &fault, self.json), ExitCode::FAILURE),
        };
        written(outcome, status)
    }
}

fn good(out: &mut impl Write, file: &Path, policy: &Policy, json: bool) -> io::Result<()> {
    let notes = unenforced(policy);
    if json {
        let answer = json!({
            "good": true,
            "level": policy.level,
            "warnings": policy.warnings,
            "notes": notes,
        });
        return writeln!(out, "{answer}");
    }
    let (profile, level, ceiling) = (escaped(&policy.profile), policy.level, policy.ceiling);
    writeln!(
        out,
        "{}: good; profile {profile}, level {level} of at most {ceiling}",
        file.display()
    )?;
    for warning in &policy.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    notes
        .iter()
        .try_for_each(|note| writeln!(out, "note: {note}"))
}

fn bad(out: &mut impl Write, fault: &Fault, json: bool) -> io::Result<()> {
    if json {
        let answer = json!({
            "good": false,
            "file": fault.file.display().to_string(),
            "line": fault.place.map(|place| place.line),
            "column": fault.place.map(|place| place.column),
            "found": fault.found,
            "expected": fault.expected,
            "advice": fault.advice,
        });
        return writeln!(out, "{answer}");
    }
    writeln!(out, "{fault}")
}

impl Show {
    fn run(self) -> Answer {
        let policy = load(PATH_IN_PROJECT.as_ref())
            .map_err(|fault| Failure::new("reading the policy", fault))?;
        let facts = facts(&policy);
        let mut out = io::stdout().lock();
        let outcome = if self.json {
            writeln!(out, "{facts:#}")
        } else {
            people(&mut out, &facts, "")
        };
        written(outcome, ExitCode::SUCCESS)
    }
}

fn facts(policy: &Policy) -> Value {
    let on_audit_failure = match policy.on_audit_failure {
        AuditFailure::Deny => "deny",
        AuditFailure::Allow => "allow",
    };
    let injection = match policy.injection {
        InjectionMode::Block => "block",
        InjectionMode::Warn => "warn",
    };
    let on_refused = match policy.shell.on_refused {
        OnRefused::Deny => "deny",
        OnRefused::AsDestructive => "as_destructive",
    };
    let names: Vec<_> = policy.redact.iter().map(|pattern| &pattern.name).collect();
    json!({
        "profile": policy.profile,
        "autonomy_level": policy.level,
        "max_autonomy_level": policy.ceiling,
        "permits": policy.level.highest(),
        "promotion_requires_human_approval": policy.promotion_requires_human_approval,
        "block_ai_attribution": policy.block_ai_attribution,
        "blocked_paths": policy.blocked_paths,
        "notification_channel": policy.notification_channel,
        "injection_detection": injection,
        "injection": {"suspicious_blocks_writes": policy.suspicious_blocks_writes},
        "context_protection": policy.context_protection.as_ref().map(|block| json!({
            "delegate_to_subagent": block.delegate_to_subagent,
            "max_bash_output_lines": block.max_bash_output_lines,
        })),
        "review": {
            "codex_required": policy.review.codex_required,
            "cache_max_age_seconds": policy.review.cache_max_age_seconds,
            "allow_skip_in_ci": policy.review.allow_skip_in_ci,
        },
        "redact": {"patterns": names},
        "audit": {
            "rotation": policy.rotation.map(|rotation| json!({
                "max_bytes": rotation.max_bytes,
                "max_age_days": rotation.max_age_days,
            })),
            "retention": policy.retention.map(|retention| json!({
                "max_segments": retention.max_segments,
                "max_age_days": retention.max_age_days,
            })),
            "on_failure": on_audit_failure,
        },
        "gateway": {
            "health": {"expose_diagnostics": policy.expose_diagnostics},
            "tools": {"hide_denied": policy.hide_denied},
        },
        "shell": {"on_refused": on_refused, "require_grant": policy.shell.require_grant},
        "warnings": policy.warnings,
    })
}

/// Writes an object as `key: value` lines with dotted keys.
fn people(out: &mut impl Write, facts: &Value, path: &str) -> io::Result<()> {
    match facts {
        Value::Object(members) => members.iter().try_for_each(|(key, value)| {
            let dot = if path.is_empty() { "" } else { "." };
            people(out, value, &format!("{path}{dot}{key}"))
        }),
        Value::Null => writeln!(out, "{path}: not set"),
        Value::String(text) => writeln!(out, "{path}: {}", escaped(text)),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            writeln!(out, "{path}: {}", escaped(&facts.to_string()))
        }
    }
}

impl Explain {
    fn run(self) -> Answer {
        let policy = load(PATH_IN_PROJECT.as_ref())
            .map_err(|fault| Failure::new("reading the policy", fault))?;
        let registry = match Registry::load(registry::FILE.as_ref()) {
            Ok(registry) => registry,
            Err(faults) if faults.only_missing() => Registry::default(),
            Err(faults) => return Err(Failure::new("reading the registry", faults)),
        };
        let (server, tool) = name::split(&self.tool).unwrap_or(("", &self.tool));
        let rules = registry.server(server);
        let whom = (server, tool);
        let judgement = match self.arguments.as_deref() {
            None => tier::mildest(rules, whom, Annotations::default()),
            Some(arguments) => {
                let call = shell::find(rules, tool, Some(arguments));
                let line = call
                    .map(|call| judged(&registry, server, call))
                    .transpose()?;
                tier::judge(rules, Method::CallTool, whom, Annotations::default(), line)
            }
        };
        let snapshot = Snapshot {
            policy: Arc::new(policy),
            fault: None,
            generation: 0,
        };
        let decision = layer_policy::decide(rules, tool, &judgement, &snapshot);
        let enabled = rules.map(|rules| rules.enabled);
        let status = match (&decision, enabled) {
            (Ok(()), Some(true)) => ExitCode::SUCCESS,
            // A bare name asks about the name only.
            (Ok(()), None) if server.is_empty() => ExitCode::SUCCESS,
            (Ok(()), Some(false) | None) | (Err(_), _) => ExitCode::FAILURE,
        };
        let explained = Explained {
            server,
            tool,
            enabled,
            judgement,
            decision,
            snapshot,
            takes_a_line: self.arguments.is_none()
                && rules.is_some_and(|rules| rules.shell_tools.contains_key(tool)),
        };
        let mut out = io::stdout().lock();
        let outcome = if self.json {
            explained.json(&mut out)
        } else {
            explained.people(&mut out)
        };
        written(outcome, status)
    }
}

/// Looks at a line as the gateway would, were it started from here.
fn judged(registry: &Registry, server: &str, call: shell::ShellCall) -> Result<ShellLine, Failure> {
    let root = std::env::current_dir()
        .map_err(|error| Failure::new("looking for the current folder", error))?;
    let variables = std::env::vars_os().collect();
    let machines = Machines::new(registry, &root, &variables, super::grant::of_user()?)
        .with_models(super::models::models()?);
    Ok(machines.judge(server, call))
}

struct Explained<'a> {
    server: &'a str,
    tool: &'a str,
    enabled: Option<bool>,
    judgement: Judgement,
    decision: Result<(), Denial>,
    snapshot: Snapshot,
    /// Whether the tool takes a line for a shell, and none was given.
    takes_a_line: bool,
}

impl Explained<'_> {
    fn server_state(&self) -> &'static str {
        match self.enabled {
            Some(true) => "registered",
            Some(false) => "registered, and disabled",
            None if self.server.is_empty() => "not named, so only the name of the tool counts",
            None => "not registered, so every call is denied",
        }
    }

    fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let answer = json!({
            "server": self.server,
            "tool": self.tool,
            "registered": self.enabled.is_some(),
            "tier": self.judgement.tier,
            "reasons": self.judgement.reasons,
            "shell": self.judgement.shell.as_ref().map(|line| line.verdict.facts()),
            "level": self.snapshot.level(),
            "permitted": self.decision.is_ok(),
            "denial": self.decision.as_ref().err().map(Denial::facts),
        });
        writeln!(out, "{answer}")
    }

    fn people(&self, out: &mut impl Write) -> io::Result<()> {
        let Judgement {
            tier,
            reasons,
            shell,
        } = &self.judgement;
        writeln!(out, "tool:    {}", escaped(self.tool))?;
        writeln!(
            out,
            "server:  {} ({})",
            escaped(self.server),
            self.server_state()
        )?;
        writeln!(out, "tier:    {tier}, by {}", escaped(&reasons.join(", ")))?;
        if let Some(ShellLine {
            registered: false, ..
        }) = shell
        {
            writeln!(
                out,
                "         well known to take a line for a shell; not under shell_tools"
            )?;
        }
        let level = self.snapshot.level();
        writeln!(
            out,
            "level:   {level}, which permits {} and below",
            level.highest()
        )?;
        match &self.decision {
            Ok(()) if self.enabled == Some(false) => {
                writeln!(
                    out,
                    "verdict: denied -- the server is disabled in the registry"
                )
            }
            Ok(()) if self.enabled.is_none() && !self.server.is_empty() => {
                writeln!(out, "verdict: denied -- the server is not in the registry")
            }
            Ok(()) if self.takes_a_line => writeln!(
                out,
                "verdict: permitted by the policy for a line that only reads; give one with --arguments"
            ),
            Ok(()) => writeln!(out, "verdict: permitted by the policy"),
            Err(denial) => writeln!(out, "verdict: denied -- {}", escaped(&denial.text())),
        }
    }
}
