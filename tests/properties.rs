//! The promises of the plain language, for generated text.
//!
//! `PROPTEST_CASES` sets how many texts each property tries (256 unless told).

use plainpipe::{Line, promises};
use proptest::prelude::*;

/// One word in any plain form.
fn word() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[A-Za-z0-9_./:@%+^!-]{1,8}",
        1 => r"\\[ -~]",
        1 => r"'[ -&(-~\n\t]{0,6}'",
        1 => r#""[ !#%-\[\]-_a-~]{0,6}""#,
        1 => r#""(\\[$`"\\]|[a-z ]){0,4}""#,
        1 => "'\u{4e2d}\u{e9}?[a-z ]?'",
        1 => Just("{}".to_owned()),
        1 => "@\\{[0-9a-z]\\}",
    ];
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.concat())
}

/// A line that is plain but for what the parts of its words do to each other.
fn line() -> impl Strategy<Value = String> {
    let blanks = prop_oneof![8 => Just(" "), 1 => Just("\t"), 1 => Just("  "), 1 => Just(" \\\n")];
    let stage = prop::collection::vec((word(), blanks), 1..5).prop_map(|words| {
        words
            .into_iter()
            .flat_map(|(word, blank)| [word, blank.to_owned()])
            .collect::<String>()
    });
    prop::collection::vec(stage, 1..5).prop_map(|stages| stages.join("|"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        promises::parse(&bytes);
    }

    #[test]
    fn any_text_gets_an_answer(text in "\\PC{0,80}") {
        promises::parse(text.as_bytes());
        promises::roundtrip(&text);
    }

    #[test]
    fn composed_lines_keep_the_promises(seed in prop::collection::vec(any::<u8>(), 0..40)) {
        promises::witnesses(&seed);
    }

    #[test]
    fn lines_like_plain_ones_keep_the_promises(line in line()) {
        promises::parse(line.as_bytes());
        promises::roundtrip(&line);
    }

    #[test]
    fn edited_lines_keep_the_promises(line in line()) {
        promises::edits(&line);
    }

    #[test]
    fn any_words_can_be_written_plainly(words in prop::collection::vec("[^\u{0}-\u{1f}\u{7f}]{0,8}", 1..5)) {
        // The program is fixed: not every text may name one.
        let mut command = "a".to_owned();
        for word in &words {
            command.push_str(" '");
            command.push_str(&word.replace('\'', r"'\''"));
            command.push('\'');
        }
        // A character outside ASCII before a quote is refused; canonical text knows how to part them.
        if let Ok(line) = Line::parse(&command) {
            let argv: Vec<_> = line.stages().flat_map(|stage| stage.argv()).skip(1).map(str::to_owned).collect();
            prop_assert_eq!(argv, words);
        }
        promises::roundtrip(&command);
    }
}

#[test]
fn generated_lines_are_mostly_accepted() {
    // Guards the generator: properties of accepted lines say nothing if there are none.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let accepted = (0..400).filter(|_| {
        let tree = line().new_tree(&mut runner).unwrap();
        Line::parse(&proptest::strategy::ValueTree::current(&tree)).is_ok()
    });
    let accepted = accepted.count();
    assert!(accepted > 100, "{accepted} of 400");
}
