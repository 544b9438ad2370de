//! What a word does in its role.

use super::effects::Access;
use super::judge::Judge;
use super::language::Reading;
use super::model::Role;
use super::path::{Place, is_device, is_secret, place};
use super::rule::Rule;
use super::words::{Arg, is_known};

impl Judge<'_, '_> {
    /// Judges `text`, which is `word` or the part of it that is the value of an option.
    pub(super) fn word(&mut self, role: &Role, word: &Arg<'_>, text: &str) {
        match role {
            Role::Text => {}
            Role::OneOf(listed) => {
                let unlisted = !listed.iter().any(|known| **known == *text);
                self.met_if(unlisted, Rule::UnexpectedOperand, word, "");
            }
            Role::ShellText => {
                let evaluated = text.contains('[') && text.contains(['$', '`']);
                let detail = "some shells evaluate the subscript";
                self.met_if(evaluated, Rule::RunsCode, word, detail);
            }
            Role::Word => {
                let detail = "sets a variable, which can name programs";
                self.met_if(text.contains('='), Rule::UnexpectedOperand, word, detail);
            }
            Role::Asks => {
                let detail = "an operation that is not known to only ask";
                self.met_if(!only_asks(text), Rule::UnknownSubcommand, word, detail);
            }
            Role::Name => {
                let is_path = text.contains('/') || text.starts_with('.');
                self.met_if(is_path, Rule::RunsProgram, word, "a path to programs");
            }
            Role::AtHost => {
                self.met_if(text.contains('@'), Rule::Network, word, "looks the name up");
            }
            Role::Plus => {
                self.met_if(!text.starts_with('+'), Rule::UnexpectedOperand, word, "");
            }
            Role::AtPath => {
                let file = text.strip_prefix('@').or_else(|| {
                    let at = text.find("=@").or_else(|| text.find("=<"))?;
                    text.get(at + 2..)
                });
                if let Some(file) = file {
                    self.reads(file, word);
                }
            }
            Role::Path => self.reads(text, word),
            Role::Write => self.writes(text, word, Access::Write),
            Role::Move => self.writes(text, word, Access::Delete),
            Role::Delete => {
                let path = self.path_here(text);
                self.names_path(&path, Access::Delete, word.span);
                self.met(Rule::DeletesFile, word, "");
            }
            Role::Names => {
                self.reads(text, word);
                self.met(Rule::NamesFromFile, word, "");
            }
            Role::Options => {
                self.reads(text, word);
                self.met(Rule::OptionsFromFile, word, "");
            }
            Role::CodeFile => {
                let path = self.path_here(text);
                self.names_path(&path, Access::Run, word.span);
                self.met(Rule::CodeFromFile, word, "");
            }
            Role::Program => self.met(Rule::RunsProgram, word, ""),
            Role::Code(language) => {
                let reading = language.read(text);
                self.reading(&reading, word);
            }
            Role::Line => self.line(text, word),
            // A schema check keeps these from being the role of a single word.
            Role::Command
            | Role::LineWords
            | Role::Module(_)
            | Role::InputCommand
            | Role::Exec
            | Role::ExecThere
            | Role::Mark => {
                self.met(Rule::RunsProgram, word, "");
            }
            // One that can be split has been replaced by what it holds.
            Role::Split => self.met(
                Rule::RunsProgram,
                word,
                "holds a program and its arguments, with escapes or variables that are not read",
            ),
            Role::Chdir => {
                self.reads(text, word);
                self.surroundings.change_to(text);
            }
            Role::Unset => self.surroundings.other_path |= text == "PATH",
            Role::Assign => self.assigns(text, word),
            Role::Host => self.met(Rule::Network, word, ""),
            Role::Revision => self.revision(text, word),
            Role::GitFormat => {
                self.met_if(shows_signatures(text), Rule::RunsHelper, word, "runs gpg");
            }
            Role::Remote => self.remote(text, word),
            Role::Refspec => self.refspec(text, word),
            Role::RemotePath | Role::RemoteWrite => self.copies(role, word, text),
            Role::Causes(caused) => self.met(*caused, word, ""),
        }
    }

    fn met_if(&mut self, holds: bool, rule: Rule, word: &Arg<'_>, detail: &str) {
        if holds {
            self.met(rule, word, detail);
        }
    }

    fn reads(&mut self, path: &str, word: &Arg<'_>) {
        if path == "-" || path.is_empty() {
            return;
        }
        let path = self.path_here(path);
        self.names_path(&path, Access::Read, word.span);
        let directory = self.facts.directory.filter(|_| !path.starts_with('/'));
        let whole = directory.map(|directory| format!("{directory}/{path}"));
        let is = |known: fn(&str) -> bool| known(&path) || whole.as_deref().is_some_and(known);
        if is(is_secret) {
            self.met(Rule::ReadsSecret, word, "");
        }
        if is(is_device) {
            self.met(Rule::ReadsDevice, word, "");
        }
    }

