//! From the words of a line to its effects.

use std::borrow::Cow;

use super::effects::{
    Access, Effect, Inner, LineEffects, Lookup, PathUse, ReplacedModel, StageEffects,
};
use super::facts::Facts;
use super::levels::Levels;
use super::model::{Bare, Cause, Command, Model, Models, Opt, Pattern, Role, When};
use super::rule::Rule;
use super::scan::{Scan, Seen};
use super::surroundings::Surroundings;
use super::tier::Tier;
use super::words::{Arg, is_known, of_stage, shown};
use crate::plain::{Line, Span, Stage};

/// How many programs may be named inside one another, as in `nice timeout 5 ls`.
pub const MAX_DEPTH: usize = 8;

/// Directories whose programs the models speak of when a line names them by path.
const SYSTEM_DIRECTORIES: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
];

/// Says what a line could do, by the shipped models.
///
/// Pure: nothing but the line and the models decide, no file is looked at.
///
/// # Examples
///
/// ```
/// use plainpipe::{Line, effect};
///
/// let effects = effect::judge(&Line::parse("sort --compress-program=sh f")?);
/// assert_eq!(effects.tier, effect::Tier::Destructive);
/// assert_eq!(effects.effects().next().unwrap().rule.as_str(), "runs-program");
/// # Ok::<(), plainpipe::Refusal>(())
/// ```
pub fn judge(line: &Line) -> LineEffects {
    judge_with(line, &Models::shipped(), &Facts::default())
}

/// Says what a line could do, by `models` and what is known of the place in which it would run.
pub fn judge_with(line: &Line, models: &Models, facts: &Facts<'_>) -> LineEffects {
    let stages: Vec<StageEffects> = line
        .stages()
        .map(|stage| judge_stage(&stage, models, facts))
        .collect();
    let tier = stages
        .iter()
        .map(|stage| stage.tier)
        .max()
        .unwrap_or(Tier::Destructive);
    LineEffects { tier, stages }
}

/// Says what one stage of a line could do.
pub fn judge_stage(stage: &Stage<'_>, models: &Models, facts: &Facts<'_>) -> StageEffects {
    let mut judge = Judge::new(models, facts);
    judge.call(&of_stage(stage));
    judge.finish()
}

/// How the command among some operands gets its words and its program.
#[derive(Clone, Copy)]
struct How<'a> {
    /// The text that stands for words from the input.
    mark: Option<&'a str>,
    lookup: Lookup,
}

/// Judges one stage, and the programs that its arguments name.
pub(crate) struct Judge<'m, 'f> {
    pub(super) models: &'m Models,
    pub(super) facts: &'f Facts<'f>,
    pub(super) surroundings: Surroundings,
    pub(super) depth: usize,
    /// The highest tier met since the innermost call began.
    pub(super) reached: Tier,
    effects: Vec<Effect>,
    paths: Vec<PathUse>,
    pub(super) inner: Vec<Inner>,
    replaced_models: Vec<ReplacedModel>,
}

impl<'m, 'f> Judge<'m, 'f> {
    fn new(models: &'m Models, facts: &'f Facts<'f>) -> Self {
        Self {
            models,
            facts,
            surroundings: Surroundings::default(),
            depth: 0,
            reached: Tier::Read,
            effects: Vec::new(),
            paths: Vec::new(),
            inner: Vec::new(),
            replaced_models: Vec::new(),
        }
    }

    fn finish(self) -> StageEffects {
        let tier = self.effects.iter().map(|effect| effect.tier).max();
        StageEffects {
            tier: tier.unwrap_or(Tier::Read),
            effects: self.effects,
            paths: self.paths,
            inner: self.inner,
            replaced_models: self.replaced_models,
        }
    }

