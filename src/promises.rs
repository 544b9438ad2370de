//! What must hold for any input: property tests and fuzz targets call these.
//!
//! Each function panics, with the input in a form that can be pasted into a test, when a promise is
//! broken. Not part of the public API.
#![expect(clippy::panic, reason = "a broken promise is reported by a panic")]

use crate::effect::{self, LineEffects, Models};
use crate::plain::{Code, Line, MAX_BYTES, Reader, Refusal, Snippet, Stage};
use crate::program::{Builtin, Shebang, Shell};

/// Any bytes get an answer that keeps the promises of the plain language.
pub fn parse(command: &[u8]) {
    let once = Line::parse_bytes(command);
    let mut reader = Reader::new();
    assert_eq!(
        once,
        reader.read_bytes(command),
        "the same text got two answers: {}",
        shown(command)
    );
    assert_eq!(
        once,
        reader.read_bytes(command),
        "a used reader answers differently: {}",
        shown(command)
    );
    match (&once, std::str::from_utf8(command)) {
        (Ok(line), Ok(text)) => accepted(line, text),
        (Ok(_), Err(_)) => panic!("accepted, and no text: {}", shown(command)),
        (Err(refusal), text) => refused(refusal, command, text.ok()),
    }
}

/// The head of any file is read as the kernel reads it.
pub fn shebang(head: &[u8]) {
    let once = Shebang::read(head);
    let seen = head.get(..256).unwrap_or(head);
    assert_eq!(
        once,
        Shebang::read(seen),
        "bytes past the first 256 count: {}",
        shown(head)
    );
    let starts = head.starts_with(b"#!");
    let Ok(Some(line)) = once else {
        assert_eq!(starts, once.is_err(), "no script, and yet: {}", shown(head));
        return;
    };
    assert!(starts, "a script, and yet: {}", shown(head));
    let name = line.interpreter.as_encoded_bytes();
    assert!(!name.is_empty(), "no interpreter: {}", shown(head));
    let rest = line.argument.map(std::ffi::OsStr::as_encoded_bytes);
    let end = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | 0);
    assert!(!name.iter().any(end), "more than a word: {}", shown(head));
    let rest = rest.unwrap_or_default();
    assert!(
        !rest.iter().any(|byte| matches!(byte, b'\n' | 0))
            && !matches!(rest.first(), Some(b' ' | b'\t')),
        "not an argument: {}",
        shown(head)
    );
    // Written out again, the line says the same.
    let again = [b"#! ", name, b"\t", rest, b"\n"].concat();
    if again.len() <= 256 && !matches!(rest.last(), Some(b' ' | b'\t')) {
        let again =
            Shebang::read(&again).unwrap_or_else(|error| panic!("{error}: {}", shown(head)));
        let again = again.map(|line| (line.interpreter, line.argument.unwrap_or_default()));
        let line = (line.interpreter, line.argument.unwrap_or_default());
        assert_eq!(again, Some(line), "{}", shown(head));
    }
}

/// Canonical text means what the line meant.
pub fn roundtrip(command: &str) {
    let Ok(line) = Line::parse(command) else {
        return;
    };
    let canonical = line.to_shell();
    if canonical.len() > MAX_BYTES {
        return;
    }
    let again = Line::parse(&canonical).unwrap_or_else(|refusal| {
        panic!("canonical text {canonical:?} of {command:?} is refused: {refusal}")
    });
    assert!(
        argv(&line).eq(argv(&again)),
        "{command:?} and its canonical text {canonical:?} differ"
    );
    assert_eq!(
        again.to_shell(),
        canonical,
        "canonical text of {command:?} is not canonical"
    );
}

/// Any bytes in the place of the file of grants are an error, or grants that are written and read
/// back as they were.
pub fn grant_store(bytes: &[u8]) {
    crate::grant::check_file_content(bytes);
}

