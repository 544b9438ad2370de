//! Puts the layers where the wire asks for an answer.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;

use crate::{
    layer::{
        Annotations, Body, Chain, Denial, Dispatch, Fault, Method, Recorder, Reply, Request,
        Target,
        denial::META_KEY,
        health::{HEALTH_TOOL, ServerHealth},
    },
    wire::{
        chain::{self, Answer, Call, Direction, Execute, Later, Look},
        failure::Failure,
        json, name,
    },
};

/// What a tool's description begins with when the policy denies every call of it.
const DENIED_MARK: &str = "[Denied by the policy] ";

/// The list entry of the tool that the gateway answers itself, [`HEALTH_TOOL`].
pub const HEALTH_ENTRY: &str = r#"{"name":"__rea__health","description":"Tells how the gateway and the servers behind it are doing.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":true}}"#;

/// Methods beside those of [`Method`] that have no effect and pass no layer. What is in neither list
/// is unknown, so it is judged by its name.
const FREE: [&str; 2] = ["subscriptions/listen", "roots/list"];

/// The most tools that are hidden; what they say about themselves must be remembered, so that hiding
/// one never makes its tier milder. More are marked instead.
const MAX_HIDDEN: usize = 10_000;

/// What tools that are left out of the list say about themselves, by server and name.
type Hidden = BTreeMap<(String, String), Annotations>;

/// Tells how the servers are doing, without asking them.
pub type Servers = Arc<dyn Fn() -> Vec<ServerHealth> + Send + Sync>;

/// The layers as the wire sees them.
pub struct Gate<R> {
    layers: Arc<Chain<R>>,
    servers: Servers,
    hidden: Mutex<Hidden>,
}

impl<R: Recorder> Gate<R> {
    /// Puts `layers` in the way of every call; `servers` tells the health tool about the children.
    pub const fn new(layers: Arc<Chain<R>>, servers: Servers) -> Self {
        Self {
            layers,
            servers,
            hidden: Mutex::new(BTreeMap::new()),
        }
    }

    /// Returns what the called tool says about itself, whether it was hidden or not.
    fn annotations(&self, call: &Call) -> Annotations {
        if let Some(entry) = &call.entry {
            return annotations(entry);
        }
        let (Some(server), Some(name)) = (&call.server, &call.name) else {
            return Annotations::default();
        };
        let key = (server.to_string(), name.clone());
        lock(&self.hidden).get(&key).copied().unwrap_or_default()
    }

    /// Remembers what a hidden tool says about itself, or returns `false` if there are too many.
    fn hide(&self, server: &str, name: &str, annotations: Annotations) -> bool {
        let key = (server.to_owned(), name.to_owned());
        let mut hidden = lock(&self.hidden);
        if hidden.len() >= MAX_HIDDEN && !hidden.contains_key(&key) {
            return false;
        }
        hidden.insert(key, annotations);
        true
    }
}

impl<R> fmt::Debug for Gate<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Gate").field(&self.layers).finish()
    }
}

impl<R: Recorder + 'static> chain::Chain for Gate<R> {
    fn answer(&self, call: Call, execute: Execute) -> Later<Answer> {
        if FREE.contains(&&*call.method) {
            return execute(call);
        }
        let layers = Arc::clone(&self.layers);
        let method = method(&call);
        if method == Method::CallTool && call.offered.as_deref() == Some(HEALTH_TOOL) {
            let servers = (self.servers)();
            return Box::pin(async move {
                Answer::Result(layers.health(&servers).await.get().to_owned())
            });
        }
        let annotations = self.annotations(&call);
        Box::pin(async move { pass(&layers, method, annotations, call, execute).await })
    }

    fn is_stopped(&self) -> bool {
        !self.layers.kill_switch().probe().lets_pass()
    }

    fn own_tools(&self) -> Vec<String> {
        vec![HEALTH_ENTRY.to_owned()]
    }

    fn offer(&self, server: &str, name: &str, entry: &str) -> Option<String> {
        let annotations = annotations(entry);
        match self.layers.always_denied(server, name, annotations) {
            None => Some(entry.to_owned()),
            Some(denial) => {
                let hides = self.layers.snapshot().policy.hide_denied;
                let hidden = hides && self.hide(server, name, annotations);
                (!hidden).then(|| marked(entry, &denial))
            }
        }
    }
}

