//! Whether a model is sound as a whole.

use std::collections::BTreeSet;

use super::command::{Command, fault_of};
use super::error::ModelError;
use super::option::Opt;
use super::role::Role;
use super::{Model, Shared};
use crate::effect::tier::Tier;

/// Words by which shells run or evaluate the words after them. No program has such a name where a shell
/// reads the line, so that a model would speak of something else.
const OF_SHELLS: &[&str] = &[
    ".",
    "alias",
    "bind",
    "builtin",
    "command",
    "compgen",
    "complete",
    "coproc",
    "declare",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "let",
    "local",
    "mapfile",
    "nocorrect",
    "noglob",
    "readarray",
    "readonly",
    "repeat",
    "sched",
    "source",
    "trap",
    "typeset",
];

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
        let mut names = BTreeSet::new();
        for name in &self.names {
            if let Some(problem) = fault_of_name(name) {
                fault("names", &format!("{name:?} {problem}"));
            } else if !names.insert(name) {
                fault("names", &format!("{name:?} is listed twice"));
            }
        }
        for (name, groups) in &self.shared {
            if let Some(problem) = fault_of(groups) {
                fault(&format!("shared.{name}"), &problem);
            }
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

/// Returns what keeps a word from being the name of a program.
fn fault_of_name(name: &str) -> Option<&'static str> {
    if name.is_empty() || name.starts_with('-') {
        return Some("is no name of a program");
    }
    let odd = |character: char| character == '/' || character.is_control();
    if name.contains(odd) || name.contains(char::is_whitespace) {
        return Some("is no name of a program: it holds a slash, a blank or a control character");
    }
    OF_SHELLS
        .contains(&name)
        .then_some("is a builtin of shells that runs or evaluates other words, and no program")
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
    for problem in faults_of_names(command) {
        fault("sub", problem);
    }
    check_conditions(command, outer, &mut fault);
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

/// Returns what is wrong with the names of the sub-commands.
fn faults_of_names(command: &Command) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for sub in &command.subs {
        if sub.names.is_empty() {
            problems.push("a sub-command has no name".to_owned());
        }
        for name in &sub.names {
            if !seen.insert(name) {
                problems.push(format!("two sub-commands are called {name:?}"));
            }
        }
    }
    problems
}

/// Checks each `[[when]]` of a command; `outer` are the commands around it.
fn check_conditions(command: &Command, outer: &[&Command], mut fault: impl FnMut(&str, String)) {
    let inherited = outer.iter().filter(|command| command.inherit);
    let known: BTreeSet<&str> = inherited
        .chain([&command])
        .flat_map(|command| &command.table.options)
        .flat_map(|option| &option.names)
        .map(|name| &**name)
        .collect();
    for when in &command.when {
        if when.has_no_condition() {
            fault(
                "when",
                "say in `given`, `absent` or `fewer-operands` when it holds; what holds always stands outside".into(),
            );
        }
        for name in when.conditions() {
            if !known.contains(name) {
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
}
