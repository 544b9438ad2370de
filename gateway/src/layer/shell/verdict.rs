//! What a line for a shell is, for the record and for the caller.
//!
//! The record has everything but the line itself. The caller gets nothing of this machine: no path,
//! and of a digest only its beginning.

use std::fmt;

use plainpipe::{
    Pinned, Program, Refusal, Visible,
    effect::{self, Effect, LineEffects},
    grant::{Drift, GrantedProgram, Missing, Why},
};
use serde_json::{Value, json};

use super::tool::ShellCall;
use crate::policy::Tier;

/// The most drifted programs that a record and an answer show. A line has few; the bound keeps a
/// hostile one from making its record too long to be kept.
const MAX_DRIFTS: usize = 8;
/// The most effects, programs or missing grants of one line that are shown.
const MAX_SHOWN: usize = 16;
/// How many hexadecimal digits of a digest a caller sees.
const DIGEST_DIGITS: usize = 12;

/// Variables from which a shell or the dynamic linker takes code before it comes to the line.
const RUN_FIRST: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "LOCPATH",
    "PS4",
    "SHELLOPTS",
    "ZDOTDIR",
];
/// Beginnings of the names of further ones.
const RUN_FIRST_PREFIXES: &[&str] = &["DYLD_", "LD_"];

/// What a tool that hands a line to a shell was given.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShellLine {
    /// Whether the registry names the tool; if not, the line can only make things stricter.
    pub registered: bool,
    /// What the line is.
    pub verdict: Verdict,
    /// The line as a hint may repeat it to whoever sent it; empty if it is long, refused, or not all printable ASCII.
    pub repeated: String,
}

/// What a line is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Plain, and every program in it is known to the byte.
    Plain(Plain),
    /// Not plain, or one of its programs cannot be found, told from others or read.
    Refused(Refusal),
    /// There is no line to judge.
    Missing {
        /// The argument that should hold it as one string.
        argument: String,
    },
    /// A program in it was granted and is no longer the same.
    Drifted(Vec<Drift>),
    /// Nobody can tell.
    Unchecked(Unchecked),
}

/// What is known of a plain line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plain {
    /// How much the line can change.
    pub tier: Tier,
    /// Another argument that may change what it does.
    pub beside: Option<String>,
    /// What raises it above `read`, by rule.
    pub effects: Vec<Effect>,
    /// The programs as they are called, with their digests; none for builtins, or if nobody looked.
    pub programs: Vec<(String, Option<String>)>,
    /// Programs that the user of the gateway could replace, so that their names say little.
    pub changeable: Vec<String>,
    /// Programs that are judged by a model of the user in place of the shipped one.
    pub replaced_models: Vec<String>,
    /// Variables of the server that can make the line run other code.
    pub environment: Vec<String>,
    /// What the grants say to it.
    pub standing: Standing,
}

/// What the grants say to a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Standing {
    /// Nobody asked them.
    Unasked,
    /// Every stage has one, or needs none.
    Granted,
    /// Some stage has none.
    Ungranted(Vec<Missing>),
}

/// Why nobody can tell what a line is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unchecked {
    /// In words that a caller may see.
    pub reason: &'static str,
    /// What exactly, for the operator.
    pub detail: String,
}

/// Judges a line by its text alone: no file is looked at, and no grant.
pub fn judge_text(text: &str) -> Verdict {
    match plainpipe::Line::parse(text) {
        Ok(line) => Verdict::Plain(Plain::of_text(&effect::judge(&line))),
        Err(refusal) => Verdict::Refused(refusal),
    }
}

impl ShellLine {
    /// Judges the line of a call by its text alone, as [`judge_text`] does.
    pub fn of_text(call: ShellCall) -> Self {
        let verdict = match call.line {
            None => Verdict::Missing {
                argument: call.argument,
            },
            Some(line) => match judge_text(&line.text) {
                Verdict::Plain(plain) => Verdict::Plain(Plain {
                    beside: line.beside,
                    ..plain
                }),
                other @ (Verdict::Refused(_)
                | Verdict::Missing { .. }
                | Verdict::Drifted(_)
                | Verdict::Unchecked(_)) => other,
            },
        };
        Self {
            registered: call.registered,
            verdict,
            repeated: String::new(),
        }
    }
}

impl Plain {
    fn of_text(effects: &LineEffects) -> Self {
        let mut found: Vec<Effect> = effects.effects().cloned().collect();
        found.sort_by_key(|effect| std::cmp::Reverse(effect.tier));
        found.truncate(MAX_SHOWN);
        let replaced = effects
            .stages
            .iter()
            .flat_map(|stage| &stage.replaced_models);
        let replaced = replaced.map(|replaced| replaced.program.clone());
        Self {
            tier: tier(effects.tier),
            beside: None,
            effects: found,
            programs: Vec::new(),
            changeable: Vec::new(),
            replaced_models: replaced.take(MAX_SHOWN).collect(),
            environment: Vec::new(),
            standing: Standing::Unasked,
        }
    }

