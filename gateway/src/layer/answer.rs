//! What comes back: from a server, and to the caller.

use std::time::Duration;

use serde_json::{json, value::RawValue};

use super::{
    denial::{Denial, raw, shown},
    injection::Screened,
};

/// What a server sent back, in whatever form the wire keeps it.
pub trait Reply: Send {
    /// Returns the JSON text of its `result` or `error`, as it came.
    fn body(&self) -> Body<'_>;
}

/// The JSON text of an answer's one member that counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Body<'a> {
    /// `result`
    Result(&'a str),
    /// `error`
    Error(&'a str),
}

/// The plainest [`Reply`]: just the text.
#[derive(Clone, Debug)]
pub enum RawReply {
    /// `result`
    Result(Box<RawValue>),
    /// `error`
    Error(Box<RawValue>),
}

impl Reply for RawReply {
    fn body(&self) -> Body<'_> {
        match self {
            Self::Result(text) => Body::Result(text.get()),
            Self::Error(text) => Body::Error(text.get()),
        }
    }
}

/// Why there is no reply, though the call was let through.
///
/// The texts are for records and for standard error; callers never see them.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Fault {
    /// The server does not run and could not be started; nothing was sent to it.
    #[error("the server is down: {0}")]
    Down(String),
    /// The connection broke after the call was sent; the server may have acted on it.
    #[error("the connection broke: {0}")]
    Lost(String),
    /// The server did not answer in time; it may still act.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The caller, or the end of the gateway, called it off.
    #[error("called off")]
    Cancelled,
    /// It had to wait to be sent, and the layers no longer let it through; nothing was sent.
    #[error("{}", .0.text())]
    Recalled(Denial),
}

impl Fault {
    /// Returns the name that records and callers see.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Down(_) => "server-down",
            Self::Lost(_) => "server-lost",
            Self::TimedOut(_) => "timed-out",
            Self::Cancelled => "cancelled",
            Self::Recalled(denial) => denial.code().as_str(),
        }
    }

    /// Returns the one sentence for the caller.
    pub fn text(&self, server: &str) -> String {
        let server = shown(server);
        match self {
            Self::Down(_) => {
                format!("The call failed: the server {server} is down, and nothing was sent to it.")
            }
            Self::Lost(_) => format!(
                "The call failed: the connection to the server {server} broke; the call may have \
                 taken effect, so look before you repeat it."
            ),
            Self::TimedOut(after) => format!(
                "The call failed: the server {server} did not answer within {} s; the call may \
                 still take effect, so look before you repeat it.",
                after.as_secs()
            ),
            Self::Cancelled => "The call was cancelled; it may have taken effect.".to_owned(),
            Self::Recalled(denial) => denial.text(),
        }
    }

    /// Returns the fault as the result of `tools/call`.
    pub fn tool_result(&self, server: &str) -> Box<RawValue> {
        raw(&json!({
            "content": [{"type": "text", "text": self.text(server)}],
            "isError": true,
            "_meta": {"rea/fault": {"code": self.code(), "server": server}},
        }))
    }

    /// Returns the fault as the `error` member of an answer to any other method.
    pub fn rpc_error(&self, server: &str) -> Box<RawValue> {
        raw(&json!({
            "code": RPC_FAULT,
            "message": self.text(server),
            "data": {"rea/fault": {"code": self.code(), "server": server}},
        }))
    }
}

/// The JSON-RPC error code of a fault.
const RPC_FAULT: i64 = -32_011;

/// What the caller gets.
#[derive(Debug)]
#[must_use = "the caller waits for it"]
pub enum Answer<R> {
    /// What the server sent, past every layer on the way back.
    Passed(Screened<R>),
    /// A layer said no.
    Denied(Denial),
    /// The call was let through, and no reply came.
    Failed(Fault),
}
