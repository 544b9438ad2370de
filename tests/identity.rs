//! When a program is another one, and when it is the same.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/machine.rs"]
mod machine;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::sync::atomic::{AtomicBool, Ordering};

use machine::{Machine, as_nobody, file, pin, pin_with, skip};
use plainpipe::program::{Fact, FileProgram, Identity, NotHeld, PinCache, Through};

/// Everything that says which program it is, interpreters included.
fn identities(program: &FileProgram) -> Vec<Identity> {
    let own = [program.identity().clone()];
    let interpreters = program.interpreters().iter();
    own.into_iter()
        .chain(interpreters.map(|interpreter| interpreter.identity().clone()))
        .collect()
}

/// Changes the machine, and says whether the program is then another one.
fn drifts(machine: &Machine, path: &str, command: &str, change: impl FnOnce()) -> bool {
    let host = machine.host(path);
    let mut cache = PinCache::in_memory();
    let before = identities(file(&pin_with(&host, command, &mut cache).unwrap()));
    let again = identities(file(&pin_with(&host, command, &mut cache).unwrap()));
    assert_eq!(before, again, "{command} drifts by itself");
    change();
    before != identities(file(&pin_with(&host, command, &mut cache).unwrap()))
}

#[test]
fn whatever_makes_it_another_program_shows() {
    let machine = Machine::new();
    let tool = machine.program("b/tool", "one");
    let path = "@/a:@/b:/usr/bin:/bin";
    let drift = |change: &dyn Fn()| drifts(&machine, path, "tool", change);

    assert!(!drift(&|| {}), "nothing changed");
    assert!(
        drift(&|| drop(machine.program("a/tool", "one"))),
        "earlier on PATH, same bytes"
    );
    fs::remove_file(machine.at("a/tool")).unwrap();
    assert!(
        drift(&|| fs::write(&tool, "#!/bin/sh\necho two\n").unwrap()),
        "written in place"
    );
    assert!(
        drift(&|| {
            let new = machine.program("b/new", "two");
            fs::rename(new, &tool).unwrap();
        }),
        "replaced by the same bytes"
    );
    assert!(
        drift(&|| fs::set_permissions(&tool, fs::Permissions::from_mode(0o700)).unwrap()),
        "another mode"
    );
    if chown(&tool, Some(54321), None).is_ok() {
        chown(&tool, Some(0), None).unwrap();
        assert!(
            drift(&|| chown(&tool, Some(54321), None).unwrap()),
            "another owner"
        );
    } else {
        skip("root, to give files away");
    }
    // Another name for the same file changes its inode, and so its time.
    assert!(
        drift(&|| fs::hard_link(&tool, machine.at("b/other")).unwrap()),
        "a hard link"
    );
    assert!(
        drift(&|| {
            let times = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
            fs::File::options()
                .write(true)
                .open(&tool)
                .unwrap()
                .set_times(times)
                .unwrap();
        }),
        "another time"
    );
}

#[test]
fn a_symlink_that_leads_elsewhere_shows() {
    let machine = Machine::new();
    machine.program("v1/tool", "same");
    machine.program("v2/tool", "same");
    let link = machine.link("bin/tool", "../v1/tool");
    assert!(drifts(&machine, "@/bin", "tool", || {
        fs::remove_file(&link).unwrap();
        machine.link("bin/tool", "../v2/tool");
    }));
    let link = machine.link("current", "v1");
    assert!(drifts(&machine, "@/current", "tool", || {
        fs::remove_file(&link).unwrap();
        machine.link("current", "v2");
    }));
}

#[test]
fn one_file_under_two_names_is_two_programs() {
    let machine = Machine::new();
    machine.program("bin/many", "x");
    machine.link("bin/one", "many");
    machine.link("bin/two", "many");
    let host = machine.host("@/bin");
    let [one, two] = ["one", "two"].map(|name| pin(&host, name).unwrap());
    let (one, two) = (file(&one), file(&two));
    assert_eq!(one.identity().sha256, two.identity().sha256);
    assert_eq!(one.identity().real_path, two.identity().real_path);
    assert_ne!(one.identity(), two.identity());
    assert_eq!(one.links(), [machine.at("bin/one")]);
}

