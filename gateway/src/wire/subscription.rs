//! What the client wants to hear of: streams of `subscriptions/listen`, and resources by name.
//!
//! Either era of the client is bridged to either era of each server: a server with a session is
//! told `resources/subscribe`, a server without one gets one stream of ours for everything.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use super::{
    calls::OpenCall,
    catalogue::List,
    chain::Answer,
    envelope::{Message, Request},
    era::{Era, SUBSCRIPTION_KEY},
    failure::Failure,
    hub::Hub,
    id::Id,
    json::{self, quoted},
    limits::MAX_SUBSCRIPTIONS,
    link::Link,
    lock::lock,
    session::{Manner, Next, Session, cancel, notification, request},
};

/// What the client wants to hear of.
#[derive(Debug, Default)]
pub struct Subscriptions {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    listeners: Vec<Listener>,
    /// By the index of the server.
    servers: HashMap<usize, Server>,
    count: usize,
}

/// One stream of a client without a session.
#[derive(Clone, Debug)]
struct Listener {
    id: Id,
    methods: Vec<&'static str>,
    addresses: Vec<String>,
}

/// What is wanted of one server.
#[derive(Debug, Default)]
struct Server {
    /// By the server's own address: the offered one, and how often it is wanted.
    addresses: BTreeMap<String, (String, usize)>,
    /// The id of our stream, in a server without sessions.
    stream: Option<u64>,
}

/// The members of a filter that ask for changes of lists.
const LISTS: [(&str, List); 3] = [
    ("toolsListChanged", List::Tools),
    ("promptsListChanged", List::Prompts),
    ("resourcesListChanged", List::Resources),
];

impl Subscriptions {
    /// Tells every stream that asked for it that a list has changed.
    pub fn list_changed(&self, hub: &Hub, method: &str) {
        for listener in &lock(&self.state).listeners {
            if listener.methods.contains(&method) {
                let params = format!("{{\"_meta\":{}}}", meta(&listener.id));
                hub.client.send(notification(method, Some(&params)));
            }
        }
    }

    /// Passes on that a resource has changed.
    pub(super) fn updated(&self, hub: &Hub, session: &Session, line: String, params: &json::Span) {
        let Some(span) = json::member(&line, params, "uri") else {
            return;
        };
        let Some(own) = json::string(&line, &span) else {
            return;
        };
        let server = hub
            .links
            .iter()
            .find(|link| link.profile.name == session.profile.name);
        let state = lock(&self.state);
        let wanted = (server.and_then(|link| state.servers.get(&link.index)))
            .and_then(|server| server.addresses.get(&own));
        let offered = wanted.map_or_else(|| own.clone(), |(offered, _)| offered.clone());
        if hub.asker().era == Era::Session {
            drop(state);
            if session.is_stateless() {
                let params = format!("{{\"uri\":{}}}", quoted(&offered));
                session.sequence.send(notification(
                    "notifications/resources/updated",
                    Some(&params),
                ));
            } else if offered == own {
                session.sequence.send(line);
            } else if let Some(line) = json::splice(&line, vec![(span, quoted(&offered))]) {
                session.sequence.send(line);
            }
            return;
        }
        for listener in &state.listeners {
            // It may be part of a resource that is subscribed to.
            if listener
                .addresses
                .iter()
                .any(|address| offered.starts_with(address))
            {
                let (uri, meta) = (quoted(&offered), meta(&listener.id));
                let params = format!("{{\"uri\":{uri},\"_meta\":{meta}}}");
                let line = notification("notifications/resources/updated", Some(&params));
                session.sequence.send(line);
            }
        }
    }

    /// Wants to hear of a resource of a server. Returns whether that is new.
    fn want(&self, link: &Link, own: &str, offered: &str) -> Result<bool, Failure> {
        let mut state = lock(&self.state);
        if state.count >= MAX_SUBSCRIPTIONS {
            let limit = MAX_SUBSCRIPTIONS;
            return Err(Failure::TooMany { limit });
        }
        state.count += 1;
        let server = state.servers.entry(link.index).or_default();
        let entry = server.addresses.entry(own.to_owned());
        let (_, count) = entry.or_insert_with(|| (offered.to_owned(), 0));
        *count += 1;
        Ok(*count == 1)
    }

    /// No longer wants to hear of it. Returns whether nobody does.
    fn unwant(&self, link: &Link, own: &str) -> bool {
        let mut state = lock(&self.state);
        let Some(server) = state.servers.get_mut(&link.index) else {
            return false;
        };
        let Some((_, count)) = server.addresses.get_mut(own) else {
            return false;
        };
        *count -= 1;
        let last = *count == 0;
        if last {
            server.addresses.remove(own);
        }
        state.count = state.count.saturating_sub(1);
        last
    }

    /// Notes what a client with a session subscribed to, and tells a server without one.
    pub(super) fn subscribed(
        &self,
        hub: &Arc<Hub>,
        link: &Arc<Link>,
        session: &Arc<Session>,
        own: &str,
        offered: &str,
        on: bool,
    ) -> Result<(), Failure> {
        let changed = if on {
            self.want(link, own, offered)?
        } else {
            self.unwant(link, own)
        };
        if changed && session.is_stateless() {
            self.listen(hub, link, session);
        }
        Ok(())
    }

