//! What a tool's name says about its tier.
//!
//! A name is a promise by somebody we do not know, so it is read with suspicion: a word that deletes
//! or runs code counts wherever it stands, a word that reads counts only as the first verb, and a
//! name that says neither is a write. A liar is caught by the operator's pins, not here.

use std::fmt;

use crate::policy::Tier;

/// The longest name that is read; a longer one counts as destructive.
pub const MAX_NAME_BYTES: usize = 256;

/// First words that look.
const READS: &[&str] = &[
    "get",
    "list",
    "search",
    "query",
    "read",
    "fetch",
    "check",
    "health",
    "describe",
    "show",
    "count",
    "find",
    "view",
    "lookup",
    "inspect",
    "status",
    "stat",
    "stats",
    "diff",
    "explain",
    "summarize",
    "summarise",
    "compare",
    "preview",
    "peek",
    "ls",
    "cat",
    "head",
    "tail",
    "grep",
    "glob",
    "tree",
    "whoami",
    "whois",
    "ping",
    "exists",
    "has",
    "is",
    "retrieve",
    "browse",
    "resolve",
    "validate",
    "verify",
    "info",
    "about",
    "help",
    "version",
];

/// First words that change something that can be changed back.
const WRITES: &[&str] = &[
    "create",
    "add",
    "edit",
    "update",
    "set",
    "write",
    "insert",
    "upsert",
    "put",
    "post",
    "send",
    "upload",
    "save",
    "move",
    "rename",
    "copy",
    "assign",
    "archive",
    "configure",
    "register",
    "schedule",
    "publish",
    "submit",
    "comment",
    "reply",
    "mark",
    "label",
    "tag",
    "link",
    "import",
    "export",
    "make",
    "generate",
    "new",
    "append",
    "modify",
    "change",
    "patch",
    "store",
    "record",
    "track",
    "request",
    "cancel",
    "approve",
    "retry",
    "rerun",
];

/// Words that change something even behind a first word that looks.
const WRITES_ANYWHERE: &[&str] = &[
    "write", "create", "insert", "upsert", "modify", "append", "replace", "sql",
];

/// Words that destroy or run code even behind a first word that looks. They also count when they
/// are run together with their object, if they are long enough to be told from other words.
const DESTROYS_ANYWHERE: &[&str] = &[
    "delete",
    "remove",
    "destroy",
    "purge",
    "truncate",
    "erase",
    "wipe",
    "unlink",
    "uninstall",
    "terminate",
    "overwrite",
    "revoke",
    "execute",
    "exec",
    "eval",
    "evaluate",
    "kill",
    "rm",
    "rmdir",
    "del",
    "shred",
    "expunge",
    "nuke",
    "sudo",
    "spawn",
    "decommission",
    "deprovision",
];

/// The fewest letters that let a word of [`DESTROYS_ANYWHERE`] count as a part of a longer one.
const LONG_ENOUGH: usize = 6;

/// Words that destroy, pay, or stop the machine, unless the first word looks.
const DESTROYS: &[&str] = &[
    "drop",
    "ban",
    "unban",
    "kick",
    "reset",
    "clear",
    "clean",
    "cleanup",
    "prune",
    "flush",
    "force",
    "discard",
    "forget",
    "trash",
    "empty",
    "burn",
    "expel",
    "evict",
    "mkfs",
    "dd",
    "pay",
    "refund",
    "withdraw",
    "transfer",
    "purchase",
    "buy",
    "shutdown",
    "reboot",
    "poweroff",
    "halt",
    "droptable",
    "dropdatabase",
    "dropcollection",
    "dropuser",
    "killall",
    "killprocess",
    "execsql",
    "evaluatejs",
    "evaljs",
    "rmrf",
];

/// Words for what runs any code, unless the first word looks or makes something of that name.
const RUNS: &[&str] = &[
    "run",
    "shell",
    "bash",
    "zsh",
    "sh",
    "ksh",
    "dash",
    "fish",
    "powershell",
    "pwsh",
    "cmd",
    "command",
    "terminal",
    "console",
    "script",
    "repl",
    "interpreter",
    "python",
    "ssh",
    "runcommand",
    "runshell",
    "runscript",
    "runcode",
    "subprocess",
    "system",
];

/// Words that join two things a tool does.
const JOINTS: &[&str] = &["and", "or", "then", "plus", "also"];

/// What a name was judged by.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Sign {
    /// Its first verb looks.
    Reads(String),
    /// A word in it changes something.
    Writes(String),
    /// A word in it deletes, runs code, or cannot be taken back.
    Destroys(String),
    /// No word in it is known.
    Unknown,
    /// It is too long, or holds something that is no letter or digit of ASCII.
    Unreadable,
}

impl fmt::Display for Sign {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reads(word) => write!(formatter, "name-reads:{word}"),
            Self::Writes(word) => write!(formatter, "name-writes:{word}"),
            Self::Destroys(word) => write!(formatter, "name-destroys:{word}"),
            Self::Unknown => formatter.write_str("name-unknown"),
            Self::Unreadable => formatter.write_str("name-unreadable"),
        }
    }
}

