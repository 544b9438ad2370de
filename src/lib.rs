//! Plainpipe reads a shell line and accepts it only if it is plain: `program args | program args`,
//! which every common shell runs with exactly the words that are reported here.
//!
//! Everything else is refused, with a stable code and the bytes to blame. There is no list of bad
//! constructs; there is a small grammar of good ones, and two independent readers that must agree.
//!
//! ```
//! use plainpipe::Line;
//!
//! let line = Line::parse(r"git log --author='O'\''Brien' | head -5")?;
//! let argv: Vec<&str> = line.stages().next().unwrap().argv().collect();
//! assert_eq!(argv, ["git", "log", "--author=O'Brien"]);
//!
//! let refusal = Line::parse("cat *.md").unwrap_err();
//! assert_eq!((refusal.code().as_str(), refusal.found()), ("glob", "*"));
//! # Ok::<(), plainpipe::Refusal>(())
//! ```
//!
//! # What it does not do
//!
//! A plain line is not a harmless one: `rm -rf x` is plain. Options that a user sets in a shell,
//! functions named like programs and hostile start-up files can change what a shell makes of any
//! text; [`Line::to_shell`] survives more of that than the line as it was written, and running the
//! words without a shell survives all of it.

pub mod effect;
pub mod grant;
pub mod plain;
pub mod program;
#[doc(hidden)]
pub mod promises;
pub mod run;
mod stable_name;

pub use effect::Tier;
pub use grant::{Grants, Verdict};
pub use plain::{
    Code, Line, MAX_BYTES, MAX_STAGES, MAX_WORDS, Reader, Refusal, Snippet, Span, Stage, Visible,
    Word,
};
pub use program::{Analyzer, Host, Pinned, Program, Resolved, Shell, analyze};
