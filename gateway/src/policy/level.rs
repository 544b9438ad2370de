//! How much an agent may do without asking.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::Tier;

/// How much an agent may do without asking.
///
/// | Level | read | write | destructive |
/// |---|---|---|---|
/// | L0 | yes | no | no |
/// | L1, L2 | yes | yes | no |
/// | L3 | yes | yes | yes |
///
/// L1 and L2 differ in what people agree on, not in what the gateway lets through.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum Level {
    /// Looking only.
    L0,
    /// Changes that can be changed back.
    L1,
    /// As L1.
    L2,
    /// Everything.
    L3,
}

impl Level {
    /// Every level, from the strictest.
    pub const ALL: [Self; 4] = [Self::L0, Self::L1, Self::L2, Self::L3];

    /// Returns the name that policies and records use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
        }
    }

    /// Returns the highest tier that this level lets through.
    pub const fn highest(self) -> Tier {
        match self {
            Self::L0 => Tier::Read,
            Self::L1 | Self::L2 => Tier::Write,
            Self::L3 => Tier::Destructive,
        }
    }

    /// Returns whether a call of this tier may pass.
    pub fn permits(self, tier: Tier) -> bool {
        tier <= self.highest()
    }

    /// Returns the lowest level that lets this tier through.
    pub const fn needed_for(tier: Tier) -> Self {
        match tier {
            Tier::Read => Self::L0,
            Tier::Write => Self::L1,
            Tier::Destructive => Self::L3,
        }
    }

    /// Returns this level, or `ceiling` where that is stricter.
    #[must_use]
    pub fn under(self, ceiling: Self) -> Self {
        self.min(ceiling)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A word that names no level.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no such level; write `L0`, `L1`, `L2` or `L3`")]
pub struct UnknownLevel;

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(word: &str) -> Result<Self, UnknownLevel> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == word)
            .ok_or(UnknownLevel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_needed_for_a_tier_is_the_lowest_that_permits_it() {
        let mut wrong = Vec::new();
        for tier in Tier::ALL {
            let lowest = Level::ALL.into_iter().find(|level| level.permits(tier));
            if lowest != Some(Level::needed_for(tier)) {
                wrong.push(format!("{tier}: {lowest:?}"));
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }

    #[test]
    fn a_ceiling_never_raises() {
        for level in Level::ALL {
            for ceiling in Level::ALL {
                let under = level.under(ceiling);
                assert!(
                    under <= level && under <= ceiling,
                    "{level} under {ceiling}"
                );
            }
        }
    }
}
