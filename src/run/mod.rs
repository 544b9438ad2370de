//! Runs a pinned line without a shell.
//!
//! [`Pinned::command`](crate::Pinned::command) gives a [`Command`]; starting it gives a
//! [`Running`] line, and waiting for that an [`Outcome`]. Each program is executed from the
//! descriptor that was compared with the pinned digest, so a file that is swapped between the
//! check and the start is not run. What happens to the `$0` of a script is told in `script.rs`
//! and in the manual.
//!
//! # What it does not do
//!
//! It keeps other files from being run, not programs from doing harm: it is no sandbox. The
//! dynamic linker and shared libraries are found by the kernel and the linker, by path. A program
//! of the user's own can be traced and changed in memory by any other one. Linux 5.11 or later,
//! with `/proc`, is needed.

mod command;
mod environment;
mod error;
mod memory;
mod outcome;
mod prepare;
mod process;
mod running;
mod script;
mod signaller;
mod system;

pub use command::{Captured, Command, Input, Output};
pub use environment::{Environment, EnvironmentError};
pub use error::RunError;
pub use outcome::{Outcome, StageStatus, Stopped};
pub use running::{Channel, LINGER, Leftovers, Running, STOP_GRACE};
pub use script::SCRIPT_DESCRIPTOR;
pub use signaller::Signaller;