#[test]
fn what_runs_a_script_is_part_of_it() {
    let machine = Machine::new();
    let inner = machine.program("lib/inner", "one");
    machine.write("bin/script", format!("#!{} -x\n", inner.display()), 0o755);
    machine.write("bin/by-env", "#!/usr/bin/env named -x\n", 0o755);
    machine.write("bin/by-env-s", "#!/usr/bin/env -S named -x\n", 0o755);
    machine.program("late/named", "late");
    let path = "@/bin:@/early:@/late:/usr/bin:/bin";
    assert!(
        drifts(&machine, path, "script", || fs::write(
            &inner,
            "#!/bin/sh\n\n"
        )
        .unwrap()),
        "another interpreter"
    );
    assert!(
        drifts(&machine, path, "by-env-s", || drop(
            machine.program("early/named", "early")
        )),
        "env finds another file"
    );
    let refusal = pin(&machine.host(path), "by-env").unwrap_err();
    assert_eq!(
        refusal.code().as_str(),
        "program-not-found",
        "env takes the blank for a part of the name"
    );

    let pinned = pin(&machine.host(path), "by-env-s").unwrap();
    let chain: Vec<_> = file(&pinned)
        .interpreters()
        .iter()
        .map(|part| (part.through(), part.identity().called.as_str()))
        .filter(|(through, _)| *through != Through::Elf)
        .collect();
    assert_eq!(
        chain,
        [
            (Through::Shebang, "env"),
            (Through::Env, "named"),
            (Through::Shebang, "sh")
        ]
    );
    let text = serde_json::to_value(&pinned).unwrap();
    let env = &text["stages"][0]["program"]["interpreters"][1];
    assert!(
        env["sha256"]
            .as_str()
            .is_some_and(|digest| digest.len() == 64),
        "{env}"
    );
}