/// Returns the method that a call is judged as. One that nobody knows counts as a tool of that name
/// if the client asks for it, and as something that changes the client if a server does.
fn method(call: &Call) -> Method {
    Method::named(&call.method).unwrap_or(match call.direction {
        Direction::ToServer => Method::CallTool,
        Direction::ToClient => Method::Sample,
    })
}

async fn pass<R: Recorder + 'static>(
    layers: &Arc<Chain<R>>,
    method: Method,
    annotations: Annotations,
    mut call: Call,
    execute: Execute,
) -> Answer {
    let request = Request {
        method,
        target: target(method, &call),
        arguments: arguments(method, &call).map(Into::into),
        annotations,
    };
    let is_tool = call.method == Method::CallTool.as_str();
    let server = request.target.server().to_owned();
    // The wire's own words about a failure are better than any that could be made here.
    let failed = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&failed);
    let again = Arc::clone(layers);
    let answer = layers
        .call(request, move |dispatch: Dispatch| async move {
            let recalled = Arc::new(Mutex::new(None));
            call.look_before_sending(look(again, dispatch, Arc::clone(&recalled)));
            match execute(call).await {
                Answer::Failed(Failure::Recalled) => Err(lock(&recalled)
                    .take()
                    .map_or(Fault::Cancelled, Fault::Recalled)),
                Answer::Failed(failure) => {
                    let fault = fault(&failure);
                    *lock(&kept) = Some(failure);
                    Err(fault)
                }
                Answer::Silent => Err(Fault::Cancelled),
                answer @ (Answer::Peer(_) | Answer::Result(_) | Answer::Error(_)) => {
                    Ok(Answered(answer))
                }
            }
        })
        .await;
    match answer {
        crate::layer::Answer::Passed(reply) => reply.into_reply().0,
        crate::layer::Answer::Denied(denial) if is_tool => {
            Answer::Result(denial.tool_result().get().to_owned())
        }
        crate::layer::Answer::Denied(denial) => Answer::Error(denial.rpc_error().get().to_owned()),
        crate::layer::Answer::Failed(Fault::Cancelled) => {
            taken(&failed).map_or(Answer::Silent, Answer::Failed)
        }
        crate::layer::Answer::Failed(fault) => taken(&failed).map_or_else(
            || Answer::Error(fault.rpc_error(&server).get().to_owned()),
            Answer::Failed,
        ),
    }
}

/// How long a call may be on its way from the layers to its server without being looked at again.
const FRESH: Duration = Duration::from_millis(5);

/// Returns what looks again at a call that has waited, and leaves in `recalled` why it must not be sent.
fn look<R: Recorder + 'static>(
    layers: Arc<Chain<R>>,
    dispatch: Dispatch,
    recalled: Arc<Mutex<Option<Denial>>>,
) -> Look {
    Arc::new(move || {
        if dispatch.decided().elapsed() < FRESH {
            return true;
        }
        match layers.look_again(dispatch.name(), dispatch.tier()) {
            Ok(()) => true,
            Err(denial) => {
                *lock(&recalled) = Some(denial);
                false
            }
        }
    })
}

fn taken(failed: &Mutex<Option<Failure>>) -> Option<Failure> {
    lock(failed).take()
}

/// No code under these locks leaves what they hold half changed.
fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An answer that came through the wire.
#[derive(Debug)]
struct Answered(Answer);

