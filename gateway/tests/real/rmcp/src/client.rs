//! Asks a server for everything it has, and prints what came back.

use std::time::Duration;

use rmcp::{
    ServiceError, ServiceExt as _,
    model::{CallToolRequestParams, ErrorCode},
    transport::TokioChildProcess,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::Failure;

/// The gateway's own tool, which no server has.
const OWN_TOOL: &str = "__rea__health";
/// How often an empty list of tools is asked for again, and how long to wait in between.
const TRIES: usize = 60;
const AGAIN: Duration = Duration::from_millis(500);

pub async fn run(prefix: &str, calls: &str, command: Command) -> Result<(), Failure> {
    let calls: Vec<(String, Value)> = serde_json::from_str(calls)?;
    let client = ().serve(TokioChildProcess::new(command)?).await?;
    let mut tools = Vec::new();
    for _ in 0..TRIES {
        tools = client.list_all_tools().await?;
        tools.retain(|tool| tool.name != OWN_TOOL);
        if !tools.is_empty() {
            break;
        }
        tokio::time::sleep(AGAIN).await; // a server that is slow to start is listed later
    }
    show("tools", &json!(tools), prefix);
    show("prompts", &listed(client.list_all_prompts().await)?, prefix);
    show(
        "resources",
        &listed(client.list_all_resources().await)?,
        prefix,
    );
    show(
        "templates",
        &listed(client.list_all_resource_templates().await)?,
        prefix,
    );
    for (tool, arguments) in calls {
        let Value::Object(arguments) = arguments else {
            return Err(format!("the arguments of {tool} are no object").into());
        };
        let params =
            CallToolRequestParams::new(format!("{prefix}{tool}")).with_arguments(arguments);
        let answer = match client.call_tool(params).await {
            Ok(result) => json!(result),
            Err(ServiceError::McpError(error)) => json!({ "error": error }),
            Err(error) => return Err(error.into()),
        };
        show(&tool, &answer, prefix);
    }
    client.cancel().await?;
    Ok(())
}

/// A server that lacks a list says so; a gateway, which may get one later, has an empty one.
fn listed<T: Serialize>(list: Result<Vec<T>, ServiceError>) -> Result<Value, Failure> {
    match list {
        Ok(list) => Ok(serde_json::to_value(list)?),
        Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            Ok(json!([]))
        }
        Err(error) => Err(error.into()),
    }
}

fn show(kind: &str, value: &Value, prefix: &str) {
    let mut text = value.to_string();
    if !prefix.is_empty() {
        text = text.replace(&format!("\"{prefix}"), "\"");
    }
    println!("{kind} {text}");
}
