//! What a policy file comes to: every default filled in, every value checked.

use std::path::Path;

use super::{
    AuditFailure, Document, InjectionMode, Level, MAX_PATTERNS, OnRefused, Pattern,
    document::{Audit, Gateway, RetentionBlock, RotationBlock, Shell},
};
use crate::{
    audit,
    yaml::{Fault, Flag, Located, Whole},
};

/// The size at which the audit log rotates, in bytes, where rotation is on and no size is given.
const ROTATION_BYTES: u64 = 50 << 20;
/// The age at which the audit log rotates, in days, where rotation is on and no age is given.
const ROTATION_DAYS: u64 = 30;
/// How long a review stays good, in seconds, where no age is given.
const REVIEW_SECONDS: u64 = 3_600;

/// A policy in force: what [`Document`] says, with every default filled in.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the file has this many switches, each under its own key"
)]
pub struct Policy {
    /// The profile that the file says it came from; free text.
    pub profile: String,
    /// How much the agent may do, never above `ceiling`.
    pub level: Level,
    /// The level that the file asks for.
    pub asked: Level,
    /// The level that nothing raises above.
    pub ceiling: Level,
    /// Whether a person must agree before the level rises.
    pub promotion_requires_human_approval: bool,
    /// Whether commit messages may name an AI as an author.
    pub block_ai_attribution: bool,
    /// Paths that no argument may name.
    pub blocked_paths: Vec<String>,
    /// Where people want to be told; free text.
    pub notification_channel: String,
    /// What happens to a result that looks like an attempt to steer the agent.
    pub injection: InjectionMode,
    /// Whether a merely suspicious result of a call that changes something is withheld.
    pub suspicious_blocks_writes: bool,
    /// How the agent's context is kept small, if the file says.
    pub context_protection: Option<ContextProtection>,
    /// What reviews are asked for before a push.
    pub review: Review,
    /// Secrets to remove beyond the built-in ones.
    pub redact: Vec<Pattern>,
    /// When the audit log starts a new file; never, if absent.
    pub rotation: Option<Rotation>,
    /// How long old files of the audit log are kept; for ever, if absent.
    pub retention: Option<Retention>,
    /// What becomes of a call that only reads when its record cannot be written.
    pub on_audit_failure: AuditFailure,
    /// Whether the health tool shows error texts and the reason of a halt.
    pub expose_diagnostics: bool,
    /// Whether tools that would always be denied are left out of the list.
    pub hide_denied: bool,
    /// How lines for a shell are judged.
    pub shell: ShellRules,
    /// What is odd about the file though it loads, one sentence each.
    pub warnings: Vec<String>,
}

/// How the agent's context is kept small.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ContextProtection {
    /// Commands that a sub-agent should run.
    pub delegate_to_subagent: Vec<String>,
    /// The most lines of output that should reach the agent.
    pub max_bash_output_lines: Option<u64>,
}

/// What reviews are asked for before a push.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Review {
    /// Whether a review is needed at all.
    pub codex_required: bool,
    /// How long a review stays good, in seconds.
    pub cache_max_age_seconds: u64,
    /// Whether CI may skip it.
    pub allow_skip_in_ci: bool,
}

/// When the audit log starts a new file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rotation {
    /// At this many bytes.
    pub max_bytes: u64,
    /// Or when its first record is this many days old.
    pub max_age_days: u64,
}

/// How long old files of the audit log are kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Retention {
    /// At most this many old files.
    pub max_segments: Option<u64>,
    /// None whose newest record is older than this many days.
    pub max_age_days: Option<u64>,
}

/// How lines for a shell are judged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ShellRules {
    /// What becomes of a line that the analyser refuses.
    pub on_refused: OnRefused,
    /// Whether a plain line also needs a grant for its programs.
    pub require_grant: bool,
}

/// Returns the rules that hold where a policy says nothing.
pub const fn default_shell_rules() -> ShellRules {
    ShellRules {
        on_refused: OnRefused::Deny,
        require_grant: false,
    }
}

impl Policy {
    /// Returns when an audit log is rotated and what of it is deleted, as this policy wants it.
    ///
    /// Numbers beyond what the log can count mean the most that it can.
    pub fn keeping(&self) -> audit::Keeping {
        let days = |days: u64| u32::try_from(days).unwrap_or(u32::MAX);
        let rotation = self.rotation.map(|rotation| audit::Rotation {
            max_bytes: rotation.max_bytes,
            max_age_days: days(rotation.max_age_days),
        });
        let retention = self.retention.map(|retention| audit::Retention {
            max_segments: (retention.max_segments)
                .map(|segments| usize::try_from(segments).unwrap_or(usize::MAX)),
            max_age_days: retention.max_age_days.map(days),
        });
        audit::Keeping {
            rotation,
            retention,
        }
    }