impl Reply for Answered {
    fn body(&self) -> Body<'_> {
        match &self.0 {
            Answer::Peer(peer) => peer.result().map_or_else(
                || Body::Error(peer.error().unwrap_or_default()),
                Body::Result,
            ),
            Answer::Result(result) => Body::Result(result),
            Answer::Error(error) => Body::Error(error),
            Answer::Failed(_) | Answer::Silent => Body::Error(""),
        }
    }
}

/// Returns whom a call concerns, as the layers name it.
fn target(method: Method, call: &Call) -> Target {
    let offered = call.offered.clone().unwrap_or_default();
    if method.is_asked_by_server() {
        let server = call.server.as_deref().unwrap_or_default().to_owned();
        return Target::Of {
            server,
            name: call.method.clone(),
        };
    }
    if let Some(server) = &call.server {
        let name = call.name.clone().unwrap_or(offered);
        return Target::Of {
            server: server.to_string(),
            name,
        };
    }
    if name::is_reserved(&offered) {
        return Target::Reserved(offered);
    }
    match offered.split_once(name::SEPARATOR) {
        Some((server, name)) => Target::Of {
            server: server.to_owned(),
            name: name.to_owned(),
        },
        None => Target::Unprefixed(offered),
    }
}

fn arguments(method: Method, call: &Call) -> Option<&str> {
    match method {
        Method::CallTool if call.method != method.as_str() => Some(call.params()),
        Method::CallTool | Method::GetPrompt => call.arguments(),
        Method::ReadResource
        | Method::Subscribe
        | Method::Unsubscribe
        | Method::Complete
        | Method::GetTask
        | Method::TaskResult
        | Method::UpdateTask
        | Method::CancelTask
        | Method::Sample
        | Method::Elicit => Some(call.params()),
    }
}

fn annotations(entry: &str) -> Annotations {
    let entry: Value = serde_json::from_str(entry).unwrap_or_default();
    let hint = |name: &str| entry.get("annotations")?.get(name)?.as_bool();
    Annotations {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
    }
}

/// Says in a list entry that every call is denied, and leaves everything else as it came.
fn marked(entry: &str, denial: &Denial) -> String {
    let whole = 0..entry.len();
    let mut edits = Vec::new();
    let mut members = Vec::new();
    match json::member(entry, &whole, "description") {
        Some(span) => {
            let text = json::string(entry, &span).unwrap_or_default();
            edits.push((span, json::quoted(&format!("{DENIED_MARK}{text}"))));
        }
        None => members.push(format!(
            "\"description\":{}",
            json::quoted(DENIED_MARK.trim_end())
        )),
    }
    let fact = format!("{}:{}", json::quoted(META_KEY), denial.facts());
    match json::member(entry, &whole, "_meta") {
        Some(span) => match json::member(entry, &span, META_KEY) {
            // What the server wrote there would pass for our words.
            Some(own) => edits.push((own, denial.facts().to_string())),
            None => edits.extend(json::insert_members(entry, &span, &fact)),
        },
        None => members.push(format!("\"_meta\":{{{fact}}}")),
    }
    if !members.is_empty() {
        edits.extend(json::insert_members(entry, &whole, &members.join(",")));
    }
    json::splice(entry, edits).unwrap_or_else(|| entry.to_owned())
}

