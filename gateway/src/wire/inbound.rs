//! What servers say.

use std::sync::{Arc, atomic::Ordering};

use tokio::io::AsyncRead;

use super::{
    ask,
    catalogue::List,
    envelope::{self, Kind, Malformed, Message, Parsed, Reason},
    era::{Era, severity},
    failure::Failure,
    hub::Hub,
    id::Id,
    json::{self, Span},
    limits::{CLIENT_QUEUE_BYTES, NOTIFICATIONS, SHOWN},
    line::{Line, LineReader},
    session::Session,
};

/// Reads what a server says until it says no more.
pub async fn read(hub: Arc<Hub>, session: Arc<Session>, output: impl AsyncRead + Unpin) {
    let mut lines = LineReader::new(output, session.profile.max_message_bytes);
    loop {
        hub.client.below(CLIENT_QUEUE_BYTES).await;
        match lines.next().await {
            Ok(Some(line)) => take(&hub, &session, line),
            Ok(None) | Err(_) => return,
        }
    }
}

fn take(hub: &Arc<Hub>, session: &Arc<Session>, line: Line) {
    match line {
        Line::Whole(bytes) => match envelope::parse(bytes) {
            Parsed::One(message) => one(hub, session, message),
            Parsed::Batch(all) => {
                for message in all {
                    one(hub, session, message);
                }
            }
        },
        Line::TooLong { id, method, bytes } => too_long(hub, session, id, method, bytes),
        Line::Unfinished { bytes } => {
            let name = &session.profile.name;
            hub.count(&hub.counts.server_malformed, || {
                format!("server \"{name}\" ended within a line of {bytes} bytes")
            });
        }
    }
}

fn one(hub: &Arc<Hub>, session: &Arc<Session>, message: Result<Message, Malformed>) {
    match message {
        Ok(message) => match &message.kind {
            Kind::Request(_) => ask::asked(hub, session, message),
            Kind::Notification { .. } => notified(hub, session, message),
            Kind::Reply(reply) => {
                let reply = reply.clone();
                let id = reply.id.clone();
                if !session.answered(message.line, reply) {
                    stray(hub, session, &id);
                }
            }
        },
        Err(malformed) => {
            let reason = malformed.reason.to_string();
            let server = session.profile.name.to_string();
            // Whoever waits for an answer need not wait on when it has come and is none.
            let answers = malformed.reply || malformed.reason == Reason::Empty;
            if let Some(id) = malformed.id.filter(|_| answers).or(malformed.seen_id) {
                let (server, reason) = (server.clone(), reason.clone());
                session.fail(&id, Failure::BadAnswer { server, reason });
            }
            hub.count(&hub.counts.server_malformed, || {
                format!("server \"{server}\" wrote a line that is no message: {reason}")
            });
        }
    }
}

fn stray(hub: &Hub, session: &Session, id: &Id) {
    let name = &session.profile.name;
    let id: String = id.raw().chars().take(SHOWN).collect();
    hub.count(&hub.counts.server_stray, || {
        format!("server \"{name}\" answered {id}, which is not open")
    });
}

fn too_long(hub: &Hub, session: &Session, id: Option<String>, method: bool, bytes: u64) {
    let limit = session.profile.max_message_bytes;
    let server = session.profile.name.to_string();
    let failure = Failure::AnswerTooLong {
        server,
        bytes,
        limit,
    };
    let note = failure.to_string();
    hub.count(&hub.counts.server_malformed, || note);
    let Some(id) = id.and_then(|raw| Id::parse(&raw).ok()) else {
        return;
    };
    if !method {
        session.fail(&id, failure);
    } else if let Some(line) =
        super::chain::Answer::from(Failure::LineTooLong { bytes, limit }).into_line(&id)
    {
        session.outlet.send(line);
    }
}

fn notified(hub: &Arc<Hub>, session: &Arc<Session>, message: Message) {
    let Message { line, kind } = message;
    let Kind::Notification { method, params } = kind else {
        return;
    };
    let member = |key: &str| json::member(&line, params.as_ref()?, key);
    match method.as_str() {
        "notifications/progress" => {
            let token = member("progressToken").and_then(|span| ask::token(&line, &span));
            if token.is_some_and(|token| session.progressed(&token)) {
                session.sequence.send(line);
            } else {
                hub.counts.server_stray.fetch_add(1, Ordering::Relaxed);
            }
        }
        "notifications/cancelled" => {
            if let Some(span) = member("requestId") {
                hub.asks.cancelled(&hub.client, session, &line, &span);
            }
        }
        "notifications/message" => {
            if wants_log(hub, session, &line, member("level")) {
                session.sequence.send(line);
            }
        }
        "notifications/resources/updated" => {
            if let Some(params) = &params {
                hub.subscriptions.updated(hub, session, line, params);
            }
        }
        // It answers a stream of ours.
        "notifications/subscriptions/acknowledged" => {}
        _ => match List::changed_by(&method) {
            Some(lists) => hub.catalogue.changed(hub, session, lists),
            None if method.starts_with(NOTIFICATIONS) => session.sequence.send(line),
            // A client may well carry out a request that lacks its id. Nobody would have judged it.
            None => {
                let name = &session.profile.name;
                let method: String = method.chars().take(SHOWN).collect();
                hub.count(&hub.counts.server_unasked, || {
                    format!("server \"{name}\": a notification \"{method}\" was dropped: such names begin with {NOTIFICATIONS}")
                });
            }
        },
    }
}

/// Whether a log message is passed on: always in a session, where the server filters; otherwise
/// only if an open request asked for messages as severe as this one.
fn wants_log(hub: &Hub, session: &Session, line: &str, level: Option<Span>) -> bool {
    if hub.asker().era == Era::Session || session.is_stateless() {
        return true;
    }
    let level = level.and_then(|span| json::string(line, &span));
    let level = severity(level.as_deref().unwrap_or_default());
    let wants = |wanted: &String| level >= severity(wanted);
    let calls = hub.calls.all();
    calls
        .iter()
        .any(|call| call.asker.log_level.as_ref().is_some_and(wants))
}
