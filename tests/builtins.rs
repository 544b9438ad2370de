//! The names that shells keep for themselves, held against the shells that are installed.
#![expect(clippy::disallowed_methods, reason = "the shells are asked")]

#[path = "support/corpus.rs"]
mod corpus;
#[path = "support/machine.rs"]
mod machine;

use std::collections::BTreeSet;
use std::process::Command;

use machine::{Machine, pin, skip};
use plainpipe::{Code, Line, Program, Shell};

/// Returns the words that a command prints, or nothing where it cannot be run.
fn words(program: &str, arguments: &[&str]) -> BTreeSet<String> {
    let output = Command::new(program).args(arguments).env_clear().output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Returns whether the shell takes this word, quoted, for one of its own.
fn is_ours(machine: &Machine, shell: Shell, name: &str) -> bool {
    let quoted = format!("'{name}'");
    if Line::parse(&quoted).is_err() {
        // Such a name never gets as far as being looked up.
        return true;
    }
    match pin(&machine.host("@").with_shell(shell), &quoted) {
        Ok(pinned) => matches!(pinned.programs(), [Program::Builtin(_)]),
        Err(refusal) => refusal.code() == Code::ShellBuiltin,
    }
}

fn missing(shell: Shell, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let machine = Machine::new();
    let names = names.into_iter();
    names
        .filter(|name| !is_ours(&machine, shell, name))
        .collect()
}

#[test]
fn the_table_of_bash_misses_nothing() {
    for arguments in [
        &["--norc", "-c", "compgen -b"][..],
        &["--norc", "--posix", "-c", "compgen -b"],
        &["--norc", "-c", "enable -a | sed 's/^enable -*n* *//'"],
    ] {
        let names = words("bash", arguments);
        if names.len() < 50 {
            return skip("bash");
        }
        assert_eq!(missing(Shell::Bash, names.clone()), [""; 0]);
        assert_eq!(missing(Shell::Sh, names), [""; 0]);
    }
}

#[test]
fn the_table_of_zsh_misses_nothing() {
    let names = words("zsh", &["-fc", "print -l ${(k)builtins}"]);
    if names.len() < 80 {
        return skip("zsh");
    }
    assert_eq!(missing(Shell::Zsh, names), [""; 0]);
}

#[test]
fn the_table_of_busybox_misses_nothing() {
    let help = words("busybox", &["sh", "-c", "help"]);
    let names = help.into_iter().filter(|word| {
        !matches!(word.as_str(), "Built-in" | "commands:") && !word.starts_with("---")
    });
    let names: Vec<_> = names.collect();
    if names.len() < 30 {
        return skip("busybox with help");
    }
    assert_eq!(missing(Shell::Sh, names), [""; 0]);
}

#[test]
fn the_table_of_dash_misses_nothing() {
    // It has no list to print, so it is asked about every name that anybody has.
    let mut candidates = words("bash", &["--norc", "-c", "compgen -b; compgen -c"]);
    candidates.extend(words("zsh", &["-fc", "print -l ${(k)builtins}"]));
    candidates.extend(words("busybox", &["--list"]));
    let letters = ('a'..='z').map(String::from);
    let pairs = ('a'..='z').flat_map(|a| ('a'..='z').map(move |b| format!("{a}{b}")));
    candidates.extend(letters.chain(pairs));
    candidates.retain(|name| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".:[_-".contains(&byte))
    });
    let script = "for name in \"$@\"; do command -V \"$name\"; done 2>/dev/null | grep 'builtin$'";
    let candidates: Vec<String> = candidates.into_iter().collect();
    let mut names = Vec::new();
    for part in candidates.chunks(500) {
        let output = Command::new("dash")
            .args(["-c", script, "dash"])
            .args(part)
            .output();
        let Ok(output) = output else {
            return skip("dash");
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        names.extend(
            text.lines()
                .filter_map(|line| line.split(' ').next())
                .map(str::to_owned),
        );
    }
    assert!(names.len() > 30, "{names:?}");
    assert_eq!(missing(Shell::Sh, names), [""; 0]);
}

