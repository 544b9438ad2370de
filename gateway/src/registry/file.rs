//! The registry file as it is written: shapes and key names only.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Reviewer, Shell, Tier};
use crate::yaml::{Entries, Flag, Located, Whole, present};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Registry {
    pub(super) version: Located<String>,
    #[serde(default)]
    pub(super) servers: Vec<Located<Server>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) reviewer: Option<Reviewer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Server {
    pub(super) name: Located<String>,
    pub(super) command: Located<String>,
    #[serde(default)]
    pub(super) args: Vec<Located<String>>,
    #[serde(default)]
    pub(super) env: Entries<String>,
    #[serde(default)]
    pub(super) env_passthrough: Vec<Located<String>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) cwd: Option<Located<String>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) enabled: Option<Flag>,
    #[serde(default, deserialize_with = "present")]
    pub(super) timeout: Option<Located<Whole>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) start_timeout: Option<Located<Whole>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) max_message_bytes: Option<Located<Whole>>,
    #[serde(default)]
    pub(super) blocked_tools: Vec<Located<String>>,
    #[serde(default)]
    pub(super) tier_overrides: BTreeMap<String, Tier>,
    #[serde(default)]
    pub(super) shell_tools: BTreeMap<String, ShellTool>,
    #[serde(default, deserialize_with = "present")]
    pub(super) rate_limit: Option<RateLimit>,
    #[serde(default, deserialize_with = "present")]
    pub(super) concurrency: Option<Located<Whole>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) breaker: Option<Breaker>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellTool {
    pub(super) argument: Located<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) shell: Option<Shell>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RateLimit {
    pub(super) calls: Located<Whole>,
    pub(super) seconds: Located<Whole>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Breaker {
    #[serde(default, deserialize_with = "present")]
    pub(super) failures: Option<Located<Whole>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) cooldown: Option<Located<Whole>>,
}
