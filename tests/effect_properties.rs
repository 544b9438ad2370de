//! What must hold for every model: nothing unknown is ever called `read`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use plainpipe::effect::{CommandOutline, Models, OptionOutline, Tier, judge};
use plainpipe::{Line, promises};
use proptest::prelude::*;

/// Programs that take every word for text or for a command, so that an unknown word is harmless.
const TEXT_PROGRAMS: &[&str] = &[
    "[", "basename", "dirname", "echo", "expr", "false", "printf", "test", "true", ":",
];

fn quoted(words: &[String]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
        .collect();
    quoted.join(" ")
}

fn tier(words: &[String]) -> Tier {
    let text = quoted(words);
    judge(&Line::parse(&text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))).tier
}

/// Every program with a model, and each of its commands with the words that lead to it.
static COMMANDS: LazyLock<Vec<(Vec<String>, CommandOutline)>> = LazyLock::new(read_commands);

fn read_commands() -> Vec<(Vec<String>, CommandOutline)> {
    let models = Models::shipped();
    let mut all = Vec::new();
    for name in models.names() {
        for model in models.of(name).unwrap() {
            for outline in model.outline().unwrap() {
                let mut words = vec![name.to_owned()];
                words.extend(
                    outline
                        .path
                        .iter()
                        .filter_map(|names| names.first().cloned()),
                );
                all.push((words, outline));
            }
        }
    }
    assert!(all.len() >= 20, "{} commands", all.len());
    all
}

fn everyday() -> Vec<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Everyday {
        read: Vec<String>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/everyday.toml");
    let file: Everyday = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut lines: Vec<Vec<String>> = file
        .read
        .iter()
        .filter_map(|text| Line::parse(text).ok())
        .flat_map(|line| {
            let stages: Vec<Vec<String>> = line
                .stages()
                .map(|stage| stage.argv().map(str::to_owned).collect())
                .collect();
            stages
        })
        .filter(|words| tier(words) == Tier::Read)
        .collect();
    lines.sort();
    lines.dedup();
    assert!(lines.len() >= 20, "{} stages", lines.len());
    lines
}

#[test]
fn no_abbreviation_of_an_option_that_does_more_than_read_is_read() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (words, outline) in COMMANDS.iter() {
        if TEXT_PROGRAMS.contains(&words[0].as_str()) {
            continue;
        }
        let listed: Vec<&String> = outline
            .options
            .iter()
            .flat_map(|option| &option.names)
            .collect();
        for option in outline
            .options
            .iter()
            .filter(|option| option.rule.is_some())
        {
            for name in option
                .names
                .iter()
                .filter(|name| name.starts_with("--") && !name.ends_with('*'))
            {
                for length in 3..name.len() {
                    let short = &name[..length];
                    if listed.iter().any(|known| *known == short) {
                        continue;
                    }
                    for value in ["", "=x"] {
                        let mut line = words.clone();
                        line.push(format!("{short}{value}"));
                        count += 1;
                        if tier(&line) == Tier::Read {
                            wrong.push(quoted(&line));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "{count} lines");
}

#[test]
fn an_option_that_meets_a_rule_has_at_least_its_tier() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (words, outline) in COMMANDS.iter() {
        for option in &outline.options {
            let Some(rule) = option.rule else { continue };
            // A closed set of values, or a place among the operands, decides about the others.
            for name in option
                .names
                .iter()
                .filter(|name| name.starts_with('-') && !name.ends_with(['*', '#']))
            {
                let mut line = words.clone();
                line.push(name.clone());
                line.extend((0..option.values).map(|_| "x".to_owned()));
                count += 1;
                if tier(&line) < rule.tier() {
                    wrong.push(format!("{}: {rule}", quoted(&line)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 300, "{count} lines");
}

#[test]
fn an_unknown_option_ends_read() {
    let mut wrong = Vec::new();
    for words in everyday() {
        if TEXT_PROGRAMS.contains(&words[0].as_str()) {
            continue;
        }
        for unknown in ["--frobnicate", "--frobnicate=x", "-\u{df}", "--\u{df}"] {
            // After `--`, and after the program text of `awk`, the models say that it is the name of a file.
            let closed = words[0] == "awk" || words.iter().any(|word| word == "--");
            let places = [1, words.len()];
            for place in places.into_iter().take(if closed { 1 } else { 2 }) {
                let mut line = words.clone();
                line.insert(place, unknown.to_owned());
                if tier(&line) == Tier::Read {
                    wrong.push(quoted(&line));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_word_before_the_program_or_another_program_ends_read() {
    let mut wrong = Vec::new();
    for words in everyday() {
        for unknown in ["frobnicate", "./x", "sudo", "xyzzy"] {
            let mut line = words.clone();
            line.insert(0, unknown.to_owned());
            if tier(&line) == Tier::Read {
                wrong.push(quoted(&line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the option as one word, if it can be written so wherever it stands.
fn as_one_word(option: &OptionOutline) -> Option<String> {
    let name = option
        .names
        .iter()
        .find(|name| name.starts_with("--") && !name.ends_with(['*', '#']));
    match (option.values, name) {
        (0, Some(name)) => Some(name.clone()),
        (1, Some(name)) => Some(format!("{name}=1")),
        (0, None) => option
            .names
            .iter()
            .find(|name| name.starts_with('-') && name.len() == 2 && *name != "-#")
            .cloned(),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_options_does_not_matter(seed in any::<prop::sample::Index>(), picks in prop::collection::vec(any::<prop::sample::Index>(), 2..5), swap in any::<prop::sample::Index>()) {
        let (words, outline) = seed.get(&COMMANDS);
        let options: Vec<String> = outline.options.iter().filter_map(as_one_word).collect();
        prop_assume!(options.len() > 1);
        let mut chosen: Vec<String> = picks.iter().map(|pick| pick.get(&options).clone()).collect();
        chosen.dedup();
        prop_assume!(chosen.len() > 1);
        let line = |chosen: &[String]| [words.as_slice(), chosen, &["f".to_owned()]].concat();
        let before = line(&chosen);
        let by = swap.index(chosen.len());
        chosen.rotate_left(by);
        let after = line(&chosen);
        prop_assert_eq!(tier(&before), tier(&after), "{} and {}", quoted(&before), quoted(&after));
    }

    #[test]
    fn any_arguments_of_any_program_keep_the_promises(seed in ".{0,8}", words in prop::collection::vec("(-{0,2}[a-z]{0,6}=?)?[ -~\\n]{0,12}", 0..6)) {
        promises::effects(format!("{seed}\n{}", words.join("\n")).as_bytes());
    }

    #[test]
    fn an_unknown_program_is_never_read(name in "[a-z]{3,8}[0-9]{2}q") {
        prop_assert_eq!(tier(&[name, "-h".to_owned()]), Tier::Destructive);
    }
}
