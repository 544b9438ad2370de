//! `rea init --minimal` and `rea registry check`, run as a person runs them.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::{Command, Output},
};

use rea_gateway::{policy::Policy, registry::Registry};

fn rea(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rea"))
        .args(arguments)
        .current_dir(folder)
        .env("USER", "a \"person\"")
        .env_remove("REA_TEST_UNSET")
        .output()
        .unwrap()
}

fn out(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

fn err(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn an_empty_folder_gets_files_that_work() {
    let folder = tempfile::tempdir().unwrap();
    let done = rea(folder.path(), &["init", "--minimal"]);
    assert_eq!(
        out(&done),
        ".rea/registry.yaml written: 0 servers\n.rea/policy.yaml written: profile minimal\n",
        "{}",
        err(&done)
    );
    assert_eq!(done.status.code(), Some(0));
    let registry = Registry::load(&folder.path().join(".rea/registry.yaml")).unwrap();
    assert!(registry.servers.is_empty());
    let file = folder.path().join(".rea/policy.yaml");
    Policy::parse(&file, &fs::read_to_string(&file).unwrap()).unwrap();
    let checked = rea(folder.path(), &["registry", "check"]);
    assert_eq!(
        (out(&checked), checked.status.code()),
        ("no servers\n", Some(0))
    );
}

#[test]
fn the_servers_of_the_client_are_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let client = r#"{"mcpServers": {
        "Shell": {"command": "sh", "args": ["-c", "cat"]},
        "far": {"url": "https://example.org"},
        "gone": {"command": "no-such-program"},
        "key": {"command": "sh", "env": {"API_KEY": "hunter2"}},
        "unset": {"command": "sh", "env": {"A": "${REA_TEST_UNSET}"}}
    }}"#;
    fs::write(folder.path().join(".mcp.json"), client).unwrap();
    let done = rea(folder.path(), &["init", "--minimal"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert!(out(&done).contains(".rea/registry.yaml written: 4 servers\n"));
    assert!(out(&done).contains("Shell: is named `shell` in the registry\n"));
    assert!(!out(&done).contains("hunter2"));
    assert_eq!(
        fs::read_to_string(folder.path().join(".mcp.json")).unwrap(),
        client
    );
    let mode = |name: &str| {
        let metadata = fs::metadata(folder.path().join(name)).unwrap();
        metadata.permissions().mode() & 0o077
    };
    assert_eq!(mode(".rea/registry.yaml"), 0, "it has a secret in it");

    let checked = rea(folder.path(), &["registry", "check"]);
    assert_eq!(
        out(&checked),
        "shell  could start\n\
         gone   could not start: no program `no-such-program` on its PATH; install it, or correct `command` or PATH in the registry\n\
         key    could start\n\
         unset  could not start: missing env: REA_TEST_UNSET; set them for the gateway, or change `env` in the registry\n"
    );
    assert_eq!(checked.status.code(), Some(1));
}

#[test]
fn nothing_is_ever_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let rea_folder = folder.path().join(".rea");
    fs::create_dir(&rea_folder).unwrap();
    fs::write(rea_folder.join("registry.yaml"), "mine").unwrap();
    symlink("/nowhere", rea_folder.join("policy.yaml")).unwrap();
    let done = rea(folder.path(), &["init", "--minimal"]);
    assert_eq!(
        out(&done),
        ".rea/registry.yaml is there already and stays as it is\n.rea/policy.yaml is there already and stays as it is\n"
    );
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(
        fs::read_to_string(rea_folder.join("registry.yaml")).unwrap(),
        "mine"
    );
    assert_eq!(
        fs::read_link(rea_folder.join("policy.yaml")).unwrap(),
        Path::new("/nowhere")
    );
    assert_eq!(fs::read_dir(&rea_folder).unwrap().count(), 2);
}

#[test]
fn what_cannot_be_done_is_said_and_leaves_nothing() {
    /// What is in the way, how to put it there, and what is said about it.
    type Case = (&'static str, fn(&Path), &'static str);
    let cases: &[Case] = &[
        (
            "a link for a folder",
            |folder| symlink("/tmp", folder.join(".rea")).unwrap(),
            "rea: making the folder .rea: something else has that name\n",
        ),
        (
            "a file for a folder",
            |folder| fs::write(folder.join(".rea"), "").unwrap(),
            "rea: making the folder .rea: something else has that name\n",
        ),
        (
            "no JSON",
            |folder| fs::write(folder.join(".mcp.json"), "{").unwrap(),
            "rea: reading .mcp.json: EOF while parsing an object at line 1 column 1\n",
        ),
        (
            "a folder for the client's file",
            |folder| fs::create_dir(folder.join(".mcp.json")).unwrap(),
            "rea: reading .mcp.json: .mcp.json: is not a regular file; expected a YAML file; put a file there\n",
        ),
    ];
    let mut wrong = Vec::new();
    for (what, prepare, want) in cases {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let done = rea(folder.path(), &["init", "--minimal"]);
        if (err(&done), done.status.code()) != (*want, Some(2)) {
            wrong.push(format!("{what}: want {want:?}, got {done:?}"));
        }
        for name in [".rea/registry.yaml", ".rea/policy.yaml"] {
            if folder.path().join(name).exists() {
                wrong.push(format!("{what}: {name} was written"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_broken_registry_is_blamed_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".rea")).unwrap();
    let text = "version: \"1\"\nservers:\n  - {name: A, command: sh}\n  - {name: b, command: ''}\n";
    fs::write(folder.path().join(".rea/registry.yaml"), text).unwrap();
    let checked = rea(folder.path(), &["registry", "check"]);
    assert_eq!(
        err(&checked),
        ".rea/registry.yaml:3:12: the server name `A`; expected lower-case letters, digits and `-`, with a letter or digit first (such as `my-files`), and not `rea`; rename the server\n\
         .rea/registry.yaml:4:24: a command that is empty; expected a command; fill it in or remove the key\n"
    );
    assert_eq!((out(&checked), checked.status.code()), ("", Some(1)));
}
