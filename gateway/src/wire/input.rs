//! Bridges the two ways in which servers ask the client something in the middle of a call.
//!
//! In a session a server sends a request of its own. Without one, it ends the call with what it
//! needs (`input_required`), and the call is made again with the answers. Where client and server
//! differ, the gateway does the other side's part: it makes the call again for a client with a
//! session, and it keeps the call of a server with a session open while its client comes back.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use memchr::memmem;
use tokio::sync::{mpsc, oneshot};

use super::{
    ask,
    chain::{Answer, Call, Direction, Later},
    envelope::{self, Kind, Message},
    failure::Failure,
    hub::Hub,
    json::{self, Span, quoted},
    limits::MAX_PARKED_CALLS,
    lock::lock,
    session::{Question, Sent, Session, cancel},
};

/// How long a call waits for its client to come back with what the server asked for.
const PARKED_TIME: Duration = Duration::from_mins(10);

/// Begins our own `requestState`, so that it is told apart from those of servers.
const STATE: &str = "rea:";

/// Bytes of chance in a `requestState`: it cannot be guessed.
const STATE_BYTES: usize = 16;

/// What a server without a session needs before it can answer.
#[derive(Debug)]
pub(super) struct Needs {
    requests: Vec<(String, Arc<Message>)>,
    state: Option<String>,
}

/// Returns what the server needs, if this result asks for something.
pub(super) fn needs(result: &str) -> Option<Needs> {
    // A large result is not looked through again for nothing. Whoever spells this key with escapes asks nobody.
    memmem::find(result.as_bytes(), b"\"resultType\"")?;
    let all = 0..result.len();
    let kind = json::member(result, &all, "resultType")?;
    if json::string(result, &kind)? != "input_required" {
        return None;
    }
    let mut requests = Vec::new();
    if let Some(span) = json::member(result, &all, "inputRequests") {
        for member in json::members(result, &span).unwrap_or_default() {
            let part = |key| result.get(json::member(result, &member.value, key)?);
            let method = part("method").unwrap_or("\"\"");
            let params = part("params").unwrap_or("{}");
            let line =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":{method},\"params\":{params}}}");
            requests.push((member.key, Arc::new(envelope::message(line).ok()?)));
        }
    }
    let state = json::member(result, &all, "requestState");
    let state = state.and_then(|span| result.get(span)).map(str::to_owned);
    Some(Needs { requests, state })
}

impl Needs {
    /// Asks a client with a session for everything at once, and returns the members for the next try.
    ///
    /// # Errors
    /// The answer for the client, if it did not give what was asked for.
    pub(super) async fn fulfil(
        self,
        hub: &Arc<Hub>,
        session: &Arc<Session>,
    ) -> Result<String, Answer> {
        let asks: Vec<_> = (self.requests.into_iter())
            .map(|(key, message)| {
                let (hub, session) = (Arc::clone(hub), Arc::clone(session));
                let ask = async move { ask::put(&hub, &session, message, None).await };
                (key, tokio::spawn(ask))
            })
            .collect();
        let mut responses = Vec::new();
        for (key, ask) in asks {
            let answer = ask.await.unwrap_or(Answer::Silent);
            match answer.result() {
                Some(result) => responses.push(format!("{}:{result}", quoted(&key))),
                None => return Err(answer),
            }
        }
        let mut members = vec![format!("\"inputResponses\":{{{}}}", responses.join(","))];
        members.extend(self.state.map(|state| format!("\"requestState\":{state}")));
        Ok(members.join(","))
    }

    /// Returns whether there is nothing to ask, only to try again.
    pub(super) fn is_only_state(&self) -> bool {
        self.requests.is_empty()
    }
}

/// The calls that wait for their client to come back.
#[derive(Debug, Default)]
pub struct Parked {
    calls: Mutex<HashMap<String, Parking>>,
}

/// One call of a server with a session, and what it asked of a client without.
#[derive(Debug)]
pub(super) struct Parking {
    /// The call.
    pub(super) sent: Sent,
    /// What it asked.
    pub(super) board: Board,
    /// The method and the name that the client must use again.
    target: (String, Option<String>),
}

/// Questions that the chain let pass, on their way to the client.
#[derive(Debug)]
pub(super) struct Board {
    to: mpsc::UnboundedSender<Posted>,
    from: mpsc::UnboundedReceiver<Posted>,
    last: u64,
    open: BTreeMap<String, Posted>,
}

#[derive(Debug)]
struct Posted {
    message: Arc<Message>,
    answer: oneshot::Sender<Answer>,
}

impl Board {
    /// Returns an empty board.
    pub(super) fn new() -> Self {
        let (to, from) = mpsc::unbounded_channel();
        let open = BTreeMap::new();
        Self {
            to,
            from,
            last: 0,
            open,
        }
    }

