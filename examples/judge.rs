//! Reads lines from the standard input and prints the tier of each with its reasons.
//!
//! `cargo run --example judge -- FOLDER` takes the models from the TOML files of a folder instead of those
//! that are compiled in, and says what is wrong with them first.
#![expect(clippy::print_stdout, reason = "an example that prints")]

use std::error::Error;
use std::io::{self, BufRead};
use std::{env, fs};

use plainpipe::Line;
use plainpipe::effect::{Facts, Model, Models, judge_with};

fn main() -> Result<(), Box<dyn Error>> {
    let models = match env::args().nth(1) {
        Some(folder) => read(&folder)?,
        None => Models::shipped(),
    };
    for text in io::stdin().lock().lines() {
        let text = text?;
        match Line::parse(&text) {
            Err(refusal) => println!("refused      {text}\n             {refusal}"),
            Ok(line) => {
                let effects = judge_with(&line, &models, &Facts::default());
                println!("{:<12} {text}", effects.tier);
                for effect in effects.effects() {
                    println!(
                        "             {}: {} ({})",
                        effect.word, effect.reason, effect.rule
                    );
                }
            }
        }
    }
    Ok(())
}

fn read(folder: &str) -> Result<Models, Box<dyn Error>> {
    let mut models = Models::shipped();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        match Model::from_toml(&format!("replaces-shipped = true\n{text}")) {
            Ok(model) => {
                for fault in model.check() {
                    println!("{}: {fault}", path.display());
                }
                models.add(model, path.display().to_string());
            }
            Err(fault) => println!("{}: {fault}", path.display()),
        }
    }
    Ok(models)
}
