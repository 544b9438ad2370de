//! `rea audit`.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use serde_json::Value;

use rea_gateway::{
    audit::{
        self, Audit, AuditError, Checkpoint, Finding, Kind, Options, Report, Segment, Settings,
        Verdict, user_state_directory,
    },
    policy::PATH_IN_PROJECT,
    terminal::escaped,
    yaml::Fault,
};

/// From how many bytes on a check shows its progress.
const LONG_LOG: u64 = 32 * 1024 * 1024;
/// How many records `tail` shows at most.
const MAX_TAIL: u64 = 100_000;
/// The exit code for arguments that make no sense.
const WRONG_USE: u8 = 2;
/// The exit code when a log cannot be read, written or compared.
const UNUSABLE: u8 = 4;

/// The arguments of `rea audit`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check that no record was changed, moved, added or taken out.
    ///
    /// Exit code 0: intact. 1: tampered with. 2: wrong use. 3: truncated. 4: unreadable.
    Verify(Verify),
    /// Close the live file under another name and begin a new one, then delete what the policy no
    /// longer keeps.
    Rotate,
    /// Show the last records.
    Tail(Tail),
    /// Show all records, or those that fit.
    Show(Show),
    /// Print a signed note of how far the log has come, for keeping elsewhere.
    Checkpoint,
}

#[derive(Debug, Args)]
struct Verify {
    /// Report only what is wrong from this segment on, as audit-20260203-040506.jsonl.
    #[arg(long, value_name = "SEGMENT")]
    since: Option<String>,
    /// Hold the log to a checkpoint that was kept elsewhere; may be given more than once.
    #[arg(long, value_name = "FILE")]
    against: Vec<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Tail {
    /// How many records to show.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=MAX_TAIL))]
    lines: u64,
    /// Print the records as they are.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Show {
    /// Begin with this segment, or with this time, as 2026-02-03T04:05:06Z.
    #[arg(long, value_name = "SEGMENT|TIME")]
    since: Option<String>,
    /// Only calls of this server.
    #[arg(long)]
    server: Option<String>,
    /// Only calls of this tool.
    #[arg(long)]
    tool: Option<String>,
    /// Only calls that ended so.
    #[arg(long)]
    status: Option<Status>,
    /// Only calls of this session.
    #[arg(long)]
    session: Option<String>,
    /// Only the records of this call.
    #[arg(long, value_name = "CALL_ID")]
    call: Option<String>,
    /// Print the records as they are.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Status {
    Allowed,
    Denied,
    Error,
}

/// Why a command stopped.
enum Stop {
    /// The log or its keys.
    Log(AuditError),
    /// The arguments, with what is wrong with them.
    Use(String),
    /// The policy.
    Policy(Fault),
    /// Standard output is gone, which is no fault.
    Output,
}

impl From<AuditError> for Stop {
    fn from(error: AuditError) -> Self {
        if matches!(error, AuditError::NoSuchSegment { .. }) {
            Self::Use(error.to_string())
        } else {
            Self::Log(error)
        }
    }
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Self {
        Self::Output
    }
}

/// Runs `rea audit` for the project in the current directory.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let root = Path::new(".");
    let stopped = match &arguments.action {
        Action::Verify(verify) => run_verify(root, verify),
        Action::Rotate => run_rotate(root),
        Action::Tail(tail) => run_tail(root, tail),
        Action::Show(show) => run_show(root, show),
        Action::Checkpoint => run_checkpoint(root),
    };
    match stopped {
        Ok(code) => ExitCode::from(code),
        Err(Stop::Output) => ExitCode::SUCCESS,
        Err(Stop::Use(problem)) => complain(&problem, WRONG_USE),
        Err(Stop::Policy(fault)) => complain(&fault.to_string(), UNUSABLE),
        Err(Stop::Log(error)) => complain(&error.to_string(), UNUSABLE),
    }
}

fn complain(problem: &str, code: u8) -> ExitCode {
    // Without standard error only the code is left to tell.
    drop(writeln!(io::stderr(), "rea: {}", escaped(problem)));
    ExitCode::from(code)
}

fn run_verify(root: &Path, arguments: &Verify) -> Result<u8, Stop> {
    let mut against = Vec::new();
    for path in &arguments.against {
        against.push(kept_checkpoint(path)?);
    }
    let options = Options {
        state_directory: user_state_directory().ok(),
        since: arguments.since.clone().filter(|since| !since.is_empty()),
        against,
    };
    let bar = progress(audit::size(root)?);
    let report = audit::verify(root, &options, &mut |bytes| {
        if let Some(bar) = &bar {
            bar.set_position(bytes);
        }
    })?;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    if arguments.json {
        let text = serde_json::to_string(&report).map_err(io::Error::from)?;
        writeln!(io::stdout(), "{}", harmless(&text))?;
    } else {
        print_report(&report)?;
    }
    Ok(report.verdict.exit_code())
}

