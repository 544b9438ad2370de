//! Lines for a shell: which calls carry one, what it is, and whether it may run.
//!
//! [`tool`] finds the line of a call, [`machine`] looks at it where it would run, [`verdict`] is what
//! was found, and [`decision`] holds that against the policy.

pub mod decision;
pub mod machine;
pub mod tool;
pub mod verdict;

pub use self::{
    machine::{GrantFile, Machines},
    tool::{ShellCall, find},
    verdict::{ShellLine, Verdict, judge_text},
};
