//! Makes foreign text safe to show: one line, nothing that a terminal obeys.

/// Returns `text` with everything but printable characters escaped, quotes left alone.
///
/// Line ends, tabs, escape sequences and characters that turn the direction of writing come out as
/// `\n`, `\t` or `\u{…}`.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\'' | '"' => shown.push(character),
            other => shown.extend(other.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let cases = [
            (
                "plain 'quoted' \"text\" é 日本",
                "plain 'quoted' \"text\" é 日本",
            ),
            ("a\tb\r\n", "a\\tb\\r\\n"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}evil\u{200b}", "\\u{202e}evil\\u{200b}"),
            ("\0\u{7f}\\", "\\0\\u{7f}\\\\"),
        ];
        let wrong: Vec<_> = (cases.iter())
            .filter(|(text, want)| escaped(text) != *want)
            .map(|(text, want)| format!("{text:?}: want {want:?}, got {:?}", escaped(text)))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
