//! Puts a call that changes something on record before it happens.
//!
//! If the record cannot be kept, nothing happens. A call that only reads has one record, at its end.

use super::{
    call::Call,
    circuit_breaker::InFlight,
    clock::Clock,
    denial::{Code, Denial},
    record::{Durability, Recorder, Unrecorded},
    redact_arguments::ArgumentsRedacted,
    trace::Trace,
};
use crate::policy::{Notify, Tier};

/// The stage of a call that nothing turned away: every layer before has seen it, and if it changes
/// something, its record is kept.
#[derive(Debug)]
pub struct Started(InFlight);

impl Started {
    pub(super) fn into_in_flight(self) -> InFlight {
        self.0
    }
}

pub(super) async fn pass<R: Recorder>(
    call: Call<ArgumentsRedacted>,
    recorder: &R,
    clock: &dyn Clock,
    notify: &Notify,
    trace: &mut Trace,
) -> Result<Call<Started>, Denial> {
    match trace.tier() {
        Tier::Read => {}
        Tier::Write | Tier::Destructive => {
            let record = trace.start(clock);
            if let Err(fault) = recorder.append(record, Durability::Durable).await {
                trace.not_started();
                notify(&format!("AUDIT FAILED: {fault}; a call was denied for it"));
                return Err(unavailable(&fault));
            }
        }
    }
    Ok(call.step(|stage| Started(stage.into_in_flight())))
}

/// The denial of a result: the call only read, and that it did could not be recorded.
pub(super) fn withheld(fault: &Unrecorded) -> Denial {
    let sentence = format!(
        "The call only read, and its result is withheld as the call cannot be recorded: {}",
        fault.reason
    );
    Denial::new(Code::AuditUnavailable, sentence, "audit-read")
}

fn unavailable(fault: &Unrecorded) -> Denial {
    let sentence = format!("The call cannot be recorded: {}", fault.reason);
    Denial::new(Code::AuditUnavailable, sentence, "audit")
}
