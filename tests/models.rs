//! Every shipped model is sound, and true to the installed program.
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::print_stderr, reason = "says what is skipped")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::{fs, thread};

use plainpipe::effect::{CommandOutline, Model, Models};

#[path = "support/manual.rs"]
mod manual;

use manual::Told;

/// Fewer models than these mean that some were lost.
const LEAST_MODELS: usize = 200;

/// At least so many commands are installed wherever the tests run.
const LEAST_CHECKED: usize = 60;

fn models() -> Vec<(&'static str, &'static Model)> {
    static SHIPPED: Models = Models::shipped();
    let mut files = BTreeSet::new();
    let mut models = Vec::new();
    for name in SHIPPED.names() {
        if files.insert(Models::file_of(name).unwrap()) {
            models.extend(
                SHIPPED
                    .of(name)
                    .unwrap()
                    .into_iter()
                    .map(|model| (name, model)),
            );
        }
    }
    models
}

#[test]
fn every_model_is_sound() {
    let models = models();
    let wrong: Vec<String> = models
        .iter()
        .flat_map(|(name, model)| {
            model
                .check()
                .into_iter()
                .map(move |fault| format!("{name}: {fault}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(models.len() >= LEAST_MODELS, "{} models", models.len());
}

/// One command of a model, and the options that the installed program says it has.
struct Compared {
    /// Which model it belongs to.
    model: &'static str,
    words: Vec<String>,
    outline: CommandOutline,
    /// `None` if neither help nor a manual page is installed.
    known: Option<BTreeSet<String>>,
}

#[test]
fn models_are_true_to_the_installed_programs() {
    #[expect(
        clippy::disallowed_methods,
        reason = "how much is compared is asked of the environment"
    )]
    let all = std::env::var_os("PLAINPIPE_MODELS").is_some_and(|value| value == "all");
    let mut jobs = Vec::new();
    for (name, model) in models() {
        // A program in Python or for Node takes a second to print a help text, and has dozens.
        if !all && !model.names().iter().any(|name| manual::is_binary(name)) {
            continue;
        }
        for outline in model.outline().unwrap() {
            jobs.push((name, model, outline));
        }
    }
    let (jobs, compared) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let job = jobs.lock().unwrap().pop();
                    let Some((name, model, outline)) = job else {
                        break;
                    };
                    let asked = ask(name, model, outline);
                    compared.lock().unwrap().push(asked);
                }
            });
        }
    });
    let mut compared = compared.into_inner().unwrap();
    compared.sort_by(|one, other| one.words.cmp(&other.words));
    for command in compared.iter().filter(|command| command.known.is_none()) {
        eprintln!(
            "skipped: needs the help or the manual of {}",
            command.words.join(" ")
        );
    }
    let report = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .unwrap()
        .join("models-report.txt");
    fs::write(&report, lacking(&compared)).unwrap();
    let checked = compared
        .iter()
        .filter(|command| command.known.is_some())
        .count();
    eprintln!(
        "{checked} commands compared; {} tells what models lack",
        report.display()
    );
    let invented = invented(&compared);
    assert!(
        invented.is_empty(),
        "the installed program has no such option:\n{}",
        invented.join("\n")
    );
    assert!(
        checked >= LEAST_CHECKED,
        "only {checked} commands are installed"
    );
}

fn ask(model: &'static str, all: &Model, outline: CommandOutline) -> Compared {
    let mut known: Option<BTreeSet<String>> = None;
    for words in callings(all.names(), &outline.path) {
        match manual::options(&words, outline.help.as_deref()) {
            Told::Options(found) => known.get_or_insert_default().extend(found),
            Told::Nothing => {}
            Told::Late => {
                known = None;
                break;
            }
        }
        // Names that share a model may have pages of their own; most have not.
        let told = known.as_ref();
        let is_told = |known: &BTreeSet<String>| {
            harmless(&outline).all(|name| known.contains(name) || outline.unchecked.contains(name))
        };
        if told.is_some_and(is_told) {
            break;
        }
    }
    let words = callings(all.names(), &outline.path).next();
    Compared {
        model,
        words: words.unwrap_or_default(),
        outline,
        known,
    }
}

/// Returns the ways to call a command: by each name of the program, or by each name of the sub-command.
fn callings<'a>(
    names: &'a [String],
    path: &'a [Vec<String>],
) -> Box<dyn Iterator<Item = Vec<String>> + 'a> {
    let Some((last, outer)) = path.split_last() else {
        return Box::new(names.iter().map(|name| vec![name.clone()]));
    };
    let firsts = outer.iter().filter_map(|names| names.first());
    let start: Vec<String> = names.iter().take(1).chain(firsts).cloned().collect();
    Box::new(last.iter().map(move |name| {
        let mut words = start.clone();
        words.push(name.clone());
        words
    }))
}

/// Returns the names of options that a model calls harmless and that a manual can be asked for.
fn harmless(outline: &CommandOutline) -> impl Iterator<Item = &String> {
    outline
        .options
        .iter()
        .filter(|option| option.rule.is_none())
        .flat_map(|option| &option.names)
        .filter(|name| name.starts_with(['-', '+']) && !name.ends_with(['#', '*']))
}

/// Returns the options that a model calls harmless and that no command of the program which lists them has.
///
/// Sub-commands share groups of options, and a manual page may leave a group to another page.
fn invented(compared: &[Compared]) -> Vec<String> {
    let mut found: BTreeMap<(&str, &str), (bool, String)> = BTreeMap::new();
    for command in compared {
        let Some(known) = &command.known else {
            continue;
        };
        for name in harmless(&command.outline) {
            let exists = known.contains(name) || command.outline.unchecked.contains(name);
            let entry = found
                .entry((command.model, name))
                .or_insert_with(|| (false, format!("{}: {name}", command.words.join(" "))));
            entry.0 |= exists;
        }
    }
    found
        .into_values()
        .filter(|(exists, _)| !exists)
        .map(|(_, shown)| shown)
        .collect()
}

/// Returns a line for each command that has options which its model lacks.
fn lacking(compared: &[Compared]) -> String {
    let mut report = String::new();
    for command in compared {
        let top = compared
            .iter()
            .find(|other| other.model == command.model && other.outline.path.is_empty());
        let listed: BTreeSet<&String> = std::iter::once(command)
            .chain(top)
            .flat_map(|command| {
                command
                    .outline
                    .options
                    .iter()
                    .flat_map(|option| &option.names)
            })
            .chain(&command.outline.unchecked)
            .collect();
        let lacking: Vec<&str> = command
            .known
            .iter()
            .flatten()
            .filter(|name| name.starts_with("--") || (name.starts_with('-') && name.len() == 2))
            .filter(|name| !listed.contains(name))
            .map(String::as_str)
            .collect();
        if !lacking.is_empty() {
            writeln!(report, "{}: {}", command.words.join(" "), lacking.join(" ")).unwrap();
        }
    }
    report
}
