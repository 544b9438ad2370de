//! Writes seed files for the fuzz targets of the gateway.
//!
//! `cargo run -p rea-gateway --example gateway_seeds -- DIRECTORY` puts a folder for each target into
//! DIRECTORY. Running it again changes nothing.
#![expect(clippy::print_stderr, reason = "a tool for people")]

#[path = "../tests/seeds/mod.rs"]
mod seeds;

use std::{error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1);
    let directory = directory.ok_or("usage: gateway_seeds DIRECTORY")?;
    let all = seeds::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"))?;
    for seed in &all {
        let folder = Path::new(&directory).join(seed.target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(&seed.name), &seed.bytes)?;
    }
    eprintln!("{} seeds for the gateway", all.len());
    Ok(())
}
