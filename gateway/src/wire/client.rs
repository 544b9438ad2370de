//! What the client says.

use std::sync::{Arc, atomic::Ordering};

use tokio::io::AsyncRead;

use super::{
    ask,
    calls::{Batch, OpenCall},
    chain::Answer,
    envelope::{self, Kind, Malformed, Message, Parsed, Request},
    era::{Asker, STATELESS},
    failure::Failure,
    hub::Hub,
    id::Id,
    json,
    limits::{
        CLIENT_QUEUE_BYTES, MAX_CLIENT_LINE_BYTES, MAX_MALFORMED_ANSWERS, MAX_OPEN_CALLS,
        NOTIFICATIONS, SHOWN,
    },
    line::{Line, LineReader},
    request, welcome,
};

/// Reads what the client says until it says no more.
pub async fn read(hub: &Arc<Hub>, input: impl AsyncRead + Unpin) {
    let mut lines = LineReader::new(input, MAX_CLIENT_LINE_BYTES);
    loop {
        // A client that does not read its answers gets no further ones to ask for.
        hub.client.below(CLIENT_QUEUE_BYTES).await;
        match lines.next().await {
            Ok(Some(line)) => take(hub, line),
            Ok(None) | Err(_) => return,
        }
        // Lets the request that was just taken be sent on before the next line is looked at.
        tokio::task::yield_now().await;
    }
}

fn take(hub: &Arc<Hub>, line: Line) {
    match line {
        Line::Whole(bytes) => match envelope::parse(bytes) {
            Parsed::One(message) => one(hub, message, None),
            Parsed::Batch(_) if !hub.asker().may_batch() && hub.is_introduced() => {
                let version = &hub.asker().version;
                let text =
                    format!("protocol version {version} has no batches; send one message a line");
                malformed(hub, None, &text, -32600);
            }
            Parsed::Batch(all) => batch(hub, all),
        },
        Line::TooLong { id, method, bytes } => {
            let limit = MAX_CLIENT_LINE_BYTES;
            let failure = Failure::LineTooLong { bytes, limit };
            hub.count(&hub.counts.client_malformed, || {
                format!("client: {failure}")
            });
            let id = id.and_then(|raw| Id::parse(&raw).ok());
            // Without a method it is an answer, which gets none.
            if method || id.is_none() {
                let id = id.map_or("null".to_owned(), |id| id.to_string());
                answer_malformed(hub, &id, &failure.to_json());
            }
        }
        Line::Unfinished { bytes } => {
            hub.count(&hub.counts.client_malformed, || {
                format!("client: it ended within a line of {bytes} bytes, which is ignored")
            });
        }
    }
}

fn batch(hub: &Arc<Hub>, all: Vec<Result<Message, Malformed>>) {
    let asks = |message: &Result<Message, Malformed>| match message {
        Ok(message) => matches!(message.kind, Kind::Request(_)),
        Err(malformed) => !malformed.reply,
    };
    let missing = all.iter().filter(|message| asks(message)).count();
    let batch = Batch::new(missing, hub.client.clone());
    for message in all {
        one(hub, message, batch.as_ref());
    }
}

fn one(hub: &Arc<Hub>, message: Result<Message, Malformed>, batch: Option<&Arc<Batch>>) {
    // Two members with one key are refused everywhere in what the client sends: the parser of the
    // server may take the other one than whoever checked it.
    let message = message.and_then(|message| match json::check(&message.line) {
        Ok(()) => Ok(message),
        Err(fault) => Err(Malformed::within(&message, fault)),
    });
    match message {
        Ok(message) => match &message.kind {
            Kind::Request(request) => {
                let request = request.clone();
                asked(hub, message, request, batch);
            }
            Kind::Notification { .. } => notified(hub, &message),
            Kind::Reply(reply) => {
                let reply = reply.clone();
                if !hub.asks.answered(message.line, reply) {
                    let stray = &hub.counts.client_stray;
                    hub.count(stray, || {
                        "client: an answer that nobody waits for".to_owned()
                    });
                }
            }
        },
        Err(malformed) => {
            let text = malformed.reason.to_string();
            let code = malformed.reason.code();
            if malformed.reply {
                hub.count(&hub.counts.client_malformed, || format!("client: {text}"));
                if let Some(id) = malformed.id {
                    hub.asks.fail(&id, &text);
                }
            } else if let Some(batch) = batch {
                hub.count(&hub.counts.client_malformed, || format!("client: {text}"));
                let id = malformed.id.map_or("null".to_owned(), |id| id.to_string());
                batch.add(Some(error_line(
                    &id,
                    &super::failure::error(code, &text, None),
                )));
            } else {
                self::malformed(hub, malformed.id.as_ref(), &text, code);
            }
        }
    }
}

