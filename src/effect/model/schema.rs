//! A model as it stands in its file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::effect::effects::Lookup;
use crate::effect::tier::Tier;

/// Groups of option texts: `read`, `alone`, or the name of a rule.
pub(crate) type Groups = BTreeMap<String, Vec<String>>;

/// A whole model, or one sub-command of it. `docs/models.md` explains each key.
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the file")]
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Raw {
    // Keys of a whole model.
    pub(super) names: Vec<String>,
    pub(super) summary: String,
    pub(super) manual: Vec<String>,
    pub(super) environment: Vec<String>,
    pub(super) any_option: Option<Tier>,
    pub(super) argument_files: bool,
    pub(super) replaces_shipped: bool,
    pub(super) shared: BTreeMap<String, Groups>,

    // Keys of a sub-command too.
    pub(super) syntax: Option<Syntax>,
    pub(super) order: Order,
    pub(super) old_style: bool,
    pub(super) inherit: bool,
    pub(super) dashes: Dashes,
    pub(super) options: Groups,
    pub(super) r#use: Vec<String>,
    pub(super) operands: String,
    pub(super) after_dashes: Option<String>,
    pub(super) always: Vec<String>,
    pub(super) bare: Option<String>,
    pub(super) looks_up: Lookup,
    pub(super) runs: Option<String>,
    pub(super) when: Vec<RawWhen>,
    pub(super) sub: BTreeMap<String, Box<RawValue>>,
    pub(super) help: Option<Vec<String>>,
    pub(super) unchecked: Vec<String>,
}

/// What holds only when certain options are given.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct RawWhen {
    pub(super) given: String,
    pub(super) absent: String,
    pub(super) fewer_operands: Option<usize>,
    pub(super) operands: Option<String>,
    pub(super) looks_up: Option<Lookup>,
    pub(super) always: Vec<String>,
    pub(super) options: Groups,
    pub(super) harmless: bool,
}

/// How options are written.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Syntax {
    /// `-abc`, `-ovalue`, `--long=value`, `--long value`.
    #[default]
    Gnu,
    /// The same, and flags take `=true` and `=false`; used by programs written in Go.
    Pflag,
    /// `-name`, `--name`, `-name=value`, `-name value`; used by Go's own tools.
    Go,
    /// Every option is a word of its own as the model writes it, `=value` glued on or the next word.
    Exact,
}

/// Whether options may follow operands.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    /// Options are options wherever they stand.
    #[default]
    Permuted,
    /// The first operand ends the options.
    Posix,
}

/// What the word `--` does.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Dashes {
    /// It ends the options.
    #[default]
    End,
    /// It is an operand like others.
    Operand,
}
