//! Reading a line, beside a bare parse of the same text by the grammar's parser in the same run.
//!
//! `cargo bench --bench parse` times; the groups are what `BENCHMARKS.md` tabulates.
#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plainpipe::{Line, Reader};
use std::hint::black_box;

fn bare_parser() -> tree_sitter::Parser {
    let mut parser = tree_sitter::Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .unwrap();
    parser
}

/// Times one text four ways: reader and parser kept, and both made anew.
fn side_by_side(criterion: &mut Criterion, group: &str, name: &str, text: &str) {
    let mut group = criterion.benchmark_group(group);
    if text.len() > 1024 {
        group.sample_size(10);
    }
    group.throughput(Throughput::Bytes(text.len() as u64));
    let (mut reader, mut parser) = (Reader::new(), bare_parser());
    group.bench_with_input(BenchmarkId::new("reader", name), text, |bench, text| {
        bench.iter(|| reader.read(black_box(text)));
    });
    group.bench_with_input(BenchmarkId::new("bare", name), text, |bench, text| {
        bench.iter(|| parser.parse(black_box(text), None));
    });
    group.finish();
}

fn everyday(criterion: &mut Criterion) {
    let rows = [
        ("1-short", "git status"),
        (
            "1-long",
            r#"rg -n --type rust "fn main" src tests -g '!target/**'"#,
        ),
        (
            "1-quotes",
            r"git log --author='O'\''Brien' --since='2 weeks ago' --format='%h %s'",
        ),
        ("2", "ls -la | wc -l"),
        ("2-quotes", "grep -rn 'TODO' src | sort -t : -k 2,2n"),
        ("4", "ps aux | grep cargo | sort -k 3 | head -n 5"),
    ];
    for (name, text) in rows {
        assert!(Line::parse(text).is_ok(), "{text:?}");
        side_by_side(criterion, "everyday", name, text);
    }
    let text = "git status";
    let mut group = criterion.benchmark_group("everyday-anew");
    group.bench_function("reader", |bench| {
        bench.iter(|| Line::parse(black_box(text)));
    });
    group.bench_function("bare", |bench| {
        bench.iter(|| bare_parser().parse(black_box(text), None));
    });
    group.finish();
}

fn refused(criterion: &mut Criterion) {
    let rows = [
        ("list", "make -j4 && make test"),
        ("glob", "ls -la src/*.rs"),
        ("redirection", "cargo test > log.txt"),
        ("tree", r"find . -name \ a"),
    ];
    for (name, text) in rows {
        assert!(Line::parse(text).is_err(), "{text:?}");
        side_by_side(criterion, "refused", name, text);
    }
}

/// Text of `length` bytes: a start, and a unit over and over.
fn repeated(start: &str, unit: &str, length: usize) -> String {
    let times = (length - start.len()) / unit.len();
    format!("{start}{}", unit.repeat(times))
}

/// The worst texts we know, most of them accepted so that both witnesses read them.
const HOSTILE: &[(&str, &str, &str)] = &[
    ("one-word", "a ", "b"),
    ("quoted-parts", "a x", "'b'\"c\""),
    ("double-quotes", "a ", "\"\\\"\""),
    ("backslashes", "a x", "\\\\"),
    ("brackets", "a x", "]"),
    ("braces", "a x", "{}"),
    ("blanks", "a ", " "),
    ("continuations", "a ", " \\\n"),
    ("pipes", "a", "|a"),
    ("parentheses", "a ", "("),
    ("substitutions", "a ", "$("),
    ("open-quote", "a '", "b"),
    ("words", "a", " b"),
];

fn hostile(criterion: &mut Criterion) {
    for &(name, start, unit) in HOSTILE {
        for kib in [4, 64] {
            let text = repeated(start, unit, kib * 1024);
            side_by_side(criterion, "hostile", &format!("{name}-{kib}k"), &text);
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(50);
    targets = everyday, refused, hostile
}
criterion_main!(benches);