fn kept_checkpoint(path: &Path) -> Result<Checkpoint, Stop> {
    let wrong = |problem: &dyn std::fmt::Display| {
        Stop::Use(format!(
            "{}: {problem}; expected what `rea audit checkpoint` printed",
            path.display()
        ))
    };
    let text = fs::read(path).map_err(|error| wrong(&error))?;
    Checkpoint::from_json(&text).map_err(|problem| wrong(&problem))
}

/// Returns a progress bar for a long log when somebody is there to see it.
fn progress(bytes: u64) -> Option<ProgressBar> {
    if bytes < LONG_LOG || !io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::new(bytes);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
    {
        bar.set_style(style);
    }
    Some(bar)
}

fn print_report(report: &Report) -> Result<(), Stop> {
    let Report {
        verdict,
        records,
        files,
        sequence,
        repairs,
        residue,
        checkpoint,
        findings,
        more_findings,
        ..
    } = report;
    let mut told = vec![format!(
        "{}: {records} records in {files} files, the last is number {sequence}",
        verdict.as_str()
    )];
    if *repairs > 0 {
        told.push(format!("{repairs} crash residues were cut and noted"));
    }
    if *residue > 0 {
        told.push(format!(
            "the last write was interrupted, its {residue} bytes will be cut and noted"
        ));
    }
    told.push(match checkpoint {
        Some(number) => format!("checked against the checkpoint of number {number}"),
        None => "there is no checkpoint, so a missing end would not be seen".to_owned(),
    });
    let told = told.join("; ");
    if *verdict == Verdict::Intact {
        writeln!(io::stdout(), "{told}")?;
        return Ok(());
    }
    let mut out = io::stderr().lock();
    if *verdict == Verdict::Tampered {
        writeln!(out, "TAMPER DETECTED")?;
    }
    for finding in findings {
        writeln!(out, "{}", escaped(&finding.to_string()))?;
        suggest(&mut out, finding)?;
    }
    if *more_findings > 0 {
        writeln!(out, "and {more_findings} more")?;
    }
    writeln!(out, "{told}")?;
    Ok(())
}

/// Adds what to do next where that is not plain.
fn suggest(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    if finding.kind == Kind::HeadMissing {
        let name = escaped(finding.actual.as_deref().unwrap_or("the older segments"));
        writeln!(
            out,
            "  hint: bring back {name}, or check the rest with --since {}",
            escaped(&finding.file)
        )?;
    }
    if finding.kind == Kind::NotComparable {
        writeln!(out, "  hint: keep a newer one, from `rea audit checkpoint`")?;
    }
    Ok(())
}

fn run_rotate(root: &Path) -> Result<u8, Stop> {
    let live = Path::new(".rea").join("audit.jsonl");
    let nothing = format!(
        "nothing to rotate: {} is not there or empty",
        live.display()
    );
    if !root.join(".rea").is_dir() {
        writeln!(io::stdout(), "{nothing}")?;
        return Ok(0);
    }
    // What is deleted afterwards is the policy's affair. One that does not read decides nothing.
    let settings = match super::policy::load(&root.join(PATH_IN_PROJECT)) {
        Ok(policy) => Settings {
            keeping: policy.keeping(),
            ..Settings::for_user()?
        },
        Err(fault) if fault.missing => Settings::for_user()?,
        Err(fault) => return Err(Stop::Policy(fault)),
    };
    match Audit::open(root, settings)?.rotate()? {
        Some(name) => writeln!(io::stdout(), "{} -> .rea/{name}", live.display())?,
        None => writeln!(io::stdout(), "{nothing}")?,
    }
    Ok(0)
}

fn run_checkpoint(root: &Path) -> Result<u8, Stop> {
    let directory = root.join(".rea");
    let none = || AuditError::NoLog {
        directory: directory.clone(),
    };
    if !directory.is_dir() {
        return Err(none().into());
    }
    let checkpoint = Audit::open(root, Settings::for_user()?)?
        .checkpoint()?
        .ok_or_else(none)?;
    write!(io::stdout(), "{}", checkpoint.to_json())?;
    Ok(0)
}

