//! Where lines are run: an empty folder, and a `PATH` with nothing but dumpers.
//!
//! A line is run as it is written, by many shells, and every program of it is a link to one
//! dumper. Many lines go into one script, each with a number of its own, since starting a shell
//! costs more than running a line; what differs there is run again alone.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io};

use plainpipe::Line;

use super::records::{self, Call};
use super::shells::Shell;

/// The name that stands in for programs that a shell would not look up.
const STAND_IN: &str = "prog";

/// A line and the words of each stage that a shell has to run for it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Row {
    pub(crate) text: String,
    pub(crate) stages: Vec<Vec<String>>,
}

/// What one shell made of some rows.
pub(crate) struct Run {
    /// The calls of each row, in no particular order.
    pub(crate) calls: Vec<Vec<Call>>,
    /// Files that the rows left behind.
    pub(crate) litter: Vec<String>,
    /// What was said on standard error.
    pub(crate) complaints: String,
}

/// How a shell is set up beyond its name.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) locale: &'static str,
    /// Where the locale is, if it is not one of the system's.
    pub(crate) locale_folder: Option<PathBuf>,
    /// Lines that go before all others.
    pub(crate) preamble: String,
    /// Options that go before the script.
    pub(crate) options: &'static [&'static str],
    /// How the text is handed over.
    pub(crate) by: By,
}

/// How a shell is given its text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum By {
    /// As a file that it is to run.
    Script,
    /// After `-c`.
    Argument,
    /// On standard input, as if typed.
    Input,
}

impl Setting {
    /// A script, in `locale`, without anything special.
    pub(crate) fn plain(locale: &'static str) -> Self {
        Self {
            locale,
            locale_folder: None,
            preamble: String::new(),
            options: &[],
            by: By::Script,
        }
    }
}

pub(crate) struct Arena {
    root: tempfile::TempDir,
    shells: Vec<Shell>,
    /// For each program name seen, whether every shell looks it up in the `PATH`.
    looked_up: Mutex<BTreeMap<String, bool>>,
    folders: AtomicU32,
}

impl Arena {
    pub(crate) fn new(shells: Vec<Shell>) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("programs")).unwrap();
        compile(&root.path().join("dumper"));
        let arena = Self {
            root,
            shells,
            looked_up: Mutex::default(),
            folders: AtomicU32::new(0),
        };
        assert!(arena.provide(STAND_IN));
        arena
    }

    pub(crate) fn shells(&self) -> &[Shell] {
        &self.shells
    }

    fn programs(&self) -> PathBuf {
        self.root.path().join("programs")
    }

    /// Makes `name` a program; returns whether a file can have that name.
    fn provide(&self, name: &str) -> bool {
        let link = self.programs().join(name);
        match fs::hard_link(self.root.path().join("dumper"), link) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                !matches!(name, "." | "..")
            }
            Err(_) => false,
        }
    }

    /// Turns plain lines into rows: every program is a dumper that all shells look up.
    ///
    /// A builtin, a path, and a name that no file can have give way to a name that is fine, in
    /// the text of the line as well, so that the arguments are run all the same. A line that is
    /// no longer plain then, or no longer the same, is left out.
    pub(crate) fn rows(&self, lines: &[(String, Line)]) -> Vec<Row> {
        self.learn(
            lines
                .iter()
                .flat_map(|(_, line)| line.stages().map(|stage| stage.program().text)),
        );
        lines
            .iter()
            .filter_map(|(text, line)| self.row(text, line))
            .collect()
    }

    fn row(&self, text: &str, line: &Line) -> Option<Row> {
        let mut stages = words(line);
        let mut text = text.to_owned();
        let mut replaced = false;
        for (stage, words) in line.stages().zip(&mut stages).rev() {
            let program = stage.program();
            if !self
                .looked_up
                .lock()
                .unwrap()
                .get(program.text)
                .is_some_and(|good| *good)
            {
                text.replace_range(program.span.start..program.span.end, STAND_IN);
                STAND_IN.clone_into(words.first_mut()?);
                replaced = true;
            }
        }
        if replaced && !Line::parse(&text).is_ok_and(|line| self::words(&line) == stages) {
            return None;
        }
        Some(Row { text, stages })
    }

    /// Finds out which of `names` every shell looks up.
    fn learn<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let mut new: Vec<&str> = {
            let known = self.looked_up.lock().unwrap();
            names.filter(|name| !known.contains_key(*name)).collect()
        };
        new.sort_unstable();
        new.dedup();
        let (provided, impossible): (Vec<_>, Vec<_>) = new
            .into_iter()
            .partition(|name| !name.contains('/') && self.provide(name));
        let mut answers: BTreeMap<String, bool> = impossible
            .into_iter()
            .map(|name| (name.to_owned(), false))
            .collect();
        answers.extend(provided.iter().map(|name| ((*name).to_owned(), true)));
        if !provided.is_empty() {
            for shell in &self.shells {
                for (name, found) in provided.iter().zip(self.look_up(shell, &provided)) {
                    if !found {
                        answers.insert((*name).to_owned(), false);
                    }
                }
            }
        }
        self.looked_up.lock().unwrap().extend(answers);
    }

    /// Asks `shell` of each name whether it is a program for it.
    fn look_up(&self, shell: &Shell, names: &[&str]) -> Vec<bool> {
        let mut script = String::new();
        for (index, name) in names.iter().enumerate() {
            let quoted = name.replace('\'', r"'\''");
            writeln!(
                script,
                "echo '={index}'\ncommand -v '{quoted}'\ntype '{quoted}'"
            )
            .unwrap();
        }
        let output = self.worker().ask(shell, &script);
        let mut answers = vec![false; names.len()];
        let (mut current, mut asked) = (None, 0_usize);
        for line in output.split(|&byte| byte == b'\n') {
            if line == format!("={asked}").as_bytes() {
                current = Some(asked);
                asked += 1;
            } else if let Some(index) = current {
                // yash has builtins that it runs only where a program of that name is. ksh93
                // quotes a path as it sees fit.
                if line.windows(5).any(|window| window == b"built") {
                    answers[index] = false;
                    current = None;
                } else if line.starts_with(b"/")
                    || line.starts_with(b"'/")
                    || line.starts_with(b"$'/")
                {
                    answers[index] = true;
                }
            }
        }
        assert_eq!(asked, names.len(), "{} stopped answering", shell.name);
        answers
    }

    /// Returns a worker with a folder of its own.
    pub(crate) fn worker(&self) -> Worker<'_> {
        let number = self.folders.fetch_add(1, Ordering::Relaxed);
        let folder = self.root.path().join(format!("worker-{number}"));
        let empty = folder.join("empty");
        fs::create_dir_all(&empty).unwrap();
        Worker {
            arena: self,
            folder,
            empty,
        }
    }
}

