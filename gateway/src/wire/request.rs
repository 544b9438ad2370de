//! Which way each request of the client goes.

use std::sync::Arc;

use super::{
    calls::OpenCall,
    catalogue::List,
    chain::{Answer, Call, Direction, Execute, Later},
    envelope::{self, Message, Request},
    era::Era,
    failure::Failure,
    forward::{Rename, forward},
    hub::Hub,
    id::Id,
    json::{self, quoted},
    link::Link,
    session, subscription,
    target::{Target, find_address, find_name},
    welcome::discover,
};

/// A request of the client, and what it takes to answer it.
#[derive(Clone, Copy)]
struct Asked<'a> {
    hub: &'a Arc<Hub>,
    open: &'a Arc<OpenCall>,
    message: &'a Arc<Message>,
    request: &'a Request,
}

impl Asked<'_> {
    /// Returns the text at `path` of the parameters.
    fn text(self, path: &[&str]) -> Option<String> {
        let line = &self.message.line;
        json::string(line, &json::at(line, self.request.params.as_ref()?, path)?)
    }

    /// Returns the parameters, one JSON object.
    fn params(&self) -> &str {
        let span = self.request.params.clone();
        let params = span.and_then(|span| self.message.line.get(span));
        params.unwrap_or("{}")
    }

    /// Sends a call through the chain and, if the chain lets it, on to its server.
    async fn through(
        self,
        offered: String,
        target: Option<Target>,
        renames: Vec<Rename>,
        what: &'static str,
    ) -> Answer {
        let Self {
            hub, open, message, ..
        } = self;
        let server = target
            .as_ref()
            .map(|target| Arc::clone(&target.link.profile.name));
        let mut call = Call::new(Direction::ToServer, server, Arc::clone(message));
        call.offered = Some(offered.clone());
        let execute: Execute = match target {
            Some(target) => {
                call.name = Some(target.name);
                call.entry = target.entry.map(|entry| Arc::clone(&entry.original));
                let (hub, open, link) = (Arc::clone(hub), Arc::clone(open), target.link);
                Box::new(move |call| -> Later<Answer> {
                    Box::pin(async move { forward(&hub, &open, &link, &call, &renames).await })
                })
            }
            None => Box::new(move |_| -> Later<Answer> {
                Box::pin(async move {
                    Failure::Unknown {
                        what,
                        name: offered,
                    }
                    .into()
                })
            }),
        };
        hub.chain.answer(call, execute).await
    }
}

/// Answers every other request.
pub async fn answer(
    hub: &Arc<Hub>,
    open: &Arc<OpenCall>,
    message: Message,
    request: Request,
) -> Answer {
    let stateless = open.asker.era == Era::Stateless;
    if let Some(list) = List::asked_by(&request.method) {
        let params = request.params.and_then(|span| message.line.get(span));
        return hub
            .catalogue
            .answer(hub, list, &open.asker, params.unwrap_or("{}"))
            .await;
    }
    let message = Arc::new(message);
    let asked = Asked {
        hub,
        open,
        message: &message,
        request: &request,
    };
    match request.method.as_str() {
        "ping" if !stateless => Answer::Result("{}".to_owned()),
        "server/discover" if stateless => discover(hub, &open.asker).await,
        "tools/call" => named(asked, List::Tools).await,
        "prompts/get" => named(asked, List::Prompts).await,
        "resources/read" => addressed(asked).await,
        "resources/subscribe" | "resources/unsubscribe" if !stateless => subscribe(asked).await,
        "subscriptions/listen" if stateless => listen(asked).await,
        "completion/complete" => complete(asked).await,
        "logging/setLevel" if !stateless => set_level(asked).await,
        "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => task(asked).await,
        _ => other(asked).await,
    }
}

