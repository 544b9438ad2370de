//! The place where results are searched for attempts to steer the agent.
//!
//! This version searches nothing: every result passes.

use super::{denial::Denial, redact_result::ResultRedacted};

/// A reply past every layer on its way back: the only kind that a caller can get.
///
/// ```compile_fail
/// # use rea_gateway::layer::{RawReply, Screened};
/// fn forge(reply: RawReply) -> Screened<RawReply> {
///     Screened(reply) // the field is private
/// }
/// ```
#[derive(Debug)]
pub struct Screened<R>(R);

impl<R> Screened<R> {
    /// Looks at the reply.
    pub const fn reply(&self) -> &R {
        &self.0
    }

    /// Takes the reply.
    pub fn into_reply(self) -> R {
        self.0
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a layer that will say no")]
pub(super) fn pass<R>(reply: ResultRedacted<R>) -> Result<Screened<R>, Denial> {
    Ok(Screened(reply.into_reply()))
}
