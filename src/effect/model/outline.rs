//! A model laid open, for people who read it and for tests that hold it against the program.

use serde::Serialize;

use super::command::Command;
use super::error::ModelError;
use super::{Model, Shared};
use crate::effect::rule::Rule;

/// A program, or one sub-command of it, with its options.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct CommandOutline {
    /// The names of the sub-commands that lead here; the other names of each after the first.
    pub path: Vec<Vec<String>>,
    /// Its own options.
    pub options: Vec<OptionOutline>,
    /// The rules that every call of it meets.
    pub always: Vec<Rule>,
    /// The words that print its help, if the model names them.
    pub help: Option<Vec<String>>,
    /// Options that the help of the installed program does not tell of in a way that can be read.
    pub unchecked: Vec<String>,
}

/// One option of a [`CommandOutline`].
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct OptionOutline {
    /// Its names.
    pub names: Vec<String>,
    /// The rule that it meets by itself; none if it does no more than read.
    pub rule: Option<Rule>,
    /// How many values it takes.
    pub values: usize,
}

impl Model {
    /// Returns the program and all its sub-commands, each before those below it.
    ///
    /// # Errors
    ///
    /// The fault of a sub-command that cannot be read.
    pub fn outline(&self) -> Result<Vec<CommandOutline>, ModelError> {
        let mut outlines = Vec::new();
        lay_open(&self.command, &self.shared, &[], &mut outlines)?;
        Ok(outlines)
    }
}

fn lay_open(
    command: &Command,
    shared: &Shared,
    path: &[Vec<String>],
    outlines: &mut Vec<CommandOutline>,
) -> Result<(), ModelError> {
    let options = command.table.options.iter().map(|option| OptionOutline {
        names: option.names.iter().map(ToString::to_string).collect(),
        rule: option.cause.as_ref().map(|cause| cause.rule),
        values: option.values.len(),
    });
    outlines.push(CommandOutline {
        path: path.to_vec(),
        options: options.collect(),
        always: command.always.iter().map(|cause| cause.rule).collect(),
        help: command.help.clone(),
        unchecked: command.unchecked.clone(),
    });
    for sub in &command.subs {
        let inner = sub.command(shared, command).map_err(Clone::clone)?;
        let mut path = path.to_vec();
        path.push(sub.names.clone());
        lay_open(inner, shared, &path, outlines)?;
    }
    Ok(())
}
