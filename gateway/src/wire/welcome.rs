//! What a client is told about the gateway when it comes.

use std::sync::Arc;

use super::{
    catalogue::cacheable,
    chain::Answer,
    era::{Asker, Era, SERVER_KEY, STATELESS, implementation},
    hub::Hub,
    json::quoted,
    name,
    session::Session,
    tasks,
};

/// Answers `initialize` once the servers are there, or have had their time to be.
pub async fn initialize(hub: Arc<Hub>, asker: Arc<Asker>) -> Answer {
    hub.greeted().await;
    let hub = &hub;
    Answer::Result(format!(
        "{{\"protocolVersion\":{},\"capabilities\":{},\"serverInfo\":{},\"instructions\":{}}}",
        quoted(&asker.version),
        capabilities(hub, &asker),
        implementation(),
        quoted(&instructions(hub)),
    ))
}

/// Answers `server/discover`, which a client without a session begins with.
pub(super) async fn discover(hub: &Hub, asker: &Asker) -> Answer {
    hub.greeted().await;
    Answer::Result(format!(
        "{{\"supportedVersions\":[{}],\"capabilities\":{},\"instructions\":{},{},\"_meta\":{{{}:{}}}}}",
        quoted(STATELESS),
        capabilities(hub, asker),
        quoted(&instructions(hub)),
        cacheable(),
        quoted(SERVER_KEY),
        implementation(),
    ))
}

/// What we can do. Some servers may not have started yet, so it is everything; lists of what none of
/// them has are empty. Only tasks are left to the servers that have said that they have them: without
/// the capability no client asks for one.
fn capabilities(hub: &Hub, asker: &Asker) -> String {
    let mut all = String::from(
        r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{}"#,
    );
    let running = hub.running();
    let sessions: Vec<&Session> = running.iter().map(|(_, session)| &**session).collect();
    match asker.era {
        Era::Session => {
            all.push_str(r#","logging":{}"#);
            let tasks = tasks::capability(&sessions);
            if let Some(tasks) = tasks.filter(|_| *asker.version >= *tasks::FIRST_VERSION) {
                all.extend([",", &tasks]);
            }
        }
        Era::Stateless => {
            let has = |session: &&Session| {
                session.is_stateless() && session.can(&["extensions", tasks::EXTENSION])
            };
            if sessions.iter().any(has) {
                let extension = quoted(tasks::EXTENSION);
                all.extend([",\"extensions\":{", &extension, ":{}}"]);
            }
        }
    }
    all.push('}');
    all
}

fn instructions(hub: &Hub) -> String {
    let names: Vec<&str> = hub.links.iter().map(|link| &*link.profile.name).collect();
    let mut text = format!(
        "This gateway offers the tools and prompts of these servers under names such as \
         SERVER{}NAME: {}.",
        name::SEPARATOR,
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        },
    );
    let starting: Vec<&str> = (hub.links.iter())
        .filter(|link| link.is_starting())
        .map(|link| &*link.profile.name)
        .collect();
    if !starting.is_empty() {
        text.extend([
            " Still starting, so that what they say about themselves is missing here: ",
            &starting.join(", "),
            ".",
        ]);
    }
    for (link, session) in hub.running() {
        let greeting = session.greeting();
        if let Some(said) = greeting.and_then(|greeting| greeting.instructions.as_deref()) {
            text.extend(["\n\n## ", &*link.profile.name, "\n\n", said]);
        }
    }
    text
}
