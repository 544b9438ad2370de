//! The second witness: the grammar's tree of one stage.
//!
//! Each stage is parsed by itself, over the bytes that the lexer found for it: the grammar takes
//! about twenty times as long for three stages in one text as for two.

use std::sync::OnceLock;

use tree_sitter::{Node, Parser, TreeCursor};

use super::code::Code;
use super::line::{Stage, Word};
use super::span::Span;

/// The grammar's parser, ready for use.
pub(super) struct Grammar {
    parser: Parser,
}

/// The node kinds that a plain stage is made of. Every other kind is refused.
struct Kinds {
    program: u16,
    command: u16,
    command_name: u16,
    concatenation: u16,
    number: u16,
    raw_string: u16,
    string: u16,
    string_content: u16,
    word: u16,
    double_quote: u16,
}

impl Kinds {
    fn known() -> &'static Self {
        static KINDS: OnceLock<Kinds> = OnceLock::new();
        KINDS.get_or_init(|| {
            let language = tree_sitter::Language::new(tree_sitter_bash::LANGUAGE);
            let named = |kind| language.id_for_node_kind(kind, true);
            Self {
                program: named("program"),
                command: named("command"),
                command_name: named("command_name"),
                concatenation: named("concatenation"),
                number: named("number"),
                raw_string: named("raw_string"),
                string: named("string"),
                string_content: named("string_content"),
                word: named("word"),
                double_quote: language.id_for_node_kind("\"", false),
            }
        })
    }
}

impl Grammar {
    #[expect(
        clippy::expect_used,
        reason = "the two crates are pinned to versions that fit; a test reads a line"
    )]
    pub(super) fn new() -> Self {
        let mut parser = Parser::new();
        parser
            .set_language(&tree_sitter_bash::LANGUAGE.into())
            .expect("the grammar fits the parser");
        Self { parser }
    }

    /// Holds `stage`, found in `command` by the lexer, against the grammar's reading of its bytes.
    ///
    /// # Errors
    ///
    /// The code and the place in `command` where the grammar reads something else.
    pub(super) fn confirm(&mut self, command: &str, stage: &Stage<'_>) -> Result<(), (Code, Span)> {
        let place = stage.span();
        let text = place.text(command).unwrap_or_default();
        // The parser gives up only without a language or when cancelled; neither happens here.
        let tree = self
            .parser
            .parse(text, None)
            .ok_or((Code::WitnessDisagreement, place))?;
        let witness = Witness {
            kinds: Kinds::known(),
            text,
            offset: place.start,
        };
        let mut cursor = tree.walk();
        if tree.root_node().has_error() {
            let error = witness.narrowest_error(&mut cursor);
            let span = if error.is_empty() { place } else { error };
            return Err((Code::WitnessDisagreement, span));
        }
        witness.stage(&mut cursor, stage)
    }
}

/// One parsed stage and where it lies in the command.
struct Witness<'a> {
    kinds: &'static Kinds,
    text: &'a str,
    offset: usize,
}

type Answer = Result<(), (Code, Span)>;

