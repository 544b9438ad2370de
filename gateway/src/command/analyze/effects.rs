//! What a line could do, as text for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plainpipe::effect::{Access, LineEffects, Tier};
use plainpipe::{Snippet, Visible};

const FAINT: Style = Style::new().dimmed();

/// Writes the tier, each effect with carets under the word that shows it, and the paths.
pub(super) fn write(out: &mut impl Write, command: &str, effects: &LineEffects) -> io::Result<()> {
    let style = style(effects.tier);
    writeln!(
        out,
        "\n{FAINT}tier:{FAINT:#} {style}{}{style:#}",
        effects.tier
    )?;
    for effect in effects.effects() {
        writeln!(out)?;
        for line in Snippet::new(command, effect.span).to_string().lines() {
            writeln!(out, "    {line}")?;
        }
        let style = self::style(effect.tier);
        writeln!(
            out,
            "    {style}{}{style:#}: {} {FAINT}({}){FAINT:#}",
            effect.tier,
            Visible(&effect.reason),
            effect.rule
        )?;
    }
    let mut paths = effects.paths().peekable();
    if paths.peek().is_some() {
        writeln!(out)?;
    }
    for path in paths {
        let verb = match path.access {
            Access::Read => "reads",
            Access::Write => "writes",
            Access::Delete => "removes",
            Access::Run => "runs",
        };
        writeln!(out, "{FAINT}{verb}:{FAINT:#} {}", Visible(&path.path))?;
    }
    for replaced in effects
        .stages
        .iter()
        .flat_map(|stage| &stage.replaced_models)
    {
        let (program, by) = (Visible(&replaced.program), Visible(&replaced.by));
        writeln!(
            out,
            "{FAINT}note:{FAINT:#} your model of {program} stands in for the shipped one: {by}"
        )?;
    }
    let first = effects.effects().find(|effect| effect.tier == effects.tier);
    if let Some(effect) = first {
        writeln!(out, "{FAINT}more: rea explain {}{FAINT:#}", effect.rule)?;
    }
    out.flush()
}

fn style(tier: Tier) -> Style {
    let colour = match tier {
        Tier::Read => AnsiColor::Green,
        Tier::Write => AnsiColor::Yellow,
        Tier::Destructive => AnsiColor::Red,
    };
    colour.on_default().bold()
}
