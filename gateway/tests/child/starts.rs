//! What a child gets when it starts, and what is said when it cannot.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _};

use rea_gateway::child::{Exit, Process, StartError};
use rustix::process::{Pid, getpgid};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::scene::{MARK, Scene, server, shell, until};

#[tokio::test]
async fn a_child_reads_and_answers_and_ends_by_itself() {
    let scene = Scene::new("echo");
    let (process, mut pipes) = Process::start(&shell("cat; exit 7"), &scene.surroundings)
        .await
        .unwrap();
    // Its environment is not there yet while it is being executed.
    until("it carries the mark", || {
        scene.left().contains_key(&process.id())
    })
    .await;
    pipes.stdin.write_all(b"hello\n").await.unwrap();
    drop(pipes.stdin);
    let mut answer = String::new();
    pipes.stdout.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "hello\n");
    assert_eq!(process.exited().await, Exit::Code(7));
    until("the lifeline goes", || scene.left().is_empty()).await;
    assert_eq!(process.stop().await, Exit::Code(7));
}

#[tokio::test]
async fn a_child_leads_its_group_and_has_three_descriptors_and_no_more_variables() {
    let scene = Scene::new("inside");
    fs::create_dir(scene.folder.path().join("sub")).unwrap();
    let server =
        server("sh\n    cwd: sub\n    env: {A: 'x${PATH}'}\n    args: [-c, 'pwd; env; exec cat']");
    let (process, mut pipes) = Process::start(&server, &scene.surroundings).await.unwrap();
    let child = Pid::from_raw(process.id()).unwrap();
    until("the script is done", || {
        fs::read(format!("/proc/{}/cmdline", process.id())).unwrap() == b"cat\0"
    })
    .await;
    assert_eq!(getpgid(Some(child)).unwrap(), child);
    let mut allowed = handed_down();
    allowed.extend(["0", "1", "2"].map(str::to_owned));
    assert_eq!(descriptors(&process.id().to_string()), allowed);
    drop(pipes.stdin);
    let mut said = String::new();
    pipes.stdout.read_to_string(&mut said).await.unwrap();
    let mut lines = said.lines();
    let folder = fs::canonicalize(scene.folder.path().join("sub")).unwrap();
    assert_eq!(lines.next(), folder.to_str());
    let path = std::env::var("PATH").unwrap();
    let mut variables: Vec<_> = lines
        // What the shell sets by itself.
        .filter(|line| {
            !["PWD=", "OLDPWD=", "SHLVL=", "_="]
                .iter()
                .any(|own| line.starts_with(own))
        })
        .collect();
    variables.sort_unstable();
    let mark = &scene.mark;
    assert_eq!(
        variables,
        [
            format!("A=x{path}"),
            format!("PATH={path}"),
            format!("{MARK}={mark}")
        ]
    );
}

#[tokio::test]
async fn a_child_that_cannot_start_says_why_and_leaves_nothing() {
    let scene = Scene::new("cannot");
    let folder = scene.folder.path();
    fs::write(folder.join("plain"), "no program").unwrap();
    fs::write(folder.join("broken"), "#!/nowhere/sh\n").unwrap();
    fs::set_permissions(folder.join("broken"), fs::Permissions::from_mode(0o755)).unwrap();
    let cases = [
        (
            "no-such-program-anywhere",
            "cannot run `no-such-program-anywhere`: No such file or directory (os error 2); install it, or correct `command` or PATH in the registry".to_owned(),
        ),
        (
            "./plain",
            "cannot run `./plain`: Permission denied (os error 13); install it, or correct `command` or PATH in the registry".to_owned(),
        ),
        (
            "./broken",
            "cannot run `./broken`: No such file or directory (os error 2); install it, or correct `command` or PATH in the registry".to_owned(),
        ),
        (
            "sh\n    cwd: none",
            format!(
                "`cwd` is no folder: {}; create it or correct the registry",
                folder.join("none").display()
            ),
        ),
        (
            "sh\n    env: {A: '${REA_NO_A}', B: '${REA_NO_B}${REA_NO_A}'}",
            "missing env: REA_NO_A, REA_NO_B; set them for the gateway, or change `env` in the registry".to_owned(),
        ),
    ];
    let mut wrong = Vec::new();
    for (entry, want) in cases {
        let got = Process::start(&server(entry), &scene.surroundings).await;
        let got = got.map_or_else(|error| error.to_string(), |_| "started".to_owned());
        if got != want {
            wrong.push(format!("{entry}: want {want:?}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    until("all lifelines go", || scene.left().is_empty()).await;
}

#[tokio::test]
async fn without_its_own_program_there_is_no_lifeline() {
    let mut scene = Scene::new("none");
    scene.surroundings.program = "/nowhere/rea".into();
    let error = Process::start(&shell("cat"), &scene.surroundings).await;
    assert!(matches!(error, Err(StartError::Lifeline(_))), "{error:?}");

    scene.surroundings.program = "true".into();
    let error = Process::start(&shell("cat"), &scene.surroundings).await;
    assert!(matches!(error, Err(StartError::Lifeline(_))), "{error:?}");
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing() {
    let scene = Scene::new("given-up");
    for polls in 0..20 {
        let server = shell("sleep 600 & cat");
        let start = Process::start(&server, &scene.surroundings);
        let mut start = Box::pin(start);
        for _ in 0..polls {
            let waited = tokio::time::timeout(std::time::Duration::from_micros(200), &mut start);
            if waited.await.is_ok() {
                break;
            }
        }
        drop(start);
    }
    until("all are gone", || scene.left().is_empty()).await;
}

fn descriptors(process: &str) -> BTreeSet<String> {
    fs::read_dir(format!("/proc/{process}/fd"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// The descriptors that whoever started the tests hands down to everybody.
fn handed_down() -> BTreeSet<String> {
    const CLOSED_IN_PROGRAMS: u32 = 0o2_000_000;
    let mut own = descriptors("self");
    own.retain(|descriptor| {
        let Ok(about) = fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")) else {
            return false;
        };
        let flags = about
            .lines()
            .find_map(|line| line.strip_prefix("flags:"))
            .unwrap();
        let flags = u32::from_str_radix(flags.trim(), 8).unwrap();
        flags & CLOSED_IN_PROGRAMS == 0
    });
    own
}