/// A request about a task, for the server that has it.
async fn task(asked: Asked<'_>) -> Answer {
    let Asked { hub, request, .. } = asked;
    let Some(task) = asked.text(&["taskId"]) else {
        return Failure::BadParams("taskId").into();
    };
    let link = match (hub.tasks.server(&task), hub.links.as_slice()) {
        (Some(server), links) => links.get(server),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let Some(link) = link else {
        // It is nobody's, so there is nothing to decide about.
        return Failure::BadParams("taskId").into();
    };
    let method = request.method.clone();
    let target = Target {
        link: Arc::clone(link),
        name: method.clone(),
        entry: None,
    };
    asked
        .through(method, Some(target), Vec::new(), "task")
        .await
}

/// A request for something that has a name: a tool or a prompt.
async fn named(asked: Asked<'_>, list: List) -> Answer {
    let Asked { hub, open, .. } = asked;
    let Some(offered) = asked.text(&["name"]) else {
        return Failure::BadParams("name").into();
    };
    let found = find_name(hub, &open.asker, list, &offered).await;
    let (target, rename) = match found {
        Some(found) => {
            let to = quoted(&found.name);
            (
                Some(found),
                vec![Rename {
                    path: &["name"],
                    to,
                }],
            )
        }
        None => (None, Vec::new()),
    };
    let what = match list {
        List::Tools => "tool",
        List::Prompts | List::Resources | List::Templates => "prompt",
    };
    asked.through(offered, target, rename, what).await
}

/// A request for something that has an address: a resource.
async fn addressed(asked: Asked<'_>) -> Answer {
    let Asked { hub, open, .. } = asked;
    let Some(address) = asked.text(&["uri"]) else {
        return Failure::BadParams("uri").into();
    };
    let targets = find_address(hub, &open.asker, &address).await;
    let mut last = None;
    for target in targets {
        let renames = if target.name == address {
            Vec::new()
        } else {
            let to = quoted(&target.name);
            vec![Rename { path: &["uri"], to }]
        };
        let address = address.clone();
        let answer = asked
            .through(address, Some(target), renames, "resource")
            .await;
        let error = matches!(&answer, Answer::Peer(peer) if peer.error().is_some());
        if !error {
            return answer;
        }
        last = Some(answer);
    }
    match last {
        Some(answer) => answer,
        None => asked.through(address, None, Vec::new(), "resource").await,
    }
}

/// A subscription of a client with a session.
async fn subscribe(asked: Asked<'_>) -> Answer {
    let Asked {
        hub,
        open,
        message,
        request,
    } = asked;
    let Some(address) = asked.text(&["uri"]) else {
        return Failure::BadParams("uri").into();
    };
    let targets = find_address(hub, &open.asker, &address).await;
    let Some(target) = targets.into_iter().next() else {
        return asked.through(address, None, Vec::new(), "resource").await;
    };
    let (link, own) = (Arc::clone(&target.link), target.name.clone());
    let on = request.method == "resources/subscribe";
    if hub.chain.is_stopped() {
        // It is denied; no server is started to learn which era it is of.
        let target = Some(target);
        return asked.through(address, target, Vec::new(), "resource").await;
    }
    let session = match link.session(hub).await {
        Ok(session) => session,
        Err(failure) => return failure.into(),
    };
    if session.is_stateless() {
        let call = Call::to_server(&link.profile.name, message, &address, &own);
        let inner = Arc::clone(hub);
        let execute: Execute = Box::new(move |_| -> Later<Answer> {
            Box::pin(async move {
                let all = &inner.subscriptions;
                match all.subscribed(&inner, &link, &session, &own, &address, on) {
                    Ok(()) => Answer::Result("{}".to_owned()),
                    Err(failure) => failure.into(),
                }
            })
        });
        return hub.chain.answer(call, execute).await;
    }
    let to = quoted(&own);
    let renames = vec![Rename { path: &["uri"], to }];
    let renames = if own == address { Vec::new() } else { renames };
    let offered = address.clone();
    let answer = asked
        .through(offered, Some(target), renames, "resource")
        .await;
    if answer.result().is_some() {
        let all = &hub.subscriptions;
        // Too many to be remembered are not renewed when the server starts again.
        let _noted = all.subscribed(hub, &link, &session, &own, &address, on);
    }
    answer
}

/// A stream of a client without a session.
async fn listen(asked: Asked<'_>) -> Answer {
    let Asked {
        hub,
        open,
        message,
        request,
    } = asked;
    let line = &message.line;
    let wanted = (request.params.as_ref())
        .and_then(|params| json::at(line, params, &["notifications", "resourceSubscriptions"]))
        .and_then(|span| json::elements(line, &span))
        .unwrap_or_default();
    let mut targets = Vec::new();
    for span in wanted {
        let Some(address) = json::string(line, &span) else {
            continue;
        };
        let found = find_address(hub, &open.asker, &address).await;
        if let Some(Target { link, name, .. }) = found.into_iter().next()
            && may_subscribe(hub, &link, &name, &address).await
        {
            targets.push((link, name, address));
        }
    }
    let call = Call::new(Direction::ToServer, None, Arc::clone(message));
    let (inner, open) = (Arc::clone(hub), Arc::clone(open));
    let (message, request) = (Arc::clone(message), request.clone());
    let execute: Execute = Box::new(move |_| -> Later<Answer> {
        Box::pin(
            async move { subscription::listen(&inner, &open, &message, &request, targets).await },
        )
    });
    hub.chain.answer(call, execute).await
}

/// Whether the chain lets the stream of a client without a session hear of a resource, as it decides about
/// `resources/subscribe` of one with a session. An address that it does not let pass is left out of what
/// is honoured.
async fn may_subscribe(hub: &Arc<Hub>, to: &Arc<Link>, own: &str, address: &str) -> bool {
    let params = format!("{{\"uri\":{}}}", quoted(address));
    let line = session::request(&Id::number(0), "resources/subscribe", &params);
    let Ok(message) = envelope::message(line) else {
        return false;
    };
    let call = Call::to_server(&to.profile.name, &Arc::new(message), address, own);
    let execute: Execute =
        Box::new(|_| -> Later<Answer> { Box::pin(async { Answer::Result("{}".to_owned()) }) });
    let answer = hub.chain.answer(call, execute).await;
    matches!(answer, Answer::Result(_))
}

/// A request for completions: of a prompt's argument, or of a template's.
async fn complete(asked: Asked<'_>) -> Answer {
    let Asked { hub, open, .. } = asked;
    if let Some(offered) = asked.text(&["ref", "name"]) {
        let target = find_name(hub, &open.asker, List::Prompts, &offered).await;
        let renames = (target.iter())
            .map(|target| Rename {
                path: &["ref", "name"],
                to: quoted(&target.name),
            })
            .collect();
        return asked.through(offered, target, renames, "prompt").await;
    }
    let Some(address) = asked.text(&["ref", "uri"]) else {
        return Failure::BadParams("ref").into();
    };
    let templates = || {
        let (index, entry) = hub.catalogue.find(List::Templates, &address)?;
        let link = Arc::clone(hub.links.get(index)?);
        Some(Target {
            link,
            name: entry.name.clone(),
            entry: Some(entry),
        })
    };
    if templates().is_none() {
        let catalogue = &hub.catalogue;
        catalogue
            .refresh_all(hub, List::Templates, &open.asker)
            .await;
    }
    let mut target = templates();
    if target.is_none() {
        let found = find_address(hub, &open.asker, &address).await;
        target = found.into_iter().next();
    }
    let renames = (target.iter())
        .filter(|target| target.name != address)
        .map(|target| Rename {
            path: &["ref", "uri"],
            to: quoted(&target.name),
        })
        .collect();
    asked
        .through(address, target, renames, "resource template")
        .await
}

async fn set_level(asked: Asked<'_>) -> Answer {
    let Asked { hub, open, .. } = asked;
    let Some(level) = asked.text(&["level"]) else {
        return Failure::BadParams("level").into();
    };
    hub.set_log_level(level.clone());
    let params = asked.params().to_owned();
    let asks: Vec<_> = (hub.running().into_iter())
        .filter(|(_, session)| session.can(&["logging"]) && !session.is_stateless())
        .map(|(_, session)| {
            let params = params.clone();
            tokio::spawn(async move {
                let time = session.profile.timeout;
                let asked = session.ask_in_order("logging/setLevel", &params, time);
                asked.await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for asked in asks {
        // It fails only if the task panicked.
        answers.extend(asked.await.ok());
    }
    // It is set if one server took it; the words of a single server are passed on as they are.
    let taken = (answers.iter()).any(|(answer, _)| answer.result().is_some());
    match answers.pop() {
        Some((answer, place)) if answers.is_empty() || !taken => {
            open.answered(place);
            answer
        }
        Some(_) | None => Answer::Result("{}".to_owned()),
    }
}

/// A request that we do not know. A single server gets it as it is; with several, nobody could say
/// which one is meant.
async fn other(asked: Asked<'_>) -> Answer {
    let Asked { hub, request, .. } = asked;
    let method = request.method.clone();
    let [link] = hub.links.as_slice() else {
        return Failure::NoMethod(method).into();
    };
    let (link, entry) = (Arc::clone(link), None);
    let target = Some(Target {
        link,
        name: method.clone(),
        entry,
    });
    asked.through(method, target, Vec::new(), "method").await
}
