//! A gateway that is killed at any moment, and one that starts children over and over.

use std::{
    env, fs,
    io::{self, Write as _},
    process::Stdio,
    time::Duration,
};

use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};
use rea_gateway::child::{Journal, Process, Surroundings};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
    task::JoinSet,
};

use crate::{
    ends::{STUBBORN, start},
    scene::{Scene, shell, until},
};

/// How often the gateway is killed; 20 unless this variable says otherwise.
const KILLS: &str = "REA_TEST_KILLS";
/// Set in the process that plays the gateway.
const PLAY: &str = "REA_TEST_PLAY_GATEWAY";
/// Set in the process that counts its descriptors.
const ALONE: &str = "REA_TEST_ALONE";
/// How many gateways live at the same time.
const AT_ONCE: usize = 4;
/// After how many microseconds at most the gateway is killed.
const LATEST_KILL: u64 = 60_000;

/// Not a test of its own: what the process does that [`nothing_is_left_when_the_gateway_is_killed`]
/// kills. It starts every stubborn child at once, stops and starts some again, and never ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plays_the_gateway() {
    let Some(folder) = env::var_os(PLAY) else {
        return;
    };
    let journal = Journal::to(std::io::sink()).unwrap();
    let variables = env::vars_os().collect();
    let mut surroundings = Surroundings::new(folder.as_ref(), variables, journal);
    surroundings.program = env!("CARGO_BIN_EXE_rea").into();
    writeln!(io::stdout(), "playing").unwrap();
    let mut playing = JoinSet::new();
    for (_, script) in STUBBORN {
        let surroundings = surroundings.clone();
        playing.spawn(async move {
            loop {
                let (process, pipes) = Process::start(&shell(script), &surroundings).await.unwrap();
                if process.id() % 2 == 0 {
                    drop(pipes);
                    process.stop().await;
                } else {
                    process.exited().await;
                }
            }
        });
    }
    playing.join_all().await;
}

/// Starts a gateway, kills it after so many microseconds, and waits until nothing is left.
/// Returns how many processes it had left behind.
async fn kill_after(moment: u64) -> usize {
    let scene = Scene::new("gateway");
    let mut gateway = Command::new(env::current_exe().unwrap())
        .args(["gateway::plays_the_gateway", "--exact", "--nocapture"])
        .envs(&scene.surroundings.variables)
        .env(PLAY, scene.folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut said = BufReader::new(gateway.stdout.take().unwrap()).lines();
    while said.next_line().await.unwrap().unwrap() != "playing" {}
    tokio::time::sleep(Duration::from_micros(moment)).await;
    gateway.kill().await.unwrap();
    let orphans = scene.left().len();
    let what = format!("all are gone after a kill at {moment} µs");
    until(&what, || scene.left().is_empty()).await;
    orphans
}

#[tokio::test]
async fn nothing_is_left_when_the_gateway_is_killed() {
    let kills = env::var(KILLS).map_or(20, |kills| kills.parse().unwrap());
    assert!(kills > 0, "{KILLS} is 0");
    let mut random = TestRunner::deterministic();
    let mut moments = (0..kills).map(|_| (0..LATEST_KILL).new_tree(&mut random).unwrap().current());
    let (mut under_way, mut orphans) = (JoinSet::new(), 0);
    loop {
        while under_way.len() < AT_ONCE
            && let Some(moment) = moments.next()
        {
            under_way.spawn(kill_after(moment));
        }
        match under_way.join_next().await {
            Some(killed) => orphans += killed.unwrap(),
            None => break,
        }
    }
    assert!(
        orphans > kills,
        "{orphans} orphans after {kills} kills prove nothing"
    );
}

/// Runs alone in a process of its own, since it counts what that process has.
#[tokio::test]
async fn two_hundred_restarts_cost_no_descriptor_and_leave_nothing() {
    if env::var_os(ALONE).is_none() {
        let status = Command::new(env::current_exe().unwrap())
            .args([
                "gateway::two_hundred_restarts_cost_no_descriptor_and_leave_nothing",
                "--exact",
            ])
            .env(ALONE, "yes")
            .status();
        assert!(status.await.unwrap().success());
        return;
    }
    let scene = Scene::new("restarts");
    let mut first = None;
    for _ in 0..200 {
        let (process, pipes) = start(&scene, "sleep 600 & exec cat").await;
        drop(pipes);
        process.stop().await;
        drop(process);
        // What reads standard error closes it a moment later.
        let first = *first.get_or_insert_with(own_descriptors);
        until("its descriptors are closed", || own_descriptors() <= first).await;
        assert!(scene.left().is_empty(), "{:?}", scene.left());
    }
    let children = own_children();
    assert!(children.is_empty(), "not waited for: {children:?}");
}

fn own_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn own_children() -> Vec<String> {
    let own = std::process::id().to_string();
    let of_own = |stat: &String| {
        let rest = stat.rsplit(')').next().unwrap();
        rest.split_whitespace().nth(1) == Some(&own)
    };
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter(of_own)
        .collect()
}
