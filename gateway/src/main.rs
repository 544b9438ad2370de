//! The `rea` command: reads the arguments and hands over to one file of `command/`.

mod command;

use std::{env, process::ExitCode};

use clap::{Parser, Subcommand};
use rea_gateway::child::lifeline;

/// Reads shell lines before they run, and refuses what is not plain.
///
/// Exit status: 0 when the answer is yes, 1 when it is no, 2 when the command was used wrongly or
/// could not do its work. Commands with more to tell say so in their own help.
#[derive(Debug, Parser)]
#[command(name = "rea", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Analyze(command::analyze::Analyze),
    Explain(command::explain::Explain),
    Models(command::models::Show),
    Run(command::run::Run),
    Grant(command::grant::Grant),
    Serve(command::wire::Serve),
    Tools(command::wire::Tools),
    Call(command::wire::Call),
    Init(command::init::Init),
    Registry(command::registry::Registry),
    Pin(command::pin::Pin),
    /// Check, rotate and read the audit log in .rea/audit.jsonl.
    Audit(command::audit::Arguments),
    Policy(command::policy::Arguments),
    Check(command::check::Check),
    Freeze(command::freeze::Freeze),
    Unfreeze(command::freeze::Unfreeze),
}

/// The commands that run so often that laying out the others would be felt.
#[derive(Debug, Parser)]
#[command(name = "rea")]
enum Frequent {
    Run(command::run::Run),
    Grant(command::grant::Grant),
    Analyze(command::analyze::Analyze),
}

/// Reads the command line, or ends the process with what is wrong with it.
fn parse() -> Command {
    match Frequent::try_parse() {
        Ok(Frequent::Run(run)) => Command::Run(run),
        Ok(Frequent::Grant(grant)) => Command::Grant(grant),
        Ok(Frequent::Analyze(analyze)) => Command::Analyze(analyze),
        // Help and errors are those of the whole.
        Err(_) => Arguments::parse().command,
    }
}

fn main() -> ExitCode {
    let mut line = env::args_os().skip(1).peekable();
    if line.next_if_eq(lifeline::ARGUMENT).is_some() {
        return lifeline::run(line);
    }
    let answer = match parse() {
        Command::Analyze(analyze) => analyze.run(),
        Command::Explain(explain) => explain.run(),
        Command::Models(models) => models.run(),
        Command::Run(run) => run.run(),
        Command::Grant(grant) => grant.run(),
        Command::Serve(serve) => serve.run(),
        Command::Tools(tools) => tools.run(),
        Command::Call(call) => call.run(),
        Command::Init(init) => init.run(),
        Command::Registry(registry) => registry.run(),
        Command::Pin(pin) => pin.run(),
        Command::Audit(arguments) => Ok(command::audit::run(&arguments)),
        Command::Policy(policy) => policy.run(),
        Command::Check(check) => check.run(),
        Command::Freeze(freeze) => freeze.run(),
        Command::Unfreeze(unfreeze) => unfreeze.run(),
    };
    answer.unwrap_or_else(|failure| command::report(&failure))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::Arguments;

    /// Collects `rea X` and `rea X --flag` for every command and flag.
    fn names(command: &clap::Command, path: &str, into: &mut BTreeSet<String>) {
        for argument in command
            .get_arguments()
            .filter(|argument| !argument.is_hide_set())
        {
            if let Some(long) = argument.get_long() {
                into.insert(format!("{path} --{long}"));
            }
        }
        for inner in command
            .get_subcommands()
            .filter(|inner| !inner.is_hide_set())
        {
            let path = format!("{path} {}", inner.get_name());
            names(inner, &path, into);
            into.insert(path);
        }
    }

    #[test]
    fn the_manual_and_the_help_name_the_same_commands_and_flags() {
        let mut offered = BTreeSet::new();
        names(&Arguments::command(), "rea", &mut offered);
        // A heading is a command; a list item under it that starts with a flag is a flag of it.
        let manual = include_str!("../../docs/manual.md");
        let (mut written, mut section) = (BTreeSet::new(), String::new());
        for line in manual.lines() {
            if let Some(heading) = line
                .strip_prefix("## `")
                .and_then(|rest| rest.strip_suffix('`'))
            {
                heading.clone_into(&mut section);
                written.insert(section.clone());
            } else if let Some(item) = line.strip_prefix("- `--") {
                let end = item
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                    .unwrap_or(item.len());
                written.insert(format!("{section} --{}", &item[..end]));
            }
        }
        let missing: Vec<_> = offered.difference(&written).collect();
        let stale: Vec<_> = written.difference(&offered).collect();
        assert!(
            missing.is_empty() && stale.is_empty(),
            "not in the manual: {missing:?}; only there: {stale:?}"
        );
    }

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
