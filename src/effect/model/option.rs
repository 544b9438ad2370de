//! One option of a program, and the table of all of them.

use std::collections::BTreeMap;

use super::role::Role;
use crate::effect::rule::Rule;

/// A rule that is met, and why if the rule itself does not say enough.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Cause {
    pub(crate) rule: Rule,
    pub(crate) why: Option<Box<str>>,
}

impl Cause {
    /// Reads `rule` or `rule : why`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (rule, why) = split_why(text);
        let rule = rule.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { rule, why })
    }
}

/// Splits `text : why`.
fn split_why(text: &str) -> (&str, Option<Box<str>>) {
    match text.split_once(" : ") {
        Some((text, why)) => (text.trim(), Some(why.trim().into())),
        None => (text.trim(), None),
    }
}

/// One option: its names and what follows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Opt {
    pub(crate) names: Vec<Box<str>>,
    /// The roles of its values.
    pub(crate) values: Vec<Role>,
    /// Whether the one value may only be glued on (`--color=WHEN`, `-iSUFFIX`).
    pub(crate) optional: bool,
    /// What it does by itself; `None` if nothing.
    pub(crate) cause: Option<Cause>,
    /// Whether the program does nothing else when this is its only argument.
    pub(crate) alone: bool,
}

impl Opt {
    /// Reads `-o --output WRITE : why`: names, then the roles of values, then a reason.
    ///
    /// `group` is the key that the text stands under: `read`, `alone` or the name of a rule.
    pub(super) fn parse(group: &str, text: &str) -> Result<Self, String> {
        let (spec, why) = split_why(text);
        let mut option = Self {
            names: Vec::new(),
            values: Vec::new(),
            optional: false,
            cause: None,
            alone: group == "alone",
        };
        for token in spec.split_whitespace() {
            let role = token.strip_prefix('?').unwrap_or(token);
            let is_role = token.len() > 1
                && role.starts_with(|first: char| first.is_ascii_uppercase() || first == '{')
                && !role.ends_with('=');
            if is_role {
                option.optional |= token.starts_with('?');
                option.values.push(Role::parse(role)?);
            } else if option.values.is_empty() {
                option.names.push(token.into());
            } else {
                return Err(format!("{text:?}: the name {token:?} stands after a role"));
            }
        }
        if option.names.is_empty() {
            return Err(format!("{text:?} names no option"));
        }
        if option.optional && option.values.len() > 1 {
            return Err(format!("{text:?}: only a single value can be optional"));
        }
        if !matches!(group, "read" | "alone") {
            let rule = group.parse().map_err(|error| format!("{error}"))?;
            option.cause = Some(Cause { rule, why });
        } else if why.is_some() {
            return Err(format!("{text:?}: a harmless option needs no reason"));
        }
        Ok(option)
    }
}

/// Options by name.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says which shapes of names occur"
)]
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) options: Vec<Opt>,
    /// Sorted: the name and the options that have it, which differ in the values that they take.
    names: Vec<(Box<str>, Vec<usize>)>,
    /// Names that end in `*`, without it: any word that starts so is the option.
    prefixes: Vec<(Box<str>, usize)>,
    /// Whether single characters without a dash are options.
    pub(crate) letters: bool,
    /// Whether names start with `+`.
    pub(crate) plus: bool,
    /// Whether names without a dash end in `=`.
    pub(crate) keys: bool,
    /// Whether words without a dash are options.
    pub(crate) words: bool,
}

impl Table {
    pub(super) fn new(options: Vec<Opt>) -> Result<Self, String> {
        let mut table = Self::default();
        let mut names: BTreeMap<Box<str>, Vec<usize>> = BTreeMap::new();
        for (index, option) in options.iter().enumerate() {
            for name in &option.names {
                let mut characters = name.chars();
                match (characters.next(), characters.next()) {
                    (Some('-'), _) => {}
                    (Some('+'), Some(_)) => table.plus = true,
                    (Some(only), None) if only.is_ascii_alphanumeric() => table.letters = true,
                    _ if name.ends_with('=') => table.keys = true,
                    _ => table.words = true,
                }
                if let Some(prefix) = name.strip_suffix('*') {
                    table.prefixes.push((prefix.into(), index));
                    continue;
                }
                names.entry(name.clone()).or_default().push(index);
            }
        }
        table.options = options;
        table.names = names.into_iter().collect();
        for (name, indices) in &table.names {
            let mut shapes = indices
                .iter()
                .filter_map(|&index| table.options.get(index))
                .map(|option| (option.values.len(), option.optional));
            let first = shapes.next();
            if shapes.any(|shape| Some(shape) != first) {
                return Err(format!(
                    "{name:?} is listed twice and takes different numbers of values"
                ));
            }
            let closed = indices.iter().all(|&index| {
                let option = table.options.get(index);
                option.is_some_and(|option| matches!(option.values.first(), Some(Role::OneOf(_))))
            });
            if indices.len() > 1 && !closed {
                return Err(format!(
                    "{name:?} is listed twice, and not with closed sets of values"
                ));
            }
        }
        Ok(table)
    }

    /// Returns the options called exactly `name`, and the name.
    pub(crate) fn named(&self, name: &str) -> Option<(&str, &[usize])> {
        let found = self
            .names
            .binary_search_by(|(known, _)| (**known).cmp(name));
        let (name, indices) = self.names.get(found.ok()?)?;
        Some((name, indices))
    }

    /// Returns the text that words which are option `index` start with.
    pub(crate) fn prefix(&self, index: usize) -> &str {
        let mut prefixes = self.prefixes.iter();
        let found = prefixes.find(|(_, option)| *option == index);
        found.map_or("", |(prefix, _)| prefix)
    }

    /// Returns the option whose name is the longest prefix of `word`, and the length of that prefix.
    pub(crate) fn prefixed(&self, word: &str) -> Option<(usize, usize)> {
        self.prefixes
            .iter()
            .filter(|(prefix, _)| word.starts_with(&**prefix) && word.len() > prefix.len())
            .max_by_key(|(prefix, _)| prefix.len())
            .map(|(prefix, index)| (*index, prefix.len()))
    }

    /// Returns a long option that starts with `name`.
    pub(crate) fn completion(&self, name: &str) -> Option<&str> {
        let start = self.names.partition_point(|(known, _)| **known < *name);
        let (known, _) = self.names.get(start)?;
        known.starts_with(name).then_some(known)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.names
            .iter()
            .map(|(name, indices)| (&**name, indices.as_slice()))
    }
}