fn run_tail(root: &Path, arguments: &Tail) -> Result<u8, Stop> {
    let count = usize::try_from(arguments.lines).unwrap_or(usize::MAX);
    let mut out = io::stdout().lock();
    for line in audit::tail(root, count)? {
        print_record(&mut out, &line, arguments.json)?;
    }
    Ok(0)
}

fn run_show(root: &Path, arguments: &Show) -> Result<u8, Stop> {
    let since = arguments.since.as_deref();
    let segment =
        since.filter(|since| Segment::from_name(since).is_some() || *since == "audit.jsonl");
    let time: Option<Timestamp> = match since.filter(|_| segment.is_none()) {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| {
            Stop::Use(format!(
                "--since {text}: expected a segment or a time like 2026-02-03T04:05:06Z"
            ))
        })?),
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut printed: io::Result<()> = Ok(());
    audit::each(root, segment, |line| {
        if arguments.fits(line, time) {
            printed = print_record(&mut out, line, arguments.json);
        }
        printed.is_ok()
    })?;
    printed?;
    out.flush()?;
    Ok(0)
}

impl Show {
    /// Says whether a line is asked for; one that is no record is shown unless something particular is.
    fn fits(&self, line: &[u8], since: Option<Timestamp>) -> bool {
        let status = self.status.map(|status| match status {
            Status::Allowed => "allowed",
            Status::Denied => "denied",
            Status::Error => "error",
        });
        let wanted = [
            ("/server_name", self.server.as_deref()),
            ("/tool_name", self.tool.as_deref()),
            ("/status", status),
            ("/session_id", self.session.as_deref()),
            ("/metadata/call_id", self.call.as_deref()),
        ];
        if since.is_none() && wanted.iter().all(|(_, value)| value.is_none()) {
            return true;
        }
        let Ok(record) = serde_json::from_slice::<Value>(line) else {
            return false;
        };
        let text = |pointer| record.pointer(pointer).and_then(Value::as_str);
        let written = text("/timestamp").and_then(|text| text.parse::<Timestamp>().ok());
        since.is_none_or(|since| written.is_some_and(|written| written >= since))
            && wanted
                .iter()
                .all(|(pointer, value)| value.is_none_or(|value| text(pointer) == Some(value)))
    }
}

/// Prints one record, as JSON or for people; nothing in it can steer a terminal.
fn print_record(out: &mut impl Write, line: &[u8], json: bool) -> io::Result<()> {
    let text = String::from_utf8_lossy(line);
    let Ok(record) = serde_json::from_str::<Value>(&text) else {
        let shown = escaped(&text);
        return if json {
            writeln!(out, "{}", serde_json::json!({ "not_json": shown }))
        } else {
            writeln!(out, "not a record: {shown}")
        };
    };
    if json {
        return writeln!(out, "{}", harmless(&text));
    }
    let part = |name: &str| match record.get(name) {
        Some(Value::String(text)) => escaped(text),
        Some(other) => escaped(&other.to_string()),
        None => "?".to_owned(),
    };
    write!(
        out,
        "{} {:7} {:11} {} {}/{} {} ms",
        part("timestamp"),
        part("status"),
        part("tier"),
        part("autonomy_level"),
        part("server_name"),
        part("tool_name"),
        part("duration_ms"),
    )?;
    for (name, pointer) in [
        ("phase", "/metadata/phase"),
        ("call", "/metadata/call_id"),
        ("error", "/error"),
    ] {
        if let Some(text) = record.pointer(pointer).and_then(Value::as_str) {
            write!(out, " {name}={}", escaped(text))?;
        }
    }
    writeln!(out)
}

/// Returns JSON that means the same, with every character escaped that a terminal could obey.
fn harmless(json: &str) -> String {
    use std::fmt::Write as _;

    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() && !character.is_ascii_control()
            || character.escape_debug().len() == 1
        {
            shown.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_for_a_terminal_means_the_same_and_steers_nothing() {
        let text =
            serde_json::to_string("a\u{1b}[31m\u{9b}31m\u{7f}\u{202e}é😀\u{e0001}\"\\").unwrap();
        let shown = harmless(&text);
        assert!(
            !shown.contains(['\u{1b}', '\u{9b}', '\u{7f}', '\u{202e}', '\u{e0001}']),
            "{shown}"
        );
        assert_eq!(
            serde_json::from_str::<String>(&shown).unwrap(),
            serde_json::from_str::<String>(&text).unwrap()
        );
        assert!(shown.contains("é😀"), "{shown}");
    }
}
