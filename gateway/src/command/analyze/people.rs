//! The answer as text for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plainpipe::{Line, Stage, Visible};

use super::{Reading, effects, program};
use crate::command::refused;

const GOOD: Style = AnsiColor::Green.on_default().bold();
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
        Reading::Refused(refusal) => {
            refused::write(out, command, refusal)?;
            out.flush()
        }
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
