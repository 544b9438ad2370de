//! Peers of the gateway made of the Rust SDK: a plain proxy, for the bench, and a client, for the tests.
//!
//! `rmcp-peer proxy COMMAND ARGUMENTS...` serves on standard input and output in front of one server.
//!
//! `rmcp-peer client PREFIX CALLS COMMAND ARGUMENTS...` lists what a server has, makes the calls of the JSON
//! list CALLS (each `[TOOL, ARGUMENTS]`), and prints a line for each answer. PREFIX stands before names.

mod client;
mod proxy;

use std::{error::Error, process::ExitCode};

use tokio::process::Command;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["proxy", program, ref rest @ ..] => proxy::run(command(program, rest)).await,
        ["client", prefix, calls, program, ref rest @ ..] => {
            client::run(prefix, calls, command(program, rest)).await
        }
        _ => Err(
            "usage: rmcp-peer proxy COMMAND... | rmcp-peer client PREFIX CALLS COMMAND...".into(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rmcp-peer: {error}");
            ExitCode::FAILURE
        }
    }
}

fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}
