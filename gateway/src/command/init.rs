//! `rea init --minimal`: a first registry and policy, from what a client has already.

use std::{
    env, fs,
    io::{self, ErrorKind, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::ExitCode,
};

use clap::Args;
use jiff::Timestamp;
use rea_gateway::{
    policy::{self, Profile},
    registry::{self, Adopted, CLIENT_FILE, adopt},
    yaml,
};

use super::{Answer, Failure, written};

/// The folder of everything that belongs to the gateway in a project.
const FOLDER: &str = ".rea";
/// What stands at the top of a registry that was written here.
const HEADING: &str = "# The servers behind the gateway; `rea registry check` checks this file.\n";
/// The permissions of a file that anybody may read.
const OPEN: u32 = 0o644;
/// The permissions of a file with a secret in it.
const PRIVATE: u32 = 0o600;

/// Writes a first registry and policy for the project in this folder.
///
/// The servers come from .mcp.json if there is one; that file stays as it is. What is there already
/// is never overwritten. Exit status: 0 when both files are there at the end, 2 when they could not
/// be written or .mcp.json could not be read.
#[derive(Args, Debug)]
pub(crate) struct Init {
    /// Write only what the gateway needs; there is no other kind yet
    #[arg(long, required = true)]
    minimal: bool,
}

impl Init {
    pub(crate) fn run(self) -> Answer {
        let Self {
            minimal: _the_only_kind,
        } = self;
        let mut said = Vec::new();
        folder()?;
        if exists(registry::FILE)? {
            said.push(format!(
                "{} is there already and stays as it is",
                registry::FILE
            ));
        } else {
            said.extend(write_registry()?);
        }
        if exists(policy::PATH_IN_PROJECT)? {
            said.push(format!(
                "{} is there already and stays as it is",
                policy::PATH_IN_PROJECT
            ));
        } else {
            let by = env::var("USER").unwrap_or_else(|_| "unknown".to_owned());
            let text = Profile::Minimal.render(&by, &Timestamp::now().to_string());
            write(policy::PATH_IN_PROJECT, &text, OPEN)?;
            said.push(format!(
                "{} written: profile minimal",
                policy::PATH_IN_PROJECT
            ));
        }
        let mut out = anstream::stdout().lock();
        let outcome = said.iter().try_for_each(|line| writeln!(out, "{line}"));
        written(outcome.and_then(|()| out.flush()), ExitCode::SUCCESS)
    }
}

fn write_registry() -> Result<Vec<String>, Failure> {
    let client_file = Path::new(CLIENT_FILE);
    let Adopted {
        registry,
        mut notes,
        holds_secret,
    } = match yaml::text_of(client_file) {
        Ok(text) => adopt(&text).map_err(|error| Failure::new("reading .mcp.json", error))?,
        Err(fault) if fault.missing => Adopted::default(),
        Err(fault) => return Err(Failure::new("reading .mcp.json", fault)),
    };
    let mode = if holds_secret { PRIVATE } else { OPEN };
    let text = format!("{HEADING}{}", registry.to_yaml());
    write(registry::FILE, &text, mode)?;
    let servers = registry.servers.len();
    notes.push(format!("{} written: {servers} servers", registry::FILE));
    Ok(notes)
}

/// Makes the folder if it is not there; one that is a link is refused, since it leads elsewhere.
fn folder() -> Result<(), Failure> {
    match fs::create_dir(FOLDER) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(Failure::new("making the folder .rea", error)),
    }
    match fs::symlink_metadata(FOLDER) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(
            "making the folder .rea",
            "something else has that name",
        )),
        Err(error) => Err(Failure::new("making the folder .rea", error)),
    }
}

/// Returns whether any entry has that name, also one that leads nowhere.
fn exists(path: &str) -> Result<bool, Failure> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::new("looking into .rea", error)),
    }
}

/// Writes a file that is not there yet; half a file is never seen, and no other one replaced.
fn write(path: &str, text: &str, mode: u32) -> Result<(), Failure> {
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(mode))
            .tempfile_in(FOLDER)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| Failure::new("writing into .rea", error))
}
