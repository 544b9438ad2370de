//! The answer as text for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plainpipe::{Line, Refusal, Snippet, Span, Stage, Visible};

use super::{Reading, effects, program};

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const STRONG: Style = Style::new().bold();
pub(super) const FAINT: Style = Style::new().dimmed();

/// Writes the stages and words, or the refused text with carets, code, reason and hint.
///
/// Colours are written as escapes; `out` decides whether they are shown.
pub(super) fn write(out: &mut impl Write, command: &[u8], reading: &Reading) -> io::Result<()> {
    match reading {
        Reading::Plain(judged) => {
            let line = &judged.line;
            heading(out, line)?;
            for (index, stage) in line.stages().enumerate() {
                words(out, index, &stage)?;
            }
            text_for_shell(out, "canonical", &line.to_shell())?;
            let inner = judged.effects.stages.iter().flat_map(|stage| &stage.inner);
            for call in inner {
                program::call(out, call)?;
            }
            effects::write(out, &String::from_utf8_lossy(command), &judged.effects)
        }
        Reading::Pinned(pinned) => {
            heading(out, pinned.line())?;
            for (index, stage) in pinned.stages().enumerate() {
                words(out, index, stage.stage())?;
                program::program(out, stage.program())?;
                for inner in stage.inner() {
                    program::inner(out, &inner)?;
                }
            }
            program::environment(out, pinned)?;
            text_for_shell(out, "for a shell", &pinned.to_shell())?;
            effects::write(out, &String::from_utf8_lossy(command), pinned.effects())
        }
        Reading::Refused(refusal) => refused(out, command, refusal),
    }
}

fn heading(out: &mut impl Write, line: &Line) -> io::Result<()> {
    let count = line.stages().len();
    let plural = if count == 1 { "" } else { "s" };
    writeln!(out, "{GOOD}plain{GOOD:#}: {count} stage{plural}")
}

fn words(out: &mut impl Write, index: usize, stage: &Stage<'_>) -> io::Result<()> {
    writeln!(out)?;
    for (place, word) in stage.words().enumerate() {
        let (number, style) = match place {
            0 => ((index + 1).to_string(), STRONG),
            _ => (String::new(), Style::new()),
        };
        let (start, end) = word.span.into();
        let text = shown(word.text);
        writeln!(
            out,
            "{number:>4}  {style}{text}{style:#}  {FAINT}{start}..{end}{FAINT:#}"
        )?;
    }
    Ok(())
}

/// Writes text that can be pasted, or says that what can be shown of it would mean something else.
fn text_for_shell(out: &mut impl Write, name: &str, text: &str) -> io::Result<()> {
    let visible = Visible(text).to_string();
    let shown = if visible == text {
        visible
    } else {
        "it holds characters that cannot be shown as they are; use --json".to_owned()
    };
    writeln!(out, "\n{FAINT}{name}:{FAINT:#} {shown}")?;
    out.flush()
}

fn refused(out: &mut impl Write, command: &[u8], refusal: &Refusal) -> io::Result<()> {
    let (command, span) = as_text(command, refusal.span());
    let code = refusal.code();
    writeln!(out, "{BAD}refused{BAD:#}: {STRONG}{code}{STRONG:#}\n")?;
    for line in Snippet::new(&command, span).to_string().lines() {
        writeln!(out, "    {line}")?;
    }
    writeln!(out, "\n{}", refusal.message())?;
    writeln!(out, "{STRONG}help:{STRONG:#} {}", refusal.help())?;
    writeln!(out, "{FAINT}more: rea explain {code}{FAINT:#}")?;
    out.flush()
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

/// Returns a word as people can tell it from its neighbours: in double quotes, with `\` and `"`
/// escaped, if it is empty or holds anything but visible ASCII.
fn shown(word: &str) -> String {
    let simple = !word.is_empty()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'"');
    if simple {
        return word.to_owned();
    }
    let escaped = word.replace('\\', r"\\").replace('"', "\\\"");
    format!("\"{}\"", Visible(&escaped))
}
