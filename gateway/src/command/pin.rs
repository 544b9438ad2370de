//! `rea pin`: which file is this program, exactly?

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use plainpipe::program::{FileProgram, Identity, Interpreter, PinCache, Through};
use plainpipe::{Host, Line, Pinned, Program, Refusal, Shell, Visible};

use super::{Answer, Failure, machine, written};

/// Knows programs by their content.
#[derive(Args, Debug)]
pub(crate) struct Pin {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(Show),
    Verify(Verify),
    Forget(Forget),
}

/// Says which file a program is, by path, state and digest.
#[derive(Args, Debug)]
struct Show {
    #[command(flatten)]
    target: Target,

    /// Print one JSON object instead of text for people
    #[arg(long)]
    json: bool,
}

/// Reads a program once more and compares it with what is kept.
#[derive(Args, Debug)]
struct Verify {
    #[command(flatten)]
    target: Target,
}

/// Removes what is kept of a program.
#[derive(Args, Debug)]
struct Forget {
    #[command(flatten)]
    target: Target,
}

#[derive(Args, Debug)]
struct Target {
    /// A name on PATH, or a path
    program: String,

    /// Keep digests in this file [default: rea/pins.json in the user's cache directory]
    #[arg(long, value_name = "FILE")]
    cache: Option<PathBuf>,
}

impl Pin {
    pub(crate) fn run(self) -> Answer {
        match self.command {
            Command::Show(show) => show.run(),
            Command::Verify(verify) => verify.run(),
            Command::Forget(forget) => forget.run(),
        }
    }
}

impl Show {
    fn run(self) -> Answer {
        let mut cache = self.target.cache()?;
        let pinned = match self.target.pin(&mut cache)? {
            Ok(pinned) => pinned,
            Err(refusal) => return Ok(no(&refusal)),
        };
        keep(&mut cache);
        let Some(program) = program(&pinned) else {
            return Ok(ExitCode::FAILURE);
        };
        let outcome = if self.json {
            let object = serde_json::to_string(&pinned.programs().first());
            let object = object.map_err(|error| Failure::new("writing JSON", error))?;
            writeln!(io::stdout().lock(), "{object}")
        } else {
            show(&mut io::stdout().lock(), program)
        };
        written(outcome, ExitCode::SUCCESS)
    }
}

impl Verify {
    fn run(self) -> Answer {
        let cache = self.target.cache()?;
        let pinned = match self.target.pin(&mut PinCache::in_memory())? {
            Ok(pinned) => pinned,
            Err(refusal) => return Ok(no(&refusal)),
        };
        let mut all_agree = true;
        let mut out = io::stdout().lock();
        let outcome = identities(&pinned).iter().try_for_each(|fresh| {
            let path = shown(&fresh.real_path);
            let kept = cache.kept(fresh);
            all_agree &= matches!(kept, Some((_, true)));
            match kept {
                Some((_, true)) => writeln!(out, "as kept   {}  {path}", fresh.sha256),
                Some((kept, false)) if kept == fresh.sha256 => {
                    writeln!(
                        out,
                        "differs   {}  {path}: same content, another state",
                        fresh.sha256
                    )
                }
                Some((kept, false)) => {
                    writeln!(out, "differs   {}  {path}: {kept} was kept", fresh.sha256)
                }
                None => writeln!(out, "not kept  {}  {path}", fresh.sha256),
            }
        });
        let answer = if all_agree {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
        written(outcome, answer)
    }
}

impl Forget {
    fn run(self) -> Answer {
        let mut cache = self.target.cache()?;
        let real_path = match self.target.pin(&mut cache)? {
            Ok(pinned) => program(&pinned).map(|program| program.identity().real_path.clone()),
            Err(_) => None,
        };
        // A program that is gone can still be forgotten, under the path that it had.
        let path = real_path.unwrap_or_else(|| PathBuf::from(&self.target.program));
        let found = cache.forget(&path);
        let found = found.map_err(|error| Failure::new("writing the cache", error))?;
        let answer = if found {
            "forgotten"
        } else {
            "nothing is kept of"
        };
        let outcome = writeln!(io::stdout().lock(), "{answer} {}", shown(&path));
        written(outcome, ExitCode::SUCCESS)
    }
}

impl Target {
    fn cache(&self) -> Result<PinCache, Failure> {
        if let Some(file) = &self.cache {
            return Ok(PinCache::on_disk(file));
        }
        let cache = machine::cache().ok_or_else(|| {
            let what =
                "neither XDG_CACHE_HOME nor HOME is an absolute path; name the file with --cache";
            Failure::new("looking for the kept digests", what)
        })?;
        Ok(PinCache::on_disk(cache))
    }

