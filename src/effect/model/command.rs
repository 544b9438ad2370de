//! A program, or one sub-command of it, ready to judge with.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::value::RawValue;

use super::error::ModelError;
use super::option::{Cause, Opt, Table};
use super::role::{Pattern, Role};
use super::schema::{Dashes, Groups, Order, Raw, RawWhen, Syntax};
use crate::effect::effects::Lookup;

/// Groups of options that sub-commands share, by name.
pub(crate) type Shared = BTreeMap<String, Groups>;

/// What a program, or one sub-command of it, accepts and what that does.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) syntax: Syntax,
    pub(crate) order: Order,
    pub(crate) dashes: Dashes,
    /// Whether the first word may be a group of options without a dash, as in `tar xf`.
    pub(crate) old_style: bool,
    /// Whether sub-commands accept the options of this one.
    pub(crate) inherit: bool,
    pub(crate) table: Table,
    pub(crate) operands: Pattern,
    pub(crate) after_dashes: Option<Pattern>,
    pub(crate) always: Vec<Cause>,
    /// What happens without operands; `None` if the model does not say.
    pub(crate) bare: Option<Bare>,
    /// How it finds the program that its operands name.
    pub(crate) looks_up: Lookup,
    /// The program that it runs on its input when its operands name none.
    pub(crate) runs: Option<String>,
    pub(crate) when: Vec<When>,
    pub(crate) subs: Vec<Sub>,
    pub(crate) help: Option<Vec<String>>,
    pub(crate) unchecked: Vec<String>,
}

/// What happens without operands.
#[derive(Debug)]
pub(crate) enum Bare {
    Read,
    Causes(Cause),
}

/// What holds only when certain options are given.
#[derive(Debug)]
pub(crate) struct When {
    given: Vec<String>,
    absent: Vec<String>,
    fewer_operands: Option<usize>,
    pub(crate) operands: Option<Pattern>,
    pub(crate) looks_up: Option<Lookup>,
    pub(crate) always: Vec<Cause>,
    pub(crate) table: Table,
    /// Whether nothing of the command's own `always` and `bare` happens then.
    pub(crate) harmless: bool,
}

impl When {
    /// Returns whether it holds for so many operands, given a test for an option name.
    pub(crate) fn holds(&self, operands: usize, is_given: impl Fn(&str) -> bool) -> bool {
        self.fewer_operands.is_none_or(|fewer| operands < fewer)
            && (self.given.is_empty() || self.given.iter().any(|name| is_given(name)))
            && !self.absent.iter().any(|name| is_given(name))
    }

    /// Returns whether it names no option, and so holds always.
    pub(super) fn has_no_condition(&self) -> bool {
        self.given.is_empty() && self.absent.is_empty() && self.fewer_operands.is_none()
    }

    pub(super) fn conditions(&self) -> impl Iterator<Item = &str> {
        self.given.iter().chain(&self.absent).map(String::as_str)
    }
}

/// A sub-command, read when it is first asked for.
#[derive(Debug)]
pub(crate) struct Sub {
    pub(crate) names: Vec<String>,
    raw: Box<RawValue>,
    read: OnceLock<Result<Command, ModelError>>,
}

impl Sub {
    /// Returns the command; it writes its options as `outer`, the one around it, does unless it says otherwise.
    pub(crate) fn command(
        &self,
        shared: &Shared,
        outer: &Command,
    ) -> Result<&Command, &ModelError> {
        let read = self.read.get_or_init(|| {
            let place = || format!("sub.{:?}", self.names.join(" "));
            let raw: Raw = serde_json::from_str(self.raw.get())
                .map_err(|error| ModelError::of_json(place(), &error))?;
            if !raw.names.is_empty()
                || !raw.shared.is_empty()
                || raw.any_option.is_some()
                || raw.argument_files
            {
                let problem = "`names`, `shared`, `any-option` and `argument-files` stand at the top of a model only";
                return Err(ModelError::new(place(), problem.to_owned()));
            }
            Command::new(raw, shared, outer.syntax).map_err(|error| error.inside(&place()))
        });
        read.as_ref()
    }
}

