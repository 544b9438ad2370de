//! What the installed programs say of their own options.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// How long a program may take to print its help.
const PATIENCE_SECONDS: &str = "20";

/// What an installed program says of its options.
pub(crate) enum Told {
    /// It has neither help nor a manual page.
    Nothing,
    /// It did not end in time, so that what it printed may be half of it.
    Late,
    /// The options that its help and its manual page name.
    Options(BTreeSet<String>),
}

/// Returns the options that the help and the manual pages of a command name.
///
/// `words` are the program and the sub-commands; `help` are the words that print its help if
/// `words --help` does not, none if nothing does.
pub(crate) fn options(words: &[String], help: Option<&[String]>) -> Told {
    if help.is_some_and(<[String]>::is_empty) {
        return Told::Nothing;
    }
    let asked = match (help, words.split_first()) {
        (Some(help), _) => help.split_first().map(|(program, rest)| {
            let rest = rest.to_vec();
            (program, rest)
        }),
        (None, Some((program, subs))) => {
            let mut rest = subs.to_vec();
            rest.push("--help".to_owned());
            Some((program, rest))
        }
        (None, None) => None,
    };
    let Some(printed) = asked.map_or(Some(String::new()), |(program, rest)| {
        output(program, &rest)
    }) else {
        return Told::Late;
    };
    let found = tokens(&(page(&words.join("-")) + &printed));
    if found.is_empty() {
        Told::Nothing
    } else {
        Told::Options(found)
    }
}

/// Returns whether the program starts quickly: it is no script whose interpreter has a library to load.
pub(crate) fn is_binary(program: &str) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "looks a program up where the tests run it"
    )]
    let path = env::var_os("PATH").unwrap_or_default();
    let file = env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file());
    let mut start = [0; 4];
    file.and_then(|file| File::open(file).ok())
        .is_some_and(|mut file| file.read_exact(&mut start).is_ok() && start == *b"\x7fELF")
}

/// Where pages are.
const PAGES: &[&str] = &["/usr/local/share/man", "/usr/share/man"];

/// Returns the text of a manual page, or nothing.
///
/// Most pages are read as they are written: to lay a page out takes longer than all the rest. Those
/// that do not spell their options out are laid out all the same.
fn page(name: &str) -> String {
    let Some(source) = source(name) else {
        return String::new();
    };
    let source = match source.strip_prefix(".so ") {
        None => source,
        // The whole page is another one, as in `.so man1/grep.1`.
        Some(other) => {
            let file = other
                .lines()
                .next()
                .and_then(|path| path.rsplit('/').next());
            let name = file.and_then(|file| file.rsplit_once('.'));
            let other = name.and_then(|(name, _)| self::source(name.trim()));
            other.unwrap_or_default()
        }
    };
    if source.contains("\n.Dd ") {
        let arguments = ["--no-hyphenation".to_owned(), name.to_owned()];
        return output("man", &arguments).unwrap_or_default();
    }
    plain(&source)
}

/// Returns what the file of a page holds.
fn source(name: &str) -> Option<String> {
    for root in PAGES {
        for section in ["1", "8"] {
            let file = format!("{root}/man{section}/{name}.{section}");
            if let Ok(text) = fs::read_to_string(&file) {
                return Some(text);
            }
            let packed = format!("{file}.gz");
            if Path::new(&packed).exists() {
                return output("gzip", &["-cd".to_owned(), packed]);
            }
        }
    }
    None
}

/// Takes the marks of the typesetter out of a page.
fn plain(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut characters = source.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('-') => text.push('-'),
            Some('e') => text.push('\\'),
            // A letter, a bracket with a name in it, or a parenthesis and two letters.
            Some('f' | '*') => match characters.next() {
                Some('[') => while characters.next().is_some_and(|inner| inner != ']') {},
                Some('(') => {
                    characters.nth(1);
                }
                Some(_) | None => {}
            },
            Some('(') => {
                let name: String = characters.by_ref().take(2).collect();
                text.push_str(match name.as_str() {
                    "hy" | "mi" => "-",
                    "lq" | "rq" | "dq" | "aq" | "cq" | "oq" => "'",
                    _ => " ",
                });
            }
            Some('s') => {
                characters.nth(1);
            }
            Some('&' | '/' | ',' | ':' | '%' | 'c' | '|' | '^') => {}
            Some(_) | None => text.push(' '),
        }
    }
    text
}

/// Runs a program for a limited time in an empty directory, and returns what it prints; `None` if it did
/// not end.
#[expect(
    clippy::disallowed_methods,
    reason = "the programs themselves are asked"
)]
fn output(program: &str, arguments: &[String]) -> Option<String> {
    /// What `timeout` exits with when it ended the program.
    const ENDED: i32 = 124;
    let run = Command::new("timeout")
        .arg(PATIENCE_SECONDS)
        .arg(program)
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_TARGET_TMPDIR")))
        .env("MANWIDTH", "400")
        .env("COLUMNS", "400")
        .env("MANPAGER", "cat")
        .env("PAGER", "cat")
        .env("GIT_PAGER", "cat")
        .env("NO_COLOR", "1")
        .env("TERM", "dumb")
        .stdin(Stdio::null())
        .output();
    let Ok(output) = run else {
        return Some(String::new());
    };
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push('\n');
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    (output.status.code() != Some(ENDED)).then(|| without_overstrike(&text))
}

/// Removes `x\u{8}` pairs and colours, by which some pages are made bold.
fn without_overstrike(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{8}' => {
                clean.pop();
            }
            '\u{1b}' => {
                for inner in characters.by_ref() {
                    if inner.is_ascii_alphabetic() {
                        break;
                    }
                }
            }
            other => clean.push(other),
        }
    }
    clean
}

/// Returns every word of `text` that looks like an option.
fn tokens(text: &str) -> BTreeSet<String> {
    let text = text
        .replace(['\u{2010}', '\u{2011}', '\u{2212}'], "-")
        .replace("--[no-]", "--no-");
    let mut found = BTreeSet::new();
    for word in text.split(|c: char| c.is_whitespace() || ",|()\"'`;<>{}".contains(c)) {
        // `--[no]color` is two options.
        if let Some(name) = word.strip_prefix("--[no]") {
            found.extend([format!("--{name}"), format!("--no{name}")]);
            continue;
        }
        let optional = word.starts_with('[');
        let word = word
            .trim_start_matches('[')
            .trim_end_matches(['.', ']', ':']);
        if !word.starts_with(['-', '+']) || word.len() < 2 {
            continue;
        }
        let end = word.find(['=', '[']).unwrap_or(word.len());
        let name = word
            .get(..end)
            .unwrap_or_default()
            .trim_end_matches(['.', ':', '/']);
        if let Some(positive) = name.strip_prefix("--no-") {
            found.insert(format!("--{positive}"));
        }
        found.insert(name.to_owned());
        // A group such as `[-abC]`, and a value glued to a letter such as `-j[N]` or `-NNUM`.
        if !name.starts_with("--") {
            let letters = name.get(1..).unwrap_or_default();
            let many = if optional { letters.len() } else { 1 };
            for letter in letters.chars().take(many) {
                found.insert(format!("-{letter}"));
            }
        }
    }
    found.remove("-");
    found.remove("--");
    found
}