fn malformed(hub: &Hub, id: Option<&Id>, text: &str, code: i64) {
    hub.count(&hub.counts.client_malformed, || format!("client: {text}"));
    let id = id.map_or("null".to_owned(), Id::to_string);
    answer_malformed(hub, &id, &super::failure::error(code, text, None));
}

fn answer_malformed(hub: &Hub, id: &str, error: &str) {
    if hub.counts.client_malformed.load(Ordering::Relaxed) <= MAX_MALFORMED_ANSWERS {
        hub.client.send(error_line(id, error));
    }
}

fn error_line(id: &str, error: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}

fn asked(hub: &Arc<Hub>, message: Message, request: Request, batch: Option<&Arc<Batch>>) {
    let own = (request.params.as_ref())
        .and_then(|params| Asker::from_meta(&message.line, params))
        .map(Arc::new);
    let stateless = own.is_some();
    let asker = own.unwrap_or_else(|| hub.asker_with_session());
    let (id, batch) = (request.id.clone(), batch.cloned());
    let opened = hub.calls.open(
        id.clone(),
        Arc::clone(&asker),
        batch.clone(),
        MAX_OPEN_CALLS,
    );
    let Some(call) = opened else {
        let limit = MAX_OPEN_CALLS;
        let line = Answer::from(Failure::TooMany { limit }).into_line(&id);
        match (batch, line) {
            (Some(batch), line) => batch.add(line),
            (None, Some(line)) => hub.client.send(line),
            (None, None) => {}
        }
        return;
    };
    if stateless {
        if asker.version != STATELESS {
            let requested = asker.version.clone();
            hub.calls
                .close(&call, Failure::Version { requested }.into(), &hub.client);
            return;
        }
        hub.met(&asker);
    }
    if request.method == "initialize" {
        // Kept at once, not in a task of its own: what comes next may depend on it.
        let Some(params) = &request.params else {
            let answer = Failure::BadParams("protocolVersion").into();
            hub.calls.close(&call, answer, &hub.client);
            return;
        };
        let asker = hub.introduce(&message.line, params);
        let hub = Arc::clone(hub);
        tokio::spawn(async move {
            let answer = welcome::initialize(Arc::clone(&hub), asker).await;
            hub.calls.close(&call, answer, &hub.client);
        });
        return;
    }
    let hub = Arc::clone(hub);
    tokio::spawn(async move {
        let answer = answer(&hub, &call, message, request).await;
        hub.calls.close(&call, answer, &hub.client);
    });
}

async fn answer(
    hub: &Arc<Hub>,
    call: &Arc<OpenCall>,
    message: Message,
    request: Request,
) -> Answer {
    if hub.is_stopping() {
        return Failure::Stopping.into();
    }
    request::answer(hub, call, message, request).await
}

fn notified(hub: &Arc<Hub>, message: &Message) {
    let Kind::Notification { method, params } = &message.kind else {
        return;
    };
    let line = &message.line;
    let member = |key: &str| json::member(line, params.as_ref()?, key);
    match method.as_str() {
        // Every server got its own when it was greeted.
        "notifications/initialized" => {}
        "notifications/cancelled" => {
            let span = member("requestId");
            let id = span
                .as_ref()
                .and_then(|span| Id::parse(line.get(span.clone())?).ok());
            let (Some(span), Some(id)) = (span, id) else {
                return;
            };
            for call in hub.calls.with_id(&id) {
                call.cancel(line, &span);
            }
        }
        "notifications/progress" => {
            let token = member("progressToken");
            if token.is_none_or(|span| {
                ask::token(line, &span).is_none() || !hub.asks.progressed(line, &span)
            }) {
                hub.counts.client_stray.fetch_add(1, Ordering::Relaxed);
            }
        }
        "notifications/roots/list_changed" => {
            for link in &hub.links {
                link.notify(line);
            }
        }
        method if method.starts_with(NOTIFICATIONS) => hub.strangers.take(hub, message),
        // A server may well carry out a request that lacks its id. Nobody would have judged it.
        method => {
            let method: String = method.chars().take(SHOWN).collect();
            hub.count(&hub.counts.client_unasked, || {
                format!("client: a notification \"{method}\" was dropped: such names begin with {NOTIFICATIONS}")
            });
        }
    }
}
