//! The one place between a call and its answer.
//!
//! Everything that may have an effect on either side comes through [`Chain::answer`]: calls of the
//! client on its way to a server, and what servers ask of the client (sampling, elicitation, roots)
//! on its way back. What comes out of it is what the asking side gets to see.

use std::{fmt, pin::Pin, sync::Arc};

use super::{
    envelope::{self, Body, Kind, Message, Reply},
    failure::Failure,
    id::Id,
    json::{self, Span},
    outgoing::Outgoing,
};

/// A boxed future.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Carries a call out. It can be used once, and it never sends anything twice.
pub type Execute = Box<dyn FnOnce(Call) -> Later<Answer> + Send>;

/// Decides about calls: refuses them, changes them, carries them out, changes the answer.
pub trait Chain: Send + Sync + 'static {
    /// Returns the answer to `call`, by `execute` or without it.
    fn answer(&self, call: Call, execute: Execute) -> Later<Answer>;

    /// Returns whether no call passes at present. Then no server is started only to learn whose a name
    /// is; the call itself is still asked about.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Returns the list entries of tools that the chain answers itself, each one JSON object with a
    /// name that begins with [`super::name::RESERVED`].
    fn own_tools(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the list entry under which a tool is offered, or `None` to hide it. `entry` has the
    /// offered name already, `name` is the server's own.
    fn offer(&self, _server: &str, _name: &str, entry: &str) -> Option<String> {
        Some(entry.to_owned())
    }
}

/// Says whether a call that was let through still may be sent.
pub type Look = Arc<dyn Fn() -> bool + Send + Sync>;

/// Which way a call goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// From the client to a server.
    ToServer,
    /// From a server to the client.
    ToClient,
}

/// A call on its way.
#[derive(Clone)]
pub struct Call {
    /// Which way it goes.
    pub direction: Direction,
    /// The server that it goes to or comes from; `None` if no server has what was asked for.
    pub server: Option<Arc<str>>,
    /// The method, such as `tools/call`.
    pub method: String,
    /// The name that the client used: of a tool, a prompt or a resource.
    pub offered: Option<String>,
    /// The same under the server's own name.
    pub name: Option<String>,
    /// The entry in the server's list for it, one JSON object, if there is one.
    pub entry: Option<Arc<str>>,
    /// The line that it came in.
    line: Arc<Message>,
    /// The parameters to use instead.
    replaced: Option<String>,
    /// Looks once more before it is sent, if it had to wait.
    look: Option<Look>,
}

impl fmt::Debug for Call {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Call")
            .field("direction", &self.direction)
            .field("server", &self.server)
            .field("method", &self.method)
            .field("name", &self.name)
            .finish_non_exhaustive() // parameters stay out of logs
    }
}

impl Call {
    /// Returns the call that came in this line.
    pub(super) fn new(direction: Direction, server: Option<Arc<str>>, line: Arc<Message>) -> Self {
        let method = match &line.kind {
            Kind::Request(request) => request.method.clone(),
            Kind::Notification { method, .. } => method.clone(),
            Kind::Reply(_) => String::new(),
        };
        Self {
            direction,
            server,
            method,
            offered: None,
            name: None,
            entry: None,
            line,
            replaced: None,
            look: None,
        }
    }

    /// Returns the call in this line to `server` for what the client calls `offered` and the server `name`.
    pub(super) fn to_server(
        server: &Arc<str>,
        line: &Arc<Message>,
        offered: &str,
        name: &str,
    ) -> Self {
        let server = Some(Arc::clone(server));
        let mut call = Self::new(Direction::ToServer, server, Arc::clone(line));
        call.offered = Some(offered.to_owned());
        call.name = Some(name.to_owned());
        call
    }

    /// Returns the parameters, one JSON object. Their `name` or `uri` is still the one that the
    /// client used.
    pub fn params(&self) -> &str {
        if let Some(replaced) = &self.replaced {
            return replaced;
        }
        let span = params(&self.line);
        span.and_then(|span| self.line.line.get(span))
            .unwrap_or("{}")
    }

    /// Returns the arguments of a tool or a prompt, one JSON object, if there are any.
    pub fn arguments(&self) -> Option<&str> {
        let params = self.params();
        params.get(json::member(params, &(0..params.len()), "arguments")?)
    }

    /// Puts other parameters, one JSON object, in the place of those that came.
    pub fn replace_params(&mut self, params: String) {
        self.replaced = Some(params);
    }

