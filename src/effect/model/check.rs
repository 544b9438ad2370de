//! Whether a model is sound as a whole.

use super::command::Command;
use super::error::ModelError;
use super::option::Opt;
use super::role::Role;
use super::{Model, Shared};
use crate::effect::tier::Tier;

impl Model {
    /// Reads every sub-command and returns all faults; none means that the model can be used.
    pub fn check(&self) -> Vec<ModelError> {
        let mut faults = Vec::new();
        let mut fault = |place: &str, problem: &str| {
            faults.push(ModelError::new(place.to_owned(), problem.to_owned()));
        };
        if self.summary.is_empty() {
            fault("summary", "say in a few words what the program does");
        }
        if self.manual.is_empty() {
            fault("manual", "name the manual that the facts come from");
        }
        check_command(
            &[&self.command],
            &self.shared,
            self.any_option,
            "",
            &mut faults,
        );
        faults
    }
}

/// Checks a command, the last of those that lead to it.
fn check_command(
    path: &[&Command],
    shared: &Shared,
    any_option: Option<Tier>,
    place: &str,
    faults: &mut Vec<ModelError>,
) {
    let Some((&command, outer)) = path.split_last() else {
        return;
    };
    let mut fault = |key: &str, problem: String| {
        faults.push(ModelError::new(format!("{place}{key}"), problem));
    };
    for when in &command.when {
        for name in when.conditions() {
            let inherited = outer.iter().filter(|command| command.inherit);
            let mut tables = inherited
                .map(|command| &command.table)
                .chain([&command.table]);
            if !tables.any(|table| table.options.iter().any(|option| has(option, name))) {
                fault("when", format!("{name:?} is no option of the command"));
            }
        }
        for (name, indices) in when.table.names() {
            let shape =
                |option: Option<&Opt>| option.map(|option| (option.values.len(), option.optional));
            let known = command
                .table
                .named(name)
                .and_then(|(_, indices)| indices.first());
            let own = indices.first();
            if known.is_none() {
                fault(
                    "when.options",
                    format!("{name:?} is no option of the command"),
                );
            } else if shape(known.and_then(|&index| command.table.options.get(index)))
                != shape(own.and_then(|&index| when.table.options.get(index)))
            {
                fault(
                    "when.options",
                    format!("{name:?} takes another number of values"),
                );
            }
        }
    }
    for option in &command.table.options {
        if option.values.iter().any(Role::takes_the_rest) {
            fault(
                "options",
                format!(
                    "{:?}: an option cannot take all words that are left",
                    option.names
                ),
            );
        }
        let rule = option
            .cause
            .as_ref()
            .map_or(Tier::Read, |cause| cause.rule.tier());
        let values = option
            .values
            .iter()
            .map(Role::highest)
            .max()
            .unwrap_or(Tier::Read);
        if any_option.is_some_and(|claimed| rule.max(values) > claimed) {
            fault(
                "any-option",
                format!("{:?} does more than that", option.names),
            );
        }
    }
    let has_operands =
        !command.operands.is_empty() || command.when.iter().any(|when| when.operands.is_some());
    if !command.subs.is_empty()
        && command.bare.is_none()
        && !has_operands
        && command.always.is_empty()
    {
        fault(
            "bare",
            "say what happens without a sub-command: \"read\" or a rule".into(),
        );
    }
    for sub in &command.subs {
        let place = format!("{place}sub.{:?}.", sub.names.join(" "));
        match sub.command(shared, command) {
            Ok(inner) => check_command(
                &[path, &[inner]].concat(),
                shared,
                any_option,
                &place,
                faults,
            ),
            Err(error) => faults.push(error.clone()),
        }
    }
}

fn has(option: &Opt, name: &str) -> bool {
    option.names.iter().any(|known| **known == *name)
}
