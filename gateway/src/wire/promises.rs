//! What the fuzz targets and tests of the wire assert; each function panics when a promise is broken.

use super::{
    envelope::{self, Body, Kind, Message, Parsed},
    id::Id,
    json::{self, Span},
    limits::MAX_NAME_BYTES,
    name,
};

/// Any bytes are a message, a batch or a fault; the parts of a message stand inside its line; a
/// reply that gets another id keeps every other byte; and what passes the check for repeated keys
/// has none.
///
/// # Panics
///
/// When that does not hold.
pub fn envelope(bytes: &[u8]) {
    match envelope::parse(bytes.to_vec()) {
        Parsed::One(Ok(message)) => message_holds(&message),
        Parsed::One(Err(malformed)) => {
            let shown = malformed.reason.to_string();
            assert!(!shown.is_empty(), "refused without a reason");
        }
        Parsed::Batch(all) => {
            assert!(!all.is_empty(), "an empty batch");
            all.iter().flatten().for_each(message_holds);
        }
    }
}

fn message_holds(message: &Message) {
    let line = &message.line;
    let part = |span: &Span| {
        let text = line.get(span.clone());
        assert!(text.is_some(), "{span:?} is no part of {line:?}");
        text.unwrap_or_default()
    };
    let (id, params) = match &message.kind {
        Kind::Request(request) => (
            Some((&request.id, &request.id_span)),
            request.params.as_ref(),
        ),
        Kind::Notification { params, .. } => (None, params.as_ref()),
        Kind::Reply(reply) => {
            let (Body::Result(span) | Body::Error(span)) = &reply.body;
            assert!(!part(span).is_empty(), "an empty body in {line:?}");
            (Some((&reply.id, &reply.id_span)), None)
        }
    };
    if let Some(params) = params {
        assert!(
            part(params).starts_with('{'),
            "parameters that are no object in {line:?}"
        );
    }
    if let Some((id, span)) = id {
        assert_eq!(part(span), id.raw(), "the id is not where it stands");
        let edit = |raw: &str| json::splice(line, vec![(span.clone(), raw.to_owned())]);
        let other = edit(Id::number(7).raw()).unwrap_or_default();
        let moved = span.start..span.start + 1;
        let back = json::splice(&other, vec![(moved, id.raw().to_owned())]);
        assert_eq!(back.as_ref(), Some(line), "another byte has changed");
        assert!(
            envelope::message(other).is_ok(),
            "{line:?} with another id is none"
        );
    }
    if json::check(line).is_ok() {
        let whole = 0..line.len();
        let keys = json::members(line, &whole).unwrap_or_default();
        for (place, member) in keys.iter().enumerate() {
            let again = keys
                .iter()
                .skip(place + 1)
                .any(|other| other.key == member.key);
            assert!(!again, "{:?} stands twice in {line:?}", member.key);
        }
    }
}

/// Any name of a tool is offered under a permitted one, which never changes, leads back if it was
/// not shortened, and is not the one of another tool.
///
/// # Panics
///
/// When that does not hold.
pub fn tool_name(tool: &str) {
    for server in [
        "files",
        "a-server-with-a-name-that-is-far-longer-than-any-should-be-0123456789",
    ] {
        let offered = name::offered(server, tool);
        assert!(offered.len() <= MAX_NAME_BYTES, "{offered:?} is too long");
        let permitted = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        assert!(
            offered.bytes().all(permitted),
            "{offered:?} is not permitted"
        );
        assert!(!name::is_reserved(&offered), "{offered:?} is ours");
        assert_eq!(offered, name::offered(server, tool), "it changes");
        if let Some(back) = name::split(&offered) {
            assert_eq!(back, (server, tool), "{offered:?} leads elsewhere");
        }
        // What a hostile server could call a tool of its own to take this name.
        if let Some((_, own)) = offered.split_once(name::SEPARATOR)
            && own != tool
        {
            assert_ne!(
                name::offered(server, own),
                offered,
                "{own:?} takes the name of {tool:?}"
            );
        }
    }
}