    /// Sends a question of a server through the chain; it is posted if the chain lets it.
    pub(super) fn question(&self, hub: &Arc<Hub>, session: &Arc<Session>, question: Question) {
        let to = self.to.clone();
        let execute = Box::new(move |call: Call| -> Later<Answer> {
            Box::pin(async move {
                let message = match call.to_message() {
                    Ok(message) => message,
                    Err(failure) => return failure.into(),
                };
                let (answer, answered) = oneshot::channel();
                // The call may have ended meanwhile; then nobody answers.
                let _posted = to.send(Posted { message, answer });
                answered.await.unwrap_or_else(|_| {
                    Failure::NoMethod("the client did not come back".to_owned()).into()
                })
            })
        });
        let server = Some(Arc::clone(&session.profile.name));
        let call = Call::new(Direction::ToClient, server, question.message);
        let (hub, session, id) = (Arc::clone(hub), Arc::clone(session), question.id);
        tokio::spawn(async move {
            let answer = hub.chain.answer(call, execute).await;
            if let Some(line) = answer.into_line(&id) {
                session.outlet.send(line);
            }
        });
    }

    /// Returns once a question was posted. It may be dropped and called again.
    pub(super) async fn posted(&mut self) {
        if let Some(posted) = self.from.recv().await {
            self.keep(posted);
        }
        while let Ok(posted) = self.from.try_recv() {
            self.keep(posted);
        }
    }

    fn keep(&mut self, posted: Posted) {
        self.last += 1;
        self.open.insert(format!("q{}", self.last), posted);
    }

    /// Returns the result that asks the client for everything that is open.
    fn to_result(&self, state: &str) -> String {
        let entries: Vec<String> = (self.open.iter())
            .map(|(key, posted)| {
                let line = &posted.message.line;
                let Kind::Request(request) = &posted.message.kind else {
                    return format!("{}:{{}}", quoted(key));
                };
                let params = request.params.clone().and_then(|span| line.get(span));
                let params = params.map_or(String::new(), |params| format!(",\"params\":{params}"));
                format!(
                    "{}:{{\"method\":{}{params}}}",
                    quoted(key),
                    quoted(&request.method)
                )
            })
            .collect();
        format!(
            "{{\"resultType\":\"input_required\",\"inputRequests\":{{{}}},\"requestState\":{}}}",
            entries.join(","),
            quoted(state)
        )
    }

    /// Hands the client's responses to those who asked.
    fn take(&mut self, text: &str, responses: &Span) {
        for member in json::members(text, responses).unwrap_or_default() {
            let value = text.get(member.value).unwrap_or("null").to_owned();
            if let Some(posted) = self.open.remove(&member.key) {
                // The server may have ended meanwhile.
                let _unread = posted.answer.send(Answer::Result(value));
            }
        }
    }

    fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }
}

impl Parked {
    /// Parks a call and returns the answer that asks its client for input.
    pub(super) fn park(
        hub: &Arc<Hub>,
        sent: Sent,
        board: Board,
        target: (String, Option<String>),
    ) -> Answer {
        let Some(state) = random_state() else {
            return Failure::Internal("no random numbers").into();
        };
        let result = board.to_result(&state);
        let mut calls = lock(&hub.parked.calls);
        if calls.len() >= MAX_PARKED_CALLS {
            let limit = MAX_PARKED_CALLS;
            return Failure::TooMany { limit }.into();
        }
        calls.insert(
            state.clone(),
            Parking {
                sent,
                board,
                target,
            },
        );
        drop(calls);
        let hub = Arc::clone(hub);
        tokio::spawn(async move {
            tokio::time::sleep(PARKED_TIME).await;
            let parking = lock(&hub.parked.calls).remove(&state);
            if let Some(Parking { sent, .. }) = parking {
                let session = sent.session();
                session
                    .outlet
                    .send(cancel(sent.id(), "the client did not come back"));
            }
        });
        Answer::Result(result)
    }

    /// Returns the call that these parameters go on with, if they name one of ours; with its answers
    /// handed over, and what is still missing in an answer for the client.
    pub(super) fn resume(
        hub: &Arc<Hub>,
        params: &str,
        target: &(String, Option<String>),
    ) -> Option<Result<Parking, Answer>> {
        let all = 0..params.len();
        let span = json::member(params, &all, "requestState")?;
        let state = json::string(params, &span)?;
        if !state.starts_with(STATE) {
            return None;
        }
        let mut calls = lock(&hub.parked.calls);
        let known = calls
            .get(&state)
            .is_some_and(|parking| parking.target == *target);
        let Some(mut parking) = known.then(|| calls.remove(&state)).flatten() else {
            return Some(Err(Failure::BadParams("requestState").into()));
        };
        drop(calls);
        if let Some(responses) = json::member(params, &all, "inputResponses") {
            parking.board.take(params, &responses);
        }
        if parking.board.is_waiting() {
            let Parking {
                sent,
                board,
                target,
            } = parking;
            return Some(Err(Self::park(hub, sent, board, target)));
        }
        Some(Ok(parking))
    }

    /// Gives up all calls, as the gateway stops.
    pub(super) fn clear(&self) {
        lock(&self.calls).clear();
    }
}

fn random_state() -> Option<String> {
    let mut bytes = [0; STATE_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{STATE}{}", digits.concat()))
}
