//! The policy: from `.rea/policy.yaml` to one answer per call.
//!
//! [`Document`] is the file as written, [`Policy`] what it comes to, and [`Live`] hands every
//! call the [`Snapshot`] of that moment. A file that does not read whole is not read at all: the
//! last good policy stays for reading, and everything that changes something is denied until the
//! file is repaired.

mod document;
mod effective;
mod level;
mod live;
mod pattern;
mod profile;

pub use crate::tier::{Tier, UnknownTier};

pub use self::{
    document::{AuditFailure, Document, InjectionMode, MAX_PATTERNS, OnRefused, PATH_IN_PROJECT},
    effective::{
        ContextProtection, Policy, Retention, Review, Rotation, ShellRules, default_shell_rules,
    },
    level::{Level, UnknownLevel},
    live::{Decision, Live, Notify, Snapshot},
    pattern::Pattern,
    profile::{Profile, UnknownProfile},
};
