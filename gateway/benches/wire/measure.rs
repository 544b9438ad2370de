//! Everything that is measured. Ways to the server take turns, so that whatever else the machine does meets
//! all of them.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::lane::Lane;

/// One KiB of text and one MiB, as the tables name them.
const SMALL: usize = 1024;
const LARGE: usize = 1024 * 1024;

/// How many calls are open at a time where many are.
pub(crate) const AT_ONCE: u64 = 64;

/// How often everything is done.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    rounds: usize,
    small: usize,
    large: u64,
    many: u64,
    starts: usize,
}

impl Effort {
    pub(crate) const FULL: Self = Self {
        rounds: 40,
        small: 250,
        large: 10,
        many: 640,
        starts: 40,
    };
    pub(crate) const ONCE: Self = Self {
        rounds: 1,
        small: 2,
        large: 1,
        many: 64,
        starts: 1,
    };
}

/// What was measured of one way to the server.
#[derive(Default)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    /// Every call of 1 KiB.
    pub(crate) small: Vec<Duration>,
    /// The median of each round.
    pub(crate) medians: Vec<Duration>,
    /// Processor time of the process between client and server, for one call of 1 KiB.
    pub(crate) processor: Duration,
    /// Bytes per second of each round of results of 1 MiB, one at a time and some at once.
    pub(crate) large: Vec<f64>,
    pub(crate) large_at_once: Vec<f64>,
}

/// What many durable calls at once come to.
pub(crate) struct Durable {
    /// Calls per second of each round, with syncs and without.
    pub(crate) synced: Vec<f64>,
    pub(crate) unsynced: Vec<f64>,
    /// Durable records for each sync.
    pub(crate) records_per_sync: f64,
}

/// Everything.
pub(crate) struct Measured {
    pub(crate) ways: Vec<Way>,
    pub(crate) durable: Durable,
    /// From the start to the first list of tools, without servers.
    pub(crate) starts: Vec<Duration>,
    /// Resident memory in bytes without servers, and in front of one after all calls.
    pub(crate) resident: (u64, u64),
    /// Size of the program in bytes.
    pub(crate) program: u64,
}

pub(crate) fn all(effort: Effort) -> Measured {
    let folder = tempfile::tempdir().unwrap();
    let mut lanes = lanes(folder.path());
    let mut ways: Vec<Way> = (lanes.iter())
        .map(|lane| Way {
            name: lane.name,
            ..Way::default()
        })
        .collect();
    small(effort, &mut lanes, &mut ways);
    large(effort, &mut lanes, &mut ways);
    let serve = lanes.iter().find(|lane| lane.name == "`rea serve`");
    let busy = serve.unwrap().resident();
    for lane in lanes {
        lane.close();
    }
    let (starts, idle) = starts(effort, folder.path());
    Measured {
        ways,
        durable: durable(effort, folder.path()),
        starts,
        resident: (idle, busy),
        program: fs::metadata(env!("CARGO_BIN_EXE_rea")).unwrap().len(),
    }
}

