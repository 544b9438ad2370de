//! Text that is safe to show to a person.

use std::fmt::{self, Write};

/// Displays text with every character that a terminal would act on, or a reader could not see,
/// written as an escape.
///
/// Escaped are the control characters (C0, DEL, C1), the bidirectional controls, the zero-width
/// and invisible format characters, the line and paragraph separators, the byte order mark, every
/// blank but the space, and the characters for private use.
/// Newline and tab become `\n` and `\t`. Everything else, letters of any script among it, stays
/// as it is: look-alikes are not told apart.
#[derive(Clone, Copy, Debug)]
pub struct Visible<'a>(pub &'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .chars()
            .try_for_each(|character| write_visible(f, character))
    }
}

/// Writes one character as [`Visible`] shows it.
pub(crate) fn write_visible(out: &mut impl Write, character: char) -> fmt::Result {
    match character {
        '\n' => out.write_str("\\n"),
        '\t' => out.write_str("\\t"),
        '\r' => out.write_str("\\r"),
        _ if is_hidden(character) => write!(out, "\\u{{{:x}}}", u32::from(character)),
        _ => out.write_char(character),
    }
}

/// Returns whether a terminal acts on `character` or shows nothing for it.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || character.is_whitespace() && character != ' '
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
                | '\u{2800}'
                | '\u{e000}'..='\u{f8ff}'
                | '\u{f0000}'..='\u{10ffff}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_written_out() {
        let rows = [
            ("ls -la", "ls -la"),
            ("caf\u{e9} 中", "caf\u{e9} 中"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\u{9b}b", "a\\u{9b}b"),
            ("\u{202e}gnp.exe", "\\u{202e}gnp.exe"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            (
                "a\u{a0}b\u{3000}c\u{2800}d",
                "a\\u{a0}b\\u{3000}c\\u{2800}d",
            ),
            ("\u{e000}\u{10ffff}", "\\u{e000}\\u{10ffff}"),
            ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
            ("a\u{7f}\u{2028}\u{2029}", "a\\u{7f}\\u{2028}\\u{2029}"),
        ];
        for (text, want) in rows {
            assert_eq!(Visible(text).to_string(), want);
        }
    }
}
