//! A command drawn with carets under a part of it.

use std::fmt::{self, Display, Formatter};

use unicode_width::UnicodeWidthStr;

use super::escape::write_visible;
use super::span::Span;

/// The widest line that is drawn, in columns; a longer command is cut around the span.
const WIDTH: usize = 96;

/// Draws the line of `command` that holds a span, and carets below the span.
///
/// Two lines of text, each ending in a newline. What a terminal would act on is escaped, as
/// [`Visible`](super::Visible) does, and counted as it is shown; newlines are shown as `\n`. A long command is cut to
/// the neighbourhood of the span, with `…` where text is missing.
#[derive(Clone, Copy, Debug)]
pub struct Snippet<'a> {
    command: &'a str,
    span: Span,
}

impl<'a> Snippet<'a> {
    /// Returns the drawing of `span` in `command`; a span that is no slice of it is drawn at the end.
    pub fn new(command: &'a str, span: Span) -> Self {
        let span = if span.text(command).is_some() {
            span
        } else {
            Span::new(command.len(), command.len())
        };
        Self { command, span }
    }
}

impl Display for Snippet<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let part = |start, end| self.command.get(start..end).unwrap_or_default();
        let found = head(part(self.span.start, self.span.end), WIDTH / 2);
        let room = WIDTH - width(&found).min(WIDTH / 2);
        let before = tail(part(0, self.span.start), room / 2);
        let after = head(
            part(self.span.end, self.command.len()),
            room - width(&before).min(room),
        );
        writeln!(f, "{before}{found}{after}")?;
        let carets = width(&found).max(1);
        writeln!(f, "{:indent$}{:^>carets$}", "", "", indent = width(&before))
    }
}

fn width(shown: &str) -> usize {
    shown.width()
}

/// The most characters that are shown for a column: more are combining marks without end.
const MARKS: usize = 4;

/// Returns the start of `text` as it is shown, `…` in place of what exceeds `room` columns.
fn head(text: &str, room: usize) -> String {
    let mut shown = String::new();
    for piece in fitting(text.chars(), room) {
        shown.push_str(&piece);
    }
    shown
}

/// Returns the end of `text` as it is shown, `…` in place of what exceeds `room` columns.
fn tail(text: &str, room: usize) -> String {
    let pieces: Vec<String> = fitting(text.chars().rev(), room).collect();
    pieces.into_iter().rev().collect()
}

/// Yields characters as they are shown until `room` columns are full, then a single `…`.
fn fitting(characters: impl Iterator<Item = char>, room: usize) -> impl Iterator<Item = String> {
    let (mut columns, mut count, mut full) = (0, 0, false);
    characters.map_while(move |character| {
        if full {
            return None;
        }
        let mut piece = String::new();
        // Writing to a string cannot fail.
        let _ = write_visible(&mut piece, character);
        columns += width(&piece);
        count += 1;
        full = columns > room || count > MARKS * room;
        Some(if full { "…".to_owned() } else { piece })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_stand_under_what_is_shown() {
        let rows = [
            ("ls *.rs", (3, 4), "ls *.rs\n   ^\n"),
            ("", (0, 0), "\n^\n"),
            ("ls\nid", (2, 3), "ls\\nid\n  ^^\n"),
            ("ls '中' $x", (9, 11), "ls '中' $x\n        ^^\n"),
            ("a\u{1b}[0m", (1, 2), "a\\u{1b}[0m\n ^^^^^^\n"),
            ("ls", (9, 12), "ls\n  ^\n"),
        ];
        for (command, (start, end), want) in rows {
            assert_eq!(
                Snippet::new(command, Span::new(start, end)).to_string(),
                want,
                "{command:?}"
            );
        }
    }

    #[test]
    fn marks_without_end_are_cut_too() {
        let command = format!("ls * '{}'", "\u{301}".repeat(30_000));
        let drawn = Snippet::new(&command, Span::new(3, 4)).to_string();
        assert!(drawn.chars().count() < 8 * WIDTH, "{}", drawn.len());
    }

    #[test]
    fn a_long_command_is_cut_around_the_span() {
        let command = format!("{}*{}", "a".repeat(60_000), "b".repeat(5_000));
        let drawn = Snippet::new(&command, Span::new(60_000, 60_001)).to_string();
        let (text, carets) = drawn.split_once('\n').unwrap();
        assert!(width(text) <= WIDTH + 2, "{text}");
        assert_eq!(text.chars().nth(carets.find('^').unwrap()), Some('*'));
    }
}
