//! Turns a call away while its server has failed too often in a row.
//!
//! Only what says something about the server counts: a connection that breaks, a server that cannot
//! be started, an answer that does not come. An answer is an answer, be it an error.

use std::sync::Arc;

use serde_json::json;

use super::{
    answer::Fault,
    breaker::{Broken, Health},
    call::Call,
    denial::{Code, Denial, shown},
    rate_limit::Admitted,
    server::{HeldPermit, Server, Slot},
    trace::Trace,
};

/// The stage of a call whose server may be tried.
#[derive(Debug)]
pub struct Connected {
    in_flight: InFlight,
}

/// What a call holds while it runs. Dropped, it gives everything back.
#[derive(Debug)]
pub(super) struct InFlight {
    /// Absent for what servers ask of the client.
    permit: Option<HeldPermit>,
    _slot: Slot,
}

impl Connected {
    pub(super) fn into_in_flight(self) -> InFlight {
        self.in_flight
    }
}

impl InFlight {
    /// Gives everything back, and tells the breaker what the call says about its server.
    pub(super) fn land<R>(self, outcome: &Result<R, Fault>) {
        let health = match outcome {
            Ok(_) => Health::Answered,
            Err(Fault::Down(_) | Fault::Lost(_) | Fault::TimedOut(_)) => Health::Faulty,
            Err(Fault::Cancelled | Fault::Recalled(_)) => Health::Unknown,
        };
        if let Some(permit) = self.permit {
            permit.report(health);
        }
    }
}

pub(super) fn pass(call: Call<Admitted>, trace: &mut Trace) -> Result<Call<Connected>, Denial> {
    let watched = !call.request().method.is_asked_by_server();
    call.try_step(|stage| {
        let (server, slot) = stage.into_parts();
        let permit = match watched.then(|| server.take_permit()).transpose() {
            Ok(permit) => permit,
            Err(broken) => return Err(deny(&server, broken, trace)),
        };
        Ok(Connected {
            in_flight: InFlight {
                permit,
                _slot: slot,
            },
        })
    })
}

fn deny(server: &Arc<Server>, broken: Broken, trace: &mut Trace) -> Denial {
    let state = broken.circuit.as_str();
    let retry_at = broken.retry_in.map(|wait| server.moment_in(wait));
    let facts = json!({"state": state, "serverName": server.name(), "retryAt": retry_at});
    trace.note("circuit_breaker", facts.clone());
    let when = retry_at.map_or_else(
        || "one call is trying it now".to_owned(),
        |at| format!("the next try is at {at}"),
    );
    let name = shown(server.name());
    let sentence = format!("The circuit to the server {name} is {state}; {when}");
    Denial::new(Code::CircuitOpen, sentence, format!("circuit:{state}"))
        .with("circuit_breaker", facts)
}
