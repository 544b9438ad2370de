//! How a server is greeted: in the client's own era first, in the other one if it does not speak it.

use std::{sync::Arc, time::Duration};

use super::{
    chain::Answer,
    era::{Asker, Era, STATELESS},
    failure::Failure,
    hub::Hub,
    json::{self, quoted},
    session::{Greeting, Session, notification},
};

/// How long a server that says nothing to `server/discover` is waited for. Servers of the older era
/// may ignore what they do not know; those of the newer one may take their time to start.
const DISCOVER_PATIENCE: Duration = Duration::from_secs(8);

/// Why a server could not be greeted.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It could not be started at all.
    #[error("{0}")]
    Start(String),
    /// It ended while it was greeted.
    #[error("it ended before it was ready; its standard error may say why")]
    Ended,
    /// It answered that it cannot serve us.
    #[error("it refused the greeting: {0}")]
    Answer(String),
}

/// Greets a server that is likely to speak as in `likely`.
///
/// # Errors
/// When it speaks neither era or ends.
pub async fn greet(hub: &Arc<Hub>, session: &Arc<Session>, likely: Era) -> Result<(), Refused> {
    let asker = hub.asker();
    let first = match likely {
        Era::Session => initialize(hub, session, &asker).await,
        Era::Stateless => discover(session, &asker).await,
    };
    match (first, likely) {
        (Err(Refused::Answer(_)), Era::Stateless) => initialize(hub, session, &asker).await,
        (Err(Refused::Answer(reason)), Era::Session) => discover(session, &asker)
            .await
            .map_err(|_| Refused::Answer(reason)),
        (result, _) => result,
    }
}

async fn initialize(hub: &Hub, session: &Arc<Session>, asker: &Asker) -> Result<(), Refused> {
    let time = session.profile.start_timeout;
    let params = hub.introduction(asker);
    let answer = session.ask_within("initialize", &params, time).await;
    let result = result(answer)?;
    let all = 0..result.len();
    let text = |key| json::string(&result, &json::member(&result, &all, key)?);
    let Some(version) = text("protocolVersion") else {
        return Err(Refused::Answer("its answer names no version".to_owned()));
    };
    session.greet(Greeting {
        era: Era::Session,
        version,
        capabilities: object(&result, "capabilities"),
        instructions: text("instructions"),
    });
    session
        .outlet
        .send(notification("notifications/initialized", None));
    if let Some(level) = hub.log_level()
        && session.can(&["logging"])
    {
        let params = format!("{{\"level\":{}}}", quoted(&level));
        // Its messages are filtered by nobody else, so a refusal only means more of them.
        drop(session.ask("logging/setLevel", &params).await);
    }
    Ok(())
}

async fn discover(session: &Arc<Session>, asker: &Asker) -> Result<(), Refused> {
    let params = format!("{{\"_meta\":{{{}}}}}", asker.meta_members());
    let answer = session
        .ask_within("server/discover", &params, DISCOVER_PATIENCE)
        .await;
    let result = result(answer)?;
    let all = 0..result.len();
    let versions = json::member(&result, &all, "supportedVersions")
        .and_then(|span| json::elements(&result, &span))
        .unwrap_or_default();
    let ours = |span| json::string(&result, span).as_deref() == Some(STATELESS);
    if !versions.iter().any(ours) {
        return Err(Refused::Answer(format!("it does not speak {STATELESS}")));
    }
    let instructions = json::member(&result, &all, "instructions");
    session.greet(Greeting {
        era: Era::Stateless,
        version: STATELESS.to_owned(),
        capabilities: object(&result, "capabilities"),
        instructions: instructions.and_then(|span| json::string(&result, &span)),
    });
    Ok(())
}

/// Returns the result of an answer.
fn result(answer: Answer) -> Result<String, Refused> {
    match answer {
        Answer::Peer(peer) => match peer.result() {
            Some(result) => Ok(result.to_owned()),
            None => Err(Refused::Answer(message(peer.error().unwrap_or_default()))),
        },
        Answer::Failed(Failure::Exited { .. })
        | Answer::Result(_)
        | Answer::Error(_)
        | Answer::Silent => Err(Refused::Ended),
        Answer::Failed(failure) => Err(Refused::Answer(failure.to_string())),
    }
}

fn message(error: &str) -> String {
    json::member(error, &(0..error.len()), "message")
        .and_then(|span| json::string(error, &span))
        .unwrap_or_else(|| "an error without a message".to_owned())
}

fn object(text: &str, key: &str) -> String {
    let span = json::member(text, &(0..text.len()), key);
    let value = span.and_then(|span| text.get(span)).unwrap_or("{}");
    if value.starts_with('{') { value } else { "{}" }.to_owned()
}
