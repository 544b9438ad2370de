//! Which server works on which task: calls that were answered with a task are asked about by its name.

use std::{
    collections::{HashMap, VecDeque},
    sync::Mutex,
};

use memchr::memmem;

use super::{json, limits::MAX_TASKS, lock::lock, session::Session};

/// How far into a result the name of a task is looked for; results that are tasks are short.
const LOOKED_AT: usize = 16 * 1024;

/// The version of the protocol that brought tasks to sessions.
pub(super) const FIRST_VERSION: &str = "2025-11-25";

/// The extension by which servers without sessions have tasks.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The tasks that servers have told of.
#[derive(Debug, Default)]
pub struct Tasks {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    servers: HashMap<String, usize>,
    /// The oldest are forgotten first.
    order: VecDeque<String>,
}

impl Tasks {
    /// Remembers that a server has this task. A name that another server has given out already stays
    /// with that one: nobody takes over the task of somebody else.
    pub fn note(&self, task: &str, server: usize) {
        let mut known = lock(&self.known);
        if known.servers.contains_key(task) {
            return;
        }
        if known.order.len() >= MAX_TASKS
            && let Some(oldest) = known.order.pop_front()
        {
            known.servers.remove(&oldest);
        }
        known.order.push_back(task.to_owned());
        known.servers.insert(task.to_owned(), server);
    }

    /// Returns the server that has this task.
    pub fn server(&self, task: &str) -> Option<usize> {
        lock(&self.known).servers.get(task).copied()
    }
}

/// Returns the name of the task, if that is what a result is.
pub(super) fn created(result: &str) -> Option<String> {
    let head = result.as_bytes();
    memmem::find(head.get(..LOOKED_AT).unwrap_or(head), b"\"taskId\"")?;
    let all = 0..result.len();
    let text = |path: &[&str]| json::string(result, &json::at(result, &all, path)?);
    match text(&["resultType"]).as_deref() {
        Some("task") => text(&["taskId"]),
        Some(_) => None,
        None => text(&["task", "taskId"]),
    }
}

/// Returns the member of our own capabilities that says what can be done about tasks, if any of the
/// servers in front of us has some.
pub(super) fn capability(sessions: &[&Session]) -> Option<String> {
    let any = |path: &[&str]| sessions.iter().any(|session| session.can(path));
    if !any(&["tasks", "requests", "tools", "call"]) {
        return None;
    }
    let cancel = if any(&["tasks", "cancel"]) {
        "\"cancel\":{},"
    } else {
        ""
    };
    // Lists of several servers are not put together, so there is one only if there is one server.
    let list = match sessions {
        [only] if only.can(&["tasks", "list"]) => "\"list\":{},",
        _ => "",
    };
    Some(format!(
        "\"tasks\":{{{list}{cancel}\"requests\":{{\"tools\":{{\"call\":{{}}}}}}}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_results_that_are_tasks_name_one() {
        let table = [
            (r#"{"task":{"taskId":"a","status":"working"}}"#, Some("a")),
            (r#"{"resultType":"task","taskId":"b"}"#, Some("b")),
            (r#"{"resultType":"complete","taskId":"c"}"#, None),
            (r#"{"content":[{"text":"\"taskId\""}]}"#, None),
            (r#"{"task":{"taskId":7}}"#, None),
            ("{}", None),
        ];
        for (result, want) in table {
            assert_eq!(created(result).as_deref(), want, "{result}");
        }
    }

    #[test]
    fn a_task_stays_with_its_server_and_the_oldest_is_forgotten() {
        let tasks = Tasks::default();
        tasks.note("a", 1);
        tasks.note("a", 2);
        assert_eq!(tasks.server("a"), Some(1));
        for number in 0..MAX_TASKS {
            tasks.note(&number.to_string(), 3);
        }
        assert_eq!((tasks.server("a"), tasks.server("1")), (None, Some(3)));
    }
}
