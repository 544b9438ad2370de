//! Puts plainpipe in front of the tool calls of AI agents.
//!
//! The library answers; the binary `rea` reads the command line, calls it and prints.

pub mod audit;
pub mod child;
pub mod directories;
pub mod gate;
pub mod layer;
pub mod policy;
#[doc(hidden)]
pub mod promises;
pub mod registry;
pub mod terminal;
pub mod tier;
pub mod wire;
pub mod yaml;
