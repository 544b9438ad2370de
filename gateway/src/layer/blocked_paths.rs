//! The place where arguments are held against `blocked_paths`.
//!
//! This version reads the patterns and holds nothing against them: every call passes, and
//! `rea policy check` says so.

use std::sync::Arc;

use super::{call::Call, denial::Denial, policy::Permitted, server::Server};

/// The stage of a call whose arguments name no blocked path.
#[derive(Debug)]
pub struct PathsPermitted(Arc<Server>);

impl PathsPermitted {
    pub(super) fn into_server(self) -> Arc<Server> {
        self.0
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a layer that will say no")]
pub(super) fn pass(call: Call<Permitted>) -> Result<Call<PathsPermitted>, Denial> {
    Ok(call.step(|stage| PathsPermitted(stage.into_server())))
}
