//! Writes the corpus as seed files for the fuzz targets that read commands.
//!
//! `cargo run --example fuzz_seeds -- DIRECTORY` puts a folder for each target into DIRECTORY. A
//! file is named after its row, so running it again changes nothing.
#![expect(clippy::print_stderr, reason = "a tool for people")]

#[path = "../tests/support/corpus.rs"]
mod corpus;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// The targets whose input is a command as it is.
const TARGETS: &[&str] = &["parse", "roundtrip", "agree_bash", "effects"];

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(
        std::env::args_os()
            .nth(1)
            .ok_or("usage: fuzz_seeds DIRECTORY")?,
    );
    let cases = corpus::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus"))?;
    for target in TARGETS {
        let folder = directory.join(target);
        fs::create_dir_all(&folder)?;
        for case in &cases {
            fs::write(folder.join(&case.name), &case.command)?;
        }
    }
    eprintln!("{} seeds for each of {}", cases.len(), TARGETS.join(", "));
    Ok(())
}