    /// Pins the program as a line of one word, which no shell is to run.
    fn pin(&self, cache: &mut PinCache) -> Result<Result<Pinned, Refusal>, Failure> {
        let host =
            Host::current().map_err(|error| Failure::new("looking at this machine", error))?;
        let host = host.with_shell(Shell::None);
        let word = format!("'{}'", self.program.replace('\'', r"'\''"));
        let pinned = Line::parse(&word).and_then(|line| host.resolve(line)?.pin(cache));
        Ok(pinned)
    }
}

/// Says why there is no answer, on standard error.
fn no(refusal: &Refusal) -> ExitCode {
    // Nothing is left to tell it to when standard error is gone too.
    let _ = writeln!(
        io::stderr(),
        "rea: {}: {}\nhelp: {}",
        refusal.code(),
        refusal.message(),
        refusal.help()
    );
    ExitCode::FAILURE
}

/// Writes what was learned; a cache that cannot be written costs time and nothing else.
fn keep(cache: &mut PinCache) {
    if let Err(error) = cache.save() {
        let _ = writeln!(io::stderr(), "rea: {error}");
    }
}

fn program(pinned: &Pinned) -> Option<&FileProgram> {
    match pinned.programs().first()? {
        Program::File(file) => Some(file),
        Program::Builtin(_) => None,
    }
}

/// Returns the program and everything that runs it.
fn identities(pinned: &Pinned) -> Vec<Identity> {
    let Some(program) = program(pinned) else {
        return Vec::new();
    };
    let interpreters = program.interpreters().iter().map(Interpreter::identity);
    [program.identity()]
        .into_iter()
        .chain(interpreters)
        .cloned()
        .collect()
}

fn show(out: &mut impl Write, program: &FileProgram) -> io::Result<()> {
    writeln!(out, "{}", Visible(program.name()))?;
    writeln!(out, "  path    {}", shown(program.path()))?;
    for link in program.links() {
        writeln!(out, "  link    {}", shown(link))?;
    }
    state(out, program.identity())?;
    for interpreter in program.interpreters() {
        let through = match interpreter.through() {
            Through::Shebang => "first line",
            Through::Env => "env",
            Through::Elf => "ELF header",
        };
        writeln!(
            out,
            "\nruns through {} ({through})",
            shown(interpreter.path())
        )?;
        if let Some(argument) = interpreter.argument() {
            writeln!(out, "  with    {}", Visible(argument))?;
        }
        state(out, interpreter.identity())?;
    }
    if !program.trust().is_empty() {
        writeln!(out, "\nnote")?;
    }
    for trust in program.trust() {
        let fact = serde_json::to_value(trust.fact).unwrap_or_default();
        writeln!(
            out,
            "  {}: {}",
            fact.as_str().unwrap_or_default(),
            shown(&trust.at)
        )?;
    }
    out.flush()
}

fn state(out: &mut impl Write, identity: &Identity) -> io::Result<()> {
    writeln!(out, "  file    {}", shown(&identity.real_path))?;
    writeln!(out, "  called  {}", Visible(&identity.called))?;
    writeln!(out, "  sha256  {}", identity.sha256)?;
    writeln!(
        out,
        "  state   {} bytes, mode {:04o}, owner {}:{}, device {}, inode {}",
        identity.size, identity.mode, identity.uid, identity.gid, identity.dev, identity.ino
    )
}

/// Returns a path with everything escaped that a terminal would act on.
fn shown(path: &Path) -> String {
    Visible(&path.to_string_lossy()).to_string()
}
