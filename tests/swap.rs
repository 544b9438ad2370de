//! A file that is swapped between the check and the start is not run.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test may panic, and takes its size from the environment"
)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use plainpipe::Analyzer;
use plainpipe::program::{Host, Shell};

/// How often each way is raced; 1000 for the whole measure.
fn rounds() -> usize {
    let rounds = std::env::var("PLAINPIPE_SWAPS");
    rounds.map_or(60, |rounds| rounds.parse().unwrap())
}

struct Field {
    root: tempfile::TempDir,
    good: PathBuf,
    bad: PathBuf,
}

impl Field {
    /// Lays out two programs of one size: one that prints `good`, and one that prints `evil`.
    fn new(good: &[u8], bad: &[u8]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| fs::canonicalize(root.path()).unwrap().join(name);
        let (good_path, bad_path) = (at("good"), at("bad"));
        for (path, content) in [(&good_path, good), (&bad_path, bad)] {
            executable(path, content);
        }
        fs::create_dir(at("d")).unwrap();
        fs::create_dir(at("evil")).unwrap();
        executable(&at("d/tool"), good);
        executable(&at("evil/tool"), bad);
        Self {
            good: good_path,
            bad: bad_path,
            root,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(name)
    }
}

fn executable(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Puts a copy of `from` at `to` in one step.
fn replace(from: &Path, to: &Path) {
    let new = to.with_extension("new");
    executable(&new, &fs::read(from).unwrap());
    fs::rename(new, to).unwrap();
}

/// Puts the bad program in the place of the good one, or back.
type Swap = fn(&Field, Side);

#[derive(Clone, Copy, Eq, PartialEq)]
enum Side {
    Good,
    Bad,
}

impl Field {
    fn content(&self, side: Side) -> &Path {
        match side {
            Side::Good => &self.good,
            Side::Bad => &self.bad,
        }
    }
}

const SWAPS: [(&str, Swap); 4] = [
    ("rename over it", |field, side| {
        replace(field.content(side), &field.at("d/tool"));
    }),
    ("write in place", |field, side| {
        let bytes = fs::read(field.content(side)).unwrap();
        // While it runs the kernel refuses, and while it is leased the open waits.
        if let Ok(mut file) = fs::OpenOptions::new().write(true).open(field.at("d/tool")) {
            file.write_all(&bytes).unwrap();
        }
    }),
    ("flip the symlink", |field, side| {
        let new = field.at("link.new");
        symlink(
            if side == Side::Good {
                "d/tool"
            } else {
                "evil/tool"
            },
            &new,
        )
        .unwrap();
        fs::rename(new, field.at("link")).unwrap();
    }),
    ("swap the directories", |field, side| {
        let marked = field.at("d/bad").exists();
        if marked == (side == Side::Good) {
            fs::rename(field.at("d"), field.at("aside")).unwrap();
            fs::rename(field.at("evil"), field.at("d")).unwrap();
            fs::rename(field.at("aside"), field.at("evil")).unwrap();
        }
    }),
];

/// Races each swap against checking and starting, and collects what should not have run.
fn race(good: &[u8], bad: &[u8], wrong: &mut Vec<String>) {
    for (what, swap) in SWAPS {
        let field = Field::new(good, bad);
        symlink("d/tool", field.at("link")).unwrap();
        fs::write(field.at("evil/bad"), "").unwrap();
        let known = [
            ("good\n", sha256(&field.good)),
            ("evil\n", sha256(&field.bad)),
        ];
        let host = Host::new(Some("/usr/bin:/bin".into()), field.at("")).unwrap();
        let host = host.with_shell(Shell::None);
        let line = if what == "flip the symlink" {
            "./link"
        } else {
            "./d/tool"
        };
        let (mut ran, mut refused) = (0, 0);
        for round in 0..rounds() {
            swap(&field, Side::Good);
            thread::scope(|scope| {
                scope.spawn(|| {
                    // A little later each round, so that every moment gets its turn.
                    let later = u64::try_from(round).unwrap() * 137 % 6000;
                    thread::sleep(Duration::from_micros(later));
                    swap(&field, Side::Bad);
                });
                match pinned_and_ran(&host, line) {
                    Some((digest, said)) => {
                        ran += 1;
                        // What was pinned may be either; what ran must be what was pinned.
                        let content = known.iter().find(|(text, _)| *text == said);
                        if content.is_none_or(|(_, content)| *content != digest) {
                            wrong.push(format!("{what}: ran {said:?}, pinned {digest}"));
                        }
                    }
                    None => refused += 1,
                }
            });
        }
        eprintln!("{what}: {ran} ran, {refused} did not start or were stopped");
        assert!(ran > 0, "{what}: nothing ran");
    }
}

/// Returns the digest that was pinned and what came out, or `None` if the line did not start or
/// was stopped because its script was opened for writing.
fn pinned_and_ran(host: &Host, line: &str) -> Option<(String, String)> {
    let line = Analyzer::new(host.clone()).analyze(line).ok()?;
    let digest = line.programs().iter().find_map(|program| match program {
        plainpipe::Program::File(file) => Some(file.identity().sha256.to_string()),
        plainpipe::Program::Builtin(_) => None,
    })?;
    let captured = line.command().capture().ok()?;
    if captured.outcome.stopped.is_some() {
        return None;
    }
    Some((
        digest,
        String::from_utf8_lossy(&captured.output).into_owned(),
    ))
}

fn sha256(path: &Path) -> String {
    let host = Host::new(Some("/usr/bin:/bin".into()), "/").unwrap();
    let mut analyzer = Analyzer::new(host.with_shell(Shell::None));
    let line = analyzer
        .analyze(&format!("sha256sum {}", path.display()))
        .unwrap();
    let output = line.command().capture().unwrap().output;
    String::from_utf8(output)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .to_owned()
}

#[test]
fn only_the_bytes_that_were_pinned_run_in_a_program() {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        assert!(std::env::var_os("CI").is_none(), "needs x86-64 or aarch64");
        eprintln!("skipped: needs x86-64 or aarch64");
        return;
    }
    let mut wrong = Vec::new();
    let program = |text: &str| elf(text.as_bytes());
    race(&program("good\n"), &program("evil\n"), &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_bytes_that_were_pinned_run_in_a_script() {
    let mut wrong = Vec::new();
    let shell = |text: &str| format!("#!/bin/sh\necho {text}\n").into_bytes();
    race(&shell("good"), &shell("evil"), &mut wrong);
    if Path::new("/usr/bin/perl").exists() {
        let perl = |text: &str| format!("#!/usr/bin/perl\nprint '{text}', \"\\n\";\n").into_bytes();
        race(&perl("good"), &perl("evil"), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns a static x86-64 or aarch64 program that writes five bytes and exits.
fn elf(text: &[u8]) -> Vec<u8> {
    let (machine, code): (u16, Vec<u8>) = if cfg!(target_arch = "x86_64") {
        let mut code = vec![0xb8, 1, 0, 0, 0, 0xbf, 1, 0, 0, 0]; // mov eax, 1; mov edi, 1
        code.extend([0x48, 0x8d, 0x35, 16, 0, 0, 0]); // lea rsi, [rip + 16]
        code.extend([0xba, 5, 0, 0, 0, 0x0f, 0x05]); // mov edx, 5; syscall
        code.extend([0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05]); // mov eax, 60; xor edi, edi; syscall
        (62, code)
    } else {
        let words: [u32; 7] = [
            0xd280_0020, // mov x0, 1
            0x1000_00e1, // adr x1, text
            0xd280_00a2, // mov x2, 5
            0xd280_0808, // mov x8, 64
            0xd400_0001, // svc 0
            0xd280_0000, // mov x0, 0
            0xd280_0ba8, // mov x8, 93
        ];
        let mut code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        code.extend(0xd400_0001_u32.to_le_bytes());
        (183, code)
    };
    let base: u64 = 0x40_0000;
    let size = (64 + 56 + code.len() + text.len()) as u64;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(2_u16.to_le_bytes());
    file.extend(machine.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    for word in [base + 64 + 56, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    for half in [64_u16, 56, 1, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    // One segment that is loaded, readable and executable.
    file.extend(1_u32.to_le_bytes());
    file.extend(5_u32.to_le_bytes());
    for word in [0, base, base, size, size, 0x1000] {
        file.extend(word.to_le_bytes());
    }
    file.extend(code);
    file.extend(text);
    file
}
