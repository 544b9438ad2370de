//! The place where secrets are taken out of arguments before a server sees them.
//!
//! This version takes nothing out: arguments pass as they came.

use super::{
    call::Call,
    circuit_breaker::{Connected, InFlight},
};

/// The stage of a call whose arguments hold no known secret.
#[derive(Debug)]
pub struct ArgumentsRedacted(InFlight);

impl ArgumentsRedacted {
    pub(super) fn into_in_flight(self) -> InFlight {
        self.0
    }
}

pub(super) fn pass(call: Call<Connected>) -> Call<ArgumentsRedacted> {
    call.step(|stage| ArgumentsRedacted(stage.into_in_flight()))
}