impl Command {
    pub(super) fn new(raw: Raw, shared: &Shared, syntax: Syntax) -> Result<Self, ModelError> {
        let at = |place: &str| {
            let place = place.to_owned();
            move |problem: String| ModelError::new(place, problem)
        };
        let mut options = Vec::new();
        for name in &raw.r#use {
            let groups = shared.get(name).ok_or_else(|| {
                ModelError::new("use".into(), format!("no shared group is called {name:?}"))
            })?;
            read_groups(groups, &mut options).map_err(at(&format!("shared.{name}")))?;
        }
        read_groups(&raw.options, &mut options).map_err(at("options"))?;
        let table = Table::new(options).map_err(at("options"))?;
        let operands = Pattern::parse(&raw.operands).map_err(at("operands"))?;
        let after_dashes = raw
            .after_dashes
            .as_deref()
            .map(Pattern::parse)
            .transpose()
            .map_err(at("after-dashes"))?;
        let bare = match raw.bare.as_deref() {
            None => None,
            Some("read") => Some(Bare::Read),
            Some(cause) => Some(Bare::Causes(Cause::parse(cause).map_err(at("bare"))?)),
        };
        if raw.order == Order::Permuted && operands.roles().any(Role::takes_the_rest) {
            let problem = "a command among the operands needs `order = \"posix\"`";
            return Err(ModelError::new("operands".into(), problem.into()));
        }
        Ok(Self {
            syntax: raw.syntax.unwrap_or(syntax),
            order: raw.order,
            dashes: raw.dashes,
            old_style: raw.old_style,
            inherit: raw.inherit,
            table,
            operands,
            after_dashes,
            always: causes(&raw.always).map_err(at("always"))?,
            bare,
            looks_up: raw.looks_up,
            runs: raw.runs,
            when: raw
                .when
                .iter()
                .map(When::new)
                .collect::<Result<_, _>>()
                .map_err(at("when"))?,
            subs: raw
                .sub
                .into_iter()
                .map(|(names, raw)| Sub {
                    names: names.split_whitespace().map(str::to_owned).collect(),
                    raw,
                    read: OnceLock::new(),
                })
                .collect(),
            help: raw.help,
            unchecked: raw.unchecked,
        })
    }

    /// Returns the sub-command called `name`.
    pub(crate) fn sub(&self, name: &str) -> Option<&Sub> {
        self.subs
            .iter()
            .find(|sub| sub.names.iter().any(|known| known == name))
    }
}

impl When {
    fn new(raw: &RawWhen) -> Result<Self, String> {
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let mut options = Vec::new();
        read_groups(&raw.options, &mut options)?;
        Ok(Self {
            given: names(&raw.given),
            absent: names(&raw.absent),
            fewer_operands: raw.fewer_operands,
            operands: raw.operands.as_deref().map(Pattern::parse).transpose()?,
            looks_up: raw.looks_up,
            always: causes(&raw.always)?,
            table: Table::new(options)?,
            harmless: raw.harmless,
        })
    }
}

/// Returns what is wrong with groups of options, whether or not a command uses them.
pub(super) fn fault_of(groups: &Groups) -> Option<String> {
    let mut options = Vec::new();
    let read = read_groups(groups, &mut options);
    read.and_then(|()| Table::new(options)).err()
}

fn read_groups(groups: &Groups, options: &mut Vec<Opt>) -> Result<(), String> {
    for (group, texts) in groups {
        for text in texts {
            options.push(Opt::parse(group, text)?);
        }
    }
    Ok(())
}

fn causes(texts: &[String]) -> Result<Vec<Cause>, String> {
    texts.iter().map(|text| Cause::parse(text)).collect()
}
