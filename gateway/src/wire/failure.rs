//! Failures of the gateway itself, as JSON-RPC errors.
//!
//! They use the codes of JSON-RPC only. What happened stands in `data.rea`, for programs, and in
//! `message`, for people; `data.server` names the server if one is to blame.

use super::json::quoted;

/// A failure that the gateway answers with.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Failure {
    /// The server could not be started.
    #[error("server \"{server}\" is not running: {reason}")]
    NotRunning {
        /// The server.
        server: String,
        /// Why it is not.
        reason: String,
    },
    /// The server ended before it answered.
    #[error(
        "server \"{server}\" ended before it answered; whether the call took effect is not known. The next call starts it again"
    )]
    Exited {
        /// The server.
        server: String,
    },
    /// The server took too long.
    #[error("server \"{server}\" did not answer within {seconds} s; see `timeout` in the registry")]
    TimedOut {
        /// The server.
        server: String,
        /// How long it was given.
        seconds: u64,
    },
    /// The server's answer is longer than the limit.
    #[error(
        "the answer of server \"{server}\" has {bytes} bytes, more than its limit of {limit}; see `max_message_bytes` in the registry"
    )]
    AnswerTooLong {
        /// The server.
        server: String,
        /// How long it was.
        bytes: u64,
        /// The limit.
        limit: usize,
    },
    /// The request is longer than the server's limit.
    #[error(
        "the request has {bytes} bytes, more than the limit of {limit} for server \"{server}\"; see `max_message_bytes` in the registry"
    )]
    RequestTooLong {
        /// The server.
        server: String,
        /// How long it is.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The server's answer is no valid message.
    #[error("the answer of server \"{server}\" is not valid: {reason}")]
    BadAnswer {
        /// The server.
        server: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The server does not read what it is sent.
    #[error("server \"{server}\" does not read what it is sent")]
    NotReading {
        /// The server.
        server: String,
    },
    /// The client line is longer than the limit.
    #[error("the message has {bytes} bytes, more than the limit of {limit} of this gateway")]
    LineTooLong {
        /// How long it was.
        bytes: u64,
        /// The limit.
        limit: usize,
    },
    /// Nothing has this name.
    #[error("unknown {what}: {name}")]
    Unknown {
        /// What was asked for, such as `tool`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A member of the parameters is missing or of the wrong kind.
    #[error("the member {0} of the parameters is missing or not valid")]
    BadParams(&'static str),
    /// The method exists nowhere.
    #[error("method not found: {0}")]
    NoMethod(String),
    /// A protocol version that we do not speak.
    #[error("unsupported protocol version")]
    Version {
        /// The one asked for.
        requested: String,
    },
    /// The other side has not said that it can do this.
    #[error("the client has not declared the capability {0}")]
    NoCapability(&'static str),
    /// Too many calls are open.
    #[error("{limit} calls are open, the limit of this gateway")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// It was let through, had to wait, and may not be sent any more.
    #[error("the call waited to be sent, and may not be sent any more")]
    Recalled,
    /// The gateway stops.
    #[error("the gateway is stopping")]
    Stopping,
    /// A fault of ours.
    #[error("internal error of the gateway: {0}")]
    Internal(&'static str),
}

impl Failure {
    /// Returns the JSON-RPC code.
    pub const fn code(&self) -> i64 {
        match self {
            Self::NotRunning { .. }
            | Self::Exited { .. }
            | Self::TimedOut { .. }
            | Self::AnswerTooLong { .. }
            | Self::BadAnswer { .. }
            | Self::NotReading { .. }
            | Self::TooMany { .. }
            | Self::Recalled
            | Self::Stopping
            | Self::Internal(_) => -32603,
            Self::RequestTooLong { .. } | Self::LineTooLong { .. } => -32600,
            Self::Unknown { .. } | Self::BadParams(_) => -32602,
            Self::NoMethod(_) => -32601,
            Self::NoCapability(_) => -32021,
            Self::Version { .. } => -32022,
        }
    }

    /// Returns the word that programs tell failures apart by.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::NotRunning { .. } => "server-not-running",
            Self::Exited { .. } => "server-exited",
            Self::TimedOut { .. } => "timed-out",
            Self::AnswerTooLong { .. } => "answer-too-long",
            Self::RequestTooLong { .. } => "request-too-long",
            Self::BadAnswer { .. } => "bad-answer",
            Self::NotReading { .. } => "server-not-reading",
            Self::LineTooLong { .. } => "line-too-long",
            Self::Unknown { .. } => "unknown-name",
            Self::BadParams(_) => "bad-params",
            Self::NoMethod(_) => "no-method",
            Self::Version { .. } => "unsupported-version",
            Self::NoCapability(_) => "no-capability",
            Self::TooMany { .. } => "too-many-calls",
            Self::Recalled => "recalled",
            Self::Stopping => "stopping",
            Self::Internal(_) => "internal",
        }
    }

    /// Returns the server to blame, if there is one.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::NotRunning { server, .. }
            | Self::Exited { server }
            | Self::TimedOut { server, .. }
            | Self::AnswerTooLong { server, .. }
            | Self::RequestTooLong { server, .. }
            | Self::BadAnswer { server, .. }
            | Self::NotReading { server } => Some(server),
            Self::LineTooLong { .. }
            | Self::Unknown { .. }
            | Self::BadParams(_)
            | Self::NoMethod(_)
            | Self::Version { .. }
            | Self::NoCapability(_)
            | Self::TooMany { .. }
            | Self::Recalled
            | Self::Stopping
            | Self::Internal(_) => None,
        }
    }

    /// Returns the error object for it.
    pub fn to_json(&self) -> String {
        let mut data = vec![format!("\"rea\":{}", quoted(self.word()))];
        if let Some(server) = self.server() {
            data.push(format!("\"server\":{}", quoted(server)));
        }
        if let Self::Version { requested } = self {
            let supported: Vec<String> = super::era::SUPPORTED.iter().map(|v| quoted(v)).collect();
            data.push(format!("\"supported\":[{}]", supported.join(",")));
            data.push(format!("\"requested\":{}", quoted(requested)));
        }
        let data = format!("{{{}}}", data.join(","));
        error(self.code(), &self.to_string(), Some(&data))
    }
}

/// Returns an error object.
pub fn error(code: i64, message: &str, data: Option<&str>) -> String {
    let message = quoted(message);
    let data = data.map_or(String::new(), |data| format!(",\"data\":{data}"));
    format!("{{\"code\":{code},\"message\":{message}{data}}}")
}
