//! Grants and verdicts as text for people. Whatever came from elsewhere is shown escaped.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use plainpipe::Visible;
use plainpipe::grant::{
    Drift, Given, GrantedProgram, Grants, Lifetime, Missing, Scope, Verdict, Why,
};
use plainpipe::program::{Pinned, Program};

use crate::command::refused;

/// Returns one grant as one line.
pub(super) fn row(given: &Given, grants: &Grants) -> String {
    let Given {
        id,
        program,
        scope,
        ceiling,
        lifetime,
        ..
    } = given;
    let state = state(given, grants);
    let called = Visible(&program.identity.called);
    let (scope, until) = (covered(scope), until(lifetime));
    format!("{id}  {state}  {called} {scope}  up to {ceiling}, {until}\n")
}

/// Returns all there is to know of one grant.
pub(super) fn all(given: &Given, grants: &Grants) -> String {
    let mut text = row(given, grants);
    let mut field = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<13}{}", Visible(value));
    };
    field("given by", &given.by);
    field("given at", &time(given.at));
    field("reason", &given.reason);
    if let Some(used) = given.used {
        field("used at", &time(used));
    }
    if given.dangerous_any_arguments {
        field("dangerous", "any arguments of a program that runs programs");
    }
    for (name, value) in facts(&given.program) {
        field(&name, &value);
    }
    text
}

/// Returns a verdict, with what somebody who is asked for a grant needs to know.
pub(super) fn verdict(command: &[u8], verdict: &Verdict, grants: &Grants) -> String {
    let mut text = String::new();
    match verdict {
        Verdict::Refused(refusal) => return refused::text(command, refusal),
        Verdict::Granted(granted) => {
            text.push_str("granted\n");
            stages(&mut text, granted.line());
            let inner = granted.inner_grants().iter().flatten();
            for given in granted
                .grants()
                .iter()
                .chain(inner)
                .flatten()
                .filter_map(|id| grants.find(*id))
            {
                text.push_str(&row(given, grants));
            }
        }
        Verdict::NotGranted(not) => {
            text.push_str("not granted\n");
            stages(&mut text, not.line());
            missing(&mut text, not.missing());
        }
        Verdict::Drifted(drifted) => {
            text.push_str("drifted: a program is not the one that was granted\n");
            stages(&mut text, drifted.line());
            for drift in drifted.drifts() {
                side_by_side(&mut text, drift);
            }
            missing(&mut text, drifted.missing());
        }
    }
    text
}

fn stages(text: &mut String, line: &Pinned) {
    for (place, stage) in line.stages().enumerate() {
        let words = stage
            .stage()
            .argv()
            .map(|word| format!("{:?}", Visible(word).to_string()));
        let words: Vec<String> = words.collect();
        let what = program(stage.program());
        let _ = writeln!(text, "{:>4}  {}  ({what})", place + 1, words.join(" "));
        for inner in stage.inner() {
            let words = inner.call().argv();
            let words: Vec<String> = words
                .map(|word| format!("{:?}", Visible(&word).to_string()))
                .collect();
            let what = inner
                .program()
                .map_or_else(|| "not looked up here".to_owned(), program);
            let _ = writeln!(text, "      runs {}  ({what})", words.join(" "));
        }
        for replaced in &stage.effects().replaced_models {
            let (program, by) = (Visible(&replaced.program), Visible(&replaced.by));
            let _ = writeln!(
                text,
                "      your model of {program} stands in for the shipped one: {by}"
            );
        }
    }
}

fn program(program: &Program) -> String {
    match program {
        Program::File(file) => shown(&file.identity().real_path),
        Program::Builtin(builtin) => format!("builtin of {}", builtin.shell()),
    }
}

/// Returns which call of a line is meant.
fn call(stage: usize, inner: Option<usize>) -> String {
    let stage = stage + 1;
    inner.map_or_else(
        || format!("stage {stage}"),
        |inner| format!("stage {stage}, inner program {}", inner + 1),
    )
}

