//! Puts the end of every call on record, however it ends.
//!
//! Outermost, so that it sees what the caller gets. A call whose caller goes away is recorded too.

use super::{
    answer::{Answer, Body, Fault, Reply},
    audit_start::withheld,
    clock::Clock,
    denial::Denial,
    injection::Screened,
    record::{Durability, Recorder, Status},
    trace::Trace,
};
use crate::policy::{AuditFailure, Notify};

/// Why a call came to its end without a reply.
#[derive(Debug)]
pub(super) enum Stop {
    /// A layer said no.
    Denied(Denial),
    /// It was let through, and no reply came.
    Failed(Fault),
}

impl From<Denial> for Stop {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Recalled(denial) => Self::Denied(denial),
            fault @ (Fault::Down(_) | Fault::Lost(_) | Fault::TimedOut(_) | Fault::Cancelled) => {
                Self::Failed(fault)
            }
        }
    }
}

/// The open record of a call.
pub(super) struct Ticket<'a, R: Recorder> {
    recorder: &'a R,
    clock: &'a dyn Clock,
    notify: &'a Notify,
    on_failure: AuditFailure,
    trace: Trace,
    closed: bool,
}

impl<'a, R: Recorder> Ticket<'a, R> {
    pub(super) fn open(
        recorder: &'a R,
        clock: &'a dyn Clock,
        notify: &'a Notify,
        on_failure: AuditFailure,
        trace: Trace,
    ) -> Self {
        Self {
            recorder,
            clock,
            notify,
            on_failure,
            trace,
            closed: false,
        }
    }

    /// Returns what the layers write into.
    pub(super) const fn trace(&mut self) -> &mut Trace {
        &mut self.trace
    }

    /// Keeps the record of the end and turns the outcome into the answer.
    ///
    /// A denial stays one: nothing behind this point holds a reply to put in its place.
    pub(super) async fn close<P: Reply>(mut self, outcome: Result<Screened<P>, Stop>) -> Answer<P> {
        let trace = &mut self.trace;
        let (status, error) = match &outcome {
            Ok(screened) => match screened.reply().body() {
                Body::Result(text) => {
                    trace.note("result_hmac", self.recorder.digest(text.as_bytes()));
                    (Status::Allowed, None)
                }
                Body::Error(text) => {
                    trace.note("result_hmac", self.recorder.digest(text.as_bytes()));
                    // The server's words may hold secrets, so only the fact is kept.
                    (
                        Status::Error,
                        Some("the server answered with an error".to_owned()),
                    )
                }
            },
            Err(Stop::Denied(denial)) => {
                trace.note("reason_code", denial.code().as_str());
                trace.note("layer", denial.code().layer());
                trace.note("rule", denial.rule());
                trace.note("hint", denial.hint());
                (Status::Denied, Some(denial.text()))
            }
            Err(Stop::Failed(fault)) => {
                trace.note("reason_code", fault.code());
                (Status::Error, Some(fault.to_string()))
            }
        };
        let started = trace.is_started();
        let record = trace.finish(self.clock, status, error);
        self.closed = true;
        let kept = self.recorder.append(record, Durability::Buffered).await;
        match (outcome, kept) {
            (Ok(screened), Ok(())) => Answer::Passed(screened),
            (Ok(screened), Err(fault)) => {
                (self.notify)(&format!(
                    "AUDIT FAILED: the end of a call was not recorded: {fault}"
                ));
                match (started, self.on_failure) {
                    // It happened, and its beginning is on record: hiding the result helps nobody.
                    (true, AuditFailure::Deny | AuditFailure::Allow)
                    | (false, AuditFailure::Allow) => Answer::Passed(screened),
                    (false, AuditFailure::Deny) => Answer::Denied(withheld(&fault)),
                }
            }
            (Err(stop), kept) => {
                if let Err(fault) = kept {
                    (self.notify)(&format!(
                        "AUDIT FAILED: a call that was stopped was not recorded: {fault}"
                    ));
                }
                match stop {
                    Stop::Denied(denial) => Answer::Denied(denial),
                    Stop::Failed(fault) => Answer::Failed(fault),
                }
            }
        }
    }
}

impl<R: Recorder> Drop for Ticket<'_, R> {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        self.trace.note("reason_code", "abandoned");
        let error = Some("nobody waited for the end of the call".to_owned());
        let record = self.trace.finish(self.clock, Status::Error, error);
        self.recorder.append_detached(record);
    }
}
