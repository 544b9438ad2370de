//! Ways of living on that a child may try, and ways of ending it; nothing is left of any pair.

use rea_gateway::child::{Exit, Process};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt as _;

use crate::scene::{Scene, shell, until};

/// What each child does after it has said that it is ready.
pub(crate) const STUBBORN: &[(&str, &str)] = &[
    ("polite", "exec cat"),
    ("ignores the end of its input", "while :; do sleep 60; done"),
    (
        "ignores the request to end",
        "trap '' TERM HUP INT; while :; do sleep 60; done",
    ),
    ("has closed its pipes", "exec 0<&- 1>&- 2>&-; sleep 600"),
    ("is stopped", "kill -STOP $$"),
    ("has grandchildren", "sleep 600 & sleep 600 & exec cat"),
    (
        "has a grandchild in another session",
        "setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 60; done' & exec cat",
    ),
    (
        "has a grandchild without a parent",
        "(setsid sh -c '(sleep 600 &)' &); exec cat",
    ),
    (
        "has a grandchild that moves on before it can be caught",
        "trap '' TERM; f() { sleep 0.02; f & }; f & exec cat",
    ),
    ("ends and leaves a grandchild with its pipes", "sleep 600 &"),
    (
        "ends and leaves a deaf grandchild",
        "(trap '' TERM; sleep 600) & exit 3",
    ),
];

/// Starts one of them and waits until it is ready.
pub(crate) async fn start(scene: &Scene, script: &str) -> (Process, rea_gateway::child::Pipes) {
    let script = format!("echo ready; {script}");
    let (process, mut pipes) = Process::start(&shell(&script), &scene.surroundings)
        .await
        .unwrap();
    let mut ready = [0; 6];
    pipes.stdout.read_exact(&mut ready).await.unwrap();
    assert_eq!(&ready, b"ready\n");
    (process, pipes)
}

#[tokio::test]
async fn nothing_is_left_after_a_stop() {
    for (what, script) in STUBBORN {
        let scene = Scene::new("stop");
        let (process, pipes) = start(&scene, script).await;
        drop(pipes.stdin);
        let exit = process.stop().await;
        assert_ne!(exit, Exit::Unknown, "{what}");
        // On a busy machine a stop may give up waiting just before the last of them is killed.
        until(what, || scene.left().is_empty()).await;
    }
}

#[tokio::test]
async fn a_stop_returns_only_when_all_are_gone() {
    let scene = Scene::new("returns");
    let (process, pipes) = start(&scene, "sleep 600 & setsid sleep 600 & exec cat").await;
    drop(pipes.stdin);
    assert_eq!(process.stop().await, Exit::Code(0));
    let left = scene.left();
    assert!(left.is_empty(), "left after stop: {left:?}");
}

#[tokio::test]
async fn nothing_is_left_when_the_input_stays_open() {
    for (what, script) in STUBBORN {
        let scene = Scene::new("open");
        let (process, _pipes) = start(&scene, script).await;
        process.stop().await;
        until(what, || scene.left().is_empty()).await;
    }
}

#[tokio::test]
async fn nothing_is_left_after_it_was_dropped() {
    for (what, script) in STUBBORN {
        let scene = Scene::new("drop");
        drop(start(&scene, script).await);
        until(what, || scene.left().is_empty()).await;
    }
}

#[tokio::test]
async fn stopping_twice_at_once_and_after_the_end_is_the_same() {
    let scene = Scene::new("twice");
    let (process, pipes) = start(&scene, "cat; exit 5").await;
    drop(pipes.stdin);
    let (first, second) = tokio::join!(process.stop(), process.stop());
    assert_eq!((first, second), (Exit::Code(5), Exit::Code(5)));
    assert_eq!(process.stop().await, Exit::Code(5));
    assert_eq!(process.exited().await, Exit::Code(5));
}

#[tokio::test]
async fn a_killed_child_is_noticed_and_what_it_left_goes() {
    let scene = Scene::new("killed");
    let (process, _pipes) = start(&scene, "sleep 600 & exec cat").await;
    kill_process(Pid::from_raw(process.id()).unwrap(), Signal::KILL).unwrap();
    assert_eq!(process.exited().await, Exit::Signal(9));
    until("all are gone", || scene.left().is_empty()).await;
}

#[tokio::test]
async fn a_killed_lifeline_takes_the_childs_group_along() {
    let scene = Scene::new("lifeline");
    let (process, _pipes) = start(&scene, "sleep 600 & while :; do sleep 60; done").await;
    let lifeline = scene.left();
    let (lifeline, _) = (lifeline.iter())
        .find(|(_, command)| command.contains("__lifeline"))
        .unwrap();
    kill_process(Pid::from_raw(*lifeline).unwrap(), Signal::KILL).unwrap();
    assert_eq!(process.exited().await, Exit::Unknown);
    until("all are gone", || scene.left().is_empty()).await;
}

#[tokio::test]
async fn a_lifeline_that_is_asked_to_end_ends_the_child_first() {
    let scene = Scene::new("asked");
    let (process, _pipes) = start(&scene, "trap '' TERM; while :; do sleep 60; done").await;
    let lifeline = scene.left();
    let (lifeline, _) = (lifeline.iter())
        .find(|(_, command)| command.contains("__lifeline"))
        .unwrap();
    kill_process(Pid::from_raw(*lifeline).unwrap(), Signal::TERM).unwrap();
    assert_eq!(process.exited().await, Exit::Signal(9));
    until("all are gone", || scene.left().is_empty()).await;
}
