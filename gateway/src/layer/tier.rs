//! Tells how much a call can change, from everything that is known about it.
//!
//! The name is the beginning. Whatever the server says about its own tool, and a line for a shell
//! that nobody registered, can only make it stricter. Two voices of the operator count for more: a
//! tool registered under `shell_tools` is judged by its line instead of its name, and
//! `tier_overrides` raises whatever came before.

use std::sync::Arc;

use plainpipe::grant::Granted;

use super::{
    call::{Annotations, Call, Request, Target},
    kill_switch::Unhalted,
    method::Method,
    shell::{self, Machines, ShellLine, machine::Looked},
    tool_name,
    trace::Trace,
};
use crate::{
    policy::{Notify, Tier},
    registry,
};

/// How much a call can change, and why we think so.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Judgement {
    /// How much it can change.
    pub tier: Tier,
    /// The rules that spoke, in order. Stable words, for records and for people.
    pub reasons: Vec<String>,
    /// The line for a shell, if the tool takes one.
    pub shell: Option<ShellLine>,
}

impl Judgement {
    /// Returns the judgement of a call whose tier was found before.
    pub const fn of_tier(tier: Tier) -> Self {
        Self {
            tier,
            reasons: Vec::new(),
            shell: None,
        }
    }
}

/// The stage of a call whose tier is known.
#[derive(Debug)]
pub struct Classified {
    judgement: Judgement,
    granted: Option<Granted>,
}

impl Classified {
    pub(super) const fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// Gives out the grants that cover the line, if there is one and they do.
    pub(super) fn into_granted(self) -> Option<Granted> {
        self.granted
    }
}

/// Judges what `method` does to `name` of the server called `server`.
///
/// `rules` is what the registry says about that server, if it knows it; `shell` is the line of the
/// call, if its tool [takes one](shell::find).
pub fn judge(
    rules: Option<&registry::Server>,
    method: Method,
    (server, name): (&str, &str),
    annotations: Annotations,
    shell: Option<ShellLine>,
) -> Judgement {
    if let Some(tier) = method.tier() {
        let reasons = vec![format!("method:{}", method.as_str())];
        return Judgement {
            tier,
            reasons,
            shell: None,
        };
    }
    let mut reasons = Vec::new();
    let mut tier = match &shell {
        Some(line) if line.registered => {
            reasons.push("registered-shell-tool".to_owned());
            Tier::Read
        }
        Some(_) | None => {
            let sign = tool_name::judge(server, name);
            reasons.push(sign.to_string());
            raised_by_annotations(sign.tier(), annotations, &mut reasons)
        }
    };
    if let Some(line) = &shell {
        if let shell::Verdict::Plain(plain) = &line.verdict {
            let changeable = plain.changeable.first();
            reasons.extend(changeable.map(|called| format!("line-program-changeable:{called}")));
            let first = plain.runs_first();
            reasons.extend(first.map(|name| format!("line-environment:{name}")));
        }
        reasons.push(line.verdict.to_string());
        tier = tier.max(line.verdict.tier());
    }
    let tier = raised_by_override(rules, name, tier, &mut reasons);
    Judgement {
        tier,
        reasons,
        shell,
    }
}

/// Judges a tool by the mildest call that it could get.
///
/// Of a registered shell tool the line decides, and the mildest line reads. Everything else is judged
/// by its name.
pub fn mildest(
    rules: Option<&registry::Server>,
    (server, name): (&str, &str),
    annotations: Annotations,
) -> Judgement {
    if !rules.is_some_and(|rules| rules.shell_tools.contains_key(name)) {
        return judge(rules, Method::CallTool, (server, name), annotations, None);
    }
    let mut reasons = vec!["registered-shell-tool".to_owned()];
    let tier = raised_by_override(rules, name, Tier::Read, &mut reasons);
    Judgement {
        tier,
        reasons,
        shell: None,
    }
}

fn raised_by_override(
    rules: Option<&registry::Server>,
    name: &str,
    tier: Tier,
    reasons: &mut Vec<String>,
) -> Tier {
    let over = rules.and_then(|rules| rules.tier_overrides.get(name));
    match over {
        Some(&over) if over > tier => {
            reasons.push(format!("override:{over}"));
            over
        }
        Some(&over) if over < tier => {
            reasons.push(format!("override-ignored:{over}"));
            tier
        }
        Some(_) | None => tier,
    }
}

fn raised_by_annotations(
    tier: Tier,
    Annotations {
        read_only,
        destructive,
    }: Annotations,
    reasons: &mut Vec<String>,
) -> Tier {
    let mut raise = |to: Tier, reason: &str| {
        if to > tier {
            reasons.push(reason.to_owned());
        }
        tier.max(to)
    };
    match (read_only, destructive) {
        (_, Some(true)) => raise(Tier::Destructive, "annotation-destructive"),
        (Some(false), Some(false) | None) => raise(Tier::Write, "annotation-not-read-only"),
        (Some(true) | None, Some(false) | None) => tier,
    }
}

pub(super) async fn pass(
    call: Call<Unhalted>,
    rules: Option<&registry::Server>,
    machines: &Arc<Machines>,
    notify: &Notify,
    trace: &mut Trace,
) -> Call<Classified> {
    let Request {
        method,
        target,
        arguments,
        annotations,
    } = call.request();
    let whom = match target {
        Target::Of { server, name } => (server.as_str(), name.as_str()),
        Target::Unprefixed(name) | Target::Reserved(name) => ("", name.as_str()),
    };
    let asked = match method.tier() {
        Some(_) => None,
        None => shell::find(rules, whom.1, arguments.as_deref()),
    };
    let looked = match asked {
        Some(asked) => Some(machines.look_aside(whom.0, asked).await),
        None => None,
    };
    let (line, granted) = looked.map_or((None, None), |Looked { line, granted }| {
        (Some(line), granted)
    });
    if let Some(sentence) = line.as_ref().and_then(|line| line.verdict.for_operator()) {
        notify(&sentence);
    }
    let judgement = judge(rules, *method, whom, *annotations, line);
    trace.classify(judgement.tier);
    trace.note("tier_reasons", judgement.reasons.clone());
    if let Some(line) = &judgement.shell {
        trace.note("shell", line.verdict.facts());
    }
    call.step(|_| Classified { judgement, granted })
}
