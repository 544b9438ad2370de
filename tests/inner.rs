//! Programs that the arguments of others name: found, pinned and judged like stages.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use plainpipe::effect::{Lookup, Tier};
use plainpipe::{Pinned, Program, Refusal};
use serde_json::json;

#[path = "support/machine.rs"]
mod machine;

use machine::{Machine, pin};

/// Returns a machine with wrappers and programs of its own.
fn machine() -> Machine {
    let machine = Machine::new();
    let names = [
        "nice", "env", "xargs", "find", "watch", "sudo", "busybox", "tool", "other", "echo",
        "timeout", "python3", "ls",
    ];
    for name in names {
        machine.program(&format!("bin/{name}"), name);
    }
    machine.write("bin/plain", "no program", 0o644);
    machine
}

/// A line, and for each inner program its words, how it is found, and the file.
type Row<'a> = (String, &'a [(&'a str, Lookup, Option<&'a str>)]);

/// Returns the words, the way of finding and the file name of every inner program.
fn inner(pinned: &Pinned) -> Vec<(String, Lookup, Option<String>)> {
    let stages = pinned.stages().flat_map(|stage| {
        let inner = stage.inner().map(|inner| {
            let words: Vec<String> = inner.call().argv().map(Into::into).collect();
            let program = inner.program().map(|program| match program {
                Program::File(file) => file
                    .identity()
                    .real_path
                    .file_name()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned(),
                Program::Builtin(builtin) => format!("{} of {}", builtin.name(), builtin.shell()),
            });
            (words.join(" "), inner.call().lookup, program)
        });
        inner.collect::<Vec<_>>()
    });
    stages.collect()
}

#[test]
fn each_wrapper_gives_up_its_programs() {
    use Lookup::{Elsewhere, Path, Shell, Unknown};
    let machine = machine();
    let host = machine.host("@/bin");
    let absolute = machine.at("bin/tool").to_str().unwrap().to_owned();
    let with_absolute = |line: &str| line.replace('@', &absolute);
    let at = absolute.as_str();
    let rows: &[Row<'_>] = &[
        ("tool a".into(), &[]),
        ("nice tool a".into(), &[("tool a", Path, Some("tool"))]),
        (
            "nice timeout 5 env A=1 tool".into(),
            &[
                ("timeout 5 env A=1 tool", Path, Some("timeout")),
                ("env A=1 tool", Path, Some("env")),
                ("tool", Path, Some("tool")),
            ],
        ),
        (
            "env -S 'tool a' b".into(),
            &[("tool a b", Path, Some("tool"))],
        ),
        ("env -i tool".into(), &[("tool", Unknown, None)]),
        (with_absolute("env -i @"), &[(at, Path, Some("tool"))]),
        ("env -u PATH tool".into(), &[("tool", Unknown, None)]),
        ("sudo tool".into(), &[("tool", Unknown, None)]),
        (
            "sudo nice tool".into(),
            &[("nice tool", Unknown, None), ("tool", Unknown, None)],
        ),
        ("busybox ls".into(), &[("ls", Elsewhere, None)]),
        ("python3 -m pytest".into(), &[("pytest", Elsewhere, None)]),
        ("xargs".into(), &[("echo … … …", Path, Some("echo"))]),
        (
            "xargs tool -a".into(),
            &[("tool -a … … …", Path, Some("tool"))],
        ),
        (
            "xargs -I% tool a%".into(),
            &[("tool a…", Path, Some("tool"))],
        ),
        ("xargs -I% % a".into(), &[("… a", Unknown, None)]),
        (
            r"find . -exec tool {} \; -exec other +x {} +".into(),
            &[
                ("tool {}", Path, Some("tool")),
                ("other +x {}", Path, Some("other")),
            ],
        ),
        (
            r"find . -execdir tool {} +".into(),
            &[("tool {}", Path, Some("tool"))],
        ),
        (
            r"find . -execdir ./tool {} +".into(),
            &[("./tool {}", Unknown, None)],
        ),
        (
            "watch 'tool a | echo b'".into(),
            &[
                ("tool a", Shell, Some("tool")),
                ("echo b", Shell, Some("echo of sh")),
            ],
        ),
        ("watch tool a".into(), &[("tool a", Shell, Some("tool"))]),
        ("watch -x echo a".into(), &[("echo a", Path, Some("echo"))]),
    ];
    let mut wrong = Vec::new();
    for (line, want) in rows {
        let got = pin(&host, line).map(|pinned| inner(&pinned));
        let want: Vec<_> = want
            .iter()
            .map(|(words, lookup, program)| {
                ((*words).to_owned(), *lookup, program.map(str::to_owned))
            })
            .collect();
        if got.as_ref() != Ok(&want) {
            wrong.push(format!("{line}: want {want:?}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_cannot_be_found_is_refused_at_its_word() {
    let machine = machine();
    let rows = [
        (
            "@/bin",
            "nice frobnicate",
            "program-not-found",
            "frobnicate",
        ),
        ("@/bin", "nice plain", "not-executable", "plain"),
        ("@/bin", "nice ./bin/plain", "not-executable", "./bin/plain"),
        ("@/bin", "nice /", "not-a-file", "/"),
        (
            "@/bin",
            r"find . -exec frobnicate {} \;",
            "program-not-found",
            "frobnicate",
        ),
        (
            "@/bin",
            "env -S 'frobnicate a'",
            "program-not-found",
            "'frobnicate a'",
        ),
        ("@/bin", "watch cd x", "shell-builtin", "cd x"),
        ("@/bin", "watch 'eval x'", "shell-builtin", "'eval x'"),
        (
            "@/bin",
            r#"watch 'test -v "a[0]"'"#,
            "shell-builtin",
            r#"'test -v "a[0]"'"#,
        ),
        ("@/bin:x", "nice frobnicate", "path-relative", "frobnicate"),
    ];
    let mut wrong = Vec::new();
    for (path, line, code, at) in rows {
        let got = pin(&machine.host(path), line).map_err(|refusal: Refusal| {
            let at = refusal.span().text(line).unwrap_or_default().to_owned();
            (refusal.code().as_str(), at)
        });
        if got.as_ref().err() != Some(&(code, at.to_owned())) {
            wrong.push(format!("{line}: want {code} at {at}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_json_has_the_program_and_the_tier_of_each() {
    let machine = machine();
    let pinned = pin(&machine.host("@/bin"), "nice ls a | env -i tool").unwrap();
    assert_eq!(pinned.tier(), Tier::Destructive);
    let object = serde_json::to_value(&pinned).unwrap();
    let first = &object["stages"][0]["inner"][0];
    assert_eq!(first["argv"], json!(["ls", "a"]));
    assert_eq!(
        (&first["span"], &first["tier"]),
        (&json!([5, 9]), &json!("read"))
    );
    assert_eq!(
        (&first["lookup"], &first["program"]["called"]),
        (&json!("path"), &json!("ls"))
    );
    let second = &object["stages"][1]["inner"][0];
    assert_eq!(second["program"], json!(null));
    assert_eq!(
        (&second["lookup"], &second["tier"]),
        (&json!("unknown"), &json!("destructive"))
    );
    assert_eq!(object["tier"], "destructive");
    assert_eq!(object["stages"][0]["tier"], "read");
}
