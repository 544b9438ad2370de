//! Whether a call is one that starts with certain words, by what these mean to the program.

use super::levels::Levels;
use super::model::{Model, Models, Order, Role, Syntax};
use super::scan::{Scan, Seen};
use super::words::Arg;
use crate::plain::Span;

/// Says whether the call `argv` of the program `name` does all that the arguments `prefix` say, in the
/// way they say it, and what it says besides leaves that alone.
///
/// `None` if no model accounts for every word of `prefix`, so that there is only text to go by. A word of
/// `argv` that a model does not account for is a no.
///
/// It is a yes if
///
/// - both name the same sub-commands, and the options before each are the same;
/// - each option of `prefix` is given as often, with the same values, and no option takes it back;
/// - the operands of `prefix` are the first ones, and those after its `--` stand after one;
/// - options besides these stand where they could as well stand after all words of `prefix`: not
///   where a `--`, or an operand that ends the options, closes them;
/// - the words of `prefix` come first and in their order, if that matters to the program (`find`).
///
/// How much the call may do is not looked at: a [`Tier`](super::Tier) tells.
pub(crate) fn starts_like(
    models: &Models,
    name: &str,
    prefix: &[String],
    argv: &[&str],
) -> Option<bool> {
    let models = models.of(name).ok()?;
    let rest = argv.get(1..).unwrap_or_default();
    let first = rest.iter().zip(prefix);
    let same_text = rest.len() >= prefix.len() && first.into_iter().all(|(a, b)| *a == *b);
    let prefix = words(name, prefix.iter().map(String::as_str));
    let call = words(name, rest.iter().copied());
    let mut answer = None;
    for model in models {
        let like = model_says(model, &prefix, &call, same_text)?;
        answer = Some(answer.unwrap_or(true) && like);
    }
    answer
}

/// Says whether the arguments `prefix` of the program `name` already choose what is run, so that words
/// after them cannot: an operand, or a sub-command, and the program among the operands if there is to be
/// one.
///
/// `None` if no model accounts for every word of `prefix`.
pub(crate) fn chooses_what_runs(models: &Models, name: &str, prefix: &[String]) -> Option<bool> {
    let call = words(name, prefix.iter().map(String::as_str));
    let mut answer = None;
    for model in models.of(name).ok()? {
        let levels = Levels::of(model, &call);
        if !levels.understood() {
            return None;
        }
        let (command, scan) = levels.each.last()?;
        let side = Side(scan, &call);
        let texts = side.texts(&scan.operands);
        let chooses = if command.operands.roles().any(Role::takes_the_rest) {
            let place = command.operands.command_at(texts).map(|(place, _)| place);
            place.is_some_and(|place| place < scan.operands.len())
        } else {
            levels.each.len() > 1 || !scan.operands.is_empty()
        };
        answer = Some(answer.unwrap_or(true) && chooses);
    }
    answer
}

fn words<'a>(name: &'a str, arguments: impl Iterator<Item = &'a str>) -> Vec<Arg<'a>> {
    let all = std::iter::once(name).chain(arguments);
    all.map(|text| Arg::new(text, Span::new(0, 0))).collect()
}

fn model_says(
    model: &Model,
    prefix: &[Arg<'_>],
    call: &[Arg<'_>],
    same_text: bool,
) -> Option<bool> {
    let wanted = Levels::of(model, prefix);
    if !wanted.understood() {
        return None;
    }
    let found = Levels::of(model, call);
    if !found.understood() || found.each.len() < wanted.each.len() {
        return Some(false);
    }
    let last = wanted.each.len().saturating_sub(1);
    let mut levels = wanted.each.iter().zip(&found.each).enumerate();
    Some(levels.all(|(index, ((command, wanted), (other, found)))| {
        let wanted = Side(wanted, prefix);
        let found = Side(found, call);
        let in_place = same_text || command.syntax != Syntax::Exact;
        let closed = index < last
            || wanted.0.dashes.is_some()
            || (command.order == Order::Posix && !wanted.0.operands.is_empty());
        std::ptr::eq(*command, *other)
            && in_place
            && wanted.options_are_in(&found)
            && (!closed || wanted.0.seen.len() == found.0.seen.len())
            && wanted.operands_start(&found)
    }))
}

/// The options and operands of one level, with the words that they are made of.
#[derive(Clone, Copy)]
struct Side<'a>(&'a Scan<'a>, &'a [Arg<'a>]);

impl<'a> Side<'a> {
    /// Returns whether `other` has each of the options as often and with the same values, and nothing
    /// that takes one back.
    fn options_are_in(&self, other: &Side<'_>) -> bool {
        self.0.seen.iter().all(|seen| {
            let own = self.0.seen.iter().filter(|same| same.is_same(seen));
            let others = other.0.seen.iter().filter(|same| same.is_same(seen));
            let own = own.map(|seen| (seen.negated, self.values(seen)));
            let others = others.map(|seen| (seen.negated, other.values(seen)));
            own.eq(others)
        }) && !other.0.seen.iter().any(|extra| {
            let new = !self.0.seen.iter().any(|seen| seen.is_same(extra));
            new && self.0.seen.iter().any(|seen| seen.is_opposite_of(extra))
        })
    }

    fn values(&self, seen: &Seen<'_>) -> Vec<&'a str> {
        let values = seen.values.iter();
        let values = values.map(|&(at, start)| self.1.get(at)?.text.get(start..));
        values.map(Option::unwrap_or_default).collect()
    }

    /// Returns whether `other` starts with the operands.
    fn operands_start(&self, other: &Side<'_>) -> bool {
        let dashes = match (self.0.dashes, other.0.dashes) {
            (None, _) => true,
            // Whatever stood before it stands there alone.
            (Some(own), Some(other)) => own == other,
            (Some(_), None) => false,
        };
        dashes
            && starts(self.texts(&self.0.operands), other.texts(&other.0.operands))
            && starts(
                self.texts(&self.0.after_dashes),
                other.texts(&other.0.after_dashes),
            )
    }

    fn texts(&self, places: &'a [usize]) -> impl Iterator<Item = &'a str> {
        let words = self.1;
        places
            .iter()
            .map(move |&at| words.get(at).map_or("", |word| &*word.text))
    }
}

fn starts<'a>(
    own: impl Iterator<Item = &'a str>,
    mut other: impl Iterator<Item = &'a str>,
) -> bool {
    own.into_iter().all(|text| other.next() == Some(text))
}
