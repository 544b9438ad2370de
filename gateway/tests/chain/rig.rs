//! A chain over a scratch project, with a clock that stands still and records in memory.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use rea_gateway::{
    layer::{
        Annotations, Answer, Chain, Dispatch, Fault, GrantFile, KillSwitch, Machines,
        MemoryRecorder, Method, Parts, RawReply, Record, Request, Target, clock::ManualClock,
    },
    policy::Live,
    registry::Registry,
};
use serde_json::value::RawValue;

/// What stands in `HALT` and must reach nobody but the record.
pub(crate) const REASON: &str = "the-reason-of-the-halt";

/// The registry of the scratch project.
pub(crate) const REGISTRY: &str = "\
version: \"1\"
servers:
  - name: s
    command: none
    blocked_tools: [get_blocked, put_blocked, delete_blocked]
    tier_overrides: {get_pinned: destructive, delete_lowered: read, bash_pinned: destructive}
    shell_tools: {bash: {argument: command}, bash_pinned: {argument: command}, tidy: {argument: line}}
  - {name: off, command: none, enabled: false}
  - {name: rate, command: none, rate_limit: {calls: 1, seconds: 60}, shell_tools: {bash: {argument: command}}}
  - {name: narrow, command: none, concurrency: 1}
  - {name: frail, command: none, breaker: {failures: 1, cooldown: 30}}
  - {name: steady, command: none}
  - {name: own, command: none, cwd: work, env: {PATH: '${OWN_PATH}'}, shell_tools: {bash: {argument: command}}}
  - {name: primed, command: none, env: {BASH_ENV: f, PAGER: cat}, shell_tools: {bash: {argument: command}}}
  - {name: paged, command: none, env: {PAGER: cat}, shell_tools: {bash: {argument: command}}}
  - {name: lost, command: none, env: {A: '${NOT_SET}'}, shell_tools: {bash: {argument: command}}}
";

pub(crate) struct Rig {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) chain: Arc<Chain<MemoryRecorder>>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) told: Arc<Mutex<Vec<String>>>,
    pub(crate) sent: Arc<AtomicU32>,
}

pub(crate) fn policy(level: &str, more: &str) -> String {
    format!(
        "version: \"1\"\nprofile: minimal\ninstalled_by: t\ninstalled_at: t\nautonomy_level: {level}\n\
         max_autonomy_level: L3\npromotion_requires_human_approval: true\nblocked_paths: []\n{more}"
    )
}

impl Rig {
    pub(crate) fn new(level: &str) -> Self {
        Self::with_policy(&policy(level, ""))
    }

    pub(crate) fn with_policy(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in [".rea", "bin", "work"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        // Beside `.rea`, so that a test can put something else in its place.
        let file = folder.path().join("policy.yaml");
        fs::write(&file, text).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let hear = Arc::clone(&told);
        let notify: rea_gateway::policy::Notify =
            Arc::new(move |line: &str| hear.lock().unwrap().push(line.to_owned()));
        let clock = Arc::new(ManualClock::default());
        let registry = Registry::parse(Path::new("registry.yaml"), REGISTRY).unwrap();
        let grants = GrantFile {
            path: Some(folder.path().join("state/grants.json")),
            session: None,
        };
        let variables = [
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("OWN_PATH".into(), folder.path().join("bin").into()),
        ];
        let variables = variables.into();
        let parts = Parts {
            machines: Machines::new(&registry, folder.path(), &variables, grants),
            kill_switch: KillSwitch::of_project(folder.path()),
            policy: Live::open(file, Arc::clone(&notify)).unwrap(),
            registry,
            recorder: MemoryRecorder::default(),
            session: "5e551011-0000".to_owned(),
            notify,
        };
        let chain = Arc::new(Chain::on_clock(parts, Arc::clone(&clock) as _));
        Self {
            folder,
            chain,
            clock,
            told,
            sent: Arc::default(),
        }
    }

    pub(crate) fn set_policy(&self, text: &str) {
        fs::write(self.folder.path().join("policy.yaml"), text).unwrap();
    }

    pub(crate) fn halt(&self) {
        fs::write(self.folder.path().join(".rea/HALT"), REASON).unwrap();
    }

    /// Makes one call that the server answers as `outcome` says.
    pub(crate) async fn call(&self, request: Request, outcome: Outcome) -> Answer<RawReply> {
        let sent = Arc::clone(&self.sent);
        self.chain
            .call(request, move |_: Dispatch| {
                sent.fetch_add(1, Ordering::SeqCst);
                std::future::ready(outcome.reply())
            })
            .await
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.chain
            .recorder()
            .take()
            .into_iter()
            .map(|(record, _)| record)
            .collect()
    }

    pub(crate) fn sent(&self) -> u32 {
        self.sent.swap(0, Ordering::SeqCst)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Result,
    Error,
    Fault(Fault),
}

impl Outcome {
    fn reply(self) -> Result<RawReply, Fault> {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        match self {
            Self::Result => Ok(RawReply::Result(raw(r#"{"content":[]}"#))),
            Self::Error => Ok(RawReply::Error(raw(
                r#"{"code":-32602,"message":"secret"}"#,
            ))),
            Self::Fault(fault) => Err(fault),
        }
    }
}

pub(crate) fn tool(server: &str, name: &str) -> Request {
    Request {
        method: Method::CallTool,
        target: Target::Of {
            server: server.to_owned(),
            name: name.to_owned(),
        },
        arguments: Some(r#"{"a":"content-of-an-argument"}"#.into()),
        annotations: Annotations::default(),
    }
}

/// Names an answer: `passed`, or the code that the caller sees.
pub(crate) fn named(answer: &Answer<RawReply>) -> &str {
    match answer {
        Answer::Passed(_) => "passed",
        Answer::Denied(denial) => denial.code().as_str(),
        Answer::Failed(fault) => fault.code(),
    }
}

/// Returns all that a caller can see of an answer.
pub(crate) fn seen(answer: &Answer<RawReply>, server: &str) -> String {
    match answer {
        Answer::Passed(_) => String::new(),
        Answer::Denied(denial) => format!("{}{}", denial.tool_result(), denial.rpc_error()),
        Answer::Failed(fault) => {
            format!("{}{}", fault.tool_result(server), fault.rpc_error(server))
        }
    }
}

/// Spells the statuses of records, with their phases.
pub(crate) fn statuses(records: &[Record]) -> String {
    let spelled: Vec<String> = records
        .iter()
        .map(|record| {
            match record
                .metadata
                .get("phase")
                .and_then(|phase| phase.as_str())
            {
                Some(phase) => format!("{phase}:{}", record.status.as_str()),
                None => record.status.as_str().to_owned(),
            }
        })
        .collect();
    if spelled.is_empty() {
        "-".to_owned()
    } else {
        spelled.join(" ")
    }
}
