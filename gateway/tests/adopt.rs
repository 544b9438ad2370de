//! Holds what becomes of a client's `.mcp.json` to the cases in `data/adopt.toml`.

use rea_gateway::{promises, registry::adopt};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    text: String,
    /// Absent when the text cannot be read.
    registry: Option<String>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    secret: bool,
    fault: Option<String>,
}

#[test]
fn every_client_file_becomes_its_registry() {
    let cases: Cases = toml::from_str(include_str!("data/adopt.toml")).unwrap();
    assert!(!cases.case.is_empty());
    let mut wrong = Vec::new();
    for case in cases.case {
        let got = adopt(&case.text);
        let fault = got.as_ref().err().map(ToString::to_string);
        let (registry, notes, secret) = got.map_or((None, Vec::new(), false), |adopted| {
            let text = adopted.registry.to_yaml();
            promises::registry(text.as_bytes());
            (Some(text), adopted.notes, adopted.holds_secret)
        });
        let want = (&case.registry, &case.notes, case.secret, &case.fault);
        let got = (&registry, &notes, secret, &fault);
        if got != want {
            wrong.push(format!("{}: want {want:#?}, got {got:#?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
