//! Where the grants are, and which session this is.

use std::env;
use std::path::PathBuf;

use clap::Args;
use plainpipe::grant::{Grants, Session, StoreError};
use rea_gateway::{directories, layer::GrantFile};

use crate::command::Failure;

/// The file of grants, below the user's state directory.
const FILE: &str = "rea/grants.json";

/// Which file of grants is used.
#[derive(Args, Debug)]
pub(crate) struct Place {
    /// Use this file of grants instead of `rea/grants.json` in the state directory
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// Why there are no grants to look at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoGrants {
    /// The file is damaged, newer, open to others, or cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The command was used wrongly.
    #[error(transparent)]
    Failure(#[from] Failure),
}

impl Place {
    /// Reads the grants for this session.
    pub(crate) fn open(self) -> Result<Grants, NoGrants> {
        let path = self.store.or_else(file_of_user);
        let path = path.ok_or_else(|| {
            let what =
                "neither XDG_STATE_HOME nor HOME is an absolute path; name the file with --store";
            Failure::new("looking for the grants", what)
        })?;
        Ok(Grants::open(path, session()?)?)
    }
}

/// Returns the user's file of grants, or nothing if the user has no state directory.
fn file_of_user() -> Option<PathBuf> {
    let state = directories::state();
    state.map(|state| state.join(FILE))
}

/// Returns where the gateway finds grants.
pub(crate) fn of_user() -> Result<GrantFile, Failure> {
    Ok(GrantFile {
        path: file_of_user(),
        session: session()?,
    })
}

/// Returns the session: `REA_SESSION` if it is set, else that of the session leader. Without
/// either there is none, and grants for a session do not count.
fn session() -> Result<Option<Session>, Failure> {
    let Some(name) = env::var_os("REA_SESSION") else {
        return Ok(Session::of_this_process().ok());
    };
    let session = name.to_str().and_then(Session::named).ok_or_else(|| {
        let what = "it must be 1 to 256 bytes of UTF-8 without control characters";
        Failure::new("reading REA_SESSION", what)
    })?;
    Ok(Some(session))
}
