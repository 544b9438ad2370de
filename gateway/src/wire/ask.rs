//! Requests of servers to the client: sampling, elicitation, roots and whatever else they ask.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::sync::oneshot;

use super::{
    chain::{Answer, Call, Direction, PeerAnswer},
    envelope::{Kind, Message, Reply},
    era::Era,
    failure::Failure,
    hub::Hub,
    id::{Id, Key},
    json::{self, Span},
    lock::lock,
    outlet::Outlet,
    sequence::Ticket,
    session::{Question, Session, notification},
};

/// The requests of servers that are open at the client.
#[derive(Debug, Default)]
pub struct Asks {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    last: u64,
    asks: HashMap<u64, Ask>,
}

#[derive(Debug)]
struct Ask {
    session: Arc<Session>,
    /// The server's own id of it.
    id: Id,
    /// The server's own progress token, as it was spelled.
    token: Option<String>,
    answer: oneshot::Sender<Answer>,
}

/// Takes a request of a server.
pub fn asked(hub: &Arc<Hub>, session: &Arc<Session>, message: Message) {
    let Kind::Request(request) = &message.kind else {
        return;
    };
    let id = request.id.clone();
    if request.method == "ping" {
        reply(session, &id, Answer::Result("{}".to_owned()));
        return;
    }
    let message = Arc::new(message);
    if hub.asker().era == Era::Stateless {
        let question = Question { message, id };
        if let Err(question) = session.question(question) {
            let what = Failure::NoMethod("a request outside of a call".to_owned());
            reply(session, &question.id, what.into());
        }
        return;
    }
    let place = session.sequence.reserve();
    let (hub, session) = (Arc::clone(hub), Arc::clone(session));
    tokio::spawn(async move {
        let answer = put(&hub, &session, message, Some(place)).await;
        reply(&session, &id, answer);
    });
}

/// Puts a question of a server to a client with a session, through the chain.
pub async fn put(
    hub: &Arc<Hub>,
    session: &Arc<Session>,
    message: Arc<Message>,
    place: Option<Ticket>,
) -> Answer {
    let server = Arc::clone(&session.profile.name);
    let call = Call::new(Direction::ToClient, Some(server), message);
    let (to, from) = (Arc::clone(hub), Arc::clone(session));
    let execute = Box::new(move |call: Call| -> super::chain::Later<Answer> {
        Box::pin(async move {
            match call.to_message() {
                Ok(message) => to.asks.ask(&to.client, from, &message, place).await,
                Err(failure) => failure.into(),
            }
        })
    });
    hub.chain.answer(call, execute).await
}

fn reply(session: &Session, id: &Id, answer: Answer) {
    if let Some(line) = answer.into_line(id) {
        session.outlet.send(line);
    }
}

impl Asks {
    /// Sends a request to the client under an id of ours and returns the answer.
    async fn ask(
        &self,
        client: &Outlet,
        session: Arc<Session>,
        message: &Message,
        place: Option<Ticket>,
    ) -> Answer {
        let Kind::Request(request) = &message.kind else {
            return Failure::Internal("only requests are asked").into();
        };
        let line = &message.line;
        let token = (request.params.as_ref())
            .and_then(|params| json::at(line, params, &["_meta", "progressToken"]));
        let (answer, answered) = oneshot::channel();
        let ours = {
            let mut open = lock(&self.open);
            open.last += 1;
            open.last
        };
        let mut edits = vec![(request.id_span.clone(), ours.to_string())];
        edits.extend(token.clone().map(|span| (span, ours.to_string())));
        let Some(asked) = json::splice(line, edits) else {
            return Failure::Internal("the request cannot be built").into();
        };
        let ask = Ask {
            session: Arc::clone(&session),
            id: request.id.clone(),
            token: token.and_then(|span| line.get(span)).map(str::to_owned),
            answer,
        };
        lock(&self.open).asks.insert(ours, ask);
        match place {
            Some(place) => place.fill(asked),
            None => client.send(asked),
        }
        session.question_opened();
        let answer = answered.await.unwrap_or(Answer::Silent);
        session.question_closed();
        answer
    }

    /// Takes an answer of the client. Returns whether anybody waits for it.
    pub fn answered(&self, line: String, answer: Reply) -> bool {
        let id = answer.id.as_number();
        let Some(ask) = id.and_then(|id| lock(&self.open).asks.remove(&id)) else {
            return false;
        };
        let answer = Answer::Peer(PeerAnswer::new(line, answer));
        ask.answer.send(answer).is_ok()
    }

    /// Answers a question whose answer cannot be read.
    pub fn fail(&self, id: &Id, reason: &str) {
        let ask = id
            .as_number()
            .and_then(|id| lock(&self.open).asks.remove(&id));
        if let Some(ask) = ask {
            let text = format!("the answer of the client is not valid: {reason}");
            let error = super::failure::error(-32603, &text, None);
            // The server may be gone by now.
            let _unread = ask.answer.send(Answer::Error(error));
        }
    }

    /// Passes on that a server no longer wants an answer. `span` is the id in its notification.
    pub fn cancelled(&self, client: &Outlet, session: &Arc<Session>, line: &str, span: &Span) {
        let wanted = line.get(span.clone()).and_then(|raw| Id::parse(raw).ok());
        let open = lock(&self.open);
        let found = (open.asks.iter()).find(|(_, ask)| {
            Arc::ptr_eq(&ask.session, session) && Some(&ask.id) == wanted.as_ref()
        });
        if let Some((ours, _)) = found {
            let edit = (span.clone(), ours.to_string());
            if let Some(line) = json::splice(line, vec![edit]) {
                client.send(line);
            }
        }
    }

    /// Passes progress of the client to the server that it belongs to. `span` is the token.
    pub fn progressed(&self, line: &str, span: &Span) -> bool {
        let ours = line.get(span.clone()).and_then(|raw| Id::parse(raw).ok());
        let open = lock(&self.open);
        let ask = (ours.and_then(|id| id.as_number())).and_then(|id| open.asks.get(&id));
        let Some((ask, token)) = ask.and_then(|ask| Some((ask, ask.token.clone()?))) else {
            return false;
        };
        let Some(line) = json::splice(line, vec![(span.clone(), token)]) else {
            return false;
        };
        ask.session.outlet.send(line);
        true
    }

    /// Forgets the questions of a server that has ended, and tells the client if one is given.
    pub fn forget(&self, session: &Arc<Session>, client: Option<&Outlet>) {
        let mut open = lock(&self.open);
        let gone = |ask: &Ask| Arc::ptr_eq(&ask.session, session);
        let gone: Vec<u64> = (open.asks.iter())
            .filter(|(_, ask)| gone(ask))
            .map(|(ours, _)| *ours)
            .collect();
        for ours in gone {
            open.asks.remove(&ours);
            let params = format!("{{\"requestId\":{ours},\"reason\":\"the server ended\"}}");
            if let Some(client) = client {
                client.send(notification("notifications/cancelled", Some(&params)));
            }
        }
    }
}

/// Returns the key of the value at `span`, if it can be a progress token.
pub fn token(line: &str, span: &Span) -> Option<Key> {
    let id = Id::parse(line.get(span.clone())?).ok()?;
    Some(id.key().clone())
}