    /// Has `look` asked right before the call is written to its server, should it have to wait for that:
    /// what let it through may no longer hold then. A call that is held back fails with
    /// [`Failure::Recalled`].
    pub fn look_before_sending(&mut self, look: Look) {
        self.look = Some(look);
    }

    /// Returns what is asked before it is sent.
    pub(super) fn look(&self) -> Option<Look> {
        self.look.clone()
    }

    /// Returns the line to send on, before ids and names are put in.
    pub(super) fn to_message(&self) -> Result<Arc<Message>, Failure> {
        let Some(replaced) = &self.replaced else {
            return Ok(Arc::clone(&self.line));
        };
        let method = json::quoted(&self.method);
        let line =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":{method},\"params\":{replaced}}}");
        match envelope::message(line) {
            Ok(message) => Ok(Arc::new(message)),
            Err(_) => Err(Failure::Internal("replaced parameters are not an object")),
        }
    }
}

fn params(message: &Message) -> Option<Span> {
    match &message.kind {
        Kind::Request(request) => request.params.clone(),
        Kind::Notification { params, .. } => params.clone(),
        Kind::Reply(_) => None,
    }
}

/// An answer on its way.
#[derive(Debug)]
pub enum Answer {
    /// What the other side answered, result or error, in its own bytes.
    Peer(PeerAnswer),
    /// A result made here, one JSON value.
    Result(String),
    /// An error made here, one JSON object with `code` and `message`.
    Error(String),
    /// The call did not come through.
    Failed(Failure),
    /// The call was cancelled before there was an answer; none is given.
    Silent,
}

/// A reply in the bytes it came in.
#[derive(Debug)]
pub struct PeerAnswer {
    line: String,
    id_span: Span,
    body: Body,
}

impl PeerAnswer {
    pub(super) fn new(line: String, reply: Reply) -> Self {
        let Reply { id_span, body, .. } = reply;
        Self {
            line,
            id_span,
            body,
        }
    }

    /// Returns the result, one JSON value, unless this is an error.
    pub fn result(&self) -> Option<&str> {
        match &self.body {
            Body::Result(span) => self.line.get(span.clone()),
            Body::Error(_) => None,
        }
    }

    /// Returns the error, one JSON object, if this is one.
    pub fn error(&self) -> Option<&str> {
        match &self.body {
            Body::Error(span) => self.line.get(span.clone()),
            Body::Result(_) => None,
        }
    }
}

impl PeerAnswer {
    /// Puts members such as `"a":1` at the front of the result, if it is an object that has none of
    /// the kind.
    pub(super) fn insert_into_result(&mut self, members: &str) {
        let Body::Result(span) = &self.body else {
            return;
        };
        if json::member(&self.line, span, "resultType").is_some() {
            return;
        }
        if let Some(edit) = json::insert_members(&self.line, span, members) {
            self.edit(vec![edit]);
        }
    }
}

impl PeerAnswer {
    /// Puts another code into the error, if it has this one.
    pub(super) fn replace_error_code(&mut self, from: i64, to: i64) {
        let Body::Error(span) = &self.body else {
            return;
        };
        let Some(span) = json::member(&self.line, span, "code") else {
            return;
        };
        if self.line.get(span.clone()) != Some(&from.to_string()) {
            return;
        }
        self.edit(vec![(span, to.to_string())]);
    }

    fn edit(&mut self, edits: Vec<(Span, String)>) {
        if let Some(line) = json::splice(&self.line, edits)
            && let Ok(Message {
                line,
                kind: Kind::Reply(reply),
            }) = envelope::message(line)
        {
            *self = Self::new(line, reply);
        }
    }
}

impl Answer {
    /// Returns the result, one JSON value, if there is one.
    pub fn result(&self) -> Option<&str> {
        match self {
            Self::Peer(peer) => peer.result(),
            Self::Result(result) => Some(result),
            Self::Error(_) | Self::Failed(_) | Self::Silent => None,
        }
    }

    /// Returns whether the other side answered at all, with whatever.
    pub const fn came_through(&self) -> bool {
        matches!(self, Self::Peer(_))
    }

    /// Returns the line that answers the request `id`, or `None` if none does.
    pub(super) fn into_line(self, id: &Id) -> Option<Outgoing> {
        let (key, body) = match self {
            Self::Peer(peer) => {
                return Outgoing::replacing(peer.line, peer.id_span, id.raw());
            }
            Self::Result(result) => ("result", result),
            Self::Error(error) => ("error", error),
            Self::Failed(failure) => ("error", failure.to_json()),
            Self::Silent => return None,
        };
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{key}\":{body}}}");
        Some(line.into())
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
