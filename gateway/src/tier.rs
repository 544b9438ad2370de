//! How much a call can change.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// How much a call can change, from nothing to what cannot be taken back.
///
/// Ordered: a later tier includes the earlier ones, so `max` is how tiers join.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Looks and changes nothing.
    Read,
    /// Changes something that can be changed back.
    Write,
    /// Deletes, runs programs, or may do either for all we know.
    Destructive,
}

impl Tier {
    /// Every tier, from the mildest.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Destructive];

    /// Returns the name that policies and records use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A word that names no tier.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no such tier; write `read`, `write` or `destructive`")]
pub struct UnknownTier;

impl FromStr for Tier {
    type Err = UnknownTier;

    fn from_str(word: &str) -> Result<Self, UnknownTier> {
        Self::ALL
            .into_iter()
            .find(|tier| tier.as_str() == word)
            .ok_or(UnknownTier)
    }
}
