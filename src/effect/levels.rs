//! From the words of a call to the sub-commands that they name, with the options and operands of each.

use super::model::{Command, Model};
use super::rule::Rule;
use super::scan::{Scan, scan};
use super::words::Arg;

/// A program and the sub-commands that a call names, the outermost first.
pub(crate) struct Levels<'m> {
    pub(crate) each: Vec<(&'m Command, Scan<'m>)>,
    /// The word that names no sub-command that can be read, the rule, and what is wrong.
    pub(crate) fault: Option<(usize, Rule, String)>,
}

impl<'m> Levels<'m> {
    /// Reads a call by the grammar of a model.
    pub(crate) fn of(model: &'m Model, words: &[Arg<'_>]) -> Self {
        let mut levels = Self {
            each: Vec::new(),
            fault: None,
        };
        let mut outer: Vec<&Command> = Vec::new();
        let mut command = model.command();
        let mut start = 1;
        loop {
            let scan = scan(command, &outer, words, start);
            let sub = scan.sub;
            levels.each.push((command, scan));
            let Some(at) = sub else { break };
            let Some(word) = words.get(at) else { break };
            let Some(sub) = command.sub(&word.text) else {
                levels.fault = Some((at, Rule::UnknownSubcommand, String::new()));
                break;
            };
            if command.inherit {
                outer.insert(0, command);
            }
            match sub.command(model.shared(), command) {
                Ok(inner) => command = inner,
                Err(error) => {
                    levels.fault = Some((at, Rule::BrokenModel, error.to_string()));
                    break;
                }
            }
            start = at + 1;
        }
        levels
    }

    /// Returns whether every word is accounted for.
    pub(crate) fn understood(&self) -> bool {
        self.fault.is_none()
            && self.each.iter().all(|(_, scan)| {
                scan.faults.is_empty() && scan.seen.iter().all(|seen| !seen.ambiguous)
            })
    }

    /// Returns whether an option called `name` is given, and not taken back by a later `=false`.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        let mut seen = self.each.iter().flat_map(|(_, scan)| &scan.seen);
        let last = seen.rfind(|seen| seen.is(name));
        last.is_some_and(|seen| !seen.negated)
    }

    /// Returns whether an option such as `--help` is all that the innermost command is given.
    pub(crate) fn only_ask_for_help(&self) -> bool {
        let Some(((_, last), before)) = self.each.split_last() else {
            return false;
        };
        let quiet = before
            .iter()
            .all(|(_, scan)| scan.seen.is_empty() && scan.faults.is_empty());
        let [seen] = last.seen.as_slice() else {
            return false;
        };
        let alone = |index: &usize| {
            seen.table
                .options
                .get(*index)
                .is_some_and(|option| option.alone)
        };
        quiet
            && last.faults.is_empty()
            && last.operands.is_empty()
            && last.after_dashes.is_empty()
            && last.sub.is_none()
            && !seen.negated
            && !seen.entries.is_empty()
            && seen.entries.iter().all(alone)
    }
}
