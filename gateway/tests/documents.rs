//! What the documents show is what `rea` prints.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;

use plainpipe::Line;

/// Documents with examples of a console, and how many commands each shows.
const DOCUMENTS: [(&str, &str, usize); 2] = [
    ("README.md", include_str!("../../README.md"), 2),
    ("docs/json.md", include_str!("../../docs/json.md"), 2),
];

/// Returns each command of `rea` that a document shows, with the output that it shows.
fn examples(document: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for block in document.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for example in block.split("$ rea ").skip(1) {
            let (arguments, output) = example.split_once('\n').unwrap();
            found.push((format!("rea {arguments}"), output.trim_end().to_owned()));
        }
    }
    found
}

#[test]
fn every_example_prints_what_it_shows() {
    let mut wrong = Vec::new();
    for (name, text, count) in DOCUMENTS {
        let examples = examples(text);
        assert_eq!(examples.len(), count, "examples in {name}");
        for (command, shown) in examples {
            let line = Line::parse(&command).unwrap();
            let argv = line.stages().next().unwrap().argv().skip(1);
            let output = Command::new(env!("CARGO_BIN_EXE_rea")).args(argv).output();
            let printed = String::from_utf8(output.unwrap().stdout).unwrap();
            if printed.trim_end() != shown {
                wrong.push(format!(
                    "{name}: `{command}` prints\n{printed}\nand not\n{shown}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
