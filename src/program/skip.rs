//! Tests that need what this machine may not have.

/// Says that a test cannot run here, or fails it where every test must run.
#[expect(clippy::disallowed_methods, reason = "tests alone ask where they run")]
#[expect(clippy::print_stderr, reason = "whoever runs the tests reads it")]
pub(crate) fn because(needs: &str) {
    assert!(std::env::var_os("CI").is_none(), "needs {needs}");
    eprintln!("skipped: needs {needs}");
}