#[test]
fn every_builtin_of_the_corpus_is_refused_for_bash() {
    let machine = Machine::new();
    let host = machine.host("/usr/bin:/bin").with_shell(Shell::Bash);
    let rows = corpus::read_all(env!("CARGO_MANIFEST_DIR")).unwrap();
    let mut asked = 0;
    let mut wrong = Vec::new();
    for row in rows
        .iter()
        .filter(|row| row.class == Some(corpus::Class::RefusedBuiltin))
    {
        let Ok(command) = std::str::from_utf8(&row.command) else {
            continue;
        };
        let Ok(line) = Line::parse(command) else {
            continue;
        };
        asked += 1;
        let word = line.stages().next().unwrap().program();
        match pin(&host, command) {
            Ok(pinned) => wrong.push(format!("{}: accepted as {pinned:?}", row.name)),
            Err(refusal) if refusal.code() != Code::ShellBuiltin => {
                wrong.push(format!("{}: {refusal}", row.name));
            }
            Err(refusal) if refusal.span() != word.span && refusal.span().start < word.span.end => {
                wrong.push(format!("{}: blames {}", row.name, refusal.span().start));
            }
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(asked >= 20, "only {asked} rows");
}

#[test]
fn builtins_run_or_are_refused_as_the_shell_has_them() {
    let machine = Machine::new();
    let host = machine.host("/usr/bin:/bin");
    let rows: &[(&str, &str, Result<&str, &str>)] = &[
        ("bash", "echo a", Ok("builtin")),
        ("bash", "printf -v x a", Err("shell-builtin")),
        ("bash", "'test' -v 'a[$(id)]'", Err("shell-builtin")),
        ("bash", "kill -9 1", Err("shell-builtin")),
        ("bash", "ls | read x", Err("shell-builtin")),
        ("bash", "/bin/echo a", Ok("file")),
        ("bash", "'which' ls", Ok("file")),
        ("zsh", "which ls", Err("shell-builtin")),
        ("zsh", "log", Err("shell-builtin")),
        ("zsh", "echo a", Ok("builtin")),
        ("sh", "'let' a", Err("shell-builtin")),
        ("sh", "chdir a", Err("shell-builtin")),
        ("sh", "true", Ok("builtin")),
        ("none", "echo a", Ok("file")),
        ("none", "printf -v x a", Ok("file")),
        ("none", "cd a", Err("program-not-found")),
    ];
    let mut wrong = Vec::new();
    for (shell, command, want) in rows {
        let host = host.clone().with_shell(shell.parse().unwrap());
        let got = match pin(&host, command) {
            Ok(pinned) => Ok(match pinned.programs().last() {
                Some(Program::Builtin(_)) => "builtin",
                _ => "file",
            }),
            Err(refusal) => Err(refusal.code().as_str()),
        };
        if got != *want {
            wrong.push(format!("{shell}: {command}: want {want:?}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_environment_of_a_shell_can_refuse_a_line() {
    let machine = Machine::new();
    let host = |rows: &[(&str, &str)]| {
        let variables = rows.iter().map(|(name, value)| (name.into(), value.into()));
        machine
            .host("/usr/bin:/bin")
            .with_shell(Shell::Bash)
            .with_environment(variables)
    };
    let code = |rows, command| pin(&host(rows), command).map_err(|refusal| refusal.code());
    let functions = &[
        ("BASH_FUNC_ls%%", "() { id; }"),
        ("BASH_FUNC_/bin/cat%%", "() { id; }"),
    ];
    assert_eq!(code(functions, "ls").unwrap_err(), Code::ShellFunction);
    assert_eq!(
        code(functions, "/bin/cat a").unwrap_err(),
        Code::ShellFunction
    );
    assert_eq!(code(functions, "cat a").unwrap().environment().len(), 2);
    let wide = &[("LANG", "zh_CN.GBK")];
    assert_eq!(
        code(wide, "echo '\u{e9}'").unwrap_err(),
        Code::LocaleNotUtf8
    );
    assert!(code(wide, "echo e").is_ok());
    assert!(
        code(
            &[("LANG", "zh_CN.GBK"), ("LC_ALL", "C.UTF-8")],
            "echo '\u{e9}'"
        )
        .is_ok()
    );
    let bare = host(functions).with_shell(Shell::None);
    assert!(pin(&bare, "ls").is_ok_and(|pinned| pinned.environment().is_empty()));
}