impl Sign {
    /// Returns the tier it stands for.
    pub const fn tier(&self) -> Tier {
        match self {
            Self::Reads(_) => Tier::Read,
            Self::Writes(_) | Self::Unknown => Tier::Write,
            Self::Destroys(_) | Self::Unreadable => Tier::Destructive,
        }
    }
}

/// Judges the tool `tool` of the server `server` by its name.
///
/// Words at the start that only repeat the server's name are passed over, as in `git_status` of
/// `git`.
pub fn judge(server: &str, tool: &str) -> Sign {
    if tool == "execute_webhook" {
        // Posts one message. The only well-known name whose words say more than it does.
        return Sign::Writes("execute_webhook".to_owned());
    }
    if tool.len() > MAX_NAME_BYTES || !tool.is_ascii() {
        return Sign::Unreadable;
    }
    let words = words(tool);
    if words.is_empty() {
        return Sign::Unreadable;
    }
    if let Some(word) = words.iter().find(|word| destroys_anywhere(word)) {
        return Sign::Destroys(word.clone());
    }
    let repeated = self::words(server);
    let rest = words
        .strip_prefix(repeated.as_slice())
        .filter(|rest| !rest.is_empty())
        .unwrap_or(&words);
    rest.split(|word| JOINTS.contains(&word.as_str()))
        .filter(|part| !part.is_empty())
        .map(judge_part)
        .max_by_key(Sign::tier)
        .unwrap_or(Sign::Unknown)
}

/// Judges words without a joint; the first is taken for the verb.
fn judge_part(words: &[String]) -> Sign {
    let first = words.first().map_or("", String::as_str);
    let one_of = |list: &[&str]| {
        words
            .iter()
            .find(|word| list.contains(&word.as_str()))
            .cloned()
    };
    // A query without an object takes its whole meaning from its arguments.
    let says_nothing = matches!(words, [only] if only == "query");
    // To check out is not to check.
    let phrasal = first == "check"
        && words
            .get(1)
            .is_some_and(|word| word == "out" || word == "in");
    if READS.contains(&first) && !says_nothing && !phrasal {
        return match one_of(WRITES_ANYWHERE) {
            Some(word) => Sign::Writes(word),
            None => Sign::Reads(first.to_owned()),
        };
    }
    if let Some(word) = one_of(DESTROYS).or_else(|| plural_of_a_destroyer(words)) {
        return Sign::Destroys(word);
    }
    if WRITES.contains(&first) {
        return Sign::Writes(first.to_owned());
    }
    if let Some(word) = one_of(RUNS) {
        return Sign::Destroys(word);
    }
    one_of(WRITES_ANYWHERE).map_or(Sign::Unknown, Sign::Writes)
}

/// Finds a verb in the third person, as in `deletes_file`.
fn plural_of_a_destroyer(words: &[String]) -> Option<String> {
    let verb = |word: &&String| {
        word.strip_suffix('s').is_some_and(|verb| {
            DESTROYS_ANYWHERE.contains(&verb) || DESTROYS.contains(&verb) || verb == "run"
        })
    };
    words.iter().find(verb).cloned()
}

fn destroys_anywhere(word: &str) -> bool {
    DESTROYS_ANYWHERE.iter().any(|&verb| {
        if word == verb {
            return true;
        }
        if verb.len() < LONG_ENOUGH {
            return false;
        }
        // `deletefile` and `bulkdelete`, but not `deleted`, `deletes` and `undelete`.
        let before = word
            .strip_prefix(verb)
            .is_some_and(|object| object.len() > 2);
        let behind = word.strip_suffix(verb).is_some_and(|kind| kind != "un");
        before || behind
    })
}

/// Splits at everything that is no letter, and where the case or the kind of character changes.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let after = characters.peek().copied().unwrap_or(' ');
        let begins = (before.is_ascii_lowercase() && character.is_ascii_uppercase())
            || (before.is_ascii_uppercase()
                && character.is_ascii_uppercase()
                && after.is_ascii_lowercase());
        if (begins || !character.is_ascii_alphabetic()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_ascii_alphabetic() {
            word.push(character.to_ascii_lowercase());
        }
        before = character;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_stands_for_two_tiers() {
        let mut wrong = Vec::new();
        let lists = [
            ("reads", READS),
            ("writes", WRITES),
            ("destroys anywhere", DESTROYS_ANYWHERE),
            ("destroys", DESTROYS),
            ("runs", RUNS),
        ];
        for (index, (name, list)) in lists.iter().enumerate() {
            for (other, others) in lists.iter().skip(index + 1) {
                let both = list.iter().filter(|word| others.contains(word));
                wrong.extend(both.map(|word| format!("{word}: {name} and {other}")));
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }

    #[test]
    fn words_are_found_in_any_case_style() {
        let table = [
            ("get_file", "get file"),
            ("getFile", "get file"),
            ("GetFile", "get file"),
            ("GET_FILE", "get file"),
            ("get-file", "get file"),
            ("get.file", "get file"),
            ("get/file", "get file"),
            ("HTTPGetFile", "http get file"),
            ("getURL2File", "get url file"),
            ("__get__file__", "get file"),
            ("gEtFile", "g et file"),
            ("1", ""),
            ("", ""),
        ];
        for (name, want) in table {
            assert_eq!(words(name).join(" "), want, "{name}");
        }
    }
}
