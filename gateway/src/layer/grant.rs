//! Uses up the grants for one time that a call needs, right before it is sent.
//!
//! After everything that could still stop the call: a grant that was given for one time is not spent
//! on a call that never happens. It is used up on disk first, so that of two calls one is sent.

use plainpipe::grant::{Granted, TakeError};
use tokio::task::spawn_blocking;

use super::{
    audit_start::Started,
    call::Call,
    circuit_breaker::InFlight,
    denial::{Code, Denial},
};
use crate::policy::Notify;

/// What a permitted call has to use up. Only the policy makes one.
#[derive(Debug)]
pub(super) struct Claim(Option<Granted>);

/// The stage of a call that may be sent to its server: it has used up what it needed.
#[derive(Debug)]
pub struct Entitled(InFlight);

impl Claim {
    /// Returns the claim of a call that needs no grant.
    pub(super) const fn none() -> Self {
        Self(None)
    }

    /// Returns the claim of a call whose line these grants cover.
    pub(super) const fn of(granted: Option<Granted>) -> Self {
        Self(granted)
    }
}

impl Entitled {
    pub(super) fn into_in_flight(self) -> InFlight {
        self.0
    }
}

pub(super) async fn pass(
    call: Call<Started>,
    Claim(granted): Claim,
    notify: &Notify,
) -> Result<Call<Entitled>, Denial> {
    if let Some(granted) = granted.filter(|granted| !granted.once().is_empty()) {
        // It waits for a lock and for the disk.
        let taken = spawn_blocking(move || granted.take().map(|_| ()));
        let taken = taken.await.map_err(|error| error.to_string());
        match taken {
            Ok(Ok(())) => {}
            Ok(Err(error @ (TakeError::Used(_) | TakeError::Revoked(_)))) => {
                let sentence =
                    "The grant for this line has just been used or taken back".to_owned();
                notify(&format!("{error}; a call was denied for it"));
                return Err(Denial::new(Code::ShellUngranted, sentence, "grant-gone"));
            }
            Ok(Err(error)) => return Err(unusable(&error.to_string(), notify)),
            Err(error) => return Err(unusable(&error, notify)),
        }
    }
    Ok(call.step(|stage| Entitled(stage.into_in_flight())))
}

fn unusable(detail: &str, notify: &Notify) -> Denial {
    notify(&format!(
        "a grant could not be used up: {detail}; a call was denied for it"
    ));
    let sentence = "The grant for this line could not be used up".to_owned();
    Denial::new(Code::ShellUnchecked, sentence, "grant-unusable")
}
