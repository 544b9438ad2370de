//! `rea registry check`: is the registry right, and would its servers start here?

use std::{
    env,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use clap::{Args, Subcommand};
use rea_gateway::{
    child::{self, Variables, find_program, variables},
    registry::{self, Server},
    terminal::escaped,
};

use super::{Answer, Failure, written};

/// Looks after the registry of servers, `.rea/registry.yaml`.
#[derive(Args, Debug)]
pub(crate) struct Registry {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(Check),
}

/// Checks the registry, and whether each server in it could start here.
///
/// Nothing is started. Exit status: 0 when every server that is enabled could start, 1 when the file
/// has a fault or a server could not, 2 when the check itself failed.
#[derive(Args, Debug)]
struct Check {}

impl Registry {
    pub(crate) fn run(self) -> Answer {
        match self.command {
            Command::Check(Check {}) => check(),
        }
    }
}

fn check() -> Answer {
    let root = env::current_dir().map_err(|error| Failure::new("finding the folder", error))?;
    let registry = match registry::Registry::load(Path::new(registry::FILE)) {
        Ok(registry) => registry,
        Err(faults) => {
            let told = writeln!(io::stderr(), "{faults}");
            return written(told, ExitCode::FAILURE);
        }
    };
    let parent: Variables = env::vars_os().collect();
    let mut out = anstream::stdout().lock();
    let (outcome, status) = report(&mut out, &registry, &parent, &root);
    written(outcome.and_then(|()| out.flush()), status)
}

fn report(
    out: &mut impl Write,
    registry: &registry::Registry,
    parent: &Variables,
    root: &Path,
) -> (io::Result<()>, ExitCode) {
    let width = (registry.servers.iter())
        .map(|server| server.name.as_str().len())
        .max()
        .unwrap_or_default();
    let mut status = ExitCode::SUCCESS;
    if registry.servers.is_empty() {
        return (writeln!(out, "no servers"), status);
    }
    for server in &registry.servers {
        let said = match (server.enabled, obstacle(server, parent, root)) {
            (false, _) => "disabled".to_owned(),
            (true, None) => "could start".to_owned(),
            (true, Some(obstacle)) => {
                status = ExitCode::FAILURE;
                format!("could not start: {obstacle}")
            }
        };
        let name = server.name.as_str();
        if let Err(error) = writeln!(out, "{name:width$}  {said}") {
            return (Err(error), status);
        }
    }
    (Ok(()), status)
}

/// Returns what would keep a server from starting here.
fn obstacle(server: &Server, parent: &Variables, root: &Path) -> Option<String> {
    let variables = match variables(server, parent) {
        Ok(variables) => variables,
        Err(missing) => return Some(child::StartError::from(missing).to_string()),
    };
    let folder = match &server.cwd {
        Some(cwd) => root.join(cwd),
        None => root.to_owned(),
    };
    if !folder.is_dir() {
        let folder = escaped(&folder.to_string_lossy());
        return Some(format!("`cwd` is no folder: {folder}"));
    }
    match find_program(&server.command, &variables, &folder) {
        Some(_) => None,
        None => Some(format!(
            "no program `{}` on its PATH; install it, or correct `command` or PATH in the registry",
            escaped(&server.command)
        )),
    }
}
