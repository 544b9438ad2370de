//! One grant: this program may be called like so, until then.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::lifetime::Lifetime;
use super::program::GrantedProgram;
use super::runs_programs::runs_programs;
use super::scope::Scope;
use crate::effect::{Models, Tier};

/// The most bytes that a reason or the name of who gave a grant has.
pub const MAX_NOTE_BYTES: usize = 4096;

/// The name of a grant: 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GrantId(u64);

impl GrantId {
    pub(super) const fn new(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GrantId({self})")
    }
}

/// A text that is no [`GrantId`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} names no grant: a name is 16 lower-case hexadecimal digits")]
pub struct NotAGrantId(String);

impl FromStr for GrantId {
    type Err = NotAGrantId;

    fn from_str(text: &str) -> Result<Self, NotAGrantId> {
        let digits = text.len() == 16
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let number = digits.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        number.map(Self).ok_or_else(|| NotAGrantId(text.to_owned()))
    }
}

impl Serialize for GrantId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GrantId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// A grant that is still to be given.
#[derive(Clone, Debug)]
pub struct Grant {
    pub(super) program: GrantedProgram,
    pub(super) scope: Scope,
    pub(super) ceiling: Tier,
    pub(super) lifetime: Lifetime,
    pub(super) by: String,
    pub(super) reason: String,
    pub(super) dangerous_any_arguments: bool,
}

impl Grant {
    /// Describes a grant for a program as it is now, up to the highest tier.
    ///
    /// `by` says who gives it and `reason` why; both are for people to read.
    pub fn new(
        program: GrantedProgram,
        scope: Scope,
        lifetime: Lifetime,
        by: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            program,
            scope,
            ceiling: Tier::Destructive,
            lifetime,
            by: by.into(),
            reason: reason.into(),
            dangerous_any_arguments: false,
        }
    }

    /// Covers calls up to this tier only.
    #[must_use]
    pub fn with_ceiling(self, ceiling: Tier) -> Self {
        Self { ceiling, ..self }
    }

    /// Allows any arguments even if the program exists to run other programs: the grant is then
    /// as good as one for every program there is.
    #[must_use]
    pub fn dangerous_any_arguments(self) -> Self {
        Self {
            dangerous_any_arguments: true,
            ..self
        }
    }

    pub(super) fn check(&self) -> Result<(), GrantError> {
        check(
            &self.program,
            &self.scope,
            self.dangerous_any_arguments,
            [&self.by, &self.reason],
        )?;
        // The models change from version to version, so this is asked when a grant is given and when it
        // is used, and not of what a file holds.
        let risky = self.program.names().find(|name| runs_programs(name));
        match risky {
            Some(name)
                if !self.dangerous_any_arguments
                    && self.scope.leaves_open(&Models::shipped(), name) =>
            {
                Err(GrantError::RunsPrograms {
                    name: name.to_owned(),
                })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Checks what holds for every grant, given now or read back.
pub(super) fn check(
    program: &GrantedProgram,
    scope: &Scope,
    dangerous_any_arguments: bool,
    notes: [&str; 2],
) -> Result<(), GrantError> {
    match scope {
        Scope::Prefix { args } if args.is_empty() => return Err(GrantError::EmptyScope),
        Scope::Exact { argv } if argv.is_empty() => return Err(GrantError::EmptyScope),
        Scope::AnyArguments {} | Scope::Prefix { .. } | Scope::Exact { .. } => {}
    }
    if notes.iter().any(|note| note.len() > MAX_NOTE_BYTES) {
        return Err(GrantError::NoteTooLong);
    }
    let risky = program.names().find(|name| runs_programs(name));
    if let Some(name) = risky
        && scope.leaves_operands_open()
        && !dangerous_any_arguments
    {
        return Err(GrantError::RunsPrograms {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// A grant that cannot be given.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// The program exists to run other programs or code from its arguments.
    #[error(
        "{name:?} exists to run other programs or code, so any arguments would allow everything; \
         grant a prefix with an operand in it or the exact call, or ask for \
         `dangerous_any_arguments` (`--dangerous-any-arguments`)"
    )]
    RunsPrograms {
        /// The name that it is known by.
        name: String,
    },
    /// A prefix without arguments, or a call without words.
    #[error(
        "a scope without words covers nothing in particular; if any arguments are meant, grant the program by its name"
    )]
    EmptyScope,
    /// The reason or the name of who gave it is longer than [`MAX_NOTE_BYTES`].
    #[error("the reason, or who gave it, is longer than {MAX_NOTE_BYTES} bytes; shorten it")]
    NoteTooLong,
    /// The stage is a builtin of a shell that does nothing but print or compare.
    #[error("{name:?} is a builtin that can do no harm and needs no grant")]
    NeedsNone {
        /// The name of the builtin.
        name: String,
    },
}

/// A grant that was given.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Its name.
    pub id: GrantId,
    /// The program, as it was when the grant was given.
    pub program: GrantedProgram,
    /// The arguments that are covered.
    pub scope: Scope,
    /// The highest tier that is covered.
    pub ceiling: Tier,
    /// Until when it counts.
    pub lifetime: Lifetime,
    /// Who gave it.
    pub by: String,
    /// When it was given, in seconds since 1970-01-01 UTC.
    pub at: u64,
    /// Why it was given.
    pub reason: String,
    /// Whether it was given for any arguments of a program that runs programs.
    pub dangerous_any_arguments: bool,
    /// When a once-grant was used up, in seconds since 1970-01-01 UTC.
    pub used: Option<u64>,
}

impl Given {
    pub(super) fn new(id: GrantId, grant: Grant, at: u64) -> Self {
        let Grant {
            program,
            scope,
            ceiling,
            lifetime,
            by,
            reason,
            dangerous_any_arguments,
        } = grant;
        Self {
            id,
            program,
            scope,
            ceiling,
            lifetime,
            by,
            at,
            reason,
            dangerous_any_arguments,
            used: None,
        }
    }

    /// Returns whether this is a once-grant.
    pub const fn is_once(&self) -> bool {
        matches!(self.lifetime, Lifetime::Once {})
    }

    /// Checks what the format itself does not say.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self {
            program,
            scope,
            dangerous_any_arguments,
            by,
            reason,
            ..
        } = self;
        check(program, scope, *dangerous_any_arguments, [by, reason])
            .map_err(|error| error.to_string())?;
        if self.used.is_some() && !self.is_once() {
            return Err("only a once-grant can be used up".to_owned());
        }
        Ok(())
    }
}
