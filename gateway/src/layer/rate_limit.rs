//! Turns a call away that comes too often, or while too many others run.

use std::sync::Arc;

use serde_json::json;

use super::{
    blocked_paths::PathsPermitted,
    call::Call,
    denial::{Code, Denial, shown},
    limiter::Exceeded,
    server::{Server, Slot},
    trace::Trace,
};

/// The stage of a call that has a place among those of its server.
#[derive(Debug)]
pub struct Admitted {
    server: Arc<Server>,
    slot: Slot,
}

impl Admitted {
    pub(super) fn into_parts(self) -> (Arc<Server>, Slot) {
        (self.server, self.slot)
    }
}

pub(super) fn pass(
    call: Call<PathsPermitted>,
    trace: &mut Trace,
) -> Result<Call<Admitted>, Denial> {
    call.try_step(|stage| {
        let server = stage.into_server();
        match server.take_slot() {
            Ok(slot) => Ok(Admitted { server, slot }),
            Err(exceeded) => Err(deny(&server, exceeded, trace)),
        }
    })
}

fn deny(server: &Server, exceeded: Exceeded, trace: &mut Trace) -> Denial {
    let name = shown(server.name());
    let (code, kind, current, limit) = match exceeded {
        Exceeded::Rate { current, limit, .. } => (Code::RateExceeded, "rate", current, limit),
        Exceeded::Concurrency { current, limit } => (
            Code::ConcurrencyExceeded,
            "concurrency",
            current.into(),
            limit.into(),
        ),
    };
    let facts = json!({"type": kind, "current": current, "limit": limit});
    trace.note("rate_limit_exceeded", facts.clone());
    let sentence = match exceeded {
        Exceeded::Rate { free_in, .. } => format!(
            "The server {name} had {current} of {limit} calls in its window; the next one is free in {} ms",
            free_in.as_millis()
        ),
        Exceeded::Concurrency { .. } => {
            format!("The server {name} has {current} of {limit} calls running")
        }
    };
    Denial::new(code, sentence, format!("rate-limit:{kind}")).with("rate_limit_exceeded", facts)
}
