//! Hands a call to its server, or to the client for what a server asks.

use std::{future::Future, time::Instant};

use super::{
    answer::{Fault, Reply},
    call::{Call, Request},
    grant::Entitled,
    method::Method,
};
use crate::policy::Tier;

/// A call that every layer let through. Whoever sends it takes this as proof: it cannot be made
/// outside of the chain.
///
/// ```compile_fail
/// # use rea_gateway::layer::{Dispatch, Request};
/// fn forge(request: Request, tier: rea_gateway::tier::Tier) -> Dispatch {
///     Dispatch { request, tier, decided: std::time::Instant::now() } // the fields are private
/// }
/// ```
#[derive(Debug)]
pub struct Dispatch {
    request: Request,
    tier: Tier,
    decided: Instant,
}

impl Dispatch {
    /// Returns how much the call can change.
    pub const fn tier(&self) -> Tier {
        self.tier
    }

    /// Returns when the first layer that could stop the call let it pass.
    pub const fn decided(&self) -> Instant {
        self.decided
    }

    /// Returns the method.
    pub const fn method(&self) -> Method {
        self.request.method
    }

    /// Returns the name of the server.
    pub fn server(&self) -> &str {
        self.request.target.server()
    }

    /// Returns the name that the server knows: of a tool or a prompt, or the address of a resource.
    pub fn name(&self) -> &str {
        self.request.target.name()
    }

    /// Returns the JSON text of the arguments to send.
    pub fn arguments(&self) -> Option<&str> {
        self.request.arguments.as_deref()
    }
}

/// Sends one call and waits for what comes back.
pub trait Execute: Send {
    /// What comes back.
    type Reply: Reply;

    /// Sends the call, once. The future ends however it ends: with a reply, or with why there is
    /// none. It brings its own time limit.
    fn execute(self, call: Dispatch) -> impl Future<Output = Result<Self::Reply, Fault>> + Send;
}

impl<R, F, W> Execute for F
where
    R: Reply,
    F: FnOnce(Dispatch) -> W + Send,
    W: Future<Output = Result<R, Fault>> + Send,
{
    type Reply = R;

    fn execute(self, call: Dispatch) -> impl Future<Output = Result<R, Fault>> + Send {
        self(call)
    }
}

/// A reply that no layer has seen on its way back.
#[derive(Debug)]
pub struct Executed<R>(R);

impl<R> Executed<R> {
    pub(super) fn into_reply(self) -> R {
        self.0
    }
}

pub(super) async fn pass<X: Execute>(
    call: Call<Entitled>,
    tier: Tier,
    decided: Instant,
    executor: X,
) -> Result<Executed<X::Reply>, Fault> {
    let (request, stage) = call.arrive();
    let in_flight = stage.into_in_flight();
    let outcome = executor
        .execute(Dispatch {
            request,
            tier,
            decided,
        })
        .await;
    in_flight.land(&outcome);
    outcome.map(Executed)
}