/// A line put together from `seed` by the rules of the grammar, and more often than not by
/// breaking one of them, keeps the promises too.
pub fn witnesses(seed: &[u8]) {
    let command = composed(seed);
    parse(command.as_bytes());
    roundtrip(&command);
}

/// What a line could do is said the same way each time, within the bounds of the line, and does not
/// depend on how its words are quoted.
///
/// The bytes are judged as a line, and again as the arguments, one a line, of a program with a model.
pub fn effects(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    judged(text);
    let names = Models::shipped();
    let names = names.names();
    let mut words = text.split('\n');
    let first = words.next().unwrap_or_default();
    let seed = first.bytes().fold(0_usize, |sum, byte| {
        sum.wrapping_mul(31) ^ usize::from(byte)
    });
    let Some(name) = seed.checked_rem(names.len()).and_then(|at| names.get(at)) else {
        return;
    };
    let mut line = (*name).to_owned();
    for word in words {
        line.push_str(" '");
        line.push_str(&word.replace('\'', r"'\''"));
        line.push('\'');
    }
    judged(&line);
}

fn judged(text: &str) {
    let Ok(line) = Line::parse(text) else {
        return;
    };
    let found = effect::judge(&line);
    assert_eq!(
        found,
        effect::judge(&line),
        "the same line got two answers: {text:?}"
    );
    assert_eq!(
        found.stages.len(),
        line.stages().len(),
        "stages of {text:?}"
    );
    let highest = found.stages.iter().map(|stage| stage.tier).max();
    assert_eq!(
        Some(found.tier),
        highest,
        "the tier of {text:?} is not that of its stages"
    );
    for (stage, effects) in line.stages().zip(&found.stages) {
        let highest = effects.effects.iter().map(|effect| effect.tier).max();
        assert_eq!(
            effects.tier,
            highest.unwrap_or(effect::Tier::Read),
            "the tier of a stage of {text:?}"
        );
        assert!(
            effects.inner.iter().all(|inner| inner.tier <= effects.tier),
            "an inner program of {text:?} does more than its stage"
        );
        let (start, end) = stage.span().into();
        let spans = effects.effects.iter().map(|effect| effect.span);
        let spans = spans.chain(effects.paths.iter().map(|path| path.span));
        for span in spans.chain(effects.inner.iter().map(|inner| inner.span)) {
            assert!(
                span.text(text).is_some() && start <= span.start && span.end <= end,
                "a span of {text:?} leaves its stage: {span:?}"
            );
        }
    }
    if let Ok(canonical) = Line::parse(&line.to_shell()) {
        let again = effect::judge(&canonical);
        let rules = |effects: &LineEffects| {
            effects
                .effects()
                .map(|effect| (effect.rule, effect.word.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            rules(&found),
            rules(&again),
            "quoting changes what {text:?} could do"
        );
    }
}

/// Runs the promise of the fuzz target called `target`.
pub fn replay(target: &str, input: &[u8]) {
    let text = std::str::from_utf8(input);
    match (target, text) {
        ("parse", _) => parse(input),
        ("shebang", _) => shebang(input),
        ("grant_store", _) => grant_store(input),
        ("witnesses", _) => witnesses(input),
        ("roundtrip", Ok(text)) => {
            roundtrip(text);
            edits(text);
        }
        ("agree_bash", Ok(text)) => agree_bash(text),
        ("effects", _) => effects(input),
        ("roundtrip" | "agree_bash", Err(_)) => {}
        _ => panic!("no promise is called {target}"),
    }
}

/// Every edit of one byte of an accepted line keeps the promises.
pub fn edits(command: &str) {
    if Line::parse(command).is_err() {
        return;
    }
    let bytes = command.as_bytes();
    for at in 0..bytes.len() {
        let (before, after) = bytes.split_at(at);
        let (byte, rest) = after.split_at(1);
        let removed = [before, rest].concat();
        let doubled = [before, byte, byte, rest].concat();
        let swapped = match rest {
            [next, tail @ ..] => [before, &[*next], byte, tail].concat(),
            [] => continue,
        };
        for edited in [removed, doubled, swapped] {
            parse(&edited);
            if let Ok(text) = std::str::from_utf8(&edited) {
                roundtrip(text);
            }
        }
    }
}

/// Returns a line composed from `seed`, for callers that want to run what is accepted.
pub fn composed(seed: &[u8]) -> String {
    let mut command = String::new();
    for &byte in seed {
        let piece = PIECES
            .get(usize::from(byte) % PIECES.len())
            .copied()
            .unwrap_or_default();
        if command.len() + piece.len() > MAX_BYTES {
            break;
        }
        command.push_str(piece);
    }
    command
}

/// What lines are composed of: plain parts, and the bytes that shells and the grammar part on.
const PIECES: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    "a",
    "b",
    "ls",
    "x1",
    "-n",
    "--k=v",
    "/p/q",
    ".",
    "..",
    "@",
    "%",
    "+",
    ":",
    "=",
    "~",
    "^",
    "!",
    ",",
    "#",
    "{}",
    "{",
    "}",
    "@{",
    "[",
    "]",
    " | ",
    "|",
    "'",
    "'",
    "''",
    "'q r'",
    "'$x'",
    "\"",
    "\"",
    "\"\"",
    "\"d e\"",
    "\"\\$\"",
    "\"\\\n\"",
    "\\",
    "\\ ",
    "\\'",
    "\\\"",
    "\\n",
    "\\;",
    "\\#",
    "\\~",
    "\\=",
    " \\\n",
    "\\\n",
    "\n",
    "\t",
    "\r",
    "0",
    "1",
    "9",
    "'\u{4e2d}'",
    "\u{e9}",
    "\"\u{e9}1\"",
    "nohup ",
    "if",
    "time ",
    "type",
    "r",
    "a:",
    "k=v",
    "*",
    "$",
    "`",
    ";",
    "&",
    "<",
    ">",
    "(",
    ")",
];

/// bash sees the words that are reported.
///
/// The line is read by `bash --norc` with an empty environment and a function in the place of
/// every command that is not found, so that nothing it names can run. Builtins are left out, since
/// they would run.
#[expect(
    clippy::disallowed_methods,
    reason = "asking a real shell is what this promise is about"
)]
pub fn agree_bash(command: &str) {
    let Ok(line) = Line::parse(command) else {
        return;
    };
    let runs_by_itself = |stage: Stage<'_>| {
        let builtin = Builtin::of(Shell::Bash, stage.program(), stage.words().skip(1));
        stage.program().text.contains('/') || !matches!(builtin, Ok(None))
    };
    if line.stages().len() > 1 || line.stages().any(runs_by_itself) {
        return;
    }
    let handler = "command_not_found_handle() { printf '%s\\0' \"$@\"; }\n";
    let outcome = std::process::Command::new("/bin/bash")
        .args([
            "--norc",
            "--noprofile",
            "-c",
            &format!("{handler}{command}"),
        ])
        .env_clear()
        .env("PATH", "/nonexistent")
        .current_dir("/")
        .stdin(std::process::Stdio::null())
        .output();
    let output = outcome.unwrap_or_else(|error| panic!("bash does not start: {error}"));
    let mut words = String::new();
    for word in line.stages().flat_map(|stage| stage.argv()) {
        words.push_str(word);
        words.push('\0');
    }
    assert!(
        output.stdout == words.as_bytes(),
        "{command:?} is {words:?} to us, to bash {:?}",
        shown(&output.stdout)
    );
}