    fn writes(&mut self, path: &str, word: &Arg<'_>, access: Access) {
        let path = self.path_here(path);
        self.names_path(&path, access, word.span);
        let rule = match place(&path, self.facts) {
            Place::Inside | Place::Discard => Rule::WritesFile,
            Place::Outside => Rule::WritesOutside,
            Place::Protected => Rule::WritesProtected,
        };
        self.met(rule, word, "");
    }

    fn reading(&mut self, reading: &Reading, word: &Arg<'_>) {
        for (rule, detail) in &reading.met {
            self.met(*rule, word, detail);
        }
        for (path, access) in &reading.paths {
            if *access == Access::Read {
                self.reads(path, word);
            } else {
                self.writes(path, word, *access);
            }
        }
    }

    fn assigns(&mut self, text: &str, word: &Arg<'_>) {
        let name = text.split('=').next().unwrap_or_default();
        self.surroundings.other_path |= name == "PATH" || !is_known(name);
        let value = text.get(name.len() + 1..).unwrap_or_default();
        let harmless = if name == "TZ" {
            // Any other value names a file, a device perhaps.
            !value.starts_with([':', '/']) && !value.contains("..")
        } else if matches!(name, "LANG" | "LANGUAGE") || name.starts_with("LC_") {
            // A path leads to texts of somebody else's making, which programs take for formats.
            !value.contains('/')
        } else {
            HARMLESS_VARIABLES.contains(&name)
        };
        if !harmless {
            self.met(Rule::SetsEnvironment, word, "");
        }
    }

    fn revision(&mut self, text: &str, word: &Arg<'_>) {
        let path = text.rsplit_once(':').map_or(text, |(_, path)| path);
        if is_secret(path) || is_secret(text) {
            self.met(Rule::ReadsSecret, word, "");
        }
    }

    fn refspec(&mut self, text: &str, word: &Arg<'_>) {
        if text.starts_with('+') {
            self.met(Rule::DestroysRemote, word, "the leading + forces the push");
        } else if text.starts_with(':') && text.len() > 1 {
            self.met(Rule::DestroysRemote, word, "deletes the branch or tag");
        }
    }

    /// Judges a source or target of `scp` or `rsync`.
    fn copies(&mut self, role: &Role, word: &Arg<'_>, text: &str) {
        let written = *role == Role::RemoteWrite;
        match (is_remote_path(text), written) {
            (true, true) => self.met(Rule::ChangesRemote, word, ""),
            (true, false) => self.met(Rule::Network, word, ""),
            (false, true) => self.writes(text, word, Access::Write),
            (false, false) => self.reads(text, word),
        }
    }

    fn remote(&mut self, text: &str, word: &Arg<'_>) {
        if let Some((helper, _)) = text.split_once("::") {
            let detail = format!("git runs git-remote-{helper}");
            self.met(Rule::RunsProgram, word, &detail);
        } else {
            self.met(Rule::Network, word, "");
        }
    }
}

/// Returns whether a format asks for a signature: `%G?`, which `+`, `-` and a blank may stand in, or by its name.
fn shows_signatures(format: &str) -> bool {
    let mut parts = format.split('%').skip(1);
    parts.any(|part| part.trim_start_matches(['+', '-', ' ']).starts_with('G'))
        || format.contains("signature")
}

/// Returns whether an operation of a service has a name that promises to change nothing and tell no secret.
fn only_asks(operation: &str) -> bool {
    /// What `get-…` hands out that opens doors, or writes to a file.
    const TELLING: &[&str] = &[
        "authorization",
        "credential",
        "key",
        "login",
        "object",
        "parameter",
        "password",
        "random",
        "secret",
        "token",
    ];
    match operation.split_once('-') {
        Some(("describe" | "list" | "head", _)) => true,
        Some(("get", what)) => !TELLING.iter().any(|word| what.contains(word)),
        Some(_) | None => false,
    }
}

/// Variables that choose colours, sizes and amounts of output, and nothing else, whatever they are set to.
const HARMLESS_VARIABLES: &[&str] = &[
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "DEBIAN_FRONTEND",
    "FORCE_COLOR",
    "GIT_TERMINAL_PROMPT",
    "LINES",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
];

/// Returns whether `scp` and `rsync` take `text` for a path on another machine.
fn is_remote_path(text: &str) -> bool {
    match text.split_once(':') {
        Some((host, _)) => !host.contains('/'),
        None => false,
    }
}