fn small(effort: Effort, lanes: &mut [Lane], ways: &mut [Way]) {
    let arguments = format!(r#"{{"text":"{}"}}"#, "x".repeat(SMALL));
    for lane in lanes.iter_mut() {
        for _ in 0..effort.small {
            lane.call("get_echo", &arguments); // warms up
        }
    }
    let before: Vec<Duration> = lanes.iter().map(Lane::processor_time).collect();
    for _ in 0..effort.rounds {
        for (lane, way) in lanes.iter_mut().zip(&mut *ways) {
            let mut round: Vec<Duration> = (0..effort.small)
                .map(|_| lane.call("get_echo", &arguments))
                .collect();
            way.small.extend(&round);
            round.sort_unstable();
            way.medians.extend(round.get(round.len() / 2));
        }
    }
    let calls = u32::try_from(effort.rounds * effort.small).unwrap();
    for ((lane, way), before) in lanes.iter().zip(ways).zip(before) {
        way.processor = lane.processor_time().saturating_sub(before) / calls;
    }
}

fn large(effort: Effort, lanes: &mut [Lane], ways: &mut [Way]) {
    let arguments = format!(r#"{{"bytes":{LARGE}}}"#);
    for _ in 0..effort.rounds {
        for (lane, way) in lanes.iter_mut().zip(&mut *ways) {
            for (open, rates) in [(1, &mut way.large), (4, &mut way.large_at_once)] {
                let time = lane.calls("get_large", &arguments, effort.large, open);
                rates.push(per_second(effort.large, time) * LARGE as f64);
            }
        }
    }
}

/// Returns every way to the server, directly first.
fn lanes(folder: &Path) -> Vec<Lane> {
    let bench = env::current_exe().unwrap();
    let own = |arguments: &[&str]| {
        let mut command = Command::new(&bench);
        command.args(arguments);
        command
    };
    let bench_name = bench.to_str().unwrap();
    let wire = project(&folder.join("wire"), true);
    let serve = project(&folder.join("serve"), true);
    let mut lanes = vec![
        Lane::open("directly", "", own(&["__echo"])),
        Lane::open(
            "relay of bytes",
            "",
            own(&["__relay", bench_name, "__echo"]),
        ),
        Lane::open(
            "the wire alone",
            "s__",
            own(&["__wire", wire.to_str().unwrap()]),
        ),
        Lane::open("`rea serve`", "s__", rea(&serve)),
    ];
    let proxy = env::var_os("REA_PEERS").map(|peers| PathBuf::from(peers).join("rmcp/rmcp-peer"));
    if let Some(proxy) = proxy.filter(|proxy| proxy.exists()) {
        let mut command = Command::new(proxy);
        command.args(["proxy", bench_name, "__echo"]);
        lanes.push(Lane::open("proxy of `rmcp`", "", command));
    } else {
        println!(
            "skipped: the proxy of rmcp needs REA_PEERS, a folder filled by tests/real/install"
        );
    }
    lanes
}

fn starts(effort: Effort, folder: &Path) -> (Vec<Duration>, u64) {
    let root = project(&folder.join("empty"), false);
    let mut idle = 0;
    let mut starts = Vec::new();
    for _ in 0..effort.starts {
        let begin = Instant::now();
        let lane = Lane::open("empty", "", rea(&root));
        starts.push(begin.elapsed());
        idle = lane.resident();
        lane.close();
    }
    (starts, idle)
}

fn durable(effort: Effort, folder: &Path) -> Durable {
    let arguments = format!(r#"{{"text":"{}"}}"#, "x".repeat(SMALL));
    let bench = env::current_exe().unwrap();
    let open = |kind: &'static str| {
        let root = project(&folder.join(kind), true);
        let mut command = Command::new(&bench);
        command.arg("__chain").arg(&root).arg(kind);
        (Lane::open(kind, "s__", command), root)
    };
    let (mut synced, root) = open("synced");
    let (mut unsynced, _) = open("unsynced");
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        for (lane, rates) in [(&mut synced, &mut with), (&mut unsynced, &mut without)] {
            let time = lane.calls("put_echo", &arguments, effort.many, AT_ONCE);
            rates.push(per_second(effort.many, time));
        }
    }
    synced.close();
    unsynced.close();
    let syncs: f64 = fs::read_to_string(root.join("syncs"))
        .unwrap()
        .parse()
        .unwrap();
    let calls = effort.many as f64 * effort.rounds as f64;
    Durable {
        synced: with,
        unsynced: without,
        // One record before each call is durable; the one behind it is not.
        records_per_sync: calls / syncs,
    }
}

fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn rea(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rea"));
    command
        .arg("serve")
        .current_dir(root)
        .env("XDG_STATE_HOME", root.join("state"));
    command
}

/// Makes a project in front of the server, or of none, in which everything may be called.
fn project(root: &Path, server: bool) -> PathBuf {
    fs::create_dir_all(root.join(".rea")).unwrap();
    let bench = env::current_exe().unwrap();
    let servers = if server {
        format!(
            "servers:\n  - name: s\n    command: '{}'\n    args: [__echo]\n    concurrency: 1000\n",
            bench.display()
        )
    } else {
        "servers: []\n".to_owned()
    };
    let registry = format!("version: \"1\"\n{servers}");
    fs::write(root.join(".rea/registry.yaml"), registry).unwrap();
    let policy = "version: \"1\"\nprofile: bench\ninstalled_by: bench\ninstalled_at: now\n\
                  autonomy_level: L3\nmax_autonomy_level: L3\n\
                  promotion_requires_human_approval: true\nblocked_paths: []\n";
    fs::write(root.join(".rea/policy.yaml"), policy).unwrap();
    root.to_owned()
}
