//! Holds the promises to inputs made at random from what such files and names are made of.

use proptest::prelude::*;
use rea_gateway::promises;

const LINES: &[&str] = &[
    "version: \"1\"",
    "profile: minimal",
    "installed_by: a",
    "installed_at: b",
    "autonomy_level: L3",
    "autonomy_level: L0",
    "max_autonomy_level: L1",
    "max_autonomy_level: L3",
    "promotion_requires_human_approval: true",
    "blocked_paths: []",
    "blocked_paths: [a, *b]",
    "shell: {on_refused: as_destructive}",
    "audit: {rotation: {}}",
    "redact: {patterns: [{name: \"a\\u0085\", regex: '(\\w+)+$'}]}",
    "unknown\u{1b}: 1",
    "<<: {}",
    "\t",
    "- [",
    "&a : *a",
];

const WORDS: &[&str] = &[
    "get", "list", "delete", "run", "bash", "command", "and", "_", "-", ".", "File", "SQL", "é",
    "2", "shell", "query", "out", "check", "execute", "webhook", "terminal", "s", "undelete",
];

const ARGUMENTS: &[&str] = &[
    "",
    "{}",
    r#"{"command":"ls"}"#,
    r#"{"command":"ls *"}"#,
    r#"{"cmd":1}"#,
    r#"{"cmd":"a","cmd":"b"}"#,
    "[",
    "{\"command\":\"\\ud800\"}",
];

proptest! {
    #[test]
    fn any_lines_are_a_policy_or_a_fault(lines in proptest::collection::vec(prop::sample::select(LINES), 0..14)) {
        promises::policy(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_bytes_are_a_policy_or_a_fault(bytes: Vec<u8>) {
        promises::policy(&bytes);
    }

    #[test]
    fn any_words_are_a_name_with_a_tier(
        server in prop::sample::select(WORDS),
        words in proptest::collection::vec(prop::sample::select(WORDS), 0..8),
        arguments in prop::sample::select(ARGUMENTS),
    ) {
        promises::tool_tier(format!("{server}\n{}\n{arguments}", words.concat()).as_bytes());
    }

    #[test]
    fn any_text_is_a_name_with_a_tier(text: String) {
        promises::tool_tier(text.as_bytes());
    }
}

/// The smallest policy with its level changed, so that random lines meet one that loads, too.
#[test]
fn a_whole_policy_keeps_the_promise_at_every_level() {
    for level in ["L0", "L1", "L2", "L3"] {
        for ceiling in ["L0", "L1", "L2", "L3"] {
            let text = format!(
                "version: \"1\"\nprofile: a\ninstalled_by: a\ninstalled_at: a\nautonomy_level: {level}\n\
                 max_autonomy_level: {ceiling}\npromotion_requires_human_approval: true\nblocked_paths: []\n"
            );
            promises::policy(text.as_bytes());
        }
    }
}