    /// Judges a program and its arguments.
    pub(super) fn call(&mut self, words: &[Arg<'_>]) {
        let Some(program) = words.first() else {
            return;
        };
        let name = match program.text.rsplit_once('/') {
            Some((directory, name)) if SYSTEM_DIRECTORIES.contains(&directory) => name,
            Some(_) => {
                self.met(Rule::ProgramByPath, program, "");
                return;
            }
            None => &program.text,
        };
        match self.models.of(name) {
            Err(error) => self.met(Rule::BrokenModel, program, &error.to_string()),
            Ok(models) if models.is_empty() => self.met(Rule::UnknownProgram, program, ""),
            Ok(models) => {
                self.note_replaced(name);
                for model in models {
                    let surroundings = self.surroundings.clone();
                    self.model(model, words);
                    self.surroundings = surroundings;
                }
            }
        }
    }

    fn model(&mut self, model: &'m Model, words: &[Arg<'_>]) {
        for name in model.environment() {
            if let Some(program) = words.first()
                && self.facts.environment.contains(&name.as_str())
            {
                self.met(Rule::HazardousEnvironment, program, name);
            }
        }
        if model.argument_files() {
            let given = words.iter().skip(1);
            for word in given.filter(|word| word.text.starts_with('@')) {
                self.met(
                    Rule::OptionsFromFile,
                    word,
                    "the file stands for more words",
                );
            }
        }
        let levels = Levels::of(model, words);
        if let Some((at, rule, detail)) = &levels.fault
            && let Some(word) = words.get(*at)
        {
            self.met(*rule, word, detail);
        }
        if levels.only_ask_for_help() {
            return;
        }
        let mut seen = levels.each.iter().flat_map(|(_, scan)| &scan.seen);
        if let Some(split) = seen.find(|seen| seen.takes(&Role::Split))
            && let Some(split_words) = super::split::expanded(split, words)
        {
            if let Some(option) = words.get(split.at) {
                self.met(Rule::BuiltCommand, option, "");
            }
            self.deeper(words.first(), |judge| judge.model(model, &split_words));
            return;
        }
        for (index, (command, scan)) in levels.each.iter().enumerate() {
            let operands = scan.operands.len() + scan.after_dashes.len();
            let holding: Vec<&When> = command
                .when
                .iter()
                .filter(|when| when.holds(operands, |name| levels.is_given(name)))
                .collect();
            let named = match index
                .checked_sub(1)
                .and_then(|outer| levels.each.get(outer))
            {
                Some((_, outer)) => outer.sub.and_then(|at| words.get(at)),
                None => words.first(),
            };
            if let Some(named) = named {
                self.level(command, scan, &holding, named, words);
            }
        }
    }

