//! What the audit log costs: bytes per second to verify, time per record at any length, syncs per record.
#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use std::{
    fs::File,
    hint::black_box,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rea_gateway::audit::{
    Audit, Disk, Durability, Options, RealDisk, Record, Settings, Tier, Verdict, verify,
};
use tempfile::TempDir;

/// Records like those of ordinary calls.
fn record(index: u64) -> Record {
    let mut record = Record::new("write_file", "filesystem");
    "7c9e6679-7425-40de-944b-e07fc1f90ae7".clone_into(&mut record.session_id);
    "L1".clone_into(&mut record.autonomy_level);
    record.tier = Tier::Write;
    record.duration_ms = index % 40;
    record
        .finished(&format!("{index:016x}"))
        .with(
            "arguments_hmac",
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
        )
        .with(
            "result_hmac",
            "a2de56169c3f029d704ca0411e80677cecd57a13b66296d3b5e1685e4cb02b48",
        )
}

struct Project(TempDir);

impl Project {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn root(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    fn settings(&self) -> Settings {
        Settings::new(self.0.path().join("state"))
    }

    fn filled(records: u64) -> Self {
        let project = Self::new();
        let audit = Audit::open(&project.root(), project.settings()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut index = 0;
        while index < records {
            let some = (records - index).min(512);
            let waiting: Vec<_> = (0..some)
                .map(|more| audit.submit(&record(index + more), Durability::Buffered))
                .collect();
            index += some;
            for receipt in waiting {
                runtime.block_on(receipt).unwrap();
            }
        }
        project
    }
}

/// At least 250 MB/s on one core.
fn verify_whole(criterion: &mut Criterion) {
    let project = Project::filled(150_000);
    let options = Options {
        state_directory: Some(project.settings().state_directory),
        ..Options::default()
    };
    let run = || verify(&project.root(), &options, &mut |_| {}).unwrap();
    let report = run();
    assert_eq!(report.verdict, Verdict::Intact);
    let mut group = criterion.benchmark_group("audit");
    group
        .throughput(Throughput::Bytes(report.bytes))
        .sample_size(20);
    group.bench_function("verify", |bench| bench.iter(|| black_box(run())));
    group.finish();
}

/// How often, and with how many records each time, two logs take turns.
const TURNS: (usize, u32) = (60, 400);

/// The same within 10 %, however long the log. The two logs also take turns, so that what else the
/// machine does meets both alike; the median of the quotients is printed.
#[expect(clippy::print_stderr, reason = "criterion has no place for a quotient")]
fn append_to_long_and_short(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("audit/append");
    let logs = [10, 1_000_000].map(|records| {
        let project = Project::filled(records);
        let audit = Audit::open(&project.root(), project.settings()).unwrap();
        // The first record looks for the end of the log, once.
        audit.append(&record(0), Durability::Buffered).unwrap();
        (records, audit, project)
    });
    let turn = |audit: &Audit| {
        let begin = Instant::now();
        for _ in 0..TURNS.1 {
            audit.append(&record(1), Durability::Buffered).unwrap();
        }
        begin.elapsed().as_secs_f64()
    };
    let [(_, short, _), (_, long, _)] = &logs;
    let mut quotients: Vec<f64> = (0..TURNS.0)
        .map(|_| {
            let time = turn(short);
            turn(long) / time
        })
        .collect();
    quotients.sort_by(f64::total_cmp);
    eprintln!(
        "audit/append: after 1000000 records {:.3} times as long as after 10",
        quotients.get(TURNS.0 / 2).unwrap()
    );
    for (records, audit, _) in &logs {
        group.bench_function(format!("after {records} records"), |bench| {
            bench.iter(|| audit.append(&record(1), Durability::Buffered).unwrap());
        });
    }
    group.finish();
}

/// Counts the syncs.
#[derive(Debug, Default)]
struct CountingDisk(AtomicU64);

impl Disk for CountingDisk {
    fn create(&self, path: &Path) -> io::Result<File> {
        RealDisk.create(path)
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        RealDisk.append(file, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        RealDisk.sync(file)
    }

    fn cut(&self, file: &File, length: u64) -> io::Result<()> {
        RealDisk.cut(file, length)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_directory(path)
    }
}

/// At most one sync for 8 records when 64 callers wait at once. Each checkpoint adds one that is not counted
/// here, once in 256 records.
#[expect(clippy::print_stderr, reason = "criterion has no place for a count")]
fn durable_at_64(criterion: &mut Criterion) {
    const CALLERS: u64 = 64;
    let mut group = criterion.benchmark_group("audit/64 callers");
    group.throughput(Throughput::Elements(1)).sample_size(10);
    for (name, durability) in [
        ("durable", Durability::Durable),
        ("buffered", Durability::Buffered),
    ] {
        let project = Project::new();
        let disk = Arc::new(CountingDisk::default());
        let settings = Settings {
            disk: disk.clone(),
            ..project.settings()
        };
        let audit = Audit::open(&project.root(), settings).unwrap();
        let mut written = 0;
        group.bench_function(name, |bench| {
            bench.iter_custom(|records| {
                let each = records.div_ceil(CALLERS);
                written += each * CALLERS;
                let nanoseconds = run(&audit, CALLERS, each, durability).as_nanos();
                // A few more records were written than were asked for.
                let share = nanoseconds * u128::from(records) / u128::from(each * CALLERS);
                Duration::from_nanos(u64::try_from(share).unwrap())
            });
        });
        eprintln!(
            "audit/64 callers/{name}: {} syncs for {written} records",
            disk.0.load(Ordering::Relaxed)
        );
    }
    group.finish();
}

fn run(audit: &Audit, callers: u64, each: u64, durability: Durability) -> Duration {
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| {
                for index in 0..each {
                    audit.append(&record(index), durability).unwrap();
                }
            });
        }
    });
    begin.elapsed()
}

criterion_group!(
    benches,
    verify_whole,
    append_to_long_and_short,
    durable_at_64
);
criterion_main!(benches);
