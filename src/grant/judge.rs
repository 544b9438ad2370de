//! Holds a line against the grants.

use super::grant::{Given, GrantId};
use super::lifetime::Moment;
use super::program::GrantedProgram;
use super::scope::Scope;
use super::store::Grants;
use super::verdict::{Drift, Drifted, Granted, Missing, NotGranted, Verdict, Why};
use crate::effect::{Models, Tier, starts_like};
use crate::plain::Span;
use crate::program::{Analyzer, Fact, FileProgram, Pinned, PinnedStage, Program, Shell};

impl Analyzer {
    /// Says whether `command` may run: reads it, finds and pins its programs, and holds them
    /// against the grants.
    ///
    /// The grants are those that were read last; a caller in a loop calls
    /// [`Grants::refresh`] first.
    pub fn check(&mut self, command: &str, grants: &Grants) -> Verdict {
        match self.analyze(command) {
            Ok(line) => grants.judge(line),
            Err(refusal) => Verdict::Refused(refusal),
        }
    }
}

/// One program that a line runs: that of a stage, or one that the arguments of a stage name.
struct Call<'a> {
    stage: usize,
    inner: Option<usize>,
    span: Span,
    program: &'a FileProgram,
    argv: Vec<&'a str>,
    models: &'a Models,
    tier: Tier,
    /// Whether whoever runs the program opens it once more, by its path or its name.
    opened_anew: bool,
    /// Whether a program that the arguments name is not looked up here, so that it has no grant of its own.
    names_unknown: bool,
}

/// What was found for one call.
enum Found<'g> {
    Granted(&'g Given),
    Drifted(Box<Drift>),
    Missing(Why),
}

impl Grants {
    /// Says whether `line` may run. Touches nothing but the clock.
    ///
    /// A stage is covered by a grant for its program, as the program was when the grant was given,
    /// that covers its arguments and its tier and still counts. Each program that its arguments name,
    /// as in `nice ls`, is held against the grants in the same way, unless the grant of the stage was given
    /// for any arguments with open eyes. A once-grant covers one call of one program. The narrowest scope is looked at first, and once-grants last.
    pub fn judge(&self, line: Pinned) -> Verdict {
        let now = self.now();
        let (mut grants, mut inner_grants) = (Vec::new(), Vec::new());
        let mut once = Vec::new();
        let (mut drifts, mut missing) = (Vec::new(), Vec::new());
        // Where a grant is as good as one for every program there is.
        let mut open: Vec<Span> = Vec::new();
        let mut judge = |call: Option<Call<'_>>| {
            let call = call?;
            if call.inner.is_some() && open.iter().any(|open| open.holds(call.span)) {
                return None;
            }
            match self.judge_call(&call, &once, &now) {
                Found::Granted(given) => {
                    once.extend(given.is_once().then_some(given.id));
                    if given.dangerous_any_arguments && given.scope.leaves_operands_open() {
                        open.push(call.span);
                    }
                    return Some(given.id);
                }
                Found::Drifted(drift) => drifts.push(*drift),
                Found::Missing(why) => missing.push(Missing {
                    stage: call.stage,
                    inner: call.inner,
                    why,
                }),
            }
            None
        };
        for (place, stage) in line.stages().enumerate() {
            grants.push(judge(Call::of_stage(place, &stage, &line)));
            let inner = Call::inside(place, &stage, &line).map(&mut judge);
            inner_grants.push(inner.collect());
        }
        if !drifts.is_empty() {
            Verdict::Drifted(Drifted {
                drifts,
                missing,
                line,
            })
        } else if !missing.is_empty() {
            Verdict::NotGranted(NotGranted { missing, line })
        } else {
            Verdict::Granted(Granted {
                grants,
                inner_grants,
                once,
                line,
                store: self.file().cloned(),
            })
        }
    }

    fn judge_call(&self, call: &Call<'_>, taken: &[GrantId], now: &Moment) -> Found<'_> {
        let program = call.program;
        let identity = program.identity();
        let free = |given: &&Given| !taken.contains(&given.id);

        let at = |place| self.given_at(place);
        let exactly = self
            .index()
            .exactly(&identity.sha256, &identity.called, &call.argv);
        let usable = |given: &&Given| self.covers(given, call, now) && free(given);
        let mut still = exactly
            .filter_map(at)
            .filter(usable)
            .filter(|given| given.program.is_still(program));
        // Only a once-grant goes to waste if something else covers the call too.
        let first = still.next();
        let lasting = first
            .filter(|given| !given.is_once())
            .or_else(|| still.find(|given| !given.is_once()));
        if let Some(given) = lasting.or(first) {
            if call.may_change() && !self.accepts_not_held() {
                return Found::Missing(Why::NotHeld { grant: given.id });
            }
            return Found::Granted(given);
        }
        let by_name = self.index().by_name(&identity.called, &call.argv);
        let changed = by_name
            .filter_map(at)
            .filter(usable)
            .filter(|given| !given.program.is_still(program))
            .max_by_key(|given| given.at);
        match changed {
            Some(given) => {
                let now = GrantedProgram::from(program);
                let drift = Drift::new(call.stage, call.inner, given, now);
                Found::Drifted(Box::new(drift))
            }
            None => Found::Missing(self.why_not(call, now)),
        }
    }

    fn covers(&self, given: &Given, call: &Call<'_>, now: &Moment) -> bool {
        call.is_covered_by(&given.scope)
            && call.tier <= given.ceiling
            && (!call.names_unknown || call.is_named_by(given))
            && self.counts_at(given, now)
    }

    /// Looks at every grant for the reason that is closest to a yes. Nobody waits for this one.
    fn why_not(&self, call: &Call<'_>, now: &Moment) -> Why {
        let same = |given: &&Given| given.program.is_still(call.program);
        let reasons = self.iter().filter(same).map(|given| {
            let grant = given.id;
            let tier = call.tier;
            if !call.is_covered_by(&given.scope) {
                (4, Why::OtherArguments { grant })
            } else if call.names_unknown && !call.is_named_by(given) {
                (3, Why::InnerNotNamed { grant })
            } else if tier > given.ceiling {
                let ceiling = given.ceiling;
                let why = Why::AboveCeiling {
                    grant,
                    ceiling,
                    tier,
                };
                (2, why)
            } else if given.used.is_some() || self.counts_at(given, now) {
                // One that counts was taken by an earlier stage of the same line.
                (0, Why::Used { grant })
            } else {
                (1, Why::Ended { grant })
            }
        });
        let closest = reasons.min_by_key(|(distance, _)| *distance);
        closest.map_or(Why::NoGrant, |(_, why)| why)
    }
}