/// Returns what a failure says about its server.
fn fault(failure: &Failure) -> Fault {
    match failure {
        Failure::NotRunning { .. } => Fault::Down(failure.to_string()),
        Failure::TimedOut { seconds, .. } => Fault::TimedOut(Duration::from_secs(*seconds)),
        Failure::Exited { .. }
        | Failure::AnswerTooLong { .. }
        | Failure::BadAnswer { .. }
        | Failure::NotReading { .. } => Fault::Lost(failure.to_string()),
        // What the caller asked for could not be sent; its server has no part in it.
        Failure::RequestTooLong { .. }
        | Failure::LineTooLong { .. }
        | Failure::Unknown { .. }
        | Failure::BadParams(_)
        | Failure::NoMethod(_)
        | Failure::Version { .. }
        | Failure::NoCapability(_)
        | Failure::TooMany { .. }
        | Failure::Recalled
        | Failure::Stopping
        | Failure::Internal(_) => Fault::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{
        layer::{GrantFile, KillSwitch, Machines, MemoryRecorder, Parts},
        policy::{Live, Profile},
        registry::Registry,
        wire::chain::Chain as _,
    };

    /// A gate at L1 over one server, and the folder of its policy.
    fn gate(more: &str) -> (tempfile::TempDir, Gate<MemoryRecorder>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("policy.yaml");
        std::fs::write(&file, Profile::Minimal.render("t", "t") + more).unwrap();
        let registry = "version: \"1\"\nservers:\n  - {name: s, command: c}\n";
        let registry = Registry::parse(Path::new("r"), registry).unwrap();
        let layers = Chain::new(Parts {
            kill_switch: KillSwitch::of_project(folder.path()),
            policy: Live::open(file, Arc::new(|_| ())).unwrap(),
            machines: Machines::new(
                &registry,
                folder.path(),
                &std::collections::BTreeMap::new(),
                GrantFile::default(),
            ),
            registry,
            recorder: MemoryRecorder::default(),
            session: "s".to_owned(),
            notify: Arc::new(|_| ()),
        });
        (folder, Gate::new(Arc::new(layers), Arc::new(Vec::new)))
    }

    #[test]
    fn a_tool_that_is_always_denied_is_marked_and_the_rest_of_its_entry_is_left() {
        let (_folder, gate) = gate("");
        let kept = r#"{"name":"s__get_x","n":1.50,"description":"a"}"#;
        assert_eq!(gate.offer("s", "get_x", kept).as_deref(), Some(kept));
        for (entry, description) in [
            (
                r#"{"name":"s__delete_x","n":1.50,"description":"a \"b\""}"#,
                "[Denied by the policy] a \"b\"",
            ),
            (r#"{"n":1.50,"_meta":{"k":1}}"#, "[Denied by the policy]"),
            (
                r#"{"n":1.50,"_meta":{"k":1,"rea\/denial":{"code":"none"}}}"#,
                "[Denied by the policy]",
            ),
            (
                r#"{"n":1.50,"description":"","_meta":{}}"#,
                "[Denied by the policy] ",
            ),
        ] {
            let marked = gate.offer("s", "delete_x", entry).unwrap();
            assert!(marked.contains("\"n\":1.50"), "{marked}");
            let marked: Value = serde_json::from_str(&marked).unwrap();
            assert_eq!(marked["description"], description);
            assert_eq!(marked["_meta"][META_KEY]["code"], "tier-exceeds-autonomy");
            assert_eq!(marked["_meta"]["k"].is_null(), !entry.contains("\"k\""));
        }
        let raised = r#"{"annotations":{"destructiveHint":true}}"#;
        assert!(
            gate.offer("s", "get_x", raised)
                .unwrap()
                .contains("rea/denial")
        );
    }

    #[test]
    fn a_key_of_the_policy_hides_what_is_always_denied() {
        let (_folder, gate) = gate("gateway: {tools: {hide_denied: true}}\n");
        assert_eq!(gate.offer("s", "delete_x", "{}"), None);
        assert!(gate.offer("s", "put_x", "{}").is_some());
        // A name that reads, of a tool that says that it deletes: hiding it must not lose that.
        let raised = r#"{"annotations":{"destructiveHint":true}}"#;
        assert_eq!(gate.offer("s", "get_x", raised), None);
        let key = ("s".to_owned(), "get_x".to_owned());
        assert_eq!(lock(&gate.hidden)[&key].destructive, Some(true));
    }

    #[test]
    fn the_tool_of_the_gateway_itself_is_offered() {
        let (_folder, gate) = gate("");
        let tools = gate.own_tools();
        let entry: Value = serde_json::from_str(&tools[0]).unwrap();
        assert_eq!((tools.len(), &entry["name"]), (1, &HEALTH_TOOL.into()));
        assert!(name::is_reserved(HEALTH_TOOL));
    }
}
