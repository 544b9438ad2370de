//! Starts the servers of a registry as children.

use std::sync::Arc;

use super::{
    chain::Later,
    link::{Launch, Launched, Life, Link},
    session::Profile,
    stdio::widen,
};
use crate::{
    child::{Process, Surroundings},
    registry::{Registry, Server},
};

/// Returns a link to every enabled server of the registry, in its order.
pub fn links(registry: &Registry, surroundings: &Arc<Surroundings>) -> Vec<Arc<Link>> {
    let enabled = registry.servers.iter().filter(|server| server.enabled);
    let link = |(index, server): (usize, &Server)| {
        let profile = Profile {
            name: server.name.as_str().into(),
            timeout: server.timeout,
            start_timeout: server.start_timeout,
            max_message_bytes: server.max_message_bytes,
        };
        let child = Child {
            server: Arc::new(server.clone()),
            surroundings: Arc::clone(surroundings),
        };
        Arc::new(Link::new(index, profile, Box::new(child)))
    };
    enabled.enumerate().map(link).collect()
}

struct Child {
    server: Arc<Server>,
    surroundings: Arc<Surroundings>,
}

impl Launch for Child {
    fn launch(&self) -> Later<Result<Launched, String>> {
        let (server, surroundings) = (Arc::clone(&self.server), Arc::clone(&self.surroundings));
        Box::pin(async move {
            let started = Process::start(&server, &surroundings).await;
            let (process, pipes) = started.map_err(|error| error.to_string())?;
            // Not its input: what stands in that pipe cannot be called back.
            widen(&pipes.stdout);
            Ok(Launched {
                input: Box::new(pipes.stdin),
                output: Box::new(pipes.stdout),
                life: Arc::new(Running(Arc::new(process))),
            })
        })
    }
}

struct Running(Arc<Process>);

impl Life for Running {
    fn ended(&self) -> Later<String> {
        let process = Arc::clone(&self.0);
        Box::pin(async move { process.exited().await.to_string() })
    }

    fn stop(&self) -> Later<()> {
        let process = Arc::clone(&self.0);
        Box::pin(async move {
            process.stop().await;
        })
    }
}
