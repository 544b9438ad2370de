//! The commands that talk to servers: `rea serve`, `rea tools` and `rea call`.

mod call;
mod client;
mod gate;
mod serve;
mod tools;

use std::{process::ExitCode, sync::Arc, time::Duration};

use clap::Args;
use rea_gateway::{
    child::{Journal, Surroundings},
    registry::{self, Registry},
    terminal::escaped,
    wire::{
        hub::Hub,
        launch,
        outlet::{Writer, outlet},
    },
};

use self::gate::LateHub;
use super::{Answer, Failure};

/// How long standard error is given to take what was said last.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Serves an MCP client on standard input and output, in front of the servers in .rea/registry.yaml.
///
/// Exit status: 0 when the client went or a signal came, 1 when the registry, the policy or the audit
/// log cannot be used.
#[derive(Args, Debug)]
pub(crate) struct Serve;

impl Serve {
    #[expect(clippy::unused_self, reason = "it is called like the other commands")]
    pub(crate) fn run(self) -> Answer {
        with_journal(serve::run)
    }
}

/// Shows what is offered, and from where.
#[derive(Args, Debug)]
pub(crate) struct Tools {
    #[command(flatten)]
    arguments: tools::Arguments,
}

impl Tools {
    pub(crate) fn run(self) -> Answer {
        with_journal(|journal| tools::run(journal, &self.arguments))
    }
}

/// Calls one tool, for trying; it takes the same way as the call of a client.
#[derive(Args, Debug)]
pub(crate) struct Call {
    #[command(flatten)]
    arguments: call::Arguments,
}

impl Call {
    pub(crate) fn run(self) -> Answer {
        with_journal(|journal| call::run(journal, &self.arguments))
    }
}

/// Runs a command that tells people through a journal, which never waits for standard error.
fn with_journal(command: impl FnOnce(&Journal) -> Outcome) -> Answer {
    let journal =
        Journal::to_stderr().map_err(|error| Failure::new("writing to standard error", error))?;
    let outcome = command(&journal);
    journal.flush(LAST_WORDS);
    Ok(match outcome {
        Outcome::Done => ExitCode::SUCCESS,
        Outcome::Failed => ExitCode::FAILURE,
    })
}

/// What a command came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    /// Exit code 0.
    Done,
    /// Exit code 1: it was tried and did not work; standard error says why.
    Failed,
}

/// Returns everything on the wire for the project in the current folder, or nothing if its registry,
/// its policy or its audit log cannot be used; then the journal says why.
fn hub(journal: &Journal) -> Option<(Arc<Hub>, Writer)> {
    let told = |text: &str| journal.line(format!("rea: {}", escaped(text)));
    let root = match std::env::current_dir() {
        Ok(root) => root,
        Err(error) => {
            told(&format!("the current folder cannot be used: {error}"));
            return None;
        }
    };
    let file = root.join(registry::FILE);
    let registry = match Registry::load(&file) {
        Ok(registry) => registry,
        Err(faults) => {
            for fault in faults.all() {
                told(&fault.to_string());
            }
            return None;
        }
    };
    let variables = std::env::vars_os().collect();
    let surroundings = Surroundings::new(&root, variables, journal.clone());
    let (client, writer) = outlet();
    let links = launch::links(&registry, &Arc::new(surroundings));
    let late = LateHub::default();
    let gate = match gate::gate(&root, registry, links.clone(), &late, journal) {
        Ok(gate) => Arc::new(gate),
        Err(reason) => {
            told(&reason);
            return None;
        }
    };
    let noted = journal.clone();
    let note = Box::new(move |text: &str| noted.line(format!("rea: {}", escaped(text))));
    let hub = Hub::new(links, client, gate, note);
    // It was empty until now, so this cannot fail.
    let _set = late.set(Arc::downgrade(&hub));
    Some((hub, writer))
}

/// Runs a future on a runtime of one thread and leaves the blocking threads behind: one of them may
/// still be reading standard input.
fn block_on<T>(journal: &Journal, future: impl Future<Output = T>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(future);
            runtime.shutdown_background();
            Some(result)
        }
        Err(error) => {
            journal.line(format!("rea: no runtime: {}", escaped(&error.to_string())));
            None
        }
    }
}
