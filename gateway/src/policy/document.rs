//! `.rea/policy.yaml` as it is written.

use std::path::Path;

use serde::Deserialize;

use super::Level;
use crate::yaml::{self, Fault, Flag, Located, Whole, present};

/// Where the policy stands in a project.
pub const PATH_IN_PROJECT: &str = ".rea/policy.yaml";

/// The most patterns that `redact.patterns` may list.
pub const MAX_PATTERNS: usize = 256;

/// The policy file. Unknown keys and empty values are faults at every depth.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    #[expect(dead_code, reason = "required by the format, of any value")]
    version: String,
    pub(super) profile: String,
    #[expect(dead_code, reason = "required by the format, read by people")]
    installed_by: String,
    #[expect(dead_code, reason = "required by the format, read by people")]
    installed_at: String,
    pub(super) autonomy_level: Located<Level>,
    pub(super) max_autonomy_level: Located<Level>,
    pub(super) promotion_requires_human_approval: Flag,
    #[serde(default, deserialize_with = "present")]
    pub(super) block_ai_attribution: Option<Flag>,
    pub(super) blocked_paths: Vec<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) notification_channel: Option<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) injection_detection: Option<InjectionMode>,
    #[serde(default, deserialize_with = "present")]
    pub(super) injection: Option<Injection>,
    #[serde(default, deserialize_with = "present")]
    pub(super) context_protection: Option<ContextBlock>,
    #[serde(default, deserialize_with = "present")]
    pub(super) review: Option<ReviewBlock>,
    #[serde(default, deserialize_with = "present")]
    pub(super) redact: Option<Redact>,
    #[serde(default, deserialize_with = "present")]
    pub(super) audit: Option<Audit>,
    #[serde(default, deserialize_with = "present")]
    pub(super) gateway: Option<Gateway>,
    #[serde(default, deserialize_with = "present")]
    pub(super) shell: Option<Shell>,
}

impl Document {
    /// Reads the text of a policy; `file` only names it in faults.
    ///
    /// # Errors
    ///
    /// The first [`Fault`], with its line and column.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Fault> {
        yaml::parse(file, text)
    }
}

/// What happens to a result that looks like an attempt to steer the agent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InjectionMode {
    /// It is withheld.
    #[default]
    Block,
    /// It is withheld only when there is little doubt.
    Warn,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Injection {
    #[serde(default, deserialize_with = "present")]
    pub(super) suspicious_blocks_writes: Option<Flag>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextBlock {
    #[serde(default)]
    pub(super) delegate_to_subagent: Vec<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) max_bash_output_lines: Option<Located<Whole>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReviewBlock {
    #[serde(default, deserialize_with = "present")]
    pub(super) codex_required: Option<Flag>,
    #[serde(default, deserialize_with = "present")]
    pub(super) cache_max_age_seconds: Option<Located<Whole>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) allow_skip_in_ci: Option<Flag>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Redact {
    #[serde(default, deserialize_with = "present")]
    pub(super) match_timeout_ms: Option<Located<Whole>>,
    #[serde(default)]
    pub(super) patterns: Vec<PatternEntry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PatternEntry {
    pub(super) name: Located<String>,
    pub(super) regex: Located<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) flags: Option<Located<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Audit {
    #[serde(default, deserialize_with = "present")]
    pub(super) rotation: Option<RotationBlock>,
    #[serde(default, deserialize_with = "present")]
    pub(super) retention: Option<RetentionBlock>,
    #[serde(default, deserialize_with = "present")]
    pub(super) on_failure: Option<AuditFailure>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RotationBlock {
    #[serde(default, deserialize_with = "present")]
    pub(super) max_bytes: Option<Located<Whole>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) max_age_days: Option<Located<Whole>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RetentionBlock {
    #[serde(default, deserialize_with = "present")]
    pub(super) max_segments: Option<Located<Whole>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) max_age_days: Option<Located<Whole>>,
}

/// What becomes of a call that only reads when its record cannot be written.
///
/// Calls that change something are always denied then.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditFailure {
    /// Its result is withheld.
    #[default]
    Deny,
    /// It passes, and standard error says so.
    Allow,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Gateway {
    #[serde(default, deserialize_with = "present")]
    pub(super) health: Option<Health>,
    #[serde(default, deserialize_with = "present")]
    pub(super) tools: Option<Tools>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Health {
    #[serde(default, deserialize_with = "present")]
    pub(super) expose_diagnostics: Option<Flag>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tools {
    #[serde(default, deserialize_with = "present")]
    pub(super) hide_denied: Option<Flag>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shell {
    #[serde(default, deserialize_with = "present")]
    pub(super) on_refused: Option<OnRefused>,
    #[serde(default, deserialize_with = "present")]
    pub(super) require_grant: Option<Flag>,
}

/// What becomes of a shell line that the analyser refuses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnRefused {
    /// It is denied at every level.
    #[default]
    Deny,
    /// It counts as destructive, so that L3 lets it through.
    AsDestructive,
}