    /// Reads the text of a policy; `file` only names it in faults.
    ///
    /// A level above the ceiling is lowered to it and leaves a warning, since a file written for
    /// a wider ceiling must not stop the reading that both allow.
    ///
    /// # Errors
    ///
    /// The first [`Fault`] of the file, with its line and column.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Fault> {
        let document = Document::parse(file, text)?;
        let mut warnings = Vec::new();
        let asked = document.autonomy_level.value;
        let ceiling = document.max_autonomy_level.value;
        if asked > ceiling {
            let line = document.autonomy_level.place.line;
            warnings.push(format!(
                "line {line}: autonomy_level {asked} is above max_autonomy_level; {ceiling} is in force"
            ));
        }
        let injection = document.injection_detection.unwrap_or_default();
        let suspicious = document
            .injection
            .and_then(|block| block.suspicious_blocks_writes);
        let redact = document.redact;
        if let Some(block) = &redact {
            positive(file, block.match_timeout_ms)?;
            if let Some(excess) = block.patterns.get(MAX_PATTERNS) {
                return Err(Fault::at(
                    file,
                    excess.name.place,
                    "one pattern too many",
                    format!("at most {MAX_PATTERNS}"),
                    "join some of them",
                ));
            }
        }
        let patterns = redact.map(|block| block.patterns).unwrap_or_default();
        let context_protection = match document.context_protection {
            None => None,
            Some(block) => Some(ContextProtection {
                delegate_to_subagent: block.delegate_to_subagent,
                max_bash_output_lines: positive(file, block.max_bash_output_lines)?,
            }),
        };
        let review = match document.review {
            None => Review {
                codex_required: true,
                cache_max_age_seconds: REVIEW_SECONDS,
                allow_skip_in_ci: false,
            },
            Some(block) => Review {
                codex_required: flag(block.codex_required, true),
                cache_max_age_seconds: positive(file, block.cache_max_age_seconds)?
                    .unwrap_or(REVIEW_SECONDS),
                allow_skip_in_ci: flag(block.allow_skip_in_ci, false),
            },
        };
        let Audit {
            rotation,
            retention,
            on_failure,
        } = document.audit.unwrap_or(Audit {
            rotation: None,
            retention: None,
            on_failure: None,
        });
        let Gateway { health, tools } = document.gateway.unwrap_or(Gateway {
            health: None,
            tools: None,
        });
        let shell = document.shell.unwrap_or(Shell {
            on_refused: None,
            require_grant: None,
        });
        Ok(Self {
            profile: document.profile,
            level: asked.under(ceiling),
            asked,
            ceiling,
            promotion_requires_human_approval: document.promotion_requires_human_approval.0,
            block_ai_attribution: flag(document.block_ai_attribution, false),
            blocked_paths: document.blocked_paths,
            notification_channel: document.notification_channel.unwrap_or_default(),
            injection,
            suspicious_blocks_writes: flag(suspicious, injection == InjectionMode::Block),
            context_protection,
            review,
            redact: patterns
                .iter()
                .map(|entry| Pattern::vet(file, entry))
                .collect::<Result<_, _>>()?,
            rotation: rotation
                .map(|block| rotation_of(file, &block))
                .transpose()?,
            retention: retention
                .map(|block| retention_of(file, &block))
                .transpose()?,
            on_audit_failure: on_failure.unwrap_or_default(),
            expose_diagnostics: flag(health.and_then(|block| block.expose_diagnostics), false),
            hide_denied: flag(tools.and_then(|block| block.hide_denied), false),
            shell: ShellRules {
                on_refused: shell.on_refused.unwrap_or_default(),
                require_grant: flag(shell.require_grant, false),
            },
            warnings,
        })
    }
}

fn rotation_of(file: &Path, block: &RotationBlock) -> Result<Rotation, Fault> {
    Ok(Rotation {
        max_bytes: positive(file, block.max_bytes)?.unwrap_or(ROTATION_BYTES),
        max_age_days: positive(file, block.max_age_days)?.unwrap_or(ROTATION_DAYS),
    })
}

fn retention_of(file: &Path, block: &RetentionBlock) -> Result<Retention, Fault> {
    Ok(Retention {
        max_segments: positive(file, block.max_segments)?,
        max_age_days: positive(file, block.max_age_days)?,
    })
}

fn positive(file: &Path, number: Option<Located<Whole>>) -> Result<Option<u64>, Fault> {
    match number {
        Some(Located {
            value: Whole(0),
            place,
        }) => Err(Fault::at(
            file,
            place,
            "0",
            "a whole number of 1 or more",
            "correct the value",
        )),
        Some(Located {
            value: Whole(number),
            ..
        }) => Ok(Some(number)),
        None => Ok(None),
    }
}

fn flag(written: Option<Flag>, otherwise: bool) -> bool {
    written.map_or(otherwise, |Flag(value)| value)
}
