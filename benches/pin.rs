//! Which files a line would run, beside what cannot be saved: a bare parse and a look-up for the
//! warm case, reading and hashing the same bytes for the cold one, both in the same run.
#![expect(
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a bench may panic, and says what it could not do"
)]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plainpipe::program::{PinCache, WritableSearch};
use plainpipe::{Analyzer, Host, Line, Shell};
use sha2::{Digest, Sha256};

fn bare_parser() -> tree_sitter::Parser {
    let mut parser = tree_sitter::Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .unwrap();
    parser
}

/// This machine, on which a writable directory early on PATH is reported only.
fn host() -> Host {
    Host::current()
        .unwrap()
        .with_writable_search(WritableSearch::Report)
}

/// Every file is known already: parse, look up, stat, compare.
fn warm(criterion: &mut Criterion) {
    let rows = [
        ("git", "git status"),
        ("cat", "cat Cargo.toml"),
        ("two", "git log | head -5"),
    ];
    for (name, command) in rows {
        let mut group = criterion.benchmark_group("pin-warm");
        let line = Line::parse(command).unwrap();
        let programs: Vec<&str> = line.stages().map(|stage| stage.program().text).collect();
        if let Some(missing) = programs.iter().find(|name| which::which(name).is_err()) {
            eprintln!("skipped: needs {missing}");
            continue;
        }
        let mut analyzer = Analyzer::new(host());
        analyzer.analyze(command).unwrap();
        group.bench_function(BenchmarkId::new("analyzer", name), |bench| {
            bench.iter(|| analyzer.analyze(black_box(command)));
        });
        let mut parser = bare_parser();
        group.bench_function(BenchmarkId::new("bare-and-which", name), |bench| {
            bench.iter(|| {
                let tree = parser.parse(black_box(command), None);
                let found: Vec<_> = programs.iter().map(which::which).collect();
                (tree, found)
            });
        });
        group.finish();
    }
}

/// Nothing is known: the file is read and hashed once.
fn cold(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().unwrap();
    let host = host().with_shell(Shell::None);
    for (name, size) in [
        ("64k", 64 * 1024),
        ("4m", 4 * 1024 * 1024),
        ("64m", 64 * 1024 * 1024),
    ] {
        // A script of one line and a tail, so that the interpreter is the same for every size.
        let path = directory.path().join(name);
        let mut bytes = b"#!/bin/sh\n".to_vec();
        bytes.resize(size, b'#');
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let line = Line::parse(path.to_str().unwrap()).unwrap();

        let mut group = criterion.benchmark_group("pin-cold");
        group.throughput(Throughput::Bytes(size as u64));
        if size > 1024 * 1024 {
            group.sample_size(20);
        }
        // The interpreter is known, the script changed a moment ago and so is not kept.
        let mut cache = PinCache::in_memory();
        group.bench_function(BenchmarkId::new("pin", name), |bench| {
            bench.iter(|| {
                fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
                    .unwrap();
                let resolved = host.resolve(line.clone()).unwrap();
                resolved.pin(&mut cache).unwrap()
            });
        });
        group.bench_function(BenchmarkId::new("read-and-hash", name), |bench| {
            let mut buffer = vec![0; 128 * 1024];
            bench.iter(|| {
                let mut file = File::open(&path).unwrap();
                let mut hasher = Sha256::new();
                loop {
                    let count = file.read(&mut buffer).unwrap();
                    if count == 0 {
                        break hasher.finalize();
                    }
                    hasher.update(&buffer[..count]);
                }
            });
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(50);
    targets = warm, cold
}
criterion_main!(benches);
