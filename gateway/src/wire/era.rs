//! The two eras of the protocol: sessions opened by `initialize`, and requests that stand alone.

use super::json::{self, Span, quoted};

/// The version that needs no session.
pub const STATELESS: &str = "2026-07-28";

/// The newest version with a session.
pub const NEWEST_SESSION: &str = "2025-11-25";

/// Every version that we speak to clients, newest first.
pub const SUPPORTED: [&str; 5] = [
    STATELESS,
    NEWEST_SESSION,
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];

/// The last version whose messages may come in batches.
const LAST_WITH_BATCHES: &str = "2025-03-26";

/// Key of `_meta` for the version of a request.
pub const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// Key of `_meta` for what the client can do.
pub const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
/// Key of `_meta` for who the client is.
pub const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
/// Key of `_meta` for the log messages that a request asks for.
pub const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
/// Key of `_meta` for who the server is.
pub const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// Key of `_meta` for the subscription that a notification belongs to.
pub const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Which of the two a peer speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Era {
    /// With a session: up to 2025-11-25.
    Session,
    /// Without: from 2026-07-28.
    Stateless,
}

/// Who asks, and what it can do: from `initialize`, or from the request itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asker {
    /// How it speaks.
    pub era: Era,
    /// Its protocol version.
    pub version: String,
    /// Its capabilities, one JSON object as it was spelled.
    pub capabilities: String,
    /// Its name and version, one JSON object as it was spelled.
    pub info: Option<String>,
    /// The least severe log messages that it asked for.
    pub log_level: Option<String>,
}

impl Asker {
    /// Returns one that has said nothing about itself yet.
    pub fn unknown() -> Self {
        Self {
            era: Era::Session,
            version: NEWEST_SESSION.to_owned(),
            capabilities: "{}".to_owned(),
            info: None,
            log_level: None,
        }
    }

    /// Reads the parameters of `initialize`. A version that we do not know becomes our newest.
    pub fn from_initialize(line: &str, params: &Span) -> Self {
        let text = |key| json::member(line, params, key);
        let wanted = text("protocolVersion").and_then(|span| json::string(line, &span));
        let known = |wanted: &String| wanted != STATELESS && SUPPORTED.contains(&wanted.as_str());
        let object = |key| {
            let text = line.get(text(key)?)?;
            text.starts_with('{').then(|| text.to_owned())
        };
        Self {
            version: wanted
                .filter(known)
                .unwrap_or_else(|| NEWEST_SESSION.to_owned()),
            capabilities: object("capabilities").unwrap_or_else(|| "{}".to_owned()),
            info: object("clientInfo"),
            ..Self::unknown()
        }
    }

    /// Reads `_meta` of a request; `None` if it does not say a version there, as in a session.
    pub fn from_meta(line: &str, params: &Span) -> Option<Self> {
        let meta = json::member(line, params, "_meta")?;
        let mut asker = Self {
            era: Era::Stateless,
            version: String::new(),
            ..Self::unknown()
        };
        for member in json::members(line, &meta)? {
            let object = || {
                let text = line.get(member.value.clone())?;
                text.starts_with('{').then(|| text.to_owned())
            };
            match member.key.as_str() {
                VERSION_KEY => asker.version = json::string(line, &member.value)?,
                CAPABILITIES_KEY => asker.capabilities = object()?,
                CLIENT_KEY => asker.info = object(),
                LOG_LEVEL_KEY => asker.log_level = json::string(line, &member.value),
                _ => {}
            }
        }
        (!asker.version.is_empty()).then_some(asker)
    }

    /// Returns whether it declared the capability at `path`, such as `["roots"]`.
    pub fn can(&self, path: &[&str]) -> bool {
        let all = 0..self.capabilities.len();
        json::at(&self.capabilities, &all, path)
            .and_then(|span| self.capabilities.get(span))
            .is_some_and(|value| value != "null" && value != "false")
    }

    /// Returns whether it may send several messages on one line.
    pub fn may_batch(&self) -> bool {
        self.era == Era::Session && self.version.as_str() <= LAST_WITH_BATCHES
    }

    /// Returns who it is, ourselves if it did not say.
    pub fn info(&self) -> String {
        self.info.clone().unwrap_or_else(implementation)
    }

    /// Returns the members of `_meta` that a request without a session needs.
    pub fn meta_members(&self) -> String {
        let mut members = vec![
            format!("{}:{}", quoted(VERSION_KEY), quoted(STATELESS)),
            format!("{}:{}", quoted(CLIENT_KEY), self.info()),
            format!("{}:{}", quoted(CAPABILITIES_KEY), self.capabilities),
        ];
        if let Some(level) = &self.log_level {
            members.push(format!("{}:{}", quoted(LOG_LEVEL_KEY), quoted(level)));
        }
        members.join(",")
    }
}

/// Returns our own name and version, as peers are told it.
pub fn implementation() -> String {
    format!(
        "{{\"name\":\"rea\",\"version\":{}}}",
        quoted(env!("CARGO_PKG_VERSION"))
    )
}

/// Returns the place of a log level in their order, from `debug` up; unknown ones are the highest.
pub fn severity(level: &str) -> usize {
    const LEVELS: [&str; 8] = [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ];
    LEVELS
        .iter()
        .position(|known| *known == level)
        .unwrap_or(LEVELS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_read_from_either_era() {
        let line = r#"{"protocolVersion":"2025-06-18","capabilities":{"roots":{"x":1.0},"sampling":null},"clientInfo":{"name":"c"}}"#;
        let asker = Asker::from_initialize(line, &(0..line.len()));
        assert_eq!(asker.version, "2025-06-18");
        assert_eq!(asker.capabilities, r#"{"roots":{"x":1.0},"sampling":null}"#);
        assert!(asker.can(&["roots"]) && asker.can(&["roots", "x"]));
        assert!(!asker.can(&["sampling"]) && !asker.can(&["elicitation"]));
        assert_eq!(Asker::from_meta(line, &(0..line.len())), None);

        let meta = format!(
            "{{\"_meta\":{{{},\"progressToken\":1}}}}",
            asker.meta_members()
        );
        let again = Asker::from_meta(&meta, &(0..meta.len())).unwrap();
        assert_eq!(again.era, Era::Stateless);
        assert_eq!(
            (again.capabilities, again.info),
            (asker.capabilities, asker.info)
        );
    }

    #[test]
    fn versions_that_nobody_knows_become_our_newest_with_a_session() {
        for (wanted, got) in [
            ("2024-11-05", "2024-11-05"),
            ("1999-01-01", NEWEST_SESSION),
            (STATELESS, NEWEST_SESSION),
            ("", NEWEST_SESSION),
        ] {
            let line = format!("{{\"protocolVersion\":{}}}", quoted(wanted));
            assert_eq!(Asker::from_initialize(&line, &(0..line.len())).version, got);
        }
    }
}
