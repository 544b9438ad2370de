//! A refusal as people see it: the carets, the reason and the hint.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plainpipe::{Refusal, Snippet, Span};

const BAD: Style = AnsiColor::Red.on_default().bold();
const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// Writes the refused part with carets, code, reason and hint. Colours are written as escapes.
pub(crate) fn write(out: &mut impl Write, command: &[u8], refusal: &Refusal) -> io::Result<()> {
    let (command, span) = as_text(command, refusal.span());
    let code = refusal.code();
    writeln!(out, "{BAD}refused{BAD:#}: {STRONG}{code}{STRONG:#}\n")?;
    for line in Snippet::new(&command, span).to_string().lines() {
        writeln!(out, "    {line}")?;
    }
    writeln!(out, "\n{}", refusal.message())?;
    writeln!(out, "{STRONG}help:{STRONG:#} {}", refusal.help())?;
    writeln!(out, "{FAINT}more: rea explain {code}{FAINT:#}")
}

/// Returns the same without colours.
pub(crate) fn text(command: &[u8], refusal: &Refusal) -> String {
    let mut bytes = Vec::new();
    // Memory takes whatever is written to it.
    let _written = write(&mut bytes, command, refusal);
    anstream::adapter::strip_str(&String::from_utf8_lossy(&bytes)).to_string()
}

/// Returns bytes as text, and where the span of the bytes lies in that text.
fn as_text(command: &[u8], span: Span) -> (String, Span) {
    let part = |start, end| String::from_utf8_lossy(command.get(start..end).unwrap_or_default());
    let mut text = part(0, span.start).into_owned();
    let start = text.len();
    text.push_str(&part(span.start, span.end));
    let end = text.len();
    text.push_str(&part(span.end, command.len()));
    (text, Span { start, end })
}
