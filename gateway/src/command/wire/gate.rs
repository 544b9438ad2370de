//! What stands between the client and the servers: the layers, with the policy and the log of the
//! project in the current folder.

use std::{
    path::Path,
    sync::{Arc, OnceLock, Weak},
};

use rea_gateway::{
    audit::{Audit, Listener, Settings},
    child::Journal,
    gate::{Gate, Servers},
    layer::{KillSwitch, Machines, Parts, breaker::Circuit, health::ServerHealth},
    policy::{Live, Notify, PATH_IN_PROJECT},
    registry::Registry,
    terminal::escaped,
    wire::{catalogue::List, hub::Hub, link::Link},
};

use crate::command::{grant, models::models};

/// The hub, once there is one: it is made with the gate, which asks it how the servers are doing.
pub(super) type LateHub = Arc<OnceLock<Weak<Hub>>>;

/// Returns the gate of the project at `root`, or why there is none. Without a policy and a log that
/// can be written nothing may be served.
pub(super) fn gate(
    root: &Path,
    registry: Registry,
    links: Vec<Arc<Link>>,
    hub: &LateHub,
    journal: &Journal,
) -> Result<Gate<Audit>, String> {
    let told = journal.clone();
    let notify: Notify = Arc::new(move |text| told.line(format!("rea: {}", escaped(text))));
    let file = root.join(PATH_IN_PROJECT);
    let policy = Live::open(file, Arc::clone(&notify)).map_err(|fault| {
        if fault.missing {
            format!(
                "there is no {PATH_IN_PROJECT}, and nothing is served without a policy; \
                 `rea init --minimal` writes one"
            )
        } else {
            format!("{fault} -- nothing is served without a good policy; see `rea policy check`")
        }
    })?;
    let told = Arc::clone(&notify);
    let listener = Listener::new(move |error| {
        told(&format!("AUDIT: {error}; the records of calls are on file"));
    });
    let recorder = Settings::for_user()
        .map(|settings| Settings {
            listener,
            keeping: policy.snapshot().policy.keeping(),
            ..settings
        })
        .and_then(|settings| Audit::open(root, settings))
        .map_err(|error| format!("nothing is served without an audit log: {error}"))?;
    let grants = grant::of_user().map_err(|error| format!("nothing is served: {error}"))?;
    let models = models().map_err(|error| format!("nothing is served: {error}"))?;
    let variables = std::env::vars_os().collect();
    let parts = Parts {
        machines: Machines::new(&registry, root, &variables, grants).with_models(models),
        kill_switch: KillSwitch::of_project(root),
        policy,
        registry,
        recorder,
        session: session().map_err(|error| format!("no random number for the session: {error}"))?,
        notify,
    };
    let layers = Arc::new(rea_gateway::layer::Chain::new(parts));
    let (asked, hub) = (Arc::clone(&layers), Arc::clone(hub));
    let servers: Servers = Arc::new(move || {
        let hub = hub.get().and_then(Weak::upgrade);
        let health = |link: &Arc<Link>| {
            let name = link.profile.name.to_string();
            let server = asked.servers().named(&name);
            let connected = link.running().is_some();
            ServerHealth {
                connected,
                healthy: connected
                    && server.is_some_and(|server| server.circuit().0 != Circuit::Open),
                tools_count: (hub.as_ref())
                    .map(|hub| hub.catalogue.entries(List::Tools, link.index).len())
                    .and_then(|count| u64::try_from(count).ok()),
                last_error: link.reason(),
                name,
            }
        };
        links.iter().map(health).collect()
    });
    Ok(Gate::new(layers, servers))
}

/// Returns a name that tells this run of the gateway from any other.
fn session() -> Result<String, getrandom::Error> {
    let mut bytes = [0; size_of::<u128>()];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
