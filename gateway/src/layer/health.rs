//! The one tool of the gateway itself: how it is doing. It passes no layer, so that it answers when
//! nothing else does, and it is on record all the same.

use std::sync::atomic::Ordering;

use serde_json::{Value, json, value::RawValue};

use super::{
    call::RESERVED_SERVER,
    chain::Chain,
    denial::raw,
    kill_switch::Halt,
    record::{Durability, Record, Recorder},
};

/// The name under which it is offered.
pub const HEALTH_TOOL: &str = "__rea__health";

/// How one server is doing, as far as the wire knows. Nothing here is asked of the server now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerHealth {
    /// Its name.
    pub name: String,
    /// Whether its process runs and has shaken hands.
    pub connected: bool,
    /// Whether it may be called.
    pub healthy: bool,
    /// How many tools it offers, if that is known.
    pub tools_count: Option<u64>,
    /// What last went wrong with it. For the record only.
    pub last_error: Option<String>,
}

impl<R: Recorder> Chain<R> {
    /// Answers a call of [`HEALTH_TOOL`] with the result to send.
    ///
    /// Error texts and the reason of a halt are left out, whatever the policy says, since nothing
    /// takes secrets out of them yet.
    pub async fn health(&self, servers: &[ServerHealth]) -> Box<RawValue> {
        let began = self.clock().elapsed();
        let halt = self.kill_switch().probe();
        let snapshot = self.snapshot();
        let policy = &snapshot.policy;
        let count = |which: fn(&ServerHealth) -> bool| {
            servers.iter().filter(|server| which(server)).count()
        };
        let (connected, healthy) = (
            count(|server| server.connected),
            count(|server| server.healthy),
        );
        let tools = |server: &ServerHealth| {
            server
                .tools_count
                .filter(|_| server.connected && server.healthy)
        };
        let downstreams: Vec<Value> = servers
            .iter()
            .map(|server| {
                json!({
                    "name": server.name,
                    "enabled": true,
                    "connected": server.connected,
                    "healthy": server.healthy,
                    "last_error": null,
                    "tools_count": tools(server),
                })
            })
            .collect();
        let report = json!({
            "gateway": {
                "version": env!("CARGO_PKG_VERSION"),
                "uptime_s": began.as_secs(),
                "halt": !halt.lets_pass(),
                "halt_reason": null,
            },
            "policy": {
                "profile": policy.profile,
                "autonomy_level": snapshot.level(),
                "max_autonomy_level": policy.ceiling,
                "block_ai_attribution": policy.block_ai_attribution,
                "blocked_paths_count": policy.blocked_paths.len(),
                "broken": snapshot.fault.is_some(),
            },
            "downstreams": downstreams,
            "summary": {
                "registered": servers.len(),
                "connected": connected,
                "healthy": healthy,
                "total_tools": servers.iter().filter_map(tools).sum::<u64>(),
                "audit_fail_count": self.health_faults.load(Ordering::Relaxed),
            },
        });

        let mut record = Record::new("health", RESERVED_SERVER)
            .with("halt", !halt.lets_pass())
            .with("halt_reason", reason(&halt))
            .with("downstreams_registered", servers.len())
            .with("downstreams_healthy", healthy)
            .with("downstream_errors", errors(servers));
        record.timestamp = Some(self.clock().now());
        self.session().clone_into(&mut record.session_id);
        snapshot
            .level()
            .as_str()
            .clone_into(&mut record.autonomy_level);
        if let Err(fault) = self.recorder().append(record, Durability::Buffered).await {
            self.health_faults.fetch_add(1, Ordering::Relaxed);
            self.notify(&format!(
                "AUDIT FAILED: a look at the health was not recorded: {fault}"
            ));
        }

        let text = serde_json::to_string_pretty(&report).unwrap_or_default();
        raw(&json!({"content": [{"type": "text", "text": text}]}))
    }
}

fn reason(halt: &Halt) -> Value {
    match halt {
        Halt::Present { reason } if !reason.is_empty() => reason.clone().into(),
        Halt::Unknown { error } => error.clone().into(),
        Halt::Present { .. } | Halt::Absent => Value::Null,
    }
}

fn errors(servers: &[ServerHealth]) -> Value {
    let known = servers.iter().filter_map(|server| {
        let error = server.last_error.as_ref()?;
        Some(json!({"name": server.name, "last_error": error}))
    });
    known.collect()
}
