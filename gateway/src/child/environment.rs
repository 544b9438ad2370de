//! Which variables a child gets: a pure function of its server and the gateway's own variables.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
};

use crate::registry::{Filled, Server, VariableName};

/// Environment variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// Inherited by every child, where set.
///
/// Not among them, and so inherited only when a server names them: `NODE_OPTIONS`, `LD_PRELOAD`,
/// `PYTHONPATH` and whatever else makes a program run code of somebody else's choice.
pub const INHERITED: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LOGNAME",
    "NODE_ENV",
    "NODE_EXTRA_CA_CERTS",
    "PATH",
    "SHELL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
];

/// How a shell function starts when it is carried in a variable; such a value is not inherited.
const SHELL_FUNCTION: &[u8] = b"()";

/// Variables that a server asks for and that are not set. The server stays down.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct MissingVariables(pub Vec<VariableName>);

impl fmt::Display for MissingVariables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("missing env: ")?;
        for (index, name) in self.0.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(formatter, "{comma}{name}")?;
        }
        Ok(())
    }
}

/// Returns the variables for a child of `server`, and nothing of `parent` that is not asked for.
///
/// Later wins: the [`INHERITED`] ones, those that the server passes through, those that it sets. A
/// variable that is set but empty counts as set.
///
/// # Errors
///
/// [`MissingVariables`] with every variable that a `${NAME}` asks for and `parent` does not have,
/// each once, in the order of the file.
pub fn variables(server: &Server, parent: &Variables) -> Result<Variables, MissingVariables> {
    let mut variables = Variables::new();
    for name in INHERITED {
        if let Some(value) = parent.get(OsStr::new(name))
            && !value.as_encoded_bytes().starts_with(SHELL_FUNCTION)
        {
            variables.insert(name.into(), value.clone());
        }
    }
    for name in &server.env_passthrough {
        let name = OsStr::new(name.as_str());
        if let Some(value) = parent.get(name) {
            variables.insert(name.to_owned(), value.clone());
        }
    }
    let mut missing: Vec<VariableName> = Vec::new();
    for (name, template) in &server.env {
        match template.fill(parent) {
            Filled::Value(value) => {
                variables.insert(name.into(), value);
            }
            Filled::Missing(names) => {
                for name in names {
                    if !missing.contains(&name) {
                        missing.push(name);
                    }
                }
            }
        }
    }
    if missing.is_empty() {
        Ok(variables)
    } else {
        Err(MissingVariables(missing))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::registry::Registry;

    const PARENT: &[(&str, &str)] = &[
        ("PATH", "/bin"),
        ("HOME", "/home/u"),
        ("SHELL", "() { echo; }"),
        ("TERM", "dumb"),
        ("LANG", ""),
        ("NODE_OPTIONS", "--require evil"),
        ("LD_PRELOAD", "evil.so"),
        ("PYTHONPATH", "evil"),
        ("GITHUB_TOKEN", "ghp"),
        ("HTTP_PROXY", "proxy"),
        ("NESTED", "${HOME}"),
        ("EMPTY", ""),
        ("FUNCTION", "() { :; }"),
    ];

    /// What a server adds to the least entry, and what its child gets beyond [`BASE`], or what is
    /// missing.
    type Case = (
        &'static str,
        Result<&'static [(&'static str, &'static str)], &'static str>,
    );

    const BASE: &[(&str, &str)] = &[
        ("PATH", "/bin"),
        ("HOME", "/home/u"),
        ("TERM", "dumb"),
        ("LANG", ""),
    ];

    const CASES: &[Case] = &[
        ("", Ok(&[])),
        (
            "env_passthrough: [HTTP_PROXY, UNSET, EMPTY]",
            Ok(&[("HTTP_PROXY", "proxy"), ("EMPTY", "")]),
        ),
        (
            "env_passthrough: [NODE_OPTIONS, LD_PRELOAD, PYTHONPATH]",
            Ok(&[
                ("NODE_OPTIONS", "--require evil"),
                ("LD_PRELOAD", "evil.so"),
                ("PYTHONPATH", "evil"),
            ]),
        ),
        (
            "env_passthrough: [SHELL, FUNCTION]",
            Ok(&[("SHELL", "() { echo; }"), ("FUNCTION", "() { :; }")]),
        ),
        (
            "env: {TOKEN: '${GITHUB_TOKEN}', GREETING: 'a${HOME}b${EMPTY}'}",
            Ok(&[("TOKEN", "ghp"), ("GREETING", "a/home/ub")]),
        ),
        (
            "env: {ONCE: '${NESTED}', PLAIN: $HOME}",
            Ok(&[("ONCE", "${HOME}"), ("PLAIN", "$HOME")]),
        ),
        (
            "env_passthrough: [HTTP_PROXY]\n    env: {HTTP_PROXY: mine, PATH: '/opt:${PATH}', LD_PRELOAD: ''}",
            Ok(&[
                ("HTTP_PROXY", "mine"),
                ("PATH", "/opt:/bin"),
                ("LD_PRELOAD", ""),
            ]),
        ),
        ("env: {HOME: ''}", Ok(&[("HOME", "")])),
        (
            "env: {A: '${NONE}', B: '${HOME}', C: '${OTHER}${NONE}'}",
            Err("missing env: NONE, OTHER"),
        ),
        ("env: {A: '${A}'}", Err("missing env: A")),
    ];

    #[test]
    fn every_server_gets_its_variables_and_no_others() {
        let parent: Variables = (PARENT.iter())
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let mut wrong = Vec::new();
        for (keys, want) in CASES {
            let text = format!("version: '1'\nservers:\n  - name: a\n    command: b\n    {keys}\n");
            let registry = Registry::parse(Path::new("r"), &text).unwrap();
            let got = variables(&registry.servers[0], &parent).map_err(|error| error.to_string());
            let want = want.map_err(str::to_owned).map(|more| {
                let mut all: Variables = (BASE.iter())
                    .map(|(name, value)| (name.into(), value.into()))
                    .collect();
                all.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
                all
            });
            if got != want {
                wrong.push(format!("{keys}: want {want:?}, got {got:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn no_inherited_name_chooses_code_or_looks_secret() {
        for name in INHERITED {
            assert!(!crate::registry::looks_secret(name), "{name}");
            for prefix in ["LD_", "DYLD_", "PYTHON", "NODE_OPTIONS", "BASH_ENV", "PERL"] {
                assert!(!name.starts_with(prefix), "{name}");
            }
        }
    }
}