#[test]
fn what_the_kernel_would_not_run_is_refused() {
    let machine = Machine::new();
    let script =
        |name: &str, content: &[u8]| drop(machine.write(&format!("bin/{name}"), content, 0o755));
    script("empty", b"");
    script("words", b"echo hello\n");
    script("blank", b"#! \n");
    script("relative", b"#!sh\n");
    script("carriage", b"#!/bin/sh\r\n");
    script("long", format!("#!/{}\n", "x".repeat(300)).as_bytes());
    script("absent", b"#!/no/such/interpreter\n");
    script("directory", b"#!/usr\n");
    script("env-option", b"#!/usr/bin/env -i sh\n");
    script("env-bare", b"#!/usr/bin/env\n");
    script("env-assign", b"#!/usr/bin/env -S A=b sh\n");
    script("env-relative", b"#!/usr/bin/env ./sh\n");
    script("no-text", b"#!/bin/\xff\n");
    let nested = |depth: usize| {
        let mut interpreter = "/bin/sh".to_owned();
        for level in 0..depth {
            let content = format!("#!{interpreter}\n");
            let path = machine.write(&format!("bin/nested-{depth}-{level}"), content, 0o755);
            interpreter = path.to_str().unwrap().to_owned();
        }
        format!("nested-{depth}-{}", depth - 1)
    };
    let (five, six) = (nested(5), nested(6));
    script(
        "self",
        format!("#!{}\n", machine.at("bin/self").display()).as_bytes(),
    );
    let elf = fs::read("/proc/self/exe").unwrap();
    script("cut", elf.get(..60).unwrap());
    let changed = |at: usize, byte: u8| {
        let mut elf = elf.get(..4096).unwrap().to_vec();
        *elf.get_mut(at).unwrap() = byte;
        elf
    };
    script("object", &changed(16, 1));
    script("other-machine", &changed(18, 0xf0));
    let rows = [
        ("empty", "no-interpreter"),
        ("words", "no-interpreter"),
        ("blank", "no-interpreter"),
        ("relative", "no-interpreter"),
        ("carriage", "program-not-found"),
        ("long", "no-interpreter"),
        ("absent", "program-not-found"),
        ("directory", "not-a-file"),
        ("env-option", "no-interpreter"),
        ("env-bare", "no-interpreter"),
        ("env-assign", "no-interpreter"),
        ("env-relative", "no-interpreter"),
        ("no-text", "no-interpreter"),
        (&six, "no-interpreter"),
        ("self", "no-interpreter"),
        ("cut", "no-interpreter"),
        ("object", "no-interpreter"),
        ("other-machine", "foreign-interpreter"),
    ];
    let host = machine.host("@/bin:/usr/bin:/bin");
    let mut wrong = Vec::new();
    for (name, want) in rows {
        let got = pin(&host, name)
            .map(|_| ())
            .map_err(|refusal| refusal.code().as_str());
        if got != Err(want) {
            wrong.push(format!("{name}: want {want}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(pin(&host, &five).is_ok());
}

#[test]
fn a_file_that_is_too_large_or_cannot_be_read_is_refused() {
    let machine = Machine::new();
    let large = machine.program("bin/large", "x");
    let length = plainpipe::program::MAX_FILE_BYTES + 1;
    fs::File::options()
        .write(true)
        .open(&large)
        .unwrap()
        .set_len(length)
        .unwrap();
    let refusal = pin(&machine.host("@/bin"), "large").unwrap_err();
    assert_eq!(refusal.code().as_str(), "too-large");

    let secret = machine.program("bin/secret", "x");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o111)).unwrap();
    for directory in [machine.root(), machine.at("bin")] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let refusal = as_nobody(|| pin(&machine.host("@/bin"), "secret").unwrap_err());
    assert_eq!(refusal.code().as_str(), "unreadable");
}

/// Two contents of one length, so that only the time can tell.
const TWINS: [&str; 2] = ["#!/bin/sh\necho one\n", "#!/bin/sh\necho two\n"];

#[test]
fn a_write_within_the_step_of_the_clock_is_noticed() {
    let machine = Machine::new();
    let tool = machine.write("bin/tool", TWINS[0], 0o755);
    let host = machine.host("@/bin");
    let mut cache = PinCache::in_memory();
    let mut same_state = 0;
    let mut last = None;
    for round in 0..2000 {
        fs::write(&tool, TWINS[round % 2]).unwrap();
        let pinned = pin_with(&host, "tool", &mut cache).unwrap();
        let identity = file(&pinned).identity().clone();
        let digest = <sha2::Sha256 as sha2::Digest>::digest(TWINS[round % 2]);
        assert_eq!(
            identity.sha256.as_bytes().as_slice(),
            digest.as_slice(),
            "round {round}"
        );
        // Here is what the rule is for: two contents, and nothing else in which they differ.
        same_state += usize::from(last.is_some_and(|last: Identity| {
            last.sha256 != identity.sha256
                && last
                    == Identity {
                        sha256: last.sha256,
                        ..identity.clone()
                    }
        }));
        last = Some(identity);
    }
    // Kernels that give out finer times than their clock ticks leave none behind.
    assert!(same_state < 2000);
    assert!(
        file(&pin(&host, "tool").unwrap())
            .trust()
            .iter()
            .any(|trust| trust.fact == Fact::NotHeld)
    );
}

#[test]
fn a_writer_at_work_never_gets_a_mixture_pinned() {
    let machine = Machine::new();
    let twins = TWINS.map(|text| [text.as_bytes(), &vec![b'#'; 100_000]].concat());
    let known = twins.each_ref().map(<sha2::Sha256 as sha2::Digest>::digest);
    let tool = machine.write("bin/tool", &twins[0], 0o755);
    let (done, host) = (AtomicBool::new(false), machine.host("@/bin"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for (index, twin) in twins.iter().enumerate() {
                    let new = machine.write(&format!("bin/new-{index}"), twin, 0o755);
                    fs::rename(new, &tool).unwrap();
                }
            }
        });
        for _ in 0..300 {
            match pin(&host, "tool") {
                Ok(pinned) => {
                    let digest = *file(&pinned).identity().sha256.as_bytes();
                    let is_known = known.iter().any(|known| known.as_slice() == digest);
                    if !is_known {
                        done.store(true, Ordering::Relaxed);
                    }
                    assert!(is_known, "a mixture");
                }
                Err(refusal) => {
                    let code = refusal.code().as_str();
                    let fine = code == "changed-while-reading";
                    if !fine {
                        done.store(true, Ordering::Relaxed);
                    }
                    assert!(fine, "{refusal}");
                }
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_held_file_is_the_one_that_was_pinned_or_there_is_none() {
    let machine = Machine::new();
    let tool = machine.program("bin/tool", "one");
    let host = machine.host("@/bin");
    let pinned = pin(&host, "tool").unwrap();
    match file(&pinned).hold() {
        Ok(held) => {
            assert!(held.is_current());
            fs::set_permissions(&tool, fs::Permissions::from_mode(0o700)).unwrap();
            assert!(!held.is_current(), "the mode changed");
        }
        Err(NotHeld::Writable { .. }) => return skip("a file system with leases"),
        Err(other) => panic!("{other}"),
    }
    let changed = |why: &str, change: &dyn Fn()| {
        let pinned = pin(&host, "tool").unwrap();
        change();
        let held = file(&pinned).hold().map(|_| ());
        assert!(matches!(held, Err(NotHeld::Changed(_))), "{why}: {held:?}");
    };
    changed("renamed over", &|| {
        fs::rename(machine.program("bin/new", "one"), &tool).unwrap();
    });
    changed("written in place", &|| {
        fs::write(&tool, "#!/bin/sh\necho two\n").unwrap();
    });
    changed("gone", &|| fs::remove_file(&tool).unwrap());
    machine.program("bin/tool", "one");
    changed("a symlink now", &|| {
        fs::rename(&tool, machine.at("bin/moved")).unwrap();
        machine.link("bin/tool", "moved");
    });
    // Somebody who has it open for writing could write at any time.
    fs::remove_file(&tool).unwrap();
    machine.program("bin/tool", "one");
    let pinned = pin(&host, "tool").unwrap();
    let writer = fs::File::options().append(true).open(&tool).unwrap();
    assert!(matches!(
        file(&pinned).hold(),
        Err(NotHeld::Writable { .. })
    ));
    drop(writer);
    assert!(file(&pinned).hold().is_ok());
}
