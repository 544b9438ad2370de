//! The layers that every call with an effect passes, one file each.
//!
//! [`Chain`] stacks them. A call carries how far it has come in its type ([`call`]), so one that
//! skipped a layer cannot be handed on, and what goes to a server is a [`Dispatch`], which nothing
//! but the last layer can make. A [`Denial`] goes straight out; no layer on the way holds anything to
//! put in its place.

pub mod answer;
mod audit;
pub mod audit_start;
pub mod blocked_paths;
pub mod breaker;
pub mod call;
mod chain;
pub mod circuit_breaker;
pub mod clock;
pub mod denial;
pub mod execute;
pub mod freeze;
pub mod grant;
pub mod health;
pub mod injection;
pub mod kill_switch;
pub mod limiter;
pub mod method;
pub mod policy;
pub mod rate_limit;
pub mod record;
pub mod redact_arguments;
pub mod redact_result;
pub mod server;
pub mod shell;
pub mod size_cap;
pub mod tier;
pub mod tool_name;
mod trace;

pub use self::{
    answer::{Answer, Body, Fault, RawReply, Reply},
    call::{Annotations, Request, Target},
    chain::{Chain, Parts},
    denial::{Code, Denial},
    execute::{Dispatch, Execute},
    injection::Screened,
    kill_switch::{Halt, KillSwitch},
    method::Method,
    record::{Durability, MemoryRecorder, Record, Recorder, Status, Unrecorded},
    server::{Server, Servers},
    shell::{GrantFile, Machines},
};
