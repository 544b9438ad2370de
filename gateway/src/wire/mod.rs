//! Bytes to messages and back: what stands between one MCP client and its servers.
//!
//! Lines keep the bytes they came in. What must differ (an id, a name) is put in its place inside
//! the line, so that unknown members, big numbers and the order of keys reach the other side.

pub mod ask;
mod bridge;
pub mod calls;
pub mod catalogue;
pub mod chain;
pub mod client;
pub mod envelope;
pub mod era;
pub mod failure;
mod forward;
pub mod handshake;
pub mod head;
pub mod hub;
pub mod id;
pub mod inbound;
pub mod input;
pub mod json;
pub mod launch;
pub mod limits;
pub mod line;
pub mod link;
mod lock;
pub mod name;
pub mod outgoing;
pub mod outlet;
pub(crate) mod promises;
pub mod request;
pub mod sequence;
pub mod serve;
pub mod session;
mod skip;
mod spare;
pub mod stdio;
pub mod stranger;
pub mod subscription;
mod target;
pub mod tasks;
pub mod welcome;