    /// Judges a line whose programs are known.
    ///
    /// `changeable` are those that the user could replace.
    pub(super) fn of_pinned(
        pinned: &Pinned,
        effects: &LineEffects,
        changeable: Vec<String>,
        standing: Standing,
    ) -> Self {
        let mut plain = Self::of_text(effects);
        for program in pinned.programs() {
            match program {
                Program::Builtin(builtin) => {
                    plain.programs.push((builtin.name().to_owned(), None));
                }
                Program::File(file) => {
                    let identity = file.identity();
                    let digest = Some(identity.sha256.to_string());
                    plain.programs.push((identity.called.clone(), digest));
                }
            }
        }
        plain.changeable = changeable;
        let hazards = pinned.environment().iter();
        plain.environment = hazards
            .map(|trust| trust.at.display().to_string())
            .collect();
        if !plain.changeable.is_empty() || plain.runs_first().is_some() {
            // A model speaks of the program that a name stands for. Where the user can put another
            // one in its place, the line runs whatever was put there, as a build script would.
            plain.tier = plain.tier.max(Tier::Write);
        }
        plain.programs.truncate(MAX_SHOWN);
        plain.changeable.truncate(MAX_SHOWN);
        plain.environment.truncate(MAX_SHOWN);
        plain.standing = standing;
        plain
    }

    /// Returns the variable from which the shell takes code before it comes to the line, if any is set.
    pub(in crate::layer) fn runs_first(&self) -> Option<&str> {
        let names = self.environment.iter().map(String::as_str);
        let found = |name: &&str| {
            RUN_FIRST.contains(name)
                || RUN_FIRST_PREFIXES
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
        };
        names.into_iter().find(found)
    }

    /// Returns which rules raise the line, and where; with their reasons for whoever may rewrite it.
    fn effects(&self, with_reasons: bool) -> Value {
        let row = |effect: &Effect| {
            let Effect {
                rule, span, tier, ..
            } = effect;
            without_gaps([
                ("rule", json!(rule.as_str())),
                ("tier", json!(tier)),
                ("span", json!([span.start, span.end])),
                ("reason", json!(with_reasons.then(|| rule.reason()))),
            ])
        };
        self.effects.iter().map(row).collect()
    }
}

/// Returns the tier of a line as policies name it.
const fn tier(tier: effect::Tier) -> Tier {
    match tier {
        effect::Tier::Read => Tier::Read,
        effect::Tier::Write => Tier::Write,
        effect::Tier::Destructive => Tier::Destructive,
    }
}

impl Verdict {
    /// Returns how much the line can change, for all we know.
    pub const fn tier(&self) -> Tier {
        match self {
            Self::Plain(Plain {
                tier, beside: None, ..
            }) => *tier,
            Self::Plain(Plain {
                beside: Some(_), ..
            })
            | Self::Refused(_)
            | Self::Missing { .. }
            | Self::Drifted(_)
            | Self::Unchecked(_) => Tier::Destructive,
        }
    }

    /// Returns the facts for the record. The line itself is not among them.
    pub fn facts(&self) -> Value {
        match self {
            Self::Plain(plain) => {
                let program = |(called, sha256): &(String, Option<String>)| json!({"called": called, "sha256": sha256});
                let programs: Vec<Value> = plain.programs.iter().map(program).collect();
                let missing = match &plain.standing {
                    Standing::Unasked | Standing::Granted => Vec::new(),
                    Standing::Ungranted(missing) => missing.iter().take(MAX_SHOWN).collect(),
                };
                without_gaps([
                    ("verdict", json!("plain")),
                    ("tier", json!(plain.tier)),
                    ("beside", json!(plain.beside)),
                    ("effects", plain.effects(false)),
                    ("changeable", json!(plain.changeable)),
                    ("environment", json!(plain.environment)),
                    ("replaced_models", json!(plain.replaced_models)),
                    ("programs", json!(programs)),
                    ("standing", json!(plain.standing.as_str())),
                    ("missing", json!(missing)),
                ])
            }
            Self::Refused(refusal) => {
                let detail = (!refusal.code().is_of_text()).then(|| refusal.message());
                refused(refusal, detail)
            }
            Self::Missing { argument } => json!({"verdict": "missing", "argument": argument}),
            Self::Drifted(drifts) => {
                let shown: Vec<&Drift> = drifts.iter().take(MAX_DRIFTS).collect();
                json!({"verdict": "drifted", "drifts": shown, "of": drifts.len()})
            }
            Self::Unchecked(Unchecked { reason, detail }) => {
                json!({"verdict": "unchecked", "reason": reason, "detail": detail})
            }
        }
    }

