//! The answer to "may this line run?", with what an approval prompt needs.

use serde::Serialize;

use super::disk::PrivateFile;
use super::error::StoreError;
use super::grant::{Given, GrantId};
use super::program::GrantedProgram;
use crate::effect::Tier;
use crate::plain::Refusal;
use crate::program::Pinned;

/// The answer to "may this line run?".
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[must_use = "a verdict that nobody looks at lets the line through"]
pub enum Verdict {
    /// Every stage is covered by a grant, or needs none.
    Granted(Granted),
    /// At least one stage is covered by no grant. Nobody has said no either.
    NotGranted(NotGranted),
    /// At least one stage would be covered, but its program is no longer the one that was granted.
    Drifted(Drifted),
    /// The line cannot be judged.
    Refused(Refusal),
}

impl Verdict {
    /// Returns the name that the command line and logs use.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Granted(_) => "granted",
            Self::NotGranted(_) => "not-granted",
            Self::Drifted(_) => "drifted",
            Self::Refused(_) => "refused",
        }
    }
}

/// A line of which every stage has a grant, and every program that the arguments name.
///
/// A once-grant among them is not used up yet: [`take`](Self::take) does that, and hands out the
/// line to run.
#[derive(Debug, Serialize)]
#[serde(tag = "verdict", rename = "granted")]
pub struct Granted {
    /// The grant of each stage, or `None` for a builtin that needs none.
    pub(super) grants: Vec<Option<GrantId>>,
    /// The same for the programs that the arguments of each stage name.
    pub(super) inner_grants: Vec<Vec<Option<GrantId>>>,
    /// Those among them that count once.
    pub(super) once: Vec<GrantId>,
    pub(super) line: Pinned,
    #[serde(skip)]
    pub(super) store: Option<PrivateFile>,
}

impl Granted {
    /// Returns the line.
    pub const fn line(&self) -> &Pinned {
        &self.line
    }

    /// Returns the grant of each stage, or `None` for a builtin that needs none.
    pub fn grants(&self) -> &[Option<GrantId>] {
        &self.grants
    }

    /// Returns for each stage the grant of each program that its arguments name, or `None` for one that
    /// needs none or that the grant of the stage covers.
    pub fn inner_grants(&self) -> &[Vec<Option<GrantId>>] {
        &self.inner_grants
    }

    /// Returns the grants that [`take`](Self::take) will use up.
    pub fn once(&self) -> &[GrantId] {
        &self.once
    }

    /// Uses up the once-grants of the line, all or none, and returns the line to run.
    ///
    /// Of several processes that try this with one grant, one succeeds. When this returns, the
    /// grant is used up even if the machine loses power. Without a once-grant nothing is written.
    ///
    /// # Errors
    ///
    /// When a grant was used or revoked in the meantime, or the file cannot be read or written.
    /// Nothing has been used up then, unless only the last sync of the directory failed.
    pub fn take(self) -> Result<Pinned, TakeError> {
        if self.once.is_empty() {
            return Ok(self.line);
        }
        match &self.store {
            Some(store) => super::store::use_up(store, &self.once)?,
            None => return Err(TakeError::NotKept),
        }
        Ok(self.line)
    }
}

/// A once-grant that could not be used up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TakeError {
    /// Another line used it first.
    #[error("the once-grant {0} has been used; ask again")]
    Used(GrantId),
    /// It was revoked.
    #[error("the once-grant {0} has been revoked; ask again")]
    Revoked(GrantId),
    /// The grants are in memory only, where using one up would not last.
    #[error("a once-grant needs a store on disk; open one with `Grants::open`")]
    NotKept,
    /// The file of grants cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A line with a stage that no grant covers.
#[derive(Debug, Serialize)]
#[serde(tag = "verdict", rename = "not-granted")]
pub struct NotGranted {
    pub(super) missing: Vec<Missing>,
    pub(super) line: Pinned,
}

impl NotGranted {
    /// Returns the stages without a grant, of which there is at least one.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Returns the line, so that its owner can be asked for a grant.
    pub const fn line(&self) -> &Pinned {
        &self.line
    }

    /// Gives the line back.
    pub fn into_line(self) -> Pinned {
        self.line
    }
}

/// A stage that no grant covers.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Missing {
    /// The stage, counted from 0.
    pub stage: usize,
    /// Which of the programs that the arguments of the stage name, counted from 0; `None` for the
    /// program of the stage itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<usize>,
    /// Why no grant covers it.
    pub why: Why,
}

/// Why no grant covers a stage. Of several reasons this is the one closest to a yes.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Why {
    /// No grant is for a program of this name and content.
    NoGrant,
    /// There are grants for the program, but none covers these arguments.
    OtherArguments {
        /// One of them.
        grant: GrantId,
    },
    /// A grant covers the arguments, but these name a program that is not looked up here, and whoever
    /// gave the grant did not name it.
    InnerNotNamed {
        /// The grant.
        grant: GrantId,
    },
    /// A grant covers the arguments, but not what the stage can do.
    AboveCeiling {
        /// The grant.
        grant: GrantId,
        /// The highest tier that it covers.
        ceiling: Tier,
        /// The tier of the stage.
        tier: Tier,
    },
    /// A grant has come to its end, by time or with its session.
    Ended {
        /// The grant.
        grant: GrantId,
    },
    /// A once-grant has been used.
    Used {
        /// The grant.
        grant: GrantId,
    },
    /// The call is granted, but a shell or the program around it opens the file anew, by a path that
    /// the user can change.
    NotHeld {
        /// The grant.
        grant: GrantId,
    },
}

/// A line whose programs are no longer those that were granted.
#[derive(Debug, Serialize)]
#[serde(tag = "verdict", rename = "drifted")]
pub struct Drifted {
    pub(super) drifts: Vec<Drift>,
    /// Stages that would be missing a grant anyway.
    pub(super) missing: Vec<Missing>,
    pub(super) line: Pinned,
}

impl Drifted {
    /// Returns the stages that have drifted, of which there is at least one.
    pub fn drifts(&self) -> &[Drift] {
        &self.drifts
    }

    /// Returns the stages that no grant covers, drift or not.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// Returns the line, so that its owner can be asked again.
    pub const fn line(&self) -> &Pinned {
        &self.line
    }

    /// Gives the line back.
    pub fn into_line(self) -> Pinned {
        self.line
    }
}

/// A program that changed since it was granted: then and now side by side.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Drift {
    /// The stage, counted from 0.
    pub stage: usize,
    /// Which of the programs that the arguments of the stage name, counted from 0; `None` for the
    /// program of the stage itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<usize>,
    /// The grant that would cover it.
    pub grant: GrantId,
    /// The program as it was granted.
    pub then: GrantedProgram,
    /// The program as it is.
    pub now: GrantedProgram,
}

impl Drift {
    pub(super) fn new(
        stage: usize,
        inner: Option<usize>,
        given: &Given,
        now: GrantedProgram,
    ) -> Self {
        Self {
            stage,
            inner,
            grant: given.id,
            then: given.program.clone(),
            now,
        }
    }
}