    /// Judges the words that belong to one sub-command, or to the program itself; `named` names it.
    fn level(
        &mut self,
        command: &Command,
        scan: &Scan<'_>,
        holding: &[&When],
        named: &Arg<'_>,
        words: &[Arg<'_>],
    ) {
        for fault in &scan.faults {
            if let Some(word) = words.get(fault.at) {
                self.met(fault.rule, word, &fault.detail);
            }
        }
        let mut mark = None;
        for seen in &scan.seen {
            self.option(seen, holding, scan, words, &mut mark);
        }
        let harmless = holding.iter().any(|when| when.harmless);
        for cause in holding.iter().flat_map(|when| &when.always) {
            self.cause(cause, named);
        }
        if !harmless {
            for cause in &command.always {
                self.cause(cause, named);
            }
        }
        if scan.sub.is_some() {
            return;
        }
        let pattern = holding
            .iter()
            .find_map(|when| when.operands.as_ref())
            .unwrap_or(&command.operands);
        let lookup = holding
            .iter()
            .find_map(|when| when.looks_up)
            .unwrap_or(command.looks_up);
        let how = How {
            mark: mark.as_deref(),
            lookup,
        };
        let mut reached = self.operands(pattern, &scan.operands, words, how);
        if let Some(pattern) = &command.after_dashes {
            reached |= self.operands(pattern, &scan.after_dashes, words, how);
        }
        if reached || harmless {
            return;
        }
        if let Some(program) = &command.runs {
            self.default_call(program, named, lookup);
        }
        match &command.bare {
            Some(Bare::Causes(cause)) => self.cause(cause, named),
            None if !command.subs.is_empty() && pattern.is_empty() && command.always.is_empty() => {
                self.met(Rule::MissingSubcommand, named, "");
            }
            Some(Bare::Read) | None => {}
        }
    }

    /// Judges operands; returns whether there is one that keeps the command from being bare.
    fn operands(
        &mut self,
        pattern: &Pattern,
        places: &[usize],
        words: &[Arg<'_>],
        how: How<'_>,
    ) -> bool {
        let given: Vec<&Arg<'_>> = places.iter().filter_map(|&at| words.get(at)).collect();
        let command = pattern.command_at(given.iter().map(|word| &*word.text));
        let count = command.map_or(given.len(), |(place, _)| place.min(given.len()));
        for (index, word) in given.iter().take(count).enumerate() {
            let role = if command.is_some() {
                pattern.front.get(index).or(pattern.star.as_ref())
            } else {
                pattern.role(index, count)
            };
            match role {
                Some(role) => self.word(role, word, &word.text),
                None => self.met(Rule::UnexpectedOperand, word, ""),
            }
        }
        let Some((place, role)) = command else {
            return !given.is_empty();
        };
        let rest: Vec<Arg<'_>> = given.iter().skip(place).map(|&word| word.clone()).collect();
        if rest.is_empty() {
            return false;
        }
        match (role, rest.first()) {
            (Role::InputCommand, _) => self.input_command(rest, how.mark, how.lookup),
            (Role::LineWords, _) => self.line_words(&rest),
            (Role::Module(known), Some(module)) => {
                if known.iter().any(|name| **name == *module.text) {
                    self.inner_call(&rest, Lookup::Elsewhere);
                } else {
                    self.met(Rule::RunsCode, module, "a module that no model knows");
                }
            }
            _ => self.inner_call(&rest, how.lookup),
        }
        true
    }

    fn option(
        &mut self,
        seen: &Seen<'_>,
        holding: &[&When],
        scan: &Scan<'_>,
        words: &[Arg<'_>],
        mark: &mut Option<String>,
    ) {
        let Some(word) = words.get(seen.at) else {
            return;
        };
        let value_text = |value: Option<&(usize, usize)>| {
            value.and_then(|&(at, start)| words.get(at).and_then(|word| word.text.get(start..)))
        };
        let accepts = |option: &&Opt| {
            option.values.iter().enumerate().all(|(index, role)| {
                // An optional value that is not there is harmless.
                let Role::OneOf(listed) = role else {
                    return true;
                };
                value_text(seen.values.get(index))
                    .is_none_or(|text| listed.iter().any(|word| **word == *text))
            })
        };
        let overriding = holding.iter().find_map(|when| {
            let own = when
                .table
                .options
                .iter()
                .filter(|option| option.names.iter().any(|name| seen.is(name)));
            let own: Vec<&Opt> = own.collect();
            (!own.is_empty()).then_some(own)
        });
        let candidates = overriding.unwrap_or_else(|| {
            let entries = seen.entries.iter().copied().chain(seen.prefixed);
            entries
                .filter_map(|index| seen.table.options.get(index))
                .collect()
        });
        let Some(option) = candidates.into_iter().find(accepts) else {
            self.met(Rule::UnlistedValue, word, seen.name);
            return;
        };
        if let Some(cause) = &option.cause {
            self.cause(cause, word);
        }
        if seen.ambiguous && option.values.first() != Some(&Role::Text) {
            self.met(Rule::UnlistedValue, word, seen.name);
        }
        if let Some(role @ (Role::Exec | Role::ExecThere)) = option.values.first() {
            self.exec(seen, scan, words, *role == Role::ExecThere);
            return;
        }
        for (role, value) in option.values.iter().zip(&seen.values) {
            let Some(holder) = words.get(value.0) else {
                continue;
            };
            let text = value_text(Some(value)).unwrap_or_default();
            if *role == Role::Mark {
                *mark = Some(text.to_owned());
            } else {
                self.word(role, holder, text);
            }
        }
    }

    /// Notes that a user's model stands in for the shipped one of `program`.
    fn note_replaced(&mut self, program: &str) {
        if let Some(by) = self.models.replaced(program) {
            let replaced = ReplacedModel {
                program: program.to_owned(),
                by: by.to_owned(),
            };
            if !self.replaced_models.contains(&replaced) {
                self.replaced_models.push(replaced);
            }
        }
    }

    /// Notes that `cause` holds and that `word` shows it.
    pub(super) fn cause(&mut self, cause: &Cause, word: &Arg<'_>) {
        self.met(cause.rule, word, cause.why.as_deref().unwrap_or_default());
    }

    /// Notes that `rule` is met and that `word` shows it; `detail` may be empty.
    pub(super) fn met(&mut self, rule: Rule, word: &Arg<'_>, detail: &str) {
        let reason = if detail.is_empty() {
            Cow::Borrowed(rule.reason())
        } else {
            Cow::Owned(format!("{}: {detail}", rule.reason()))
        };
        self.reached = self.reached.max(rule.tier());
        let effect = Effect {
            kind: rule.kind(),
            word: shown(&word.text).into_owned(),
            span: word.span,
            reason,
            rule,
            tier: rule.tier(),
        };
        if !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }

    /// Notes that the stage names `path`.
    pub(super) fn names_path(&mut self, path: &str, access: Access, span: Span) {
        if !is_known(path) {
            return;
        }
        self.paths.push(PathUse {
            path: path.to_owned(),
            access,
            span,
        });
    }
}
