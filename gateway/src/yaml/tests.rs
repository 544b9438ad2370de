use std::{fmt::Write as _, path::Path};

use serde::Deserialize;

use super::*;

#[expect(dead_code, reason = "only its reading is tested")]
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    name: Located<String>,
    #[serde(default)]
    list: Vec<String>,
    #[serde(default)]
    map: Entries<String>,
    #[serde(default, deserialize_with = "present")]
    count: Option<Whole>,
    #[serde(default, deserialize_with = "present")]
    on: Option<Flag>,
    #[serde(default, deserialize_with = "present")]
    word: Option<Word>,
    #[serde(default, deserialize_with = "present")]
    inner: Option<Inner>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    One,
    Two,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Inner {
    #[expect(dead_code, reason = "only its reading is tested")]
    key: Vec<Located<u8>>,
}

/// The text, then the fault as it is shown; an empty fault stands for none.
const CASES: &[(&str, &str)] = &[
    ("name: a\n", ""),
    (
        "name: a\nlist: [b, c]\nmap: {d: e}\ncount: 0\non: true\nword: one\ninner: {key: [1]}\n",
        "",
    ),
    ("name: \"1\"\nlist: &l [b]\nmap: {}\n", ""),
    ("name: &n a\nlist: [*n, *n]\n", ""),
    ("name: yes\nmap: {a: no, b: on}\n", ""),
    (
        "# only a comment\n",
        "f:2:1: nothing; expected a value; write the file",
    ),
    ("", "f:1:1: nothing; expected a value; write the file"),
    (
        "name: 1\n",
        "f:1:7: a number, truth value or nothing where a string belongs; expected a string; put quotes around the value",
    ),
    (
        "name: true\n",
        "f:1:7: a number, truth value or nothing where a string belongs; expected a string; put quotes around the value",
    ),
    (
        "name:\n",
        "f:1:5: a number, truth value or nothing where a string belongs; expected a string; put quotes around the value",
    ),
    (
        "name: ~\n",
        "f:1:7: a number, truth value or nothing where a string belongs; expected a string; put quotes around the value",
    ),
    (
        "name: a\nlist:\n",
        "f:2:5: a value of another shape; expected a list; correct the value or its indentation",
    ),
    (
        "name: a\nlist: ~\n",
        "f:2:7: a value of another shape; expected a list; correct the value or its indentation",
    ),
    (
        "name: a\nmap:\n",
        "f:2:4: a value of another shape; expected a mapping; correct the value or its indentation",
    ),
    (
        "name: a\ncount:\n",
        "f:2:1: a value of another type; expected a whole number of 0 or more, without quotes; write such a value",
    ),
    (
        "name: a\ncount: null\n",
        "f:2:1: a value of another type; expected a whole number of 0 or more, without quotes; write such a value",
    ),
    (
        "name: a\ninner: null\n",
        "f:2:8: a value of another shape; expected a mapping; correct the value or its indentation",
    ),
    (
        "name: a\ncount: -1\n",
        "f:2:1: a value that does not fit; expected a whole number of 0 or more, without quotes; correct the value",
    ),
    (
        "name: a\ncount: many\n",
        "f:2:1: a value of another type; expected a whole number of 0 or more, without quotes; write such a value",
    ),
    (
        "name: a\ncount: '3'\n",
        "f:2:1: a value of another type; expected a whole number of 0 or more, without quotes; write such a value",
    ),
    (
        "name: a\non: yes\n",
        "f:2:1: a value of another type; expected `true` or `false`, without quotes; write such a value",
    ),
    (
        "name: a\non: 'true'\n",
        "f:2:1: a value of another type; expected `true` or `false`, without quotes; write such a value",
    ),
    (
        "name: a\nword: three\n",
        "f:2:7: unknown word; expected `one` or `two`; write one of these words",
    ),
    (
        "name: a\nlist: [b, 3]\n",
        "f:2:11: a number, truth value or nothing where a string belongs; expected a string; put quotes around the value",
    ),
    (
        "name: a\nlist: b\n",
        "f:2:7: a value of another shape; expected a list; correct the value or its indentation",
    ),
    (
        "name: a\nmap: {d: 8080}\n",
        "f:2:10: a number, truth value or nothing where a string belongs; expected a string; put quotes around the value",
    ),
    (
        "name: a\nmap: {d: [e]}\n",
        "f:2:10: a value of another shape; expected a string; correct the value or its indentation",
    ),
    (
        "name: a\nmap: {d: e, d: f}\n",
        "f:2:13: the key `d` stands twice; expected each key once; remove one of the two",
    ),
    (
        "name: a\nname: b\n",
        "f:2:1: the key `name` stands twice; expected each key once; remove one of the two",
    ),
    (
        "name: a\nnaem: b\n",
        "f:2:1: unknown key `naem`; expected `name`, `list`, `map`, `count`, `on`, `word` or `inner`; correct its spelling or remove it",
    ),
    (
        "list: []\n",
        "f:1:1: the key `name` is missing; expected `name`; add it",
    ),
    (
        "name: a\ninner:\n  key: [1, 2]\n  kye: 3\n",
        "f:4:3: unknown key `kye`; expected `key`; correct its spelling or remove it",
    ),
    (
        "name: a\ninner:\n  key: [1, 300]\n",
        "f:3:12: a value that does not fit; expected a whole number of 0 or more; correct the value",
    ),
    (
        "x: &x {name: a}\n<<: *x\n",
        "f:1:1: unknown key `x`; expected `name`, `list`, `map`, `count`, `on`, `word` or `inner`; correct its spelling or remove it",
    ),
    (
        "name: a\nmap: {<<: {b: c}}\n",
        "f:2:7: a merge key; expected keys that are written out; write the merged keys out",
    ),
    (
        "name: !secret a\n",
        "f:1:15: unsupported tag `!secret`; expected one YAML 1.2 document; correct the syntax",
    ),
    (
        "!x name: a\n",
        "f:1:4: unsupported tag `!x`; expected one YAML 1.2 document; correct the syntax",
    ),
    (
        "name: a\n---\nname: b\n",
        "f:3:1: a second document; expected one document; remove the `---` and what follows it",
    ),
    (
        "name: a\n\tlist: []\n",
        "f:1:7: while scanning a plain scalar, found a tab; expected one YAML 1.2 document; correct the syntax",
    ),
    (
        "name: a\nlist: [b\n",
        "f:2:7: unclosed bracket '['; expected one YAML 1.2 document; correct the syntax",
    ),
    (
        "name: *nowhere\n",
        "f:1:7: reference to unknown value; expected one YAML 1.2 document; correct the syntax",
    ),
    (
        "- a\n",
        "f:1:1: a value of another shape; expected a mapping; correct the value or its indentation",
    ),
    (
        "a\n",
        "f:1:1: a value of another shape; expected a mapping; correct the value or its indentation",
    ),
    (
        "name: {a: b}\n",
        "f:1:7: a value of another shape; expected a string; correct the value or its indentation",
    ),
];

