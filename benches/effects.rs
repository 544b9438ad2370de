//! Judging what a line could do, on lines that are already read.
//!
//! `cargo bench --bench effects` times; `first` is what a process pays that judges one line.
#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use plainpipe::Line;
use plainpipe::effect::{Model, judge};

/// Everyday lines, a name for each.
const LINES: &[(&str, &str)] = &[
    ("short", "git status"),
    ("options", "git log --oneline --stat -n 5 --since=2.weeks"),
    ("search", "grep -rn 'fn main' src tests"),
    ("list", "ls -la src"),
    ("script", "sed -n '/^fn main/,/^}/p' src/main.rs"),
    (
        "program",
        "awk -F: 'NR>1 && $3 ~ /x/ {s+=$3} END {print s}' data.txt",
    ),
    (
        "walk",
        "find . -type f -not -path './target/*' -name '*.toml'",
    ),
    ("stages", "ps aux | grep cargo | head -5"),
    ("wrapper", "timeout 5 nice -n 5 cargo test -p core"),
    ("unknown", "frobnicate --list a b c"),
];

fn warm(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("judge");
    for (name, text) in LINES {
        let line = Line::parse(text).unwrap();
        group.bench_with_input(BenchmarkId::new("warm", name), &line, |bench, line| {
            bench.iter(|| judge(black_box(line)));
        });
    }
    group.finish();
}

/// Times lines made to be slow: as many words as a line may have.
fn hostile(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("judge");
    let many = |start: &str, word: &str| format!("{start}{}", format!(" {word}").repeat(4000));
    for (name, text) in [
        ("operands", many("cat", "a")),
        ("options", many("grep", "-e=x")),
        ("unknown-options", many("ls", "--x")),
        (
            "execs",
            many("find .", r"-exec ls {} \;")
                .chars()
                .take(14 * 800 + 6)
                .collect(),
        ),
        ("script", format!("sed '{}'", "s/a/b/;".repeat(8000))),
    ] {
        let line = Line::parse(text.trim_end_matches(['\\', ' '])).unwrap();
        group.bench_with_input(BenchmarkId::new("hostile", name), &line, |bench, line| {
            bench.iter(|| judge(black_box(line)));
        });
    }
    group.finish();
}

/// Times reading the largest models from their files, which is slower than what is compiled in.
fn models(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("model");
    for (name, text) in [
        ("git", include_str!("../src/effect/models/git.toml")),
        ("ls", include_str!("../src/effect/models/ls.toml")),
    ] {
        group.bench_with_input(BenchmarkId::new("from-toml", name), text, |bench, text| {
            bench.iter(|| Model::from_toml(black_box(text)).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, warm, hostile, models);
criterion_main!(benches);
