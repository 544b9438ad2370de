//! The JSON-RPC envelope of one line: which kind of message it is and where its parts stand. The
//! parts themselves are not looked at, and the line is kept as it came.

use super::{
    head::IdFinder,
    id::{BadId, Id},
    json::{self, Span},
    limits::MAX_BATCH,
};

/// A message and the line that it came in.
#[derive(Clone, Debug)]
pub struct Message {
    /// The line, without its line feed.
    pub line: String,
    /// What it is, with spans into `line`.
    pub kind: Kind,
}

/// The four kinds of messages.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Asks for an answer.
    Request(Request),
    /// Asks for none.
    Notification {
        /// The method.
        method: String,
        /// Where the parameters stand, if there are any.
        params: Option<Span>,
    },
    /// Answers a request.
    Reply(Reply),
}

/// The parts of a request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The id.
    pub id: Id,
    /// Where the id stands.
    pub id_span: Span,
    /// The method.
    pub method: String,
    /// Where the parameters stand, if there are any.
    pub params: Option<Span>,
}

/// The parts of an answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The id of the request that is answered.
    pub id: Id,
    /// Where the id stands.
    pub id_span: Span,
    /// The result or the error.
    pub body: Body,
}

/// What an answer says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Body {
    /// Where the result stands.
    Result(Span),
    /// Where the error stands.
    Error(Span),
}

/// A line that is no message.
#[derive(Clone, Debug)]
pub struct Malformed {
    /// What is wrong with it.
    pub reason: Reason,
    /// Its id, where one could be read.
    pub id: Option<Id>,
    /// The id that was seen in a line that cannot be read, if that line looks like an answer.
    pub seen_id: Option<Id>,
    /// Whether it looks like an answer; an answer is never answered.
    pub reply: bool,
}