#[test]
fn every_text_reads_or_names_its_fault() {
    let mut wrong = Vec::new();
    for (text, want) in CASES {
        let got = parse::<Sample>(Path::new("f"), text)
            .err()
            .map_or_else(String::new, |fault| fault.to_string());
        if got != *want {
            wrong.push(format!("(\n{text:?},\n{got:?}),"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_bomb_of_aliases_is_refused() {
    let mut text = String::from("name: a\nlist: [&a0 b]\nmap:\n");
    for level in 1..30 {
        let before = level - 1;
        let _ = writeln!(
            text,
            "  k{level}: &a{level} [*a{before}, *a{before}, *a{before}]"
        );
    }
    parse::<serde::de::IgnoredAny>(Path::new("f"), &text).unwrap_err();
}

#[test]
fn deep_nesting_is_refused() {
    for open in ["[", "{a: ", "- "] {
        let text = open.repeat(100_000);
        parse::<serde::de::IgnoredAny>(Path::new("f"), &text).unwrap_err();
    }
}

#[test]
fn a_missing_file_is_told_apart_and_a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let fault = text_of(&folder.path().join("none")).unwrap_err();
    assert!(fault.missing);

    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    for path in [pipe, folder.path().to_owned()] {
        let fault = text_of(&path).unwrap_err();
        assert!(!fault.missing);
        assert_eq!(fault.found, "is not a regular file");
    }

    let long = folder.path().join("long");
    std::fs::write(&long, vec![b'#'; 1 + (1 << 20)]).unwrap();
    assert_eq!(text_of(&long).unwrap_err().found, "is too long");

    let latin = folder.path().join("latin");
    std::fs::write(&latin, b"a: \xe9").unwrap();
    assert_eq!(
        text_of(&latin).unwrap_err().found,
        "is not UTF-8 from byte 3 on"
    );
}
