//! Which arguments a grant covers.

use serde::{Deserialize, Serialize};

use crate::effect::{Models, chooses_what_runs};

/// Which arguments a grant covers.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scope {
    /// Any arguments: the program may be called by its name, however.
    AnyArguments {},
    /// The first arguments are these; any may follow.
    Prefix {
        /// The arguments after the program's name, at least one.
        args: Vec<String>,
    },
    /// The whole call is this one, the word that names the program included.
    Exact {
        /// The words of the call, the program's first.
        argv: Vec<String>,
    },
}

impl Scope {
    /// Returns whether a call with these words is covered.
    pub fn covers<'a>(&self, mut argv: impl ExactSizeIterator<Item = &'a str>) -> bool {
        match self {
            Self::AnyArguments {} => true,
            Self::Prefix { args } => {
                argv.len() > args.len() && {
                    argv.next();
                    args.iter().zip(argv).all(|(want, found)| want == found)
                }
            }
            Self::Exact { argv: want } => {
                argv.len() == want.len() && want.iter().zip(argv).all(|(want, found)| want == found)
            }
        }
    }

    /// Returns whether what follows can still choose what is run: there is no argument, or none
    /// but options.
    pub fn leaves_operands_open(&self) -> bool {
        match self {
            Self::AnyArguments {} => true,
            Self::Prefix { args } => args.iter().all(|arg| arg.starts_with('-')),
            Self::Exact { .. } => false,
        }
    }

    /// The same, by what the words mean to the program `name`: the value of an option is no operand.
    pub(super) fn leaves_open(&self, models: &Models, name: &str) -> bool {
        match self {
            Self::AnyArguments {} => true,
            Self::Exact { .. } => false,
            Self::Prefix { args } => match chooses_what_runs(models, name, args) {
                Some(chooses) => !chooses,
                // What follows an option may be its value.
                None => args.first().is_none_or(|first| first.starts_with('-')),
            },
        }
    }

    /// Returns the name that the command line and the file use.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::AnyArguments {} => "any-arguments",
            Self::Prefix { .. } => "prefix",
            Self::Exact { .. } => "exact",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_what_it_says() {
        let prefix = |args: &[&str]| Scope::Prefix {
            args: args.iter().map(ToString::to_string).collect(),
        };
        let exact = |argv: &[&str]| Scope::Exact {
            argv: argv.iter().map(ToString::to_string).collect(),
        };
        let cases: &[(Scope, &[&str], bool)] = &[
            (Scope::AnyArguments {}, &["git"], true),
            (Scope::AnyArguments {}, &["git", "push", "--force"], true),
            (prefix(&["status"]), &["git", "status"], true),
            (prefix(&["status"]), &["git", "status", "-s"], true),
            (prefix(&["status"]), &["git"], false),
            (prefix(&["status"]), &["git", "statuses"], false),
            (prefix(&["status"]), &["git", "-s", "status"], false),
            (prefix(&["remote", "-v"]), &["git", "remote"], false),
            (prefix(&["remote", ""]), &["git", "remote", ""], true),
            (exact(&["git", "status"]), &["git", "status"], true),
            (exact(&["git", "status"]), &["git", "status", ""], false),
            (exact(&["git", "status"]), &["git"], false),
            (exact(&["git", "a b"]), &["git", "a", "b"], false),
            (exact(&["./git"]), &["git"], false),
        ];
        let wrong: Vec<_> = cases
            .iter()
            .filter(|(scope, argv, want)| scope.covers(argv.iter().copied()) != *want)
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
