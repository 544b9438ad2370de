//! Runs the lines of the standard input that are judged to only read, and prints what else they did.
//!
//! `cargo run --example traced < lines.txt` needs `strace`. Each line runs by `sh` in the working
//! directory, with no input and an empty home directory, so start it in a copy of a project. What a line
//! runs, writes, deletes or connects to is printed below it; lines of which nothing is seen are not
//! printed. Programs that are parts of another one, and caches that a program keeps of what it has read,
//! are printed too: people decide what counts.
#![expect(clippy::print_stdout, reason = "an example that prints")]

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{self, BufRead};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use plainpipe::Line;
use plainpipe::effect::{Tier, judge};

/// How long one line may take; what does not end by itself is found out that way too.
const SECONDS: &str = "10";

/// The calls by which a program changes files, starts programs, connects or signals.
const CALLS: &str = "execve,connect,open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,\
    rmdir,link,linkat,symlink,symlinkat,truncate,ftruncate,chmod,fchmod,fchmodat,chown,fchownat,kill,mount,\
    sethostname,mknod,mknodat,utimensat";

fn main() -> Result<(), Box<dyn Error>> {
    let scratch = env::temp_dir().join(format!("plainpipe-traced-{}", std::process::id()));
    fs::create_dir_all(scratch.join("home"))?;
    let mut count = 0_usize;
    for text in io::stdin().lock().lines() {
        let text = text?;
        let reads = Line::parse(&text).is_ok_and(|line| judge(&line).tier == Tier::Read);
        if !reads {
            continue;
        }
        count += 1;
        let seen = trace(&text, &scratch)?;
        if !seen.is_empty() {
            println!("{text}");
            for act in seen {
                println!("    {act}");
            }
        }
    }
    println!("{count} lines were run");
    fs::remove_dir_all(&scratch)?;
    Ok(())
}

/// Runs a line and returns what it did beyond reading.
#[expect(
    clippy::disallowed_methods,
    reason = "the line is run to see what it does"
)]
fn trace(text: &str, scratch: &Path) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let log = scratch.join("log");
    Command::new("timeout")
        .args([
            SECONDS,
            "strace",
            "-f",
            "-qq",
            "-e",
            &format!("trace={CALLS}"),
        ])
        .arg("-o")
        .arg(&log)
        .args(["sh", "-c", text])
        .env("HOME", scratch.join("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let log =
        fs::read(&log).map_err(|error| format!("strace left no log, is it installed? {error}"))?;
    let log = String::from_utf8_lossy(&log);
    // The first program is the shell.
    let calls = log.lines().filter_map(call);
    let shell = log.lines().position(|line| line.contains("execve(")) == Some(0);
    Ok(calls
        .skip(usize::from(shell))
        .filter_map(|(name, rest)| act(name, rest, text))
        .collect())
}

/// Returns the name of a call that worked, or that was at least tried with another machine, and what follows.
fn call(line: &str) -> Option<(&str, &str)> {
    let (_, line) = line.split_once(char::is_whitespace)?;
    let (name, rest) = line.trim_start().split_once('(')?;
    let failed = rest.contains(" = -1 ");
    (!failed || name == "connect").then_some((name, rest))
}

/// Returns what a call means, if it is more than reading.
fn act(name: &str, rest: &str, text: &str) -> Option<String> {
    let quoted = rest.split('"').nth(1).unwrap_or_default();
    match name {
        "execve" => {
            let program = quoted.rsplit('/').next().unwrap_or_default();
            // What the line itself names was judged.
            (!text.contains(program)).then(|| format!("runs {quoted}"))
        }
        "connect" => rest
            .contains("AF_INET")
            .then(|| format!("connects {}", rest.trim_end())),
        "open" | "openat" => {
            let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"]
                .iter()
                .any(|flag| rest.contains(flag));
            let counts = writes && !matches!(quoted, "/dev/null" | "/dev/tty");
            counts.then(|| format!("writes {quoted}"))
        }
        other => Some(format!("{other} {}", rest.trim_end())),
    }
}
