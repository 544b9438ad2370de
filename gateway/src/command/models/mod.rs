//! `rea models`: what is known of each program.

mod folder;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use plainpipe::Visible;
use plainpipe::effect::{CommandOutline, Model, Models, Rule};

pub(crate) use folder::models;

use super::{Answer, Failure, written};

/// Lists, shows and checks the models by which arguments are judged.
///
/// Exit status: 0 if the models asked for are sound, 1 if one has a fault or there is none, 2 if a
/// file cannot be read.
#[derive(Args, Debug)]
pub(crate) struct Show {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the programs that have a model
    List,
    /// Show what the model of a program lists
    Show {
        /// The name of the program
        program: String,
    },
    /// Say what is wrong with the model in a file
    Check {
        /// The TOML file of a model
        file: PathBuf,
    },
}

impl Show {
    pub(crate) fn run(self) -> Answer {
        let mut out = anstream::stdout().lock();
        match self.what {
            What::List => {
                let models = models()?;
                let outcome = list(&mut out, &models).and_then(|()| out.flush());
                written(outcome, ExitCode::SUCCESS)
            }
            What::Show { program } => show(&mut out, &*models()?, &program),
            What::Check { file } => {
                let read = folder::text_of(&file);
                let (text, _) = read.map_err(|error| Failure::new("reading the model", error))?;
                check(&mut out, &file, &text)
            }
        }
    }
}

fn list(out: &mut impl Write, models: &Models) -> io::Result<()> {
    let names = models.names();
    let width = names
        .iter()
        .map(|name| name.len())
        .max()
        .unwrap_or_default();
    for name in names {
        for model in models.of(name).into_iter().flatten() {
            let summary = Visible(model.summary());
            write!(
                out,
                "{name:width$}  {summary}",
                name = Visible(name).to_string()
            )?;
            let Some(source) = models.source(model) else {
                writeln!(out)?;
                continue;
            };
            let replaces = model.replaces_shipped() && Models::file_of(name).is_some();
            let instead = if replaces {
                ", instead of the shipped one"
            } else {
                ""
            };
            writeln!(out, "  (yours{instead}: {})", Visible(source))?;
        }
    }
    Ok(())
}

fn show(out: &mut impl Write, models: &Models, program: &str) -> Answer {
    let found = models
        .of(program)
        .map_err(|error| Failure::new("reading the model", error.clone()))?;
    if found.is_empty() {
        let outcome = writeln!(
            out,
            "no model knows {}: every line that runs it is destructive",
            Visible(program)
        );
        return written(outcome, ExitCode::FAILURE);
    }
    for model in found {
        let outlines = model
            .outline()
            .map_err(|error| Failure::new("reading the model", error))?;
        let outcome = write_source(out, models, model, program)
            .and_then(|()| write_model(out, model, &outlines));
        if outcome.is_err() {
            return written(outcome, ExitCode::SUCCESS);
        }
    }
    written(out.flush(), ExitCode::SUCCESS)
}

fn write_model(out: &mut impl Write, model: &Model, outlines: &[CommandOutline]) -> io::Result<()> {
    let list = |words: &[String]| Visible(&words.join(", ")).to_string();
    let summary = Visible(model.summary());
    writeln!(out, "{}: {summary}", list(model.names()))?;
    writeln!(out, "from: {}", list(model.manual()))?;
    if !model.environment().is_empty() {
        writeln!(
            out,
            "variables that change what runs: {}",
            list(model.environment())
        )?;
    }
    for outline in outlines {
        let path: Vec<String> = outline.path.iter().map(|names| names.join("|")).collect();
        if !path.is_empty() {
            writeln!(out, "\n{}", Visible(&path.join(" ")))?;
        }
        for rule in &outline.always {
            writeln!(out, "  always: {rule} ({})", rule.tier())?;
        }
        for option in &outline.options {
            let effect = option.rule.map_or("read", Rule::as_str);
            writeln!(out, "  {:<40} {effect}", list(&option.names))?;
        }
    }
    Ok(())
}

/// Writes where a model comes from, and what that means for the shipped one.
fn write_source(
    out: &mut impl Write,
    models: &Models,
    model: &Model,
    program: &str,
) -> io::Result<()> {
    let Some(source) = models.source(model) else {
        let file = Models::file_of(program).unwrap_or(program);
        return writeln!(out, "model: shipped ({file}.toml)");
    };
    let shipped = match (Models::file_of(program), model.replaces_shipped()) {
        (None, _) => "there is no shipped one",
        (Some(_), true) => "instead of the shipped one, which it may loosen",
        (Some(_), false) => "beside the shipped one, and both count",
    };
    writeln!(out, "model: {} ({shipped})", Visible(source))
}

fn check(out: &mut impl Write, file: &Path, text: &str) -> Answer {
    let (model, faults) = folder::checked(text);
    let mut lines: Vec<String> = faults
        .iter()
        .map(|fault| folder::told(file, text, fault))
        .collect();
    let status = if faults.is_empty() {
        lines.push(format!("{}: sound", file.display()));
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    };
    // What is asked for in so many words is said, not blamed.
    if let Some(model) = model.filter(Model::replaces_shipped) {
        let shipped = model
            .names()
            .iter()
            .filter(|name| Models::file_of(name).is_some());
        lines.extend(shipped.map(|name| {
            format!(
                "{}: replaces the shipped model of {name}, which it may loosen",
                file.display()
            )
        }));
    }
    let outcome = lines
        .iter()
        .try_for_each(|line| writeln!(out, "{}", Visible(line)));
    written(outcome.and_then(|()| out.flush()), status)
}
