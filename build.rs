//! Turns `src/effect/models/*.toml` into one JSON text per model and an index by program name.
//!
//! JSON is several times quicker to read than TOML, and a model is only read when a line names its
//! program, so a process that judges one line pays for one model.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a build stops")]
#![expect(
    clippy::disallowed_methods,
    reason = "cargo hands the directories over in the environment"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let folder = root.join("src/effect/models");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", folder.display());

    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();

    let mut shipped = String::new();
    let mut index = BTreeMap::new();
    for (number, path) in files.iter().enumerate() {
        let (stem, names, json) = convert(path);
        for name in names {
            let before = index.insert(name.clone(), number);
            assert!(
                before.is_none(),
                "{}: another model is named {name:?} too",
                path.display()
            );
        }
        fs::write(out.join(format!("{stem}.json")), json).unwrap();
        writeln!(
            shipped,
            "Shipped::new({stem:?}, include_str!(concat!(env!(\"OUT_DIR\"), \"/{stem}.json\"))),"
        )
        .unwrap();
    }
    let mut text = format!(
        "static SHIPPED: [Shipped; {}] = [\n{shipped}];\n",
        files.len()
    );
    writeln!(text, "static INDEX: [(&str, usize); {}] = [", index.len()).unwrap();
    for (name, number) in index {
        writeln!(text, "({name:?}, {number}),").unwrap();
    }
    text.push_str("];\n");
    fs::write(out.join("models.rs"), text).unwrap();
}

fn convert(path: &Path) -> (String, Vec<String>, String) {
    let fail = |problem: &dyn std::fmt::Display| -> ! { panic!("{}: {problem}", path.display()) };
    let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let text = fs::read_to_string(path).unwrap_or_else(|error| fail(&error));
    let table: toml::Table = text
        .parse()
        .unwrap_or_else(|error: toml::de::Error| fail(&error));
    let names: Vec<String> = table
        .get("names")
        .and_then(toml::Value::as_array)
        .unwrap_or_else(|| fail(&"`names` is missing"))
        .iter()
        .map(|name| {
            name.as_str()
                .unwrap_or_else(|| fail(&"a name is no text"))
                .to_owned()
        })
        .collect();
    let json = serde_json::to_string(&table).unwrap_or_else(|error| fail(&error));
    (stem, names, json)
}
