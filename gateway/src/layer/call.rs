//! A call on its way through the layers, and how far it has come.
//!
//! [`Call`] carries a stage as its type. A stage can be made only in the file of the layer that
//! grants it, and each layer takes the stage before its own, so a call cannot arrive anywhere by
//! another way than through every layer before it.

use super::method::Method;

/// What is asked, as the wire read it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Whom it concerns.
    pub target: Target,
    /// The JSON text of `arguments` for tools and prompts, of all parameters for everything else.
    pub arguments: Option<Box<str>>,
    /// What the server's catalogue says about the tool.
    pub annotations: Annotations,
}

/// Whom a call concerns.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Target {
    /// Something of a server: the name of a tool or prompt, or the address of a resource, as the
    /// server knows it. For what a server asks, the method is its name.
    Of {
        /// The server, whether it is registered or not.
        server: String,
        /// The name that the server knows.
        name: String,
    },
    /// A name without a server in front.
    Unprefixed(String),
    /// A name that belongs to the gateway, but that it does not offer.
    Reserved(String),
}

impl Target {
    /// Returns the server's name, or an empty one.
    pub fn server(&self) -> &str {
        match self {
            Self::Of { server, .. } => server,
            Self::Unprefixed(_) => "",
            Self::Reserved(_) => RESERVED_SERVER,
        }
    }

    /// Returns the name that is asked for.
    pub fn name(&self) -> &str {
        match self {
            Self::Of { name, .. } | Self::Unprefixed(name) | Self::Reserved(name) => name,
        }
    }
}

/// The server under which records show names that belong to the gateway.
pub const RESERVED_SERVER: &str = "__rea__";

/// What a server says about its own tool. It is believed only where it makes things stricter.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Annotations {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
}

/// A call that has come as far as the stage `S` says.
#[derive(Debug)]
pub struct Call<S> {
    request: Box<Request>,
    stage: S,
}

/// The stage of a call that no layer has seen.
#[derive(Debug)]
pub struct Received(());

impl Call<Received> {
    /// Takes in a request.
    pub(super) fn receive(request: Request) -> Self {
        Self {
            request: Box::new(request),
            stage: Received(()),
        }
    }
}

impl<S> Call<S> {
    /// Returns what is asked.
    pub(super) fn request(&self) -> &Request {
        &self.request
    }

    /// Returns how far it has come.
    pub(super) const fn stage(&self) -> &S {
        &self.stage
    }

    /// Takes the call to the stage that `next` makes of its present one.
    pub(super) fn step<N>(self, next: impl FnOnce(S) -> N) -> Call<N> {
        Call {
            request: self.request,
            stage: next(self.stage),
        }
    }

    /// Takes the call to the next stage, or turns it away.
    pub(super) fn try_step<N, E>(self, next: impl FnOnce(S) -> Result<N, E>) -> Result<Call<N>, E> {
        Ok(Call {
            request: self.request,
            stage: next(self.stage)?,
        })
    }

    /// Takes the call apart at the end of its way.
    pub(super) fn arrive(self) -> (Request, S) {
        (*self.request, self.stage)
    }
}