fn missing(text: &mut String, missing: &[Missing]) {
    for Missing { stage, inner, why } in missing {
        let why = match why {
            Why::NoGrant => "nobody has granted this program".to_owned(),
            Why::OtherArguments { grant } => format!("{grant} covers other arguments"),
            Why::AboveCeiling {
                grant,
                ceiling,
                tier,
            } => format!("{grant} covers up to {ceiling}, and this is {tier}"),
            Why::Ended { grant } => format!("{grant} has ended, or belongs to another session"),
            Why::Used { grant } => format!(
                "{grant} covers one call and has been used, or another stage of this line takes it"
            ),
            Why::InnerNotNamed { grant } => format!(
                "{grant} does not say which program it may run, and that cannot be looked up here; \
                 grant a prefix that names it, or the exact call"
            ),
            Why::NotHeld { grant } if inner.is_some() => format!(
                "not-held: {grant} covers it, but the program around it opens the file anew, and you \
                 can change it; run it without the wrapper"
            ),
            Why::NotHeld { grant } => format!(
                "not-held: {grant} covers it, but a shell would open the file anew, and you can \
                 change it; use `rea run`, and check with --shell none"
            ),
            other => format!("{other:?}"),
        };
        let _ = writeln!(text, "{}: {why}", call(*stage, *inner));
    }
}

/// Writes what differs between the program then and now.
fn side_by_side(text: &mut String, drift: &Drift) {
    let _ = writeln!(
        text,
        "{}: granted by {}",
        call(drift.stage, drift.inner),
        drift.grant
    );
    let (then, now) = (facts(&drift.then), facts(&drift.now));
    for place in 0..then.len().max(now.len()) {
        let (then, now) = (then.get(place), now.get(place));
        if then == now {
            continue;
        }
        let name = then
            .or(now)
            .map(|(name, _)| name.as_str())
            .unwrap_or_default();
        let value = |fact: Option<&(String, String)>| {
            fact.map_or_else(|| "-".to_owned(), |(_, value)| Visible(value).to_string())
        };
        let _ = writeln!(text, "  {name:<13}then {}", value(then));
        let _ = writeln!(text, "  {:<13}now  {}", "", value(now));
    }
}

/// Returns what tells one program from another, in a fixed order.
fn facts(program: &GrantedProgram) -> Vec<(String, String)> {
    let identity = &program.identity;
    let mut facts = vec![
        ("called".to_owned(), identity.called.clone()),
        ("file".to_owned(), identity.real_path.display().to_string()),
        ("sha256".to_owned(), identity.sha256.to_string()),
        ("size".to_owned(), identity.size.to_string()),
        ("mode".to_owned(), format!("{:o}", identity.mode)),
        (
            "owner".to_owned(),
            format!("{}:{}", identity.uid, identity.gid),
        ),
    ];
    for interpreter in &program.interpreters {
        let argument = interpreter.argument.as_deref().unwrap_or_default();
        let path = interpreter.path.display();
        let sha256 = interpreter.identity.sha256;
        let real = interpreter.identity.real_path.display();
        facts.push((
            "run by".to_owned(),
            format!("{path} {argument} ({real} {sha256})"),
        ));
    }
    facts
}

fn state(given: &Given, grants: &Grants) -> &'static str {
    if given.used.is_some() {
        "used   "
    } else if grants.counts(given) {
        "counts "
    } else {
        "ended  "
    }
}

fn covered(scope: &Scope) -> String {
    let words = |words: &[String]| {
        let words: Vec<String> = words
            .iter()
            .map(|word| format!("{:?}", Visible(word).to_string()))
            .collect();
        words.join(" ")
    };
    match scope {
        Scope::AnyArguments {} => "with any arguments".to_owned(),
        Scope::Prefix { args } => format!("{} and any arguments after", words(args)),
        Scope::Exact { argv } => format!("exactly as {}", words(argv)),
    }
}

fn until(lifetime: &Lifetime) -> String {
    match lifetime {
        Lifetime::Once {} => "once".to_owned(),
        Lifetime::Session { session } => format!("for session {}", Visible(&session.to_string())),
        Lifetime::Until { unix, .. } => format!("until {}", time(*unix)),
        Lifetime::Always {} => "always".to_owned(),
    }
}

fn time(unix: u64) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(unix));
    // What does not fit a calendar is shown as the number that it is.
    time.filter(|_| unix < LAST).map_or_else(
        || format!("@{unix}"),
        |time| humantime::format_rfc3339_seconds(time).to_string(),
    )
}

/// The first second of the year 10000, which calendars of four digits cannot show.
const LAST: u64 = 253_402_300_800;

fn shown(path: &Path) -> String {
    Visible(&path.display().to_string()).to_string()
}
