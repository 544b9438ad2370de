//! Lines run without a shell: streams, status, signals, limits, and what is left behind.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test may panic, and looks at the machine it runs on"
)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use plainpipe::program::{Host, Shell};
use plainpipe::run::{
    Captured, Channel, Environment, Input, Leftovers, Output, StageStatus, Stopped,
};
use plainpipe::{Analyzer, Pinned};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn analyzer(directory: &Path) -> Analyzer {
    let host = Host::new(Some(PATH.into()), directory).unwrap();
    Analyzer::new(host.with_shell(Shell::None))
}

fn pinned(line: &str) -> Pinned {
    analyzer(Path::new("/")).analyze(line).unwrap()
}

fn capture(line: &str) -> Captured {
    pinned(line).command().capture().unwrap()
}

fn script(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns whether a test can go on; in CI it must.
fn has(program: &str) -> bool {
    let found = PATH
        .split(':')
        .any(|directory| Path::new(directory).join(program).exists());
    if !found {
        assert!(std::env::var_os("CI").is_none(), "needs {program}");
        eprintln!("skipped: needs {program}");
    }
    found
}

/// Returns the processes whose parent is this one, zombies included.
fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let Some((name, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        if rest.split_ascii_whitespace().nth(1) == Some(&own) {
            found.push(name.to_owned());
        }
    }
    found
}

#[test]
fn output_and_status_of_every_stage_come_back() {
    let rows: &[(&str, &str, &[u8], u8)] = &[
        ("echo a", "a\n", &[0], 0),
        ("printf '%s|' a 'b c' ''", "a|b c||", &[0], 0),
        ("false", "", &[1], 1),
        ("sh -c 'echo a; exit 7' | cat", "a\n", &[7, 0], 7),
        ("sh -c 'exit 3' | sh -c 'exit 4' | true", "", &[3, 4, 0], 4),
        ("yes | head -n 1", "y\n", &[141, 0], 141),
        ("sh -c 'kill -9 $$' | cat", "", &[137, 0], 137),
        ("sh -c 'kill -SEGV $$'", "", &[139], 139),
        ("seq 100000 | tail -n 1", "100000\n", &[0, 0], 0),
        ("cat", "", &[0], 0),
    ];
    let mut wrong = Vec::new();
    for (line, output, codes, code) in rows {
        let captured = capture(line);
        let got: Vec<u8> = captured
            .outcome
            .stages
            .iter()
            .map(|stage| stage.code())
            .collect();
        if captured.output != output.as_bytes() || got != *codes || captured.outcome.code() != *code
        {
            wrong.push(format!("{line}: {captured:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_signal_is_told_from_an_exit_status() {
    let killed = capture("sh -c 'kill -9 $$'").outcome.stages;
    assert_eq!(
        killed,
        [StageStatus::Signaled {
            signal: 9,
            core: false
        }]
    );
    let exited = capture("sh -c 'exit 137'").outcome.stages;
    assert_eq!(exited, [StageStatus::Exited { code: 137 }]);
}

#[test]
fn a_program_gets_its_own_session_the_listed_environment_and_no_other_descriptor() {
    // A descriptor that is not closed on exec, as a careless caller has them.
    let kept = rustix::io::dup(std::io::stdin()).unwrap();
    let environment =
        Environment::taken_from([("HOME".into(), "/h".into()), ("A".into(), "b".into())]);
    let line = pinned("env");
    let seen = line.command().environment(environment).capture().unwrap();
    let mut seen: Vec<_> = std::str::from_utf8(&seen.output).unwrap().lines().collect();
    seen.sort_unstable();
    assert_eq!(seen, ["HOME=/h", "LANG=C.UTF-8", &format!("PATH={PATH}")]);

    let open = capture("ls /proc/self/fd");
    assert_eq!(
        open.output, b"0\n1\n2\n3\n",
        "3 is the directory that ls reads"
    );
    drop(kept);

    // Fields 5, 6 and 7 of stat: process group, session, terminal.
    let stat = capture("cut -d ' ' -f 1,5,6,7 /proc/self/stat").output;
    let stat = String::from_utf8(stat).unwrap();
    let fields: Vec<_> = stat.split_whitespace().collect();
    assert!(
        matches!(fields.as_slice(), [pid, group, session, "0"] if pid == group && pid == session),
        "{stat}"
    );
}

#[test]
fn a_program_meets_no_signal_as_this_process_has_it() {
    // The runtime of Rust ignores SIGPIPE and handles SIGSEGV; both show as bits of a mask.
    let masks = |text: &str| {
        ["SigBlk", "SigIgn", "SigCgt"].map(|name| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            u64::from_str_radix(line.unwrap().trim_start_matches(':').trim(), 16).unwrap()
        })
    };
    let pipe = 1 << (rustix::process::Signal::PIPE.as_raw() - 1);
    let [_, ignored, handled] = masks(&fs::read_to_string("/proc/self/status").unwrap());
    assert!(ignored & pipe != 0 && handled != 0);
    let seen = capture("cat /proc/self/status").output;
    let seen = masks(std::str::from_utf8(&seen).unwrap());
    assert_eq!(seen, [0, ignored & !pipe, 0]);
}

#[test]
fn a_program_that_cannot_start_says_so() {
    // The kernel takes no variable of more than 128 KiB.
    let mut environment = Environment::clean();
    environment.set("BIG", "y".repeat(1 << 18)).unwrap();
    let line = pinned("true");
    let error = line.command().environment(environment).spawn().unwrap_err();
    assert!(error.to_string().contains("true"), "{error}");
}

#[test]
fn a_line_runs_in_the_directory_it_was_analysed_for() {
    let directory = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(directory.path()).unwrap();
    let line = analyzer(&real).analyze("pwd").unwrap();
    let output = line.command().capture().unwrap().output;
    assert_eq!(output, format!("{}\n", real.display()).into_bytes());

    // The path leads to another directory now.
    let moved = real.with_extension("moved");
    fs::rename(&real, &moved).unwrap();
    fs::create_dir(&real).unwrap();
    assert!(line.command().spawn().is_err());
    fs::remove_dir(&real).unwrap();
    fs::rename(&moved, &real).unwrap();
    assert!(line.command().capture().is_ok());
}

#[test]
fn input_is_passed_and_streams_are_told_apart() {
    let line = pinned("tr a-z A-Z");
    let captured = line
        .command()
        .input(Input::Bytes(b"abc".to_vec()))
        .capture()
        .unwrap();
    assert_eq!(captured.output, b"ABC");

    let big: Vec<u8> = (0..=255).cycle().take(3 << 20).collect();
    let line = pinned("cat | cat");
    let captured = line
        .command()
        .input(Input::Bytes(big.clone()))
        .capture()
        .unwrap();
    assert!(captured.output == big, "3 MiB came back changed");

    let captured = capture("sh -c 'echo out; echo err >&2' | sh -c 'cat; echo err2 >&2'");
    assert_eq!(captured.output, b"out\n");
    let mut errors: Vec<_> = std::str::from_utf8(&captured.errors)
        .unwrap()
        .lines()
        .collect();
    errors.sort_unstable();
    assert_eq!(errors, ["err", "err2"]);
}

#[test]
fn what_goes_through_a_pipe_is_neither_lost_nor_changed() {
    // In MiB; 1024 for the whole measure.
    let size: u64 = std::env::var("PLAINPIPE_PIPE_MIB").map_or(64, |size| size.parse().unwrap());
    let bytes = size << 20;
    let line = format!("head -c {bytes} /dev/zero | tr '\\0' x | cat | wc -c");
    assert_eq!(capture(&line).output, format!("{bytes}\n").into_bytes());

    let mut count = 0;
    let line = pinned(&format!("head -c {bytes} /dev/zero | cat"));
    let running = line.command().output(Output::Captured).spawn().unwrap();
    let outcome = running.wait_with(|channel, bytes| {
        assert_eq!(channel, Channel::Output);
        count += bytes.len() as u64;
        Ok(())
    });
    assert!(outcome.unwrap().success());
    assert_eq!(count, bytes);
}

#[test]
fn a_line_that_takes_too_long_or_writes_too_much_is_ended() {
    let line = pinned("sleep 600 | cat");
    let limit = Duration::from_millis(50);
    let outcome = line
        .command()
        .time_limit(limit)
        .spawn()
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(outcome.stopped, Some(Stopped::TimeLimit { limit }));
    assert!(!outcome.success());

    // One that does not listen to SIGTERM is killed.
    let line = pinned("sh -c 'trap \"\" TERM; echo; while :; do sleep 1; done'");
    let outcome = line.command().time_limit(limit).capture().unwrap().outcome;
    assert_eq!(outcome.stages.first().map(|stage| stage.code()), Some(137));

    let line = pinned("yes");
    let captured = line.command().output_limit(1000).capture().unwrap();
    assert_eq!(
        captured.outcome.stopped,
        Some(Stopped::OutputLimit { limit: 1000 })
    );
    assert_eq!(captured.output.len(), 1000);
    let within = pinned("head -c 1000 /dev/zero")
        .command()
        .output_limit(1000)
        .capture()
        .unwrap();
    assert!(within.outcome.success());
}

#[test]
fn what_is_left_in_the_background_is_killed_or_left_as_asked() {
    let directory = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(directory.path()).unwrap();
    for (leftovers, survives) in [(Leftovers::Kill, false), (Leftovers::Leave, true)] {
        // The grandchild keeps standard output open, which must not keep the line from ending.
        let line = analyzer(&real)
            .analyze("sh -c 'sleep 300 & echo $!'")
            .unwrap();
        let since = Instant::now();
        let captured = line.command().leftovers(leftovers).capture().unwrap();
        assert!(
            since.elapsed() < Duration::from_secs(100),
            "waited for a background process"
        );
        assert!(captured.outcome.success());
        let pid: i32 = String::from_utf8(captured.output)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let state = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid()));
            stat.ok()
                .and_then(|stat| stat.rsplit_once(") ")?.1.chars().next())
        };
        if survives {
            assert!(matches!(state(), Some('S' | 'R')), "{:?}", state());
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        } else {
            // It was killed; whoever adopted it may take a moment to notice.
            while !matches!(state(), None | Some('Z' | 'X')) {
                std::thread::yield_now();
            }
        }
    }
}

#[test]
fn dropping_a_line_kills_it_and_leaves_no_zombie() {
    let line = pinned("sleep 299 | sleep 298");
    let running = line.command().spawn().unwrap();
    let ids: Vec<u32> = running.process_ids().collect();
    assert_eq!(ids.len(), 2);
    drop(running);
    for id in ids {
        assert!(
            !Path::new(&format!("/proc/{id}")).exists(),
            "{id} is still there"
        );
    }
    let left: Vec<_> = children()
        .into_iter()
        .filter(|name| name.contains("sleep"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn signals_reach_every_stage_from_another_thread() {
    let line = pinned("sleep 297 | sleep 296");
    let running = line.command().spawn().unwrap();
    let signaller = running.signaller();
    let sender = std::thread::spawn(move || {
        signaller.send_number(15).unwrap();
        signaller
    });
    let outcome = running.wait().unwrap();
    let codes: Vec<u8> = outcome.stages.iter().map(|stage| stage.code()).collect();
    assert_eq!(codes, [143, 143]);
    // The line is gone, and so is whatever its numbers could mean.
    sender.join().unwrap().send_number(15).unwrap();
}

#[test]
fn builtins_are_not_run() {
    let host = Host::new(Some(PATH.into()), "/").unwrap();
    let line = Analyzer::new(host).analyze("echo a | cat").unwrap();
    let error = line.command().spawn().unwrap_err().to_string();
    assert!(
        error.contains("stage 1") && error.contains("builtin of bash"),
        "{error}"
    );
}

#[test]
fn shell_scripts_see_their_own_name_whichever_way_they_are_passed() {
    let directory = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(directory.path()).unwrap();
    fs::write(real.join("lib.sh"), "lib=here\n").unwrap();
    script(
        &real,
        "name",
        "#!/bin/sh\necho \"$0 $# $1\"\n. \"$(dirname \"$0\")/lib.sh\"\necho $lib\n",
    );
    script(
        &real,
        "options",
        "#!/bin/sh -e\necho \"$0\"\nfalse\necho not reached\n",
    );
    script(
        &real,
        "env",
        "#!/usr/bin/env -S sh -e\necho \"${0##*/}\"\nfalse\necho not reached\n",
    );
    script(
        &real,
        "source",
        "#!/bin/bash\nhere=$(dirname \"$(readlink -f \"${BASH_SOURCE[0]}\")\")\n. \"$here/lib.sh\"\n\
         if [ \"${BASH_SOURCE[0]}\" = \"$0\" ]; then echo \"main $lib $1\"; fi\n",
    );
    script(&real, "private", "#!/bin/sh\nreadlink -f \"$0\"\n");
    fs::set_permissions(real.join("private"), fs::Permissions::from_mode(0o700)).unwrap();
    let large = format!("#!/bin/sh\n#{}\necho large\n", "x".repeat(200_000));
    script(&real, "large", &large);
    let rows = [
        ("./name 'a b'", "./name 1 a b\nhere\n".to_owned(), 0),
        ("./options", "./options\n".to_owned(), 1),
        ("./env", "env\n".to_owned(), 1),
        ("./source x", "main here x\n".to_owned(), 0),
        ("./private", format!("{}/private\n", real.display()), 0),
        ("./large", "large\n".to_owned(), 0),
    ];
    let mut wrong = Vec::new();
    for (line, output, code) in rows {
        let captured = analyzer(&real)
            .analyze(line)
            .unwrap()
            .command()
            .capture()
            .unwrap();
        if captured.output != output.as_bytes() || captured.outcome.code() != code {
            let said = String::from_utf8_lossy(&captured.output).into_owned();
            let errors = String::from_utf8_lossy(&captured.errors).into_owned();
            wrong.push(format!(
                "{line}: {said:?} {errors:?} {:?}",
                captured.outcome
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn scripts_of_other_languages_find_the_files_beside_them() {
    let directory = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(directory.path()).unwrap();
    let here = real.display();
    fs::create_dir(real.join("lib")).unwrap();
    fs::write(real.join("beside.py"), "name = 'beside'\n").unwrap();
    fs::write(real.join("lib/beside.js"), "module.exports = 'beside';\n").unwrap();
    fs::write(real.join("lib/beside.mjs"), "export default 'beside';\n").unwrap();
    fs::write(
        real.join("Beside.pm"),
        "package Beside; our $name = 'beside'; 1;\n",
    )
    .unwrap();
    script(
        &real,
        "py",
        "#!/usr/bin/python3\nimport os, sys\nimport beside\n\
         print(beside.name, sys.argv[1:], os.path.dirname(os.path.realpath(__file__)))\n",
    );
    script(
        &real,
        "js",
        "#!/usr/bin/env node\nconst b = require('./lib/beside');\n\
         console.log(b, process.argv.slice(2), __dirname, require.main === module);\n",
    );
    script(
        &real,
        "esm.mjs",
        "#!/usr/bin/env node\nimport b from './lib/beside.mjs';\nconsole.log(b);\n",
    );
    script(
        &real,
        "pl",
        "#!/usr/bin/perl -w\nuse FindBin;\nuse lib \"$FindBin::RealBin\";\nuse Beside;\n\
         print \"$Beside::name @ARGV\\n\";\n",
    );
    let rows = [
        (
            "python3",
            "./py a 'b c'",
            format!("beside ['a', 'b c'] {here}\n"),
        ),
        (
            "node",
            "./js a 'b c'",
            format!("beside [ 'a', 'b c' ] {here} true\n"),
        ),
        ("node", "./esm.mjs", "beside\n".to_owned()),
        ("perl", "./pl a b", "beside a b\n".to_owned()),
    ];
    let mut wrong = Vec::new();
    for (needs, line, output) in rows {
        if !has(needs) || (needs == "python3" && !Path::new("/usr/bin/python3").exists()) {
            continue;
        }
        let captured = analyzer(&real)
            .analyze(line)
            .unwrap()
            .command()
            .capture()
            .unwrap();
        if captured.output != output.as_bytes() {
            let said = String::from_utf8_lossy(&captured.output).into_owned();
            let errors = String::from_utf8_lossy(&captured.errors).into_owned();
            wrong.push(format!("{line}: {said:?}, not {output:?}: {errors}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_script_that_is_opened_for_writing_while_it_runs_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(directory.path()).unwrap();
    script(
        &real,
        "slow",
        "#!/usr/bin/perl\n$| = 1; print \"up\\n\"; sleep 300;\n",
    );
    if !has("perl") {
        return;
    }
    let line = analyzer(&real).analyze("./slow").unwrap();
    let running = line.command().output(Output::Captured).spawn().unwrap();
    let path = real.join("slow");
    let mut writer = None;
    let outcome = running.wait_with(|_, _| {
        let path = path.clone();
        // It waits until the script is gone, since a lease keeps it off.
        writer.get_or_insert_with(|| {
            std::thread::spawn(move || {
                let mut file = fs::OpenOptions::new().append(true).open(path)?;
                file.write_all(b"print 'more';\n")
            })
        });
        Ok(())
    });
    assert_eq!(
        outcome.unwrap().stopped,
        Some(Stopped::ScriptOpenedForWriting { stage: 0 })
    );
    writer.unwrap().join().unwrap().unwrap();
}
