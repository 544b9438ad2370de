//! Sends a call on to its server and waits for what comes of it.

use std::{sync::Arc, time::Duration};

use super::{
    ask, bridge,
    calls::OpenCall,
    chain::{Answer, Call, Look},
    envelope::{Kind, Message, Request},
    era::Era,
    failure::Failure,
    hub::Hub,
    id::Id,
    input::{self, Board, Parked, Parking},
    json,
    limits::MAX_INPUT_ROUNDS,
    link::Link,
    session::{Manner, Next, Sent, Session},
    tasks,
};

/// How long a server that asked for nothing is left alone before the next try.
const NEXT_TRY: Duration = Duration::from_millis(100);

/// A value in the parameters that the server knows under another name.
#[derive(Clone, Debug)]
pub(super) struct Rename {
    /// Where it stands.
    pub(super) path: &'static [&'static str],
    /// The JSON text to put there.
    pub(super) to: String,
}

/// Sends a call on and returns its answer.
pub(super) async fn forward(
    hub: &Arc<Hub>,
    open: &Arc<OpenCall>,
    link: &Arc<Link>,
    call: &Call,
    renames: &[Rename],
) -> Answer {
    let target = (call.method.clone(), call.offered.clone());
    let session = tokio::select! {
        session = link.session(hub) => session,
        () = open.cancelled() => return Answer::Silent,
    };
    let session = match session {
        Ok(session) => session,
        Err(failure) => return failure.into(),
    };
    let stateless = open.asker.era == Era::Stateless;
    if stateless && let Some(parking) = Parked::resume(hub, call.params(), &target) {
        return match parking {
            Ok(Parking { sent, board, .. }) => {
                open.sent(&sent);
                let answer = settle(hub, open, sent, board, target).await;
                bridge::without_session(answer, &session, &call.method)
            }
            Err(answer) => answer,
        };
    }
    let mut more = String::new();
    for _ in 0..MAX_INPUT_ROUNDS {
        let sent = call
            .to_message()
            .and_then(|message| send(open, &session, &message, renames, &more, call.look()));
        let answer = match sent {
            Ok(sent) => settle(hub, open, sent, Board::new(), target.clone()).await,
            Err(failure) => return failure.into(),
        };
        if stateless {
            return bridge::without_session(answer, &session, &call.method);
        }
        let Some(needs) = answer.result().and_then(input::needs) else {
            return answer;
        };
        open.answered(None);
        if needs.is_only_state() {
            tokio::time::sleep(NEXT_TRY).await;
        }
        more = match needs.fulfil(hub, &session).await {
            Ok(more) => more,
            Err(answer) => return answer,
        };
    }
    let server = session.profile.name.to_string();
    let reason = format!("it asked for input more than {MAX_INPUT_ROUNDS} times");
    Failure::BadAnswer { server, reason }.into()
}

/// Sends one request; `more` holds members to add to its parameters.
fn send(
    open: &Arc<OpenCall>,
    session: &Arc<Session>,
    message: &Message,
    renames: &[Rename],
    more: &str,
    look: Option<Look>,
) -> Result<Sent, Failure> {
    let Kind::Request(request) = &message.kind else {
        return Err(Failure::Internal("only requests are sent on"));
    };
    let token = (request.params.as_ref())
        .and_then(|params| json::at(&message.line, params, &["_meta", "progressToken"]))
        .and_then(|span| ask::token(&message.line, &span));
    let asks_in_band = open.asker.era == Era::Stateless && !session.is_stateless();
    let manner = Manner {
        token,
        takes_questions: asks_in_band,
        endless: false,
        look,
    };
    if open.is_cancelled() {
        return Err(Failure::Internal("cancelled before it was sent"));
    }
    let bridged = open.asker.era == Era::Session && session.is_stateless();
    let meta = bridged.then(|| open.asker.meta_members());
    let line = |id: &Id| line(message, request, renames, meta.as_deref(), more, id);
    let sent = session.send(line, manner)?;
    open.sent(&sent);
    Ok(sent)
}

fn line(
    message: &Message,
    request: &Request,
    renames: &[Rename],
    meta: Option<&str>,
    more: &str,
    id: &Id,
) -> Option<String> {
    let text = &message.line;
    let mut edits = vec![(request.id_span.clone(), id.raw().to_owned())];
    for rename in renames {
        let span = json::at(text, request.params.as_ref()?, rename.path)?;
        edits.push((span, rename.to.clone()));
    }
    let mut members = Vec::new();
    if !more.is_empty() {
        members.push(more.to_owned());
    }
    if let Some(meta) = meta {
        let place = request.params.as_ref();
        match place.and_then(|params| json::member(text, params, "_meta")) {
            Some(span) => edits.push(json::insert_members(text, &span, meta)?),
            None => members.push(format!("\"_meta\":{{{meta}}}")),
        }
    }
    if !members.is_empty() {
        let members = members.join(",");
        if let Some(params) = &request.params {
            edits.push(json::insert_members(text, params, &members)?);
        } else {
            let whole = text.find('{')?..text.len();
            let params = format!("\"params\":{{{members}}}");
            edits.push(json::insert_members(text, &whole, &params)?);
        }
    }
    json::splice(text, edits)
}

/// Waits for the answer of a request that was sent. A question of the server ends the wait for a
/// client without a session: the call is parked until it comes back.
async fn settle(
    hub: &Arc<Hub>,
    open: &Arc<OpenCall>,
    mut sent: Sent,
    mut board: Board,
    target: (String, Option<String>),
) -> Answer {
    loop {
        let cancelled = open.is_cancelled();
        tokio::select! {
            biased;
            next = sent.next() => match next {
                Next::Answer(answer, place) => {
                    note_task(hub, &sent, &answer);
                    open.answered(place);
                    return answer;
                }
                Next::Question(question) => board.question(hub, sent.session(), question),
            },
            () = board.posted() => {
                open.answered(None);
                return Parked::park(hub, sent, board, target);
            }
            () = open.cancelled(), if !cancelled => sent.cancelled(),
        }
    }
}

/// Remembers who has the task, if that is what the answer is.
fn note_task(hub: &Hub, sent: &Sent, answer: &Answer) {
    let Some(task) = answer.result().and_then(tasks::created) else {
        return;
    };
    let server = &sent.session().profile.name;
    if let Some(link) = hub.links.iter().find(|link| link.profile.name == *server) {
        hub.tasks.note(&task, link.index);
    }
}