impl<'a> Call<'a> {
    /// Returns the call of a stage, or `None` for a builtin, which needs no grant.
    fn of_stage(place: usize, stage: &PinnedStage<'a>, line: &'a Pinned) -> Option<Self> {
        Some(Self {
            stage: place,
            inner: None,
            span: stage.stage().span(),
            program: file(stage.program())?,
            argv: stage.stage().argv().collect(),
            models: line.models(),
            tier: stage.effects().tier,
            opened_anew: opens_anew(line.shell()),
            names_unknown: stage.inner().any(|inner| inner.program().is_none()),
        })
    }

    /// Returns the calls that the arguments of a stage name; `None` for a builtin, and where the program
    /// is not looked up here.
    fn inside(
        place: usize,
        stage: &PinnedStage<'a>,
        line: &'a Pinned,
    ) -> impl Iterator<Item = Option<Self>> {
        let all = stage.inner();
        stage.inner().enumerate().map(move |(number, inner)| {
            let span = inner.call().span;
            let mut within = all
                .clone()
                .skip(number + 1)
                .filter(|other| span.holds(other.call().span));
            Some(Self {
                stage: place,
                inner: Some(number),
                span,
                program: file(inner.program()?)?,
                argv: inner.call().words().collect(),
                models: line.models(),
                tier: inner.call().tier,
                opened_anew: true,
                names_unknown: within.any(|other| other.program().is_none()),
            })
        })
    }

    /// Returns whether a grant of this scope covers the arguments.
    ///
    /// A prefix is compared by what its words mean to the program, if a model tells.
    fn is_covered_by(&self, scope: &Scope) -> bool {
        let by_text = || scope.covers(self.argv.iter().copied());
        match scope {
            Scope::AnyArguments {} | Scope::Exact { .. } => by_text(),
            Scope::Prefix { args } => {
                let called = &self.program.identity().called;
                let by_meaning = starts_like(self.models, called, args, &self.argv);
                by_meaning.unwrap_or_else(by_text)
            }
        }
    }

    /// Returns whether whoever gave the grant saw which programs the arguments name, or did not mind.
    fn is_named_by(&self, given: &Given) -> bool {
        let called = &self.program.identity().called;
        given.dangerous_any_arguments || !given.scope.leaves_open(self.models, called)
    }

    /// Returns whether what is run may be another file than the one that was checked.
    fn may_change(&self) -> bool {
        let mut trust = self.program.trust().iter();
        let searched =
            self.inner.is_some() && trust.any(|trust| trust.fact == Fact::EarlierDirectoryWritable);
        self.opened_anew && (searched || !self.program.is_protected())
    }
}

fn file(program: &Program) -> Option<&FileProgram> {
    match program {
        Program::File(file) => Some(file),
        Program::Builtin(_) => None,
    }
}

/// Returns whether whoever runs the line opens the programs once more, by their paths.
const fn opens_anew(shell: Shell) -> bool {
    match shell {
        Shell::Bash | Shell::Sh | Shell::Zsh => true,
        Shell::None => false,
    }
}
