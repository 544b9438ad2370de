//! The first line of a script, held against the kernel of this machine.
#![expect(clippy::disallowed_methods, reason = "the kernel is asked")]

#[path = "support/machine.rs"]
mod machine;

use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use machine::{Machine, skip};
use plainpipe::program::Shebang;
use plainpipe::promises;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(head in prop::collection::vec(any::<u8>(), 0..300)) {
        promises::shebang(&head);
    }

    #[test]
    fn any_first_line_is_read_or_refused(line in "#![ \\ta-z/\\n\\x00]{0,300}") {
        promises::shebang(line.as_bytes());
    }
}

#[test]
fn the_kernel_starts_the_interpreter_that_is_read_here() {
    let machine = Machine::new();
    // An interpreter that prints its arguments, under a path of known length.
    let echo = std::fs::canonicalize("/bin/echo").unwrap();
    let interpreter = machine.link("echo", echo);
    let name = interpreter.to_str().unwrap();
    let fill = |length: usize| " ".repeat(length - 2 - name.len());
    let rows: Vec<Vec<u8>> = vec![
        format!("#!{name}\n").into(),
        format!("#!{name}").into(),
        format!("#! \t{name} \t\n").into(),
        format!("#!{name} a b\t c \n").into(),
        format!("#!{name}\ta").into(),
        format!("#!{name} a ").into(),
        format!("#!{name} ").into(),
        format!("#!{name} a\0b\n").into(),
        format!("#!{name}\0 a\n").into(),
        format!("#!{name} a\r\n").into(),
        format!("#!{}{name} abc\n", fill(250)).into(),
        format!("#!{}{name} abc\n", fill(253)).into(),
        format!("#!{}{name} abc\n", fill(254)).into(),
        format!("#!{}{name}\n", fill(254)).into(),
        format!("#!{}{name}\n", fill(255)).into(),
        format!("#!{}{name}\n", fill(256)).into(),
        format!("#!{}{name} a\n", fill(256)).into(),
        format!("#!{name} {}\n", "x".repeat(300)).into(),
        format!("#!{}\n", " ".repeat(300)).into(),
        b"#!\n".into(),
        b"#! ".into(),
        b"#!\0\n".into(),
    ];
    let mut wrong = Vec::new();
    let mut ran = 0;
    for (index, head) in rows.iter().enumerate() {
        let script = machine.write(&format!("script-{index}"), head, 0o755);
        let want = match Shebang::read(head) {
            Ok(Some(line)) if line.interpreter == name => {
                let mut bytes = Vec::new();
                if let Some(argument) = line.argument {
                    bytes.extend_from_slice(argument.as_bytes());
                    bytes.push(b' ');
                }
                bytes.extend_from_slice(script.as_os_str().as_bytes());
                bytes.push(b'\n');
                Some(bytes)
            }
            Ok(_) | Err(_) => None,
        };
        let output = Command::new(&script).output();
        let got = output.ok().map(|output| output.stdout);
        ran += usize::from(got.is_some());
        if got != want {
            let shown =
                |bytes: Option<Vec<u8>>| bytes.map(|bytes| bytes.escape_ascii().to_string());
            wrong.push(format!(
                "{}: read as {:?}, run as {:?}",
                head.escape_ascii(),
                shown(want),
                shown(got)
            ));
        }
    }
    if ran == 0 {
        return skip("a temporary directory that programs can be run from");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