fn accepted(line: &Line, command: &str) {
    let mut end = 0;
    let mut first_stage = true;
    assert!(
        line.stages().len() > 0,
        "accepted without a stage: {command:?}"
    );
    for stage in line.stages() {
        assert!(
            stage.words().len() > 0,
            "accepted without a program: {command:?}"
        );
        for (index, word) in stage.words().enumerate() {
            let gap = command.get(end..word.span.start);
            let gap =
                gap.unwrap_or_else(|| panic!("words overlap or cut a character: {command:?}"));
            let blanks = match (index, first_stage) {
                (0, true) => gap,
                (0, false) => {
                    let (before, after) = gap
                        .split_once('|')
                        .unwrap_or_else(|| panic!("no pipe: {command:?}"));
                    assert!(is_gap(before), "{before:?} is no gap: {command:?}");
                    after
                }
                _ => {
                    assert!(!gap.is_empty(), "two words touch: {command:?}");
                    gap
                }
            };
            assert!(is_gap(blanks), "{blanks:?} is no gap: {command:?}");
            assert!(!word.span.is_empty(), "an empty word: {command:?}");
            end = word.span.end;
        }
        first_stage = false;
        tree_agrees(&stage, command);
    }
    let tail = command.get(end..).unwrap_or_default();
    let joined = tail.replace("\\\n", "");
    let newlines = joined.len() - joined.trim_end_matches('\n').len();
    let tail = tail.get(..tail.len() - newlines).unwrap_or_default();
    assert!(is_gap(tail), "{tail:?} is no gap: {command:?}");
    let whole = parse_tree(command);
    if line.stages().len() < 3 {
        // The grammar's error recovery drops in on longer pipelines, and only there.
        assert!(
            !whole.root_node().has_error(),
            "the tree of the whole line has an error: {command:?}"
        );
    }
}