/// What is wrong with a line.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Reason {
    /// Not UTF-8.
    #[error("the line is not UTF-8")]
    NotUtf8,
    /// Not JSON.
    #[error("the line is not JSON: {0}")]
    NotJson(String),
    /// JSON, but not an object.
    #[error("a message must be an object")]
    NotAnObject,
    /// A key of the envelope stands twice, or some key further in where that matters.
    #[error(transparent)]
    Fault(#[from] json::Fault),
    /// `jsonrpc` is missing or not `"2.0"`.
    #[error("the member \"jsonrpc\" must be \"2.0\"")]
    Version,
    /// The id is not one.
    #[error(transparent)]
    BadId(#[from] BadId),
    /// `method` is not a string.
    #[error("the member \"method\" must be a string")]
    Method,
    /// `params` is not an object.
    #[error("the member \"params\" must be an object")]
    Params,
    /// `error` is not an object.
    #[error("the member \"error\" must be an object")]
    Error,
    /// Both a result and an error, or a method and one of them.
    #[error("a message has either a method, a result or an error, and this one has more than one")]
    Ambiguous,
    /// No method, no result and no error.
    #[error("a message needs a method, a result or an error")]
    Empty,
    /// An answer without the id of its request.
    #[error("an answer needs the id of its request")]
    NoId,
    /// A batch without messages, or with too many.
    #[error("a batch holds 1 to {MAX_BATCH} messages")]
    BatchSize,
}

impl Reason {
    /// Returns the JSON-RPC code for it.
    pub const fn code(&self) -> i64 {
        match self {
            Self::NotUtf8 | Self::NotJson(_) => -32700,
            Self::NotAnObject
            | Self::Fault(_)
            | Self::Version
            | Self::BadId(_)
            | Self::Method
            | Self::Params
            | Self::Error
            | Self::Ambiguous
            | Self::Empty
            | Self::NoId
            | Self::BatchSize => -32600,
        }
    }
}

/// What a line holds.
#[derive(Debug)]
pub enum Parsed {
    /// One message, or one line that is none.
    One(Result<Message, Malformed>),
    /// A batch of them.
    Batch(Vec<Result<Message, Malformed>>),
}

/// Reads one line.
pub fn parse(line: Vec<u8>) -> Parsed {
    let line = match String::from_utf8(line) {
        Ok(line) => line,
        Err(error) => {
            let malformed = Malformed::unreadable(Reason::NotUtf8, error.as_bytes());
            return Parsed::One(Err(malformed));
        }
    };
    if line.trim_start().starts_with('[') {
        return batch(&line);
    }
    Parsed::One(message(line))
}

fn batch(line: &str) -> Parsed {
    let all = match json::elements(line, &(0..line.len())) {
        Some(all) if (1..=MAX_BATCH).contains(&all.len()) => all,
        Some(_) => return Parsed::One(Err(Malformed::bare(Reason::BatchSize))),
        None => return Parsed::One(Err(Malformed::bare(not_json(line)))),
    };
    let one = |span: Span| message(line.get(span).unwrap_or_default().to_owned());
    Parsed::Batch(all.into_iter().map(one).collect())
}

/// The members of an envelope that we know, as spans.
#[derive(Default)]
struct Parts {
    jsonrpc: Option<Span>,
    id: Option<Span>,
    method: Option<Span>,
    params: Option<Span>,
    result: Option<Span>,
    error: Option<Span>,
    repeated: Option<&'static str>,
}

impl Parts {
    fn of(line: &str) -> Option<Self> {
        let mut parts = Self::default();
        for member in json::members(line, &(0..line.len()))? {
            let (name, place) = match member.key.as_str() {
                "jsonrpc" => ("jsonrpc", &mut parts.jsonrpc),
                "id" => ("id", &mut parts.id),
                "method" => ("method", &mut parts.method),
                "params" => ("params", &mut parts.params),
                "result" => ("result", &mut parts.result),
                "error" => ("error", &mut parts.error),
                _ => continue,
            };
            if place.replace(member.value).is_some() {
                parts.repeated = Some(name);
            }
        }
        Some(parts)
    }
}

/// Reads one message.
///
/// # Errors
/// What is wrong with it, with its id where one could be read.
pub fn message(line: String) -> Result<Message, Malformed> {
    let Some(parts) = Parts::of(&line) else {
        return Err(Malformed::unreadable(not_json(&line), line.as_bytes()));
    };
    match kind(&line, &parts) {
        Ok(kind) => Ok(Message { line, kind }),
        Err(reason) => {
            let id = parts.id.and_then(|span| Id::parse(line.get(span)?).ok());
            let reply = parts.method.is_none() && (parts.result.is_some() || parts.error.is_some());
            Err(Malformed {
                reason,
                id,
                seen_id: None,
                reply,
            })
        }
    }
}

fn kind(line: &str, parts: &Parts) -> Result<Kind, Reason> {
    let text = |span: &Span| line.get(span.clone()).unwrap_or_default();
    if let Some(name) = parts.repeated {
        return Err(json::Fault::RepeatedKey(name.to_owned()).into());
    }
    if parts
        .jsonrpc
        .as_ref()
        .and_then(|span| json::string(line, span))
        .as_deref()
        != Some("2.0")
    {
        return Err(Reason::Version);
    }
    let id = match &parts.id {
        Some(span) => Some((Id::parse(text(span))?, span.clone())),
        None => None,
    };
    let body = match (&parts.method, &parts.result, &parts.error) {
        (Some(method), None, None) => {
            let method = json::string(line, method).ok_or(Reason::Method)?;
            let params = match &parts.params {
                Some(span) if text(span).starts_with('{') => Some(span.clone()),
                Some(span) if text(span) != "null" => return Err(Reason::Params),
                Some(_) | None => None,
            };
            return Ok(match id {
                Some((id, id_span)) => Kind::Request(Request {
                    id,
                    id_span,
                    method,
                    params,
                }),
                None => Kind::Notification { method, params },
            });
        }
        (None, Some(result), None) => Body::Result(result.clone()),
        (None, None, Some(error)) if !text(error).starts_with('{') => return Err(Reason::Error),
        (None, None, Some(error)) => Body::Error(error.clone()),
        (None, None, None) => return Err(Reason::Empty),
        (_, _, _) => return Err(Reason::Ambiguous),
    };
    let (id, id_span) = id.ok_or(Reason::NoId)?;
    Ok(Kind::Reply(Reply { id, id_span, body }))
}

fn not_json(line: &str) -> Reason {
    match serde_json::from_str::<&serde_json::value::RawValue>(line) {
        Ok(_) => Reason::NotAnObject,
        Err(error) => Reason::NotJson(error.to_string()),
    }
}

impl Malformed {
    /// Returns what a message is when something further in is at fault.
    pub fn within(message: &Message, fault: json::Fault) -> Self {
        let (id, reply) = match &message.kind {
            Kind::Request(request) => (Some(request.id.clone()), false),
            Kind::Notification { .. } => (None, false),
            Kind::Reply(reply) => (Some(reply.id.clone()), true),
        };
        Self {
            reason: fault.into(),
            id,
            seen_id: None,
            reply,
        }
    }

    const fn bare(reason: Reason) -> Self {
        Self {
            reason,
            id: None,
            seen_id: None,
            reply: false,
        }
    }

    fn unreadable(reason: Reason, line: &[u8]) -> Self {
        let mut finder = IdFinder::default();
        finder.feed(line);
        let is_reply = !finder.saw_method();
        let seen = finder.finish().filter(|_| is_reply);
        Self {
            seen_id: seen.and_then(|raw| Id::parse(&raw).ok()),
            ..Self::bare(reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(line: &str) -> String {
        let part = |line: &str, span: &Option<Span>| {
            span.as_ref()
                .map_or("-".to_owned(), |span| line[span.clone()].to_owned())
        };
        match message(line.to_owned()) {
            Ok(Message { line, kind }) => match kind {
                Kind::Request(request) => format!(
                    "request {} {} {}",
                    &line[request.id_span],
                    request.method,
                    part(&line, &request.params)
                ),
                Kind::Notification { method, params } => {
                    format!("notification {method} {}", part(&line, &params))
                }
                Kind::Reply(reply) => match reply.body {
                    Body::Result(span) => format!("result {} {}", reply.id, &line[span]),
                    Body::Error(span) => format!("error {} {}", reply.id, &line[span]),
                },
            },
            Err(bad) => {
                let id = bad.id.map_or("-".to_owned(), |id| id.to_string());
                format!("{} {id} {}", bad.reason.code(), bad.reply)
            }
        }
    }

    #[test]
    fn every_kind_of_line_is_told_apart() {
        let table = [
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, "request 1 m -"),
            (
                r#" {"x":[1], "params" : {"b":1.0} ,"id":"\u0061","method":"a\/b","jsonrpc":"2.0"} "#,
                r#"request "\u0061" a/b {"b":1.0}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#,
                "request 1 m -",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"m","params":{}}"#,
                "notification m {}",
            ),
            (r#"{"result":null,"jsonrpc":"2.0","id":9}"#, "result 9 null"),
            (
                r#"{"jsonrpc":"2.0","id":9,"error":{"code":1}}"#,
                r#"error 9 {"code":1}"#,
            ),
            ("", "-32700 - false"),
            ("noise", "-32700 - false"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m""#, "-32700 - false"),
            ("3", "-32600 - false"),
            ("{}", "-32600 - false"),
            (r#"{"jsonrpc":"2.0","id":4}"#, "-32600 4 false"),
            (r#"{"id":1,"method":"m"}"#, "-32600 1 false"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, "-32600 1 false"),
            (r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, "-32600 1 false"),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
                "-32600 - false",
            ),
            (
                r#"{"jsonrpc":"2.0","id":[],"method":"m"}"#,
                "-32600 - false",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":3}"#, "-32600 1 false"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#,
                "-32600 1 false",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}"#,
                "-32600 1 false",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"m"}"#,
                "-32600 2 false",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
                "-32600 1 true",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#,
                "-32600 1 false",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"error":"bad"}"#, "-32600 1 true"),
            (r#"{"jsonrpc":"2.0","result":{}}"#, "-32600 - true"),
        ];
        let wrong: Vec<String> = table
            .iter()
            .filter(|(line, want)| describe(line) != *want)
            .map(|(line, want)| format!("{line}: want {want}, got {}", describe(line)))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_batch_is_taken_apart_and_its_size_is_bounded() {
        let batch = |text: &str| match parse(text.as_bytes().to_vec()) {
            Parsed::Batch(all) => all.len(),
            Parsed::One(_) => 0,
        };
        assert_eq!(
            batch(r#" [{"jsonrpc":"2.0","method":"m"}, 3, {"jsonrpc":"2.0","id":1,"method":"m"}]"#),
            3
        );
        for bad in ["[]", "[1", "[1,]"] {
            assert_eq!(batch(bad), 0, "{bad}");
        }
        assert_eq!(batch(&format!("[{}1]", "1,".repeat(MAX_BATCH))), 0);
        assert_eq!(
            batch(&format!("[{}1]", "1,".repeat(MAX_BATCH - 1))),
            MAX_BATCH
        );
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#);
        assert!(matches!(
            message(line).unwrap().kind,
            Kind::Reply(Reply {
                body: Body::Result(_),
                ..
            })
        ));
    }

    #[test]
    fn bytes_that_are_not_text_are_named_so() {
        let Parsed::One(Err(bad)) = parse(b"{\"a\":\"\xff\"}".to_vec()) else {
            panic!("parsed");
        };
        assert_eq!(bad.reason, Reason::NotUtf8);
    }
}