    /// Tells a server that has come up what is wanted of it.
    pub(super) async fn came_up(&self, hub: &Arc<Hub>, link: &Arc<Link>, session: &Arc<Session>) {
        if session.is_stateless() {
            self.listen(hub, link, session);
            return;
        }
        let wanted: Vec<String> = {
            let state = lock(&self.state);
            let server = state.servers.get(&link.index);
            server.map_or_else(Vec::new, |server| {
                server.addresses.keys().cloned().collect()
            })
        };
        if hub.chain.is_stopped() {
            return;
        }
        for own in wanted {
            // It was granted before; a refusal now means that it is gone.
            drop(
                session
                    .ask(
                        "resources/subscribe",
                        &format!("{{\"uri\":{}}}", quoted(&own)),
                    )
                    .await,
            );
        }
    }

    /// Opens a stream for everything that is wanted of a server, in the place of the one before.
    fn listen(&self, hub: &Arc<Hub>, link: &Arc<Link>, session: &Arc<Session>) {
        let mut filter: Vec<String> = (LISTS.iter())
            .filter(|(_, list)| session.can(&[list.capability(), "listChanged"]))
            .map(|(key, _)| format!("\"{key}\":true"))
            .collect();
        let before = {
            let mut state = lock(&self.state);
            let server = state.servers.entry(link.index).or_default();
            let addresses: Vec<String> = server.addresses.keys().map(|own| quoted(own)).collect();
            if !addresses.is_empty() {
                filter.push(format!(
                    "\"resourceSubscriptions\":[{}]",
                    addresses.join(",")
                ));
            }
            server.stream.take()
        };
        let mut stream = None;
        if !filter.is_empty() {
            let meta = hub.asker().meta_members();
            let filter = filter.join(",");
            let params = format!("{{\"notifications\":{{{filter}}},\"_meta\":{{{meta}}}}}");
            let manner = Manner {
                endless: true,
                ..Manner::default()
            };
            let text = |id: &Id| Some(request(id, "subscriptions/listen", &params));
            if let Ok(mut sent) = session.send(text, manner) {
                stream = Some(sent.id());
                // It ends with the server, or when the next one takes its place.
                tokio::spawn(async move { while let Next::Question(_) = sent.next().await {} });
            }
        }
        if let Some(before) = before {
            session
                .outlet
                .send(cancel(before, "another stream took its place"));
        }
        let mut state = lock(&self.state);
        if let Some(server) = state.servers.get_mut(&link.index) {
            server.stream = stream;
        }
    }
}

/// Serves a stream until the client or the gateway ends it.
pub(super) async fn listen(
    hub: &Arc<Hub>,
    open: &Arc<OpenCall>,
    message: &Message,
    request: &Request,
    targets: Vec<(Arc<Link>, String, String)>,
) -> Answer {
    let line = &message.line;
    let filter =
        (request.params.as_ref()).and_then(|params| json::member(line, params, "notifications"));
    let Some(filter) = filter else {
        return Failure::BadParams("notifications").into();
    };
    let asked = |key: &str| {
        let span = json::member(line, &filter, key);
        span.and_then(|span| line.get(span)) == Some("true")
    };
    let mut honoured: Vec<String> = Vec::new();
    let mut methods = Vec::new();
    for (key, list) in LISTS {
        if asked(key) {
            honoured.push(format!("\"{key}\":true"));
            methods.push(list.changed());
        }
    }
    let addresses: Vec<String> = targets
        .iter()
        .map(|(_, _, offered)| offered.clone())
        .collect();
    if !addresses.is_empty() {
        let list: Vec<String> = addresses.iter().map(|address| quoted(address)).collect();
        honoured.push(format!("\"resourceSubscriptions\":[{}]", list.join(",")));
    }
    let id = open.id.clone();
    let params = format!(
        "{{\"notifications\":{{{}}},\"_meta\":{}}}",
        honoured.join(","),
        meta(&id)
    );
    // The acknowledgement comes before anything of the stream.
    hub.client.send(notification(
        "notifications/subscriptions/acknowledged",
        Some(&params),
    ));
    let listener = Listener {
        id: id.clone(),
        methods,
        addresses,
    };
    lock(&hub.subscriptions.state).listeners.push(listener);
    for (link, own, offered) in &targets {
        switch(hub, link, own, offered, true).await;
    }
    let ended = tokio::select! {
        () = open.cancelled() => Answer::Silent,
        () = hub.stopped() => Answer::Result(format!("{{\"resultType\":\"complete\",\"_meta\":{}}}", meta(&id))),
    };
    lock(&hub.subscriptions.state)
        .listeners
        .retain(|listener| listener.id != id);
    for (link, own, offered) in &targets {
        switch(hub, link, own, offered, false).await;
    }
    ended
}

/// Turns the subscription of one resource on or off, in the server's own way.
async fn switch(hub: &Arc<Hub>, link: &Arc<Link>, own: &str, offered: &str, on: bool) {
    let changed = if on {
        hub.subscriptions.want(link, own, offered).unwrap_or(false)
    } else {
        hub.subscriptions.unwant(link, own)
    };
    let Some(session) = link.running().filter(|_| changed) else {
        return;
    };
    // It is asked for once the server comes up again.
    if on && hub.chain.is_stopped() {
        return;
    }
    if session.is_stateless() {
        hub.subscriptions.listen(hub, link, &session);
    } else {
        let method = if on {
            "resources/subscribe"
        } else {
            "resources/unsubscribe"
        };
        // A server that cannot do it has nothing to tell.
        drop(
            session
                .ask(method, &format!("{{\"uri\":{}}}", quoted(own)))
                .await,
        );
    }
}

fn meta(id: &Id) -> String {
    format!("{{{}:{id}}}", quoted(SUBSCRIPTION_KEY))
}
