//! Models: what each program accepts, and what that does, as data.

mod check;
mod command;
mod error;
mod locate;
mod option;
mod outline;
mod role;
mod schema;
mod shipped;

pub use error::ModelError;
pub use outline::{CommandOutline, OptionOutline};
pub use shipped::Models;

pub(crate) use command::{Bare, Command, When};
pub(crate) use option::{Cause, Opt, Table};
pub(crate) use role::{Pattern, Role};
pub(crate) use schema::{Dashes, Order, Syntax};

use crate::effect::tier::Tier;
pub(crate) use command::Shared;
use schema::Raw;

/// What one program accepts, and what that does.
///
/// `docs/models.md` explains how one is written.
#[derive(Debug)]
pub struct Model {
    names: Vec<String>,
    summary: String,
    manual: Vec<String>,
    environment: Vec<String>,
    any_option: Option<Tier>,
    argument_files: bool,
    replaces_shipped: bool,
    shared: Shared,
    command: Command,
}

impl Model {
    /// Reads a model from the text of its TOML file.
    ///
    /// Sub-commands are read when they are asked for; [`check`](Self::check) reads them all.
    ///
    /// # Errors
    ///
    /// The first fault found, with the keys that lead to it.
    pub fn from_toml(text: &str) -> Result<Self, ModelError> {
        let whole = |problem: String| ModelError::new(String::new(), problem);
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| whole(error.message().to_owned()))?;
        let json = serde_json::to_string(&table).map_err(|error| whole(error.to_string()))?;
        Self::from_json(&json)
    }

    fn from_json(json: &str) -> Result<Self, ModelError> {
        let whole = |problem: String| ModelError::new(String::new(), problem);
        let mut raw: Raw = serde_json::from_str(json)
            .map_err(|error| ModelError::of_json(String::new(), &error))?;
        if raw.names.is_empty() {
            return Err(whole("`names` lists no program".into()));
        }
        let shared = std::mem::take(&mut raw.shared);
        Ok(Self {
            names: std::mem::take(&mut raw.names),
            summary: std::mem::take(&mut raw.summary),
            manual: std::mem::take(&mut raw.manual),
            environment: std::mem::take(&mut raw.environment),
            any_option: raw.any_option,
            argument_files: raw.argument_files,
            replaces_shipped: raw.replaces_shipped,
            command: Command::new(raw, &shared, Syntax::Gnu)?,
            shared,
        })
    }

    /// Returns the names that the program is called by.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns what the program does, in a few words.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Returns where the facts come from.
    pub fn manual(&self) -> &[String] {
        &self.manual
    }

    /// Returns the variables that can make the program run other code.
    pub fn environment(&self) -> &[String] {
        &self.environment
    }

    /// Returns whether it stands in for a shipped model instead of tightening it.
    pub fn replaces_shipped(&self) -> bool {
        self.replaces_shipped
    }

    /// Returns whether any word `@file` stands for the words in that file.
    pub(crate) fn argument_files(&self) -> bool {
        self.argument_files
    }

    pub(crate) fn any_option(&self) -> Option<Tier> {
        self.any_option
    }

    pub(crate) fn command(&self) -> &Command {
        &self.command
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }
}
