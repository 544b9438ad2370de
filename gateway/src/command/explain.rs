//! `rea explain`: the manual entry of a refusal code, or of a rule for what arguments can do.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use plainpipe::effect::{self, Rule};
use plainpipe::{Code, Line, Snippet};

use super::{Answer, written};

/// Prints the manual entry of a refusal code or an effect rule, or lists them all.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// A refusal code, such as `glob`, or a rule, such as `writes-file`
    #[arg(value_parser = PossibleValuesParser::new(Code::ALL.iter().map(|code| code.as_str()).chain(Rule::ALL.iter().map(|rule| rule.as_str()))), ignore_case = true, hide_possible_values = true)]
    code: Option<String>,
}

impl Explain {
    pub(crate) fn run(self) -> Answer {
        let mut out = anstream::stdout().lock();
        let wanted =
            |name: &str| (self.code.as_ref()).is_some_and(|code| code.eq_ignore_ascii_case(name));
        let code = Code::ALL.iter().find(|code| wanted(code.as_str()));
        let rule = Rule::ALL.iter().find(|rule| wanted(rule.as_str()));
        let outcome = match (code, rule) {
            (Some(&code), _) => entry(&mut out, code),
            (None, Some(&rule)) => rule_entry(&mut out, rule),
            (None, None) => list(&mut out),
        };
        written(outcome.and_then(|()| out.flush()), ExitCode::SUCCESS)
    }
}

fn list(out: &mut impl Write) -> io::Result<()> {
    let width = Code::ALL
        .iter()
        .map(|code| code.as_str().len())
        .max()
        .unwrap_or_default();
    Code::ALL
        .iter()
        .try_for_each(|code| writeln!(out, "{code:width$}  {}", code.summary()))?;
    writeln!(out, "\nRules for what arguments can do:\n")?;
    Rule::ALL
        .iter()
        .try_for_each(|rule| writeln!(out, "{rule:width$}  {}: {}", rule.tier(), rule.reason()))
}

fn rule_entry(out: &mut impl Write, rule: Rule) -> io::Result<()> {
    writeln!(out, "{rule} ({}): {}\n", rule.tier(), rule.reason())?;
    writeln!(out, "{}", rule.detail())?;
    let Ok(line) = Line::parse(rule.example()) else {
        return Ok(());
    };
    let effects = effect::judge(&line);
    let Some(effect) = effects.effects().find(|effect| effect.rule == rule) else {
        return Ok(());
    };
    writeln!(out, "\nAn example:")?;
    let drawn = Snippet::new(rule.example(), effect.span).to_string();
    drawn.lines().try_for_each(|line| writeln!(out, "  {line}"))
}

fn entry(out: &mut impl Write, code: Code) -> io::Result<()> {
    writeln!(out, "{code}: {}\n", code.summary())?;
    writeln!(out, "{}\n", code.detail())?;
    writeln!(out, "Instead: {}.", code.help())?;
    if !code.refused_example().is_empty() {
        writeln!(out, "\nRefused:")?;
        example(out, code.refused_example())?;
    }
    writeln!(out, "\nPlain:")?;
    example(out, code.plain_example())
}

/// Writes an example line with the refused part, if there is one, underlined.
fn example(out: &mut impl Write, command: &str) -> io::Result<()> {
    let drawn = match plainpipe::Line::parse(command) {
        Ok(_) => command.to_owned(),
        Err(refusal) => Snippet::new(command, refusal.span()).to_string(),
    };
    drawn.lines().try_for_each(|line| writeln!(out, "  {line}"))
}
