//! What fuzz targets and property tests assert; each function panics when a promise is broken.

use std::{path::Path, sync::Arc};

pub use crate::{
    audit::promises::{audit_file, audit_line},
    wire::promises::{envelope, tool_name},
};

use crate::{
    layer::{Annotations, Method, shell, tier, tool_name},
    policy::{Decision, Level, Policy, Snapshot, Tier},
    registry::{Registry, Server, looks_secret},
    yaml::{Fault, Place},
};

/// The fuzz targets of the gateway, each of which checks the promise of its name.
pub const TARGETS: [&str; 7] = [
    "audit_file",
    "audit_line",
    "envelope",
    "policy",
    "registry",
    "tool_name",
    "tool_tier",
];

/// Checks the promise that a fuzz target is named after. Returns whether there is one.
///
/// # Panics
///
/// When the promise does not hold.
pub fn replay(target: &str, input: &[u8]) -> bool {
    match target {
        "audit_file" => audit_file(input),
        "audit_line" => audit_line(input),
        "envelope" => envelope(input),
        "policy" => policy(input),
        "registry" => registry(input),
        "tool_name" => tool_name(&String::from_utf8_lossy(input)),
        "tool_tier" => tool_tier(input),
        _ => return false,
    }
    true
}

/// Any bytes are a registry or faults with a place; a registry prints as one that reads the same.
///
/// # Panics
///
/// When that does not hold.
#[expect(clippy::panic, reason = "a broken promise is to be loud")]
pub fn registry(bytes: &[u8]) {
    let file = Path::new("registry.yaml");
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let read = match Registry::parse(file, text) {
        Ok(read) => read,
        Err(faults) => {
            assert!(!faults.all().is_empty(), "refused without a reason");
            for fault in faults.all() {
                let shown = fault.to_string();
                assert!(
                    !shown.contains(char::is_control),
                    "control characters in {shown:?}"
                );
            }
            return;
        }
    };
    for (index, server) in read.servers.iter().enumerate() {
        let same = read.server(server.name.as_str());
        assert_eq!(same, read.servers.get(index), "a name stands twice");
        for name in &server.env_passthrough {
            assert!(!looks_secret(name.as_str()), "a secret passes: {name}");
        }
    }
    let printed = read.to_yaml();
    let again = Registry::parse(file, &printed);
    let again = again.unwrap_or_else(|faults| panic!("{printed}\nis refused: {faults}"));
    assert_eq!(
        placeless(read),
        placeless(again),
        "{printed}\nreads otherwise"
    );
}

fn placeless(registry: Registry) -> Registry {
    let place = Place { line: 0, column: 0 };
    let servers = registry.servers.into_iter();
    Registry {
        servers: servers.map(|server| Server { place, ..server }).collect(),
        ..registry
    }
}

/// Any bytes are a policy or a fault in one printable line; no policy reaches above its ceiling, and
/// a broken one lets nothing through but reading.
///
/// # Panics
///
/// When that does not hold.
pub fn policy(bytes: &[u8]) {
    let file = Path::new("policy.yaml");
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let policy = match Policy::parse(file, text) {
        Ok(policy) => policy,
        Err(fault) => {
            let shown = fault.to_string();
            assert!(
                !shown.contains(char::is_control),
                "control characters in {shown:?}"
            );
            assert_eq!(Policy::parse(file, text).err(), Some(fault));
            return;
        }
    };
    assert!(policy.level <= policy.ceiling && policy.level <= policy.asked);
    assert_eq!(policy.warnings.is_empty(), policy.asked <= policy.ceiling);
    let (ceiling, policy) = (policy.ceiling, Arc::new(policy));
    let fault = Fault::whole(file, "is broken", "one that reads", "repair it");
    for (fault, generation) in [(None, 0), (Some(Arc::new(fault)), 1)] {
        let broken = fault.is_some();
        let snapshot = Snapshot {
            policy: Arc::clone(&policy),
            fault,
            generation,
        };
        for tier in Tier::ALL {
            if snapshot.decide(tier) == Decision::Permitted {
                assert!(Level::needed_for(tier) <= ceiling, "{tier} above {ceiling}");
                assert!(
                    !broken || tier == Tier::Read,
                    "{tier} under a broken policy"
                );
            }
        }
    }
}

/// Any name of a tool has a tier, which nothing but a registered line for a shell can lower.
///
/// The bytes are the server, the tool and the JSON text of the arguments, a line each.
///
/// # Panics
///
/// When that does not hold.
pub fn tool_tier(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (server, tool, arguments) = (next(), next(), next());
    let line = |arguments: Option<&str>| {
        let call = shell::find(None, tool, arguments)?;
        assert!(!call.registered, "nobody registered {tool}");
        Some(shell::ShellLine::of_text(call))
    };
    let judge = |annotations, arguments| {
        let whom = (server, tool);
        tier::judge(None, Method::CallTool, whom, annotations, line(arguments))
    };
    let named = tool_name::judge(server, tool).tier();
    let hints = [None, Some(false), Some(true)];
    for read_only in hints {
        for destructive in hints {
            let annotations = Annotations {
                read_only,
                destructive,
            };
            for arguments in [None, Some(arguments)] {
                let judgement = judge(annotations, arguments);
                assert!(judgement.tier >= named, "{tool}: {judgement:?}");
                assert!(!judgement.reasons.is_empty());
                assert_eq!(judgement, judge(annotations, arguments));
            }
        }
    }
    for worse in ["_delete", ".Delete", "-and-delete", "_OR_exec"] {
        let worse = format!("{tool}{worse}");
        let sign = tool_name::judge(server, &worse);
        assert_eq!(sign.tier(), Tier::Destructive, "{worse}: {sign}");
    }
    let loud = tool_name::judge("", &tool.to_ascii_uppercase().replace('_', "-"));
    let quiet = tool_name::judge("", &tool.to_ascii_uppercase());
    assert_eq!(loud.tier(), quiet.tier(), "{tool}: separators differ");
}
