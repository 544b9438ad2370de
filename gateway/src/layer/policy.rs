//! Lets a call on only if the policy of this moment permits it.

use std::sync::Arc;

use super::{
    call::{Call, Target},
    denial::{Code, Denial, shown},
    grant::Claim,
    server::{Server, Servers},
    shell::decision,
    tier::{Classified, Judgement},
    trace::Trace,
};
use crate::{
    policy::{Decision, Snapshot},
    registry,
};

/// The stage of a call that the policy permits, to a server that is registered.
#[derive(Debug)]
pub struct Permitted(Arc<Server>);

impl Permitted {
    pub(super) fn into_server(self) -> Arc<Server> {
        self.0
    }
}

/// The [`Claim`] is what the call must use up before it is sent.
pub(super) fn pass(
    call: Call<Classified>,
    servers: &Servers,
    snapshot: &Snapshot,
    trace: &mut Trace,
) -> Result<(Call<Permitted>, Claim), Denial> {
    let judgement = call.stage().judgement();
    let server = find(&call.request().target, servers)?;
    let name = call.request().target.name();
    decide(Some(server.rules()), name, judgement, snapshot).inspect_err(|_| {
        if let Some(fault) = &snapshot.fault {
            trace.note("policy_fault", fault.to_string());
        }
    })?;
    let mut claim = Claim::none();
    let call = call.step(|stage| {
        if snapshot.policy.shell.require_grant {
            claim = Claim::of(stage.into_granted());
        }
        Permitted(server)
    });
    Ok((call, claim))
}

/// Finds the server, before anything is kept about it: whatever a caller makes up leaves no trace
/// but its record.
fn find(target: &Target, servers: &Servers) -> Result<Arc<Server>, Denial> {
    match target {
        Target::Of { server, .. } => servers.named(server).cloned().ok_or_else(|| {
            let sentence = format!("No server {} is registered and enabled", shown(server));
            Denial::new(Code::ServerUnknown, sentence, "server-unknown")
        }),
        Target::Unprefixed(name) => {
            let sentence = format!("The name {} has no server prefix", shown(name));
            Err(Denial::new(
                Code::NameWithoutServer,
                sentence,
                "name-without-server",
            ))
        }
        Target::Reserved(name) => {
            let name = shown(name);
            let sentence = format!("The name {name} is in the reserved meta-namespace");
            Err(Denial::new(Code::NameReserved, sentence, "name-reserved"))
        }
    }
}

/// Decides about the tool `name` of a server that the registry describes with `rules`.
///
/// The only place that weighs a policy; the command line asks it, too.
///
/// # Errors
///
/// The [`Denial`] that a caller would get.
pub fn decide(
    rules: Option<&registry::Server>,
    name: &str,
    judgement: &Judgement,
    snapshot: &Snapshot,
) -> Result<(), Denial> {
    if rules.is_some_and(|rules| rules.blocked_tools.contains(name)) {
        let sentence = format!("The tool {} is blocked", shown(name));
        return Err(Denial::new(Code::ToolBlocked, sentence, "blocked-tools"));
    }
    if let Some(line) = &judgement.shell {
        decision::decide(name, line, snapshot.policy.shell)?;
    }
    let tier = judgement.tier;
    let level = snapshot.level();
    match snapshot.decide(tier) {
        Decision::Permitted => Ok(()),
        Decision::AboveLevel { needed } => {
            let name = shown(name);
            let sentence = format!(
                "Autonomy level {level} does not permit {name}, which is {tier} and needs {needed}"
            );
            let rule = judgement.reasons.join(" ");
            let denial = Denial::new(Code::TierExceedsAutonomy, sentence, rule)
                .with("tier", tier.as_str())
                .with("level", level.as_str())
                .with("needed", needed.as_str());
            Err(match &judgement.shell {
                // What raises the line, and where, so that it can be written another way.
                Some(line) => denial.with("shell", line.verdict.told()),
                None => denial,
            })
        }
        Decision::Broken => {
            let place = snapshot.fault.as_ref().and_then(|fault| fault.place);
            let at = place.map_or_else(String::new, |place| {
                format!(" at line {}, column {}", place.line, place.column)
            });
            let sentence = format!(
                "The policy file is broken{at}, so {}, which is {tier}, is denied",
                shown(name)
            );
            Err(Denial::new(Code::PolicyBroken, sentence, "policy-broken")
                .with("tier", tier.as_str()))
        }
    }
}
