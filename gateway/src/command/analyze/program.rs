//! What is known of the program of a stage, as text for people.

use std::io::{self, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use plainpipe::effect::{Inner, Lookup};
use plainpipe::program::{Fact, FileProgram, Identity, PinnedInner, Trust};
use plainpipe::{Pinned, Program, Visible};

use super::people::FAINT;

const STRONG: Style = Style::new().bold();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// Writes what a stage runs.
pub(super) fn program(out: &mut impl Write, program: &Program) -> io::Result<()> {
    match program {
        Program::File(file) => self::file(out, file),
        Program::Builtin(builtin) => field(out, "builtin", &format!("of {}", builtin.shell())),
    }
}

/// Writes a program that the arguments of a stage name, and which file that is.
pub(super) fn inner(out: &mut impl Write, inner: &PinnedInner<'_>) -> io::Result<()> {
    call(out, inner.call())?;
    inner
        .program()
        .map_or(Ok(()), |program| self::program(out, program))
}

/// Writes a call that the arguments of a stage name.
pub(super) fn call(out: &mut impl Write, call: &Inner) -> io::Result<()> {
    let words: Vec<String> = call.argv().map(|word| Visible(&word).to_string()).collect();
    writeln!(out)?;
    writeln!(
        out,
        "      {FAINT}inner{FAINT:#}     {STRONG}{}{STRONG:#}  {FAINT}{}{FAINT:#}",
        words.join(" "),
        call.tier
    )?;
    match call.lookup {
        Lookup::Path => Ok(()),
        Lookup::Shell => field(out, "looked up", "by sh"),
        Lookup::Unknown => field(out, "looked up", "where this line does not tell"),
        Lookup::Elsewhere => field(
            out,
            "looked up",
            "by the program around it, not on this PATH",
        ),
    }
}

/// Writes which file a stage runs, and what makes it less trustworthy.
fn file(out: &mut impl Write, file: &FileProgram) -> io::Result<()> {
    let identity = file.identity();
    field(out, "file", &path(&identity.real_path))?;
    if file.path() != identity.real_path {
        field(out, "found at", &path(file.path()))?;
    }
    field(out, "called", &Visible(&identity.called).to_string())?;
    field(out, "content", &content(identity))?;
    field(
        out,
        "mode",
        &format!(
            "{:04o}, owner {}:{}",
            identity.mode & 0o7777,
            identity.uid,
            identity.gid
        ),
    )?;
    for interpreter in file.interpreters() {
        let identity = interpreter.identity();
        let argument = interpreter
            .argument()
            .map(|argument| format!(" {}", Visible(argument)));
        let argument = argument.unwrap_or_default();
        let found = path(&identity.real_path);
        field(
            out,
            "run by",
            &format!("{found}{argument}, {}", content(identity)),
        )?;
    }
    file.trust()
        .iter()
        .try_for_each(|trust| warning(out, trust))
}

/// Writes which variables can make the line run other code.
pub(super) fn environment(out: &mut impl Write, pinned: &Pinned) -> io::Result<()> {
    if !pinned.environment().is_empty() {
        writeln!(out)?;
    }
    pinned
        .environment()
        .iter()
        .try_for_each(|trust| warning(out, trust))
}

fn field(out: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "      {FAINT}{name:<9}{FAINT:#} {value}")
}

fn warning(out: &mut impl Write, trust: &Trust) -> io::Result<()> {
    let at = path(&trust.at);
    writeln!(
        out,
        "      {WARNING}{:<9}{WARNING:#} {}: {at}",
        "note",
        said(trust.fact)
    )
}

fn path(path: &Path) -> String {
    Visible(&path.to_string_lossy()).to_string()
}

fn content(identity: &Identity) -> String {
    format!("{} bytes, sha256 {}", identity.size, identity.sha256)
}

/// Returns a fact as a clause.
fn said(fact: Fact) -> &'static str {
    match fact {
        Fact::WritableByGroup => "its group can write to it",
        Fact::WritableByOthers => "everybody can write to it",
        Fact::ForeignOwner => "it belongs to neither root nor you",
        Fact::SetUid => "it runs with the rights of its owner",
        Fact::SetGid => "it runs with the rights of its group",
        Fact::NoExecMount => "nothing is executed from its mount",
        Fact::UnderWorkingDirectory => "it lies under the working directory",
        Fact::EarlierDirectoryWritable => {
            "you can write to this directory, which PATH has before it"
        }
        Fact::UnpinnedLibrary => "it loads libraries from where you can write",
        Fact::NotHeld => "nothing kept it from being written while it was read",
        Fact::Environment => "this variable can make the line run other code",
        _ => "it is marked by the library in a way that this command does not know",
    }
}
