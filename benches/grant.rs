//! Whether a line may run, beside what cannot be saved: a bare parse and a look-up; and with few
//! and many grants in the store.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a bench may panic and says what it skips"
)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use plainpipe::grant::{Grant, GrantedProgram, Grants, Lifetime, Scope};
use plainpipe::program::{Program, WritableSearch};
use plainpipe::{Analyzer, Host, Shell, Verdict};

const COMMAND: &str = "git status";

fn analyzer() -> Analyzer {
    let host = Host::current().unwrap();
    let host = host.with_shell(Shell::None);
    Analyzer::new(host.with_writable_search(WritableSearch::Report))
}

/// Returns a store with a name grant for git, and as many others as asked for: exact calls and
/// prefixes of git itself, and name grants of other programs.
fn grants(analyzer: &mut Analyzer, others: usize) -> Grants {
    let line = analyzer.analyze(COMMAND).unwrap();
    let Some(Program::File(git)) = line.programs().first() else {
        unreachable!("git is a file");
    };
    let git = GrantedProgram::from(&**git);
    let give = |program: &GrantedProgram, scope| {
        Grant::new(program.clone(), scope, Lifetime::Always {}, "bench", "")
    };
    let mut list = vec![give(&git, Scope::AnyArguments {})];
    for number in 0..others {
        let word = format!("word-{number}");
        let (program, scope) = match number % 3 {
            0 => (
                git.clone(),
                Scope::Exact {
                    argv: vec!["git".into(), word],
                },
            ),
            1 => (git.clone(), Scope::Prefix { args: vec![word] }),
            _ => {
                let mut other = git.clone();
                other.identity.called = word;
                (other, Scope::AnyArguments {})
            }
        };
        list.push(give(&program, scope));
    }
    let mut grants = Grants::in_memory(None).unwrap();
    grants.give(list).unwrap();
    grants
}

fn warm(criterion: &mut Criterion) {
    if which::which("git").is_err() {
        eprintln!("skipped: needs git");
        return;
    }
    let mut group = criterion.benchmark_group("grant-warm");
    for others in [10, 10_000] {
        let mut analyzer = analyzer();
        let grants = grants(&mut analyzer, others);
        assert!(matches!(
            analyzer.check(COMMAND, &grants),
            Verdict::Granted(_)
        ));
        group.bench_function(BenchmarkId::new("check", others), |bench| {
            bench.iter(|| analyzer.check(black_box(COMMAND), &grants));
        });
    }
    let mut parser = tree_sitter::Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .unwrap();
    group.bench_function("bare-and-which", |bench| {
        bench.iter(|| {
            let tree = parser.parse(black_box(COMMAND), None);
            (tree, which::which("git"))
        });
    });
    group.finish();
}

criterion_group!(benches, warm);
criterion_main!(benches);