impl Witness<'_> {
    fn span(&self, node: Node<'_>) -> Span {
        Span::new(
            self.offset + node.start_byte(),
            self.offset + node.end_byte(),
        )
    }

    fn unmodelled(&self, node: Node<'_>) -> Answer {
        Err((Code::Unmodelled, self.span(node)))
    }

    /// Walks `program`, which must hold one `command` and nothing else.
    fn stage(&self, cursor: &mut TreeCursor<'_>, stage: &Stage<'_>) -> Answer {
        let whole = stage.span();
        let root = cursor.node();
        if root.kind_id() != self.kinds.program || self.span(root) != whole {
            return Err((Code::WitnessDisagreement, whole));
        }
        if !cursor.goto_first_child() {
            return Err((Code::WitnessDisagreement, whole));
        }
        let command = cursor.node();
        if command.kind_id() != self.kinds.command {
            // Its first word is what makes it something else.
            return Err((Code::Unmodelled, stage.program().span));
        }
        if self.span(command) != whole {
            return Err((Code::WitnessDisagreement, whole));
        }
        let mut words = stage.words();
        if !cursor.goto_first_child() {
            return Err((Code::WitnessDisagreement, whole));
        }
        let name = cursor.node();
        if name.kind_id() != self.kinds.command_name || name.child_count() != 1 {
            return self.unmodelled(name);
        }
        cursor.goto_first_child();
        self.word(cursor, words.next())?;
        cursor.goto_parent();
        // Counting first spares the cursor a climb from the last word to find that it is the last.
        for _ in 1..command.child_count() {
            if !cursor.goto_next_sibling() {
                return Err((Code::WitnessDisagreement, whole));
            }
            self.word(cursor, words.next())?;
        }
        match words.next() {
            Some(word) => Err((Code::WitnessDisagreement, word.span)),
            None => Ok(()),
        }
    }

    /// Holds the node at the cursor against the lexer's word.
    fn word(&self, cursor: &mut TreeCursor<'_>, word: Option<Word<'_>>) -> Answer {
        let node = cursor.node();
        let Some(word) = word else {
            return Err((Code::WitnessDisagreement, self.span(node)));
        };
        let disagreement = Err((Code::WitnessDisagreement, word.span));
        if self.span(node) != word.span {
            return disagreement;
        }
        let mut expected = word.text;
        if node.kind_id() != self.kinds.concatenation {
            self.part(cursor, node, &mut expected)?;
        } else if cursor.goto_first_child() {
            let mut at = node.start_byte();
            loop {
                let part = cursor.node();
                if part.start_byte() != at {
                    return disagreement;
                }
                self.part(cursor, part, &mut expected)?;
                at = part.end_byte();
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
            cursor.goto_parent();
            if at != node.end_byte() {
                return disagreement;
            }
        }
        if expected.is_empty() {
            Ok(())
        } else {
            disagreement
        }
    }

    /// Takes the text of one part, as its kind says it is quoted, off the front of `expected`.
    fn part(&self, cursor: &mut TreeCursor<'_>, part: Node<'_>, expected: &mut &str) -> Answer {
        let kind = part.kind_id();
        let source = self.text.get(part.byte_range()).unwrap_or_default();
        let disagreement = Err((Code::WitnessDisagreement, self.span(part)));
        if source.is_empty() {
            return disagreement;
        }
        let agrees = if kind == self.kinds.word || kind == self.kinds.number {
            if part.child_count() > 0 {
                return self.unmodelled(part);
            }
            take_bare(source, expected)
        } else if kind == self.kinds.raw_string {
            let inner = source
                .strip_prefix('\'')
                .and_then(|rest| rest.strip_suffix('\''));
            inner.is_some_and(|inner| !inner.contains('\'') && take(inner, expected))
        } else if kind == self.kinds.string {
            self.string_children(cursor, part)?;
            let inner = source
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            inner.is_some_and(|inner| take_double(inner, expected))
        } else {
            return self.unmodelled(part);
        };
        if agrees { Ok(()) } else { disagreement }
    }

    /// Refuses a string that holds anything but text between its two quotes.
    ///
    /// The text is not read from the nodes: the grammar leaves out blanks and newlines there.
    fn string_children(&self, cursor: &mut TreeCursor<'_>, string: Node<'_>) -> Answer {
        let (all, named) = (string.child_count(), string.named_child_count());
        if all == 2 && named == 0 {
            return Ok(());
        }
        if all == 3 && named == 1 {
            return match string.named_child(0) {
                Some(child) if child.kind_id() != self.kinds.string_content => {
                    self.unmodelled(child)
                }
                _ => Ok(()),
            };
        }
        if !cursor.goto_first_child() {
            return self.unmodelled(string);
        }
        loop {
            let child = cursor.node();
            if child.kind_id() != self.kinds.string_content
                && child.kind_id() != self.kinds.double_quote
            {
                return self.unmodelled(child);
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
        Ok(())
    }

    /// Returns the place of the first node that is an error or was made up, which may be empty.
    fn narrowest_error(&self, cursor: &mut TreeCursor<'_>) -> Span {
        loop {
            let node = cursor.node();
            let descend = node.has_error() && !node.is_error() && !node.is_missing();
            if descend && cursor.goto_first_child() {
                while !cursor.node().has_error() && cursor.goto_next_sibling() {}
                continue;
            }
            return self.span(node);
        }
    }
}

/// Takes `text` off the front of `expected`.
fn take(text: &str, expected: &mut &str) -> bool {
    match expected.strip_prefix(text) {
        Some(rest) => {
            *expected = rest;
            true
        }
        None => false,
    }
}

/// Takes an unquoted part: a backslash stands for the byte after it, and no blank is bare.
fn take_bare(source: &str, expected: &mut &str) -> bool {
    if source
        .bytes()
        .all(|byte| byte > b' ' && !matches!(byte, b'\\' | b'\'' | b'"'))
    {
        return take(source, expected);
    }
    let mut rest = source;
    while let Some(at) = rest.find(['\\', ' ', '\t', '\n', '\r', '\'', '"']) {
        let (before, from) = rest.split_at(at);
        let mut after = from.chars();
        if after.next() != Some('\\') || !take(before, expected) {
            return false;
        }
        rest = match after.next() {
            Some(' '..='~') => from.get(2..).unwrap_or_default(),
            _ => return false,
        };
        if !take(from.get(1..2).unwrap_or_default(), expected) {
            return false;
        }
    }
    take(rest, expected)
}

/// Takes what stands between double quotes.
fn take_double(source: &str, expected: &mut &str) -> bool {
    let mut rest = source;
    while let Some(at) = rest.find(['\\', '"', '$', '`']) {
        let (before, from) = rest.split_at(at);
        if !from.starts_with('\\') || !take(before, expected) {
            return false;
        }
        let (kept, skip) = match from.as_bytes().get(1) {
            Some(b'$' | b'`' | b'"' | b'\\') => (from.get(1..2), 2),
            Some(b'\n') => (Some(""), 2),
            Some(_) => (from.get(..1), 1),
            None => return false,
        };
        if !take(kept.unwrap_or_default(), expected) {
            return false;
        }
        rest = from.get(skip..).unwrap_or_default();
    }
    take(rest, expected)
}
