//! The profiles that a new policy may start from, as data under `profiles/`.

use std::{fmt::Write as _, str::FromStr};

use super::{Policy, document::PATH_IN_PROJECT};

/// The suffix of profiles for projects without code reviews before a push.
const NO_REVIEW: &str = "-no-codex";

macro_rules! profiles {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// A set of values that a new policy may start from.
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Profile { $($(#[$doc])* $variant,)+ }

        impl Profile {
            /// Every profile.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the name that policies use.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the keys it sets, as they stand in a policy.
            const fn keys(self) -> &'static str {
                match self {
                    $(Self::$variant => include_str!(concat!("../../profiles/", $name, ".yaml")),)+
                }
            }
        }
    };
}

profiles! {
    /// Little more than the defaults.
    #[default]
    Minimal = "minimal",
    /// Work in somebody else's repository: reading, and writes at most.
    ClientEngagement = "client-engagement",
    /// A team's own repository with releases and reviews.
    BstInternal = "bst-internal",
    /// The same without reviews before a push.
    BstInternalNoCodex = "bst-internal-no-codex",
    /// A library of web components.
    LitWc = "lit-wc",
    /// A public repository.
    OpenSource = "open-source",
    /// The same without reviews before a push.
    OpenSourceNoCodex = "open-source-no-codex",
}

/// A word that names no profile.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no such profile; see docs/policy.md for the list")]
pub struct UnknownProfile;

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(word: &str) -> Result<Self, UnknownProfile> {
        Self::ALL
            .iter()
            .copied()
            .find(|profile| profile.as_str() == word)
            .ok_or(UnknownProfile)
    }
}

impl Profile {
    /// Returns the text of a policy that starts from this profile.
    ///
    /// Both arguments are free text; they are quoted.
    pub fn render(self, installed_by: &str, installed_at: &str) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = String::from("# What agents may do here; see `rea policy explain`.\n");
        let head = [
            ("version", "1"),
            ("profile", self.as_str()),
            ("installed_by", installed_by),
            ("installed_at", installed_at),
        ];
        for (key, value) in head {
            // A JSON string is a YAML string.
            let _ = writeln!(text, "{key}: {}", quoted(value));
        }
        text.push_str(self.keys());
        let review = !self.as_str().ends_with(NO_REVIEW);
        let _ = writeln!(text, "review:\n  codex_required: {review}");
        text
    }

    /// Returns the policy that [`render`](Self::render) comes to.
    ///
    /// # Errors
    ///
    /// None for the profiles that are shipped; a test holds them to it.
    pub fn policy(self) -> Result<Policy, crate::yaml::Fault> {
        Policy::parse(PATH_IN_PROJECT.as_ref(), &self.render("rea", ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Level;

    #[test]
    fn every_profile_comes_to_what_its_name_stands_for() {
        use Level::{L0, L1, L2};
        let table = [
            ("minimal", L1, L2, 2, true, None),
            ("client-engagement", L0, L1, 9, true, Some(2)),
            ("bst-internal", L1, L2, 8, true, Some(3)),
            ("bst-internal-no-codex", L1, L2, 8, false, Some(3)),
            ("lit-wc", L1, L2, 8, true, None),
            ("open-source", L1, L2, 9, true, None),
            ("open-source-no-codex", L1, L2, 9, false, None),
        ];
        assert_eq!(table.len(), Profile::ALL.len());
        for (name, level, ceiling, paths, review, delegated) in table {
            let policy = name.parse::<Profile>().unwrap().policy().unwrap();
            assert_eq!(policy.profile, name);
            assert_eq!((policy.level, policy.ceiling), (level, ceiling), "{name}");
            assert_eq!(policy.blocked_paths.len(), paths, "{name}");
            assert_eq!(policy.blocked_paths[..2], [".env", ".env.*"], "{name}");
            assert_eq!(policy.review.codex_required, review, "{name}");
            assert!(policy.promotion_requires_human_approval && policy.block_ai_attribution);
            let counted = policy.context_protection.map(|block| {
                assert_eq!(block.max_bash_output_lines, Some(100), "{name}");
                block.delegate_to_subagent.len()
            });
            assert_eq!(counted, delegated, "{name}");
            assert_eq!(policy.warnings, Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn what_is_written_into_a_policy_cannot_break_out_of_its_value() {
        let text = Profile::Minimal.render("a\"\nautonomy_level: L3 # \u{85}\u{2028}", "\\");
        Policy::parse("f".as_ref(), &text).unwrap();
    }
}
