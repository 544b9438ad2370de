//! `rea tools`: what is offered, and from where.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use super::{Outcome, block_on, client::Client, hub};
use rea_gateway::{child::Journal, terminal::escaped, wire::catalogue::List};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print the whole entries as JSON.
    #[arg(long)]
    json: bool,
}

/// One tool that is offered.
struct Offer {
    entry: Value,
    name: String,
    server: String,
    own: String,
}

pub(super) fn run(journal: &Journal, arguments: &Arguments) -> Outcome {
    let Some((hub, writer)) = hub(journal) else {
        return Outcome::Failed;
    };
    let listed = block_on(journal, async {
        let mut client = Client::open(std::sync::Arc::clone(&hub), writer).await?;
        for link in &hub.links {
            link.settled().await;
        }
        let mut entries = Vec::new();
        let mut params = json!({});
        loop {
            let answer = client.ask("tools/list", &params.to_string()).await?;
            let result = answer.get("result").cloned().unwrap_or_default();
            entries.extend(
                result
                    .get("tools")
                    .and_then(Value::as_array)
                    .cloned()
                    .unwrap_or_default(),
            );
            match result.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => break,
            }
        }
        let offers: Vec<Offer> = (entries.into_iter())
            .map(|entry| {
                let name = entry
                    .get("name")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                let known = hub.catalogue.find(List::Tools, &name);
                let server = known.as_ref().and_then(|(index, _)| hub.links.get(*index));
                Offer {
                    entry,
                    server: server.map_or("rea".to_owned(), |link| link.profile.name.to_string()),
                    own: known.map_or_else(|| name.clone(), |(_, entry)| entry.name.clone()),
                    name,
                }
            })
            .collect();
        let down: Vec<(String, String)> = (hub.links.iter())
            .filter_map(|link| Some((link.profile.name.to_string(), link.reason()?)))
            .collect();
        client.close().await;
        Ok::<_, io::Error>((offers, down))
    });
    match listed {
        Some(Ok((offers, down))) => {
            // The reasons stand on standard error already.
            let whole = down.is_empty();
            let printed = if arguments.json {
                print_json(&offers, &down)
            } else {
                print_table(&offers)
            };
            if printed.is_ok() && whole {
                Outcome::Done
            } else {
                Outcome::Failed
            }
        }
        Some(Err(error)) => {
            journal.line(format!("rea: {}", escaped(&error.to_string())));
            Outcome::Failed
        }
        None => Outcome::Failed,
    }
}

fn print_json(offers: &[Offer], down: &[(String, String)]) -> io::Result<()> {
    let tools: Vec<Value> = (offers.iter())
        .map(|offer| json!({ "server": offer.server, "tool": offer.own, "entry": offer.entry }))
        .collect();
    let down: Vec<Value> = (down.iter())
        .map(|(server, reason)| json!({ "server": server, "reason": reason }))
        .collect();
    let text = serde_json::to_string_pretty(&json!({ "tools": tools, "down": down }))?;
    writeln!(io::stdout(), "{text}")
}

fn print_table(offers: &[Offer]) -> io::Result<()> {
    let width = offers
        .iter()
        .map(|offer| offer.name.len())
        .max()
        .unwrap_or(0);
    let mut out = io::stdout().lock();
    for offer in offers {
        let entry = |key| offer.entry.get(key).and_then(Value::as_str);
        let text = entry("title")
            .or_else(|| entry("description"))
            .unwrap_or_default();
        let text: String = escaped(text.lines().next().unwrap_or_default())
            .chars()
            .take(80)
            .collect();
        let name = escaped(&offer.name);
        writeln!(out, "{name:width$}  {}", text.trim_end())?;
    }
    out.flush()
}