/// Returns the words of each stage.
pub(crate) fn words(line: &Line) -> Vec<Vec<String>> {
    line.stages()
        .map(|stage| stage.argv().map(str::to_owned).collect())
        .collect()
}

/// Runs rows, one shell at a time.
pub(crate) struct Worker<'a> {
    arena: &'a Arena,
    folder: PathBuf,
    /// Where the shells are started; it holds nothing, so no pattern has a match.
    empty: PathBuf,
}

impl Worker<'_> {
    /// Runs `rows` in `shell`, and waits for every program of theirs to end.
    pub(crate) fn run(&self, shell: &Shell, setting: &Setting, rows: &[&Row]) -> Run {
        let records = self.folder.join("records");
        fs::write(&records, "").unwrap();
        let mut command = self.command(shell, setting);
        // What comes in through the environment stays in it when a script assigns to it.
        command
            .env("PLAINPIPE_RECORDS", &records)
            .env("PLAINPIPE_ROW", "0");
        let script = self.folder.join("script");
        if setting.by == By::Argument {
            let [row] = rows else {
                panic!("`-c` runs one row at a time")
            };
            command.arg("-c").arg(&row.text);
        } else {
            let mut text = setting.preamble.clone();
            for (index, row) in rows.iter().enumerate() {
                writeln!(text, "PLAINPIPE_ROW={index}\n{}", row.text).unwrap();
            }
            fs::write(&script, text).unwrap();
            match setting.by {
                By::Input => command.stdin(fs::File::open(&script).unwrap()),
                By::Script | By::Argument => command.arg(&script),
            };
        }
        // Standard error is a pipe that every program holds, so its end is the end of them all.
        let Output { stderr, .. } = command.output().unwrap();
        let mut calls = vec![Vec::new(); rows.len()];
        for (row, call) in records::read(&fs::read(&records).unwrap()) {
            match calls.get_mut(row) {
                Some(calls) => calls.push(call),
                None => panic!("a record of row {row} of {}", rows.len()),
            }
        }
        Run {
            calls,
            litter: self.sweep(),
            complaints: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }

    /// Returns what `script` prints in `shell`.
    pub(crate) fn ask(&self, shell: &Shell, script: &str) -> Vec<u8> {
        let file = self.folder.join("question");
        fs::write(&file, script).unwrap();
        let mut command = self.command(shell, &Setting::plain("C.UTF-8"));
        let output = command.arg(file).stdout(Stdio::piped()).output();
        output.unwrap().stdout
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the test is about other programs"
    )]
    fn command(&self, shell: &Shell, setting: &Setting) -> Command {
        let mut command = Command::new(&shell.program);
        command
            .args(shell.arguments)
            .args(setting.options)
            .env_clear()
            .env("PATH", self.arena.programs())
            .env("LC_ALL", setting.locale)
            .env("HOME", "/home-of-nobody")
            .current_dir(&self.empty)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(folder) = &setting.locale_folder {
            command.env("LOCPATH", folder);
        }
        command
    }

    /// Empties the folder that the shells ran in, and says what was there.
    fn sweep(&self) -> Vec<String> {
        let entries: Vec<_> = fs::read_dir(&self.empty)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        if !entries.is_empty() {
            fs::remove_dir_all(&self.empty).unwrap();
            fs::create_dir(&self.empty).unwrap();
        }
        entries
            .iter()
            .map(|entry| entry.file_name().display().to_string())
            .collect()
    }
}

/// Compiles the dumper; statically, since it is started a million times.
#[expect(
    clippy::disallowed_methods,
    reason = "the test needs a program of its own"
)]
fn compile(to: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/dumper.rs");
    let compiler = super::shells::variable("RUSTC").unwrap_or_else(|| "rustc".into());
    let run = |linked: &[&str]| {
        Command::new(&compiler)
            .args([
                "--edition",
                "2024",
                "-O",
                "-C",
                "panic=abort",
                "-C",
                "strip=symbols",
            ])
            .args(linked)
            .args([OsStr::new("-o"), to.as_os_str(), source.as_os_str()])
            .env_remove("RUSTFLAGS")
            .current_dir(env::temp_dir())
            .output()
            .unwrap()
    };
    if run(&["-C", "target-feature=+crt-static"]).status.success() {
        return;
    }
    let output = run(&[]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