    /// Returns the facts for the caller: nothing of this machine but names that the line has, and
    /// the beginnings of digests.
    pub fn told(&self) -> Value {
        match self {
            Self::Plain(plain) => without_gaps([
                ("verdict", json!("plain")),
                ("tier", json!(plain.tier)),
                ("beside", json!(plain.beside)),
                ("effects", plain.effects(true)),
                ("changeable", json!(plain.changeable)),
                ("missing", json!(self.missing())),
            ]),
            Self::Refused(refusal) => refused(refusal, None),
            Self::Missing { .. } => self.facts(),
            Self::Drifted(drifts) => {
                let row = |drift: &Drift| {
                    let (then, now) = digests(drift);
                    let called = &drift.now.identity.called;
                    json!({"stage": drift.stage, "called": called, "then": then, "now": now})
                };
                let drifted: Vec<Value> = drifts.iter().take(MAX_DRIFTS).map(row).collect();
                json!({"verdict": "drifted", "drifted": drifted})
            }
            Self::Unchecked(Unchecked { reason, .. }) => {
                json!({"verdict": "unchecked", "reason": reason})
            }
        }
    }

    /// Returns the stages without a grant: which, what program, and why, in one word.
    pub(super) fn missing(&self) -> Vec<Value> {
        let Self::Plain(Plain {
            programs,
            standing: Standing::Ungranted(missing),
            ..
        }) = self
        else {
            return Vec::new();
        };
        let row = |missing: &Missing| {
            let called = programs.get(missing.stage).map(|(called, _)| called);
            json!({"stage": missing.stage, "called": called, "why": why(&missing.why)})
        };
        missing.iter().take(MAX_SHOWN).map(row).collect()
    }

    /// Returns what the operator should hear at once, if anything.
    pub fn for_operator(&self) -> Option<String> {
        match self {
            Self::Plain(_) | Self::Refused(_) | Self::Missing { .. } => None,
            Self::Drifted(drifts) => {
                let changes: Vec<String> = (drifts.iter().take(MAX_DRIFTS))
                    .map(|drift| {
                        let (then, now) = (identity(&drift.then), identity(&drift.now));
                        format!("granted by {}: {then}; now: {now}", drift.grant)
                    })
                    .collect();
                Some(format!("PROGRAM DRIFTED: {}", changes.join("; ")))
            }
            Self::Unchecked(Unchecked { reason, detail }) => Some(format!(
                "a line for a shell was not checked, and denied for it: {reason}: {detail}"
            )),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(Plain {
                beside: Some(argument),
                ..
            }) => write!(formatter, "line-beside:{argument}"),
            Self::Plain(Plain { tier, .. }) => write!(formatter, "line-plain:{tier}"),
            Self::Refused(refusal) => write!(formatter, "line-refused:{}", refusal.code()),
            Self::Missing { .. } => formatter.write_str("line-missing"),
            Self::Drifted(_) => formatter.write_str("line-drifted"),
            Self::Unchecked(_) => formatter.write_str("line-unchecked"),
        }
    }
}

impl Standing {
    const fn as_str(&self) -> &'static str {
        match self {
            Self::Unasked => "unasked",
            Self::Granted => "granted",
            Self::Ungranted(_) => "not-granted",
        }
    }
}

fn refused(refusal: &Refusal, detail: Option<String>) -> Value {
    let span = refusal.span();
    without_gaps([
        ("verdict", json!("refused")),
        ("code", json!(refusal.code().as_str())),
        ("span", json!([span.start, span.end])),
        ("hint", json!(refusal.help())),
        ("detail", detail.into()),
    ])
}

/// Returns an object of those members that are neither null nor empty lists.
fn without_gaps<const N: usize>(members: [(&str, Value); N]) -> Value {
    let says =
        |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    let members = members.into_iter().filter(|(_, value)| says(value));
    Value::Object(
        members
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}

/// Returns what is wrong with a refused line, without a word about this machine.
pub(super) fn found(refusal: &Refusal) -> String {
    let code = refusal.code();
    if code.is_of_text() {
        return refusal.message();
    }
    format!("`{}`: {}", Visible(refusal.found()), code.summary())
}

/// Returns the beginnings of both digests.
pub(super) fn digests(drift: &Drift) -> (String, String) {
    let digits = |program: &GrantedProgram| {
        let digest = program.identity.sha256.to_string();
        digest.chars().take(DIGEST_DIGITS).collect()
    };
    (digits(&drift.then), digits(&drift.now))
}

fn why(why: &Why) -> String {
    let name = serde_json::to_value(why).ok();
    let name = name.as_ref().and_then(|why| why.get("kind")?.as_str());
    name.unwrap_or("no-grant").to_owned()
}

/// Spells all that tells a program from another.
fn identity(program: &GrantedProgram) -> String {
    let one = |identity: &plainpipe::program::Identity| {
        format!(
            "{} (called {}, sha256 {}, {} bytes, mode {:04o}, owner {}:{})",
            Visible(&identity.real_path.to_string_lossy()),
            Visible(&identity.called),
            identity.sha256,
            identity.size,
            identity.mode,
            identity.uid,
            identity.gid,
        )
    };
    let mut text = one(&program.identity);
    for interpreter in &program.interpreters {
        text.push_str(" run by ");
        text.push_str(&one(&interpreter.identity));
    }
    text
}
