//! How much a stage may do at most.

use crate::stable_name::stable_name;

/// How much a stage may do at most, from the least to the most.
///
/// A line has the highest tier of its stages. What nobody has modelled is
/// [`Destructive`](Self::Destructive).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Tier {
    /// Reads local files and the state of this machine, and changes nothing.
    Read,
    /// Also creates and changes files under the user's hand, connects out, and runs the project's own code.
    Write,
    /// Also does what cannot be undone, or what nobody has modelled.
    Destructive,
}

impl Tier {
    /// Every tier, the lowest first.
    pub const ALL: &'static [Self] = &[Self::Read, Self::Write, Self::Destructive];

    /// Returns the name that policies, grants and logs use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

stable_name!(
    Tier,
    UnknownTier,
    "no tier is called {0:?}: expected `read`, `write` or `destructive`"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_the_order_is_from_least_to_most() {
        for &tier in Tier::ALL {
            assert_eq!(tier.as_str().parse(), Ok(tier));
            let json = serde_json::to_string(&tier).unwrap();
            assert_eq!(json, format!("{:?}", tier.as_str()));
        }
        assert!(Tier::ALL.is_sorted());
        assert!("Read".parse::<Tier>().is_err());
    }
}
