//! `rea grant list`, `show`, `revoke` and `prune`.

use std::process::ExitCode;

use clap::Args;
use plainpipe::grant::{Given, GrantId, StoreError};
use serde::Serialize;

use super::{NoGrants, Place, people, say};

/// Lists the grants in the order in which they were given.
#[derive(Args, Debug)]
pub(super) struct List {
    #[command(flatten)]
    place: Place,

    /// Print one JSON object instead of text for people
    #[arg(long)]
    json: bool,
}

/// Shows all there is to know of one grant.
#[derive(Args, Debug)]
pub(super) struct Show {
    /// The name of the grant, as `list` shows it
    id: GrantId,

    #[command(flatten)]
    place: Place,

    /// Print one JSON object instead of text for people
    #[arg(long)]
    json: bool,
}

/// Takes one grant back.
#[derive(Args, Debug)]
pub(super) struct Revoke {
    /// The name of the grant, as `list` shows it
    id: GrantId,

    #[command(flatten)]
    place: Place,

    /// Print one JSON object instead of text for people
    #[arg(long)]
    json: bool,
}

/// Removes grants that will never count again: used, timed out, or of a session that has ended.
#[derive(Args, Debug)]
pub(super) struct Prune {
    #[command(flatten)]
    place: Place,

    /// Print one JSON object instead of text for people
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed<'a> {
    grants: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    given: &'a Given,
    counts: bool,
}

#[derive(Serialize)]
struct Removed {
    removed: Vec<Given>,
}

impl List {
    pub(super) fn run(self) -> Result<ExitCode, NoGrants> {
        let grants = self.place.open()?;
        let entries = grants.iter().map(|given| Entry {
            given,
            counts: grants.counts(given),
        });
        let listed = Listed {
            grants: entries.collect(),
        };
        let text = || {
            grants
                .iter()
                .map(|given| people::row(given, &grants))
                .collect()
        };
        say(self.json, &listed, text, ExitCode::SUCCESS)
    }
}

impl Show {
    pub(super) fn run(self) -> Result<ExitCode, NoGrants> {
        let grants = self.place.open()?;
        let given = grants
            .find(self.id)
            .ok_or_else(|| StoreError::NoSuchGrant {
                id: self.id.to_string(),
            })?;
        let entry = Entry {
            given,
            counts: grants.counts(given),
        };
        say(
            self.json,
            &entry,
            || people::all(given, &grants),
            ExitCode::SUCCESS,
        )
    }
}

impl Revoke {
    pub(super) fn run(self) -> Result<ExitCode, NoGrants> {
        let mut grants = self.place.open()?;
        let removed = vec![grants.revoke(self.id)?];
        let text = format!("revoked {}\n", self.id);
        say(self.json, &Removed { removed }, || text, ExitCode::SUCCESS)
    }
}

impl Prune {
    pub(super) fn run(self) -> Result<ExitCode, NoGrants> {
        let mut grants = self.place.open()?;
        let removed = grants.prune()?;
        let mut text = String::new();
        for given in &removed {
            text.push_str("removed ");
            text.push_str(&people::row(given, &grants));
        }
        say(self.json, &Removed { removed }, || text, ExitCode::SUCCESS)
    }
}
