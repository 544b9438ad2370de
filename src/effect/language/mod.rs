//! Strict recognisers for the small languages inside arguments, one file each.

mod awk;
mod cursor;
mod jq;
mod sed;
mod sql;

use super::effects::Access;
use super::rule::Rule;

/// A language that has a recogniser.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Language {
    /// Scripts of `sed`.
    Sed,
    /// Programs of `awk`.
    Awk,
    /// Filters of `jq`.
    Jq,
    /// Statements for a database.
    Sql,
}

/// What a program text could do.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The rules that it meets, each with a detail that may be empty.
    pub(crate) met: Vec<(Rule, String)>,
    /// The files that it names.
    pub(crate) paths: Vec<(String, Access)>,
}

impl Reading {
    fn add(&mut self, rule: Rule, detail: impl Into<String>) {
        self.met.push((rule, detail.into()));
    }

    fn unreadable(&mut self, detail: impl Into<String>) {
        self.add(Rule::UnreadableCode, detail);
    }
}

impl Language {
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        match name {
            "sed" => Ok(Self::Sed),
            "awk" => Ok(Self::Awk),
            "jq" => Ok(Self::Jq),
            "sql" => Ok(Self::Sql),
            other => Err(format!("no recogniser for {other:?}")),
        }
    }

    /// Reads a program text.
    pub(crate) fn read(self, code: &str) -> Reading {
        match self {
            Self::Sed => sed::read(code),
            Self::Awk => awk::read(code),
            Self::Jq => jq::read(code),
            Self::Sql => sql::read(code),
        }
    }
}