/// Blanks, and after the first of them backslashes that end a line.
fn is_gap(gap: &str) -> bool {
    let joined = gap.replace("\\\n", "");
    joined.bytes().all(|byte| byte == b' ' || byte == b'\t') && !gap.starts_with('\\')
}

/// No byte of a stage lies outside the leaves of its tree but for the gaps.
fn tree_agrees(stage: &Stage<'_>, command: &str) {
    let text = stage.span().text(command).unwrap_or_default();
    let tree = parse_tree(text);
    assert!(
        !tree.root_node().has_error(),
        "accepted, and the tree has an error: {command:?}"
    );
    let command_node = tree.root_node().child(0);
    let words = command_node.map_or(0, |node| node.child_count() as usize);
    assert_eq!(
        words,
        stage.words().len(),
        "the tree counts other words: {command:?}"
    );
}

fn parse_tree(text: &str) -> tree_sitter::Tree {
    let mut parser = tree_sitter::Parser::new();
    let language = parser.set_language(&tree_sitter_bash::LANGUAGE.into());
    language
        .ok()
        .and_then(|()| parser.parse(text, None))
        .unwrap_or_else(|| panic!("no parser"))
}

fn refused(refusal: &Refusal, command: &[u8], text: Option<&str>) {
    let span = refusal.span();
    assert!(
        span.start <= span.end && span.end <= command.len(),
        "{refusal} lies outside {}",
        shown(command)
    );
    assert!(
        !span.is_empty() || command.is_empty(),
        "{refusal} blames nothing in {}",
        shown(command)
    );
    if let Some(text) = text {
        assert!(
            span.text(text).is_some(),
            "{refusal} cuts a character of {text:?}"
        );
        let drawn = Snippet::new(text, span).to_string();
        assert!(
            drawn.contains('^') && drawn.lines().count() == 2,
            "{text:?} is drawn as {drawn:?}"
        );
    } else {
        assert!(
            matches!(refusal.code(), Code::NotUtf8 | Code::TooLong),
            "{refusal} in {}",
            shown(command)
        );
    }
    let line = refusal.to_string();
    assert!(
        !line.chars().any(char::is_control),
        "{line:?} is not one printable line"
    );
}

fn argv(line: &Line) -> impl Iterator<Item = Vec<&str>> {
    line.stages().map(|stage| stage.argv().collect())
}

fn shown(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}
