//! `rea call`: one call, for trying.

use std::io::{self, Write as _};

use serde_json::{Value, json, value::RawValue};

use super::{Outcome, block_on, client::Client, hub};
use rea_gateway::{child::Journal, terminal::escaped, wire::name};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The server, as the registry names it.
    server: String,
    /// The tool, as the server names it.
    tool: String,
    /// The arguments, one JSON object.
    #[arg(default_value = "{}")]
    json: String,
}

pub(super) fn run(journal: &Journal, arguments: &Arguments) -> Outcome {
    let told = |text: &str| journal.line(format!("rea: {}", escaped(text)));
    match serde_json::from_str::<&RawValue>(&arguments.json) {
        Ok(value) if value.get().starts_with('{') => {}
        Ok(_) => {
            told("the arguments must be one JSON object, such as '{\"path\":\"a.txt\"}'");
            return Outcome::Failed;
        }
        Err(error) => {
            told(&format!("the arguments are not JSON: {error}"));
            return Outcome::Failed;
        }
    }
    let Some((hub, writer)) = hub(journal) else {
        return Outcome::Failed;
    };
    if !hub
        .links
        .iter()
        .any(|link| *link.profile.name == *arguments.server)
    {
        let known: Vec<&str> = hub.links.iter().map(|link| &*link.profile.name).collect();
        told(&format!(
            "no enabled server \"{}\"; there are: {}",
            arguments.server,
            known.join(", ")
        ));
        return Outcome::Failed;
    }
    let answered = block_on(journal, async {
        let mut client = Client::open(hub, writer).await?;
        let name = json!(name::offered(&arguments.server, &arguments.tool));
        let params = format!("{{\"name\":{name},\"arguments\":{}}}", arguments.json);
        let answer = client.ask("tools/call", &params).await;
        client.close().await;
        answer
    });
    match answered {
        Some(Ok(answer)) => show(&answer).unwrap_or(Outcome::Failed),
        Some(Err(error)) => {
            told(&error.to_string());
            Outcome::Failed
        }
        None => Outcome::Failed,
    }
}

/// Prints the result, or the error, as JSON; an error and a result that says it is one fail.
fn show(answer: &Value) -> io::Result<Outcome> {
    let (shown, failed) = match answer.get("result") {
        Some(result) => (result, result.get("isError") == Some(&Value::Bool(true))),
        None => (answer.get("error").unwrap_or(answer), true),
    };
    let text = serde_json::to_string_pretty(shown)?;
    writeln!(io::stdout(), "{text}")?;
    Ok(if failed {
        Outcome::Failed
    } else {
        Outcome::Done
    })
}
