//! What the record of a call will say, gathered on its way.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{
    call::{Request, Target},
    clock::Clock,
    method::Method,
    record::{Record, Status},
};
use crate::policy::Tier;

/// The most bytes of a caller's name that a record keeps.
const MAX_NAME_BYTES: usize = 512;

/// The record of a call in the making.
#[derive(Debug)]
pub(super) struct Trace {
    record: Record,
    call_id: String,
    began: Duration,
    started: bool,
}

impl Trace {
    pub(super) fn begin(
        request: &Request,
        session: &str,
        level: &str,
        call_id: String,
        clock: &dyn Clock,
    ) -> Self {
        let name = bounded(request.target.name());
        let mut metadata = Map::new();
        let tool_name = match (request.method, &request.target) {
            (Method::CallTool, _) | (_, Target::Unprefixed(_) | Target::Reserved(_)) => name,
            (method, Target::Of { .. }) => {
                metadata.insert("name".to_owned(), name.into());
                method.as_str().to_owned()
            }
        };
        Self {
            record: Record {
                timestamp: Some(clock.now()),
                session_id: session.to_owned(),
                tool_name,
                server_name: bounded(request.target.server()),
                // Until it is classified it may be anything; `write` is what readers expect then.
                tier: Tier::Write,
                status: Status::Allowed,
                autonomy_level: level.to_owned(),
                duration_ms: 0,
                error: None,
                redacted_fields: Vec::new(),
                metadata,
            },
            call_id,
            began: clock.elapsed(),
            started: false,
        }
    }

    /// Adds a fact to the record.
    pub(super) fn note(&mut self, key: &str, value: impl Into<Value>) {
        self.record.metadata.insert(key.to_owned(), value.into());
    }

    /// Says how much the call can change.
    pub(super) const fn classify(&mut self, tier: Tier) {
        self.record.tier = tier;
    }

    /// Returns how much the call can change, as far as is known.
    pub(super) const fn tier(&self) -> Tier {
        self.record.tier
    }

    /// Returns whether a `started` record was kept.
    pub(super) const fn is_started(&self) -> bool {
        self.started
    }

    /// Returns the record that must be kept before the call goes to its server, and remembers that
    /// the record at the end is its partner.
    pub(super) fn start(&mut self, clock: &dyn Clock) -> Record {
        self.started = true;
        let mut record = self.record.clone();
        record.timestamp = Some(clock.now());
        record.started(&self.call_id)
    }

    /// Takes back that a `started` record was kept.
    pub(super) const fn not_started(&mut self) {
        self.started = false;
    }

    /// Returns the record of the end.
    pub(super) fn finish(
        &self,
        clock: &dyn Clock,
        status: Status,
        error: Option<String>,
    ) -> Record {
        let took = clock.elapsed().saturating_sub(self.began);
        let mut record = self.record.clone();
        record.timestamp = Some(clock.now());
        record.status = status;
        record.error = error;
        record.duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if self.started {
            return record.finished(&self.call_id);
        }
        record
    }
}

fn bounded(name: &str) -> String {
    let kept = name
        .get(..name.floor_char_boundary(MAX_NAME_BYTES))
        .unwrap_or_default();
    if kept.len() == name.len() {
        return kept.to_owned();
    }
    format!("{kept}… ({} bytes)", name.len())
}
