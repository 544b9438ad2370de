//! Canonical text: a word in single quotes.

/// Appends `word` in single quotes, so that every shell reads the same word back.
///
/// An apostrophe becomes `'\''`. A digit or backslash right after a character outside ASCII goes
/// between double quotes of its own, since a shell in a GBK or GB18030 locale may take the two
/// bytes for one character; ending and reopening the single quotes would not do, because zsh
/// with `RC_QUOTES` reads `''` inside them as an apostrophe.
pub(crate) fn write_quoted(out: &mut String, word: &str) {
    out.push('\'');
    let mut after_non_ascii = false;
    for character in word.chars() {
        match character {
            '\'' => out.push_str("'\\''"),
            '\\' if after_non_ascii => out.push_str("'\"\\\\\"'"),
            '0'..='9' if after_non_ascii => {
                out.push_str("'\"");
                out.push(character);
                out.push_str("\"'");
            }
            _ => out.push(character),
        }
        after_non_ascii = !character.is_ascii();
    }
    out.push('\'');
}

#[cfg(test)]
mod tests {
    use super::write_quoted;

    #[test]
    fn words_are_quoted_so_that_no_shell_can_see_more_in_them() {
        let rows = [
            ("", "''"),
            ("ls", "'ls'"),
            ("it's", "'it'\\''s'"),
            ("a b\nc", "'a b\nc'"),
            ("$(id)`\"", "'$(id)`\"'"),
            ("\u{4e2d}", "'\u{4e2d}'"),
            ("\u{4e2d}1", "'\u{4e2d}'\"1\"''"),
            ("\u{4e2d}12", "'\u{4e2d}'\"1\"'2'"),
            ("\u{4e2d}\\$(b)", "'\u{4e2d}'\"\\\\\"'$(b)'"),
        ];
        for (word, want) in rows {
            let mut got = String::new();
            write_quoted(&mut got, word);
            assert_eq!(got, want);
        }
    }
}
