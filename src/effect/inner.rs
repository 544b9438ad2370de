//! Programs that the arguments name.

use super::effects::{Inner, Lookup};
use super::judge::{Judge, MAX_DEPTH};
use super::path::{Place, place};
use super::rule::Rule;
use super::scan::{Scan, Seen};
use super::tier::Tier;
use super::words::{Arg, INSIDE, UNKNOWN, of_stage};
use crate::plain::{Line, Span};

/// The most inner calls of one stage; what is left then is not understood.
const MAX_INNER: usize = 256;

impl Judge<'_, '_> {
    /// Judges a command inside `find`, run on the files that it finds; `there` says that it is run in
    /// the directory of each.
    pub(super) fn exec(
        &mut self,
        seen: &Seen<'_>,
        scan: &Scan<'_>,
        words: &[Arg<'_>],
        there: bool,
    ) {
        let mut starts = scan.operands.iter().filter_map(|&at| words.get(at));
        let inside =
            starts.all(|start| place(&self.path_here(&start.text), self.facts) == Place::Inside);
        let found = if inside { INSIDE } else { UNKNOWN };
        let command = seen
            .values
            .iter()
            .filter_map(|&(at, _)| words.get(at))
            .map(|word| Arg::new(word.text.replace("{}", found), word.span));
        let command: Vec<Arg<'_>> = command.collect();
        let before = self.surroundings.moved;
        self.surroundings.moved |= there;
        self.inner_call(&command, Lookup::Path);
        self.surroundings.moved = before;
    }

    /// Judges a command that gets more arguments, or other ones in place of a mark, from the input.
    pub(super) fn input_command(
        &mut self,
        mut command: Vec<Arg<'_>>,
        mark: Option<&str>,
        lookup: Lookup,
    ) {
        let Some(program) = command.first().cloned() else {
            return;
        };
        self.met(Rule::RunsInner, &program, "");
        let before_dashes = command.iter().take_while(|word| word.text != "--");
        let starts = mark.map(|mark| {
            before_dashes
                .clone()
                .any(|word| word.text.starts_with(mark))
        });
        let open = before_dashes.count() == command.len();
        if let Some(mark) = mark {
            for word in &mut command {
                if !mark.is_empty() && word.text.contains(mark) {
                    word.text = word.text.replace(mark, UNKNOWN).into();
                }
            }
        } else {
            more_from_input(&mut command, program.span);
        }
        let name = program.text.rsplit('/').next().unwrap_or_default();
        let reads = self.models.of(name).is_ok_and(|models| {
            !models.is_empty()
                && models
                    .iter()
                    .all(|model| model.any_option().is_some_and(|tier| tier <= Tier::Write))
        });
        if starts.unwrap_or(open) && !reads {
            self.met(
                Rule::UnknownOption,
                &program,
                "words from the input may be options of it",
            );
        }
        self.inner_call(&command, lookup);
    }

    /// Judges the program that a command runs on its input when it is given none.
    pub(super) fn default_call(&mut self, program: &str, named: &Arg<'_>, lookup: Lookup) {
        let mut command = vec![Arg::new(program, named.span)];
        more_from_input(&mut command, named.span);
        self.inner_call(&command, lookup);
    }

    /// Judges a line for a shell that stands in one word.
    pub(super) fn line(&mut self, text: &str, word: &Arg<'_>) {
        let line = match Line::parse(text) {
            Ok(line) => line,
            Err(refusal) => {
                let detail = format!("the inner line is not plain ({})", refusal.code());
                self.met(Rule::UnreadableCode, word, &detail);
                return;
            }
        };
        for stage in line.stages() {
            let words = of_stage(&stage).into_iter();
            let words: Vec<Arg<'_>> = words.map(|inner| Arg::new(inner.text, word.span)).collect();
            self.inner_call(&words, Lookup::Shell);
        }
    }

    /// Judges words that are put together with blanks and handed to a shell as one line.
    pub(super) fn line_words(&mut self, words: &[Arg<'_>]) {
        let (Some(first), Some(last)) = (words.first(), words.last()) else {
            return;
        };
        let text: Vec<&str> = words.iter().map(|word| &*word.text).collect();
        let whole = Arg::new(text.join(" "), first.span.to(last.span));
        self.line(&whole.text, &whole);
    }

    /// Judges a program that the arguments name, like a stage of its own.
    pub(super) fn inner_call(&mut self, words: &[Arg<'_>], lookup: Lookup) {
        let (Some(first), Some(last)) = (words.first(), words.last()) else {
            return;
        };
        let lookup = self.surroundings.lookup(&first.text, lookup);
        let mut inner = Inner {
            words: words
                .iter()
                .map(|word| word.text.clone().into_owned())
                .collect(),
            span: first.span.to(last.span),
            program: first.span,
            tier: Tier::Read,
            lookup,
        };
        // Two models of one program name the same inner call.
        let same = |known: &Inner| {
            (&known.words, known.span, known.lookup) == (&inner.words, inner.span, inner.lookup)
        };
        let known = self.inner.iter().position(same);
        if known.is_none() && self.inner.len() >= MAX_INNER {
            self.met(Rule::TooDeep, first, "");
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.inner.push(inner.clone());
            self.inner.len() - 1
        });
        let reached = std::mem::replace(&mut self.reached, Tier::Read);
        let surroundings = self.surroundings.clone();
        if lookup == Lookup::Unknown {
            self.met(Rule::UnknownSearch, first, "");
        }
        self.surroundings.inside(lookup);
        self.deeper(Some(first), |judge| judge.call(words));
        self.surroundings = surroundings;
        inner.tier = self.reached;
        self.reached = self.reached.max(reached);
        if let Some(known) = self.inner.get_mut(at) {
            known.tier = known.tier.max(inner.tier);
        }
    }

    /// Judges something one level further in, unless that is too deep.
    pub(super) fn deeper(&mut self, first: Option<&Arg<'_>>, judge: impl FnOnce(&mut Self)) {
        if self.depth < MAX_DEPTH {
            self.depth += 1;
            judge(self);
            self.depth -= 1;
        } else if let Some(first) = first {
            self.met(Rule::TooDeep, first, "");
        }
    }
}

/// Adds what stands for words from the input.
fn more_from_input(command: &mut Vec<Arg<'_>>, span: Span) {
    // Two words are not enough to show what a program does with its last operand.
    command.extend((0..3).map(|_| Arg::unknown(span)));
}
