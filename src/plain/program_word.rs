//! Names that some shell does not take for a program.
//!
//! Each table is the union over bash 5.2, dash 0.5.12, zsh 5.9, mksh 59c, busybox ash 1.35,
//! ksh93u+m 1.0.4 and yash 2.52. It was found by running every short word, and every word in the
//! shells' own binaries, once bare and once quoted: where the two differ, the bare one is special.
//! `tests/shell_words.rs` asks the installed shells again.

use super::code::Code;

/// Reserved words, by the shells that reserve them.
///
/// Words that declare variables (`declare`, `export` and their like) are reserved in zsh as well;
/// the grammar has a kind of its own for all of them but `float`.
pub(super) const RESERVED: &[(&str, &str)] = &[
    ("!", "POSIX"),
    ("[", "none; the grammar has a node of its own for it"),
    ("[[", "bash, zsh, mksh, ksh93, yash, busybox"),
    ("]]", "bash"),
    ("{", "POSIX"),
    ("}", "POSIX"),
    ("case", "POSIX"),
    ("coproc", "bash, zsh"),
    ("do", "POSIX"),
    ("done", "POSIX"),
    ("elif", "POSIX"),
    ("else", "POSIX"),
    ("end", "zsh"),
    ("esac", "POSIX"),
    ("fi", "POSIX"),
    ("float", "zsh"),
    ("for", "POSIX"),
    ("foreach", "zsh"),
    ("function", "bash, zsh, mksh, ksh93, yash, busybox"),
    ("if", "POSIX"),
    ("in", "POSIX, in some places"),
    ("namespace", "ksh93"),
    ("nocorrect", "zsh"),
    ("noglob", "zsh, as a precommand"),
    ("repeat", "zsh"),
    ("select", "bash, zsh, mksh, ksh93"),
    ("then", "POSIX"),
    ("time", "bash, zsh, mksh, ksh93"),
    ("until", "POSIX"),
    ("while", "POSIX"),
];

/// Aliases that a shell defines before it reads any file, by the shells that do.
///
/// `nohup` is one of mksh's as well. It only makes the next word one that is expanded, so that
/// word is what matters.
pub(super) const PREDEFINED_ALIASES: &[(&str, &str)] = &[
    ("autoload", "mksh"),
    ("functions", "mksh"),
    ("hash", "mksh"),
    ("history", "mksh"),
    ("integer", "mksh"),
    ("local", "mksh"),
    ("login", "mksh"),
    ("nameref", "mksh"),
    ("r", "mksh"),
    ("run-help", "zsh"),
    ("type", "mksh"),
    ("which-command", "zsh"),
];

/// Decides whether a word names a program in every shell.
///
/// `bare` is the source of the word if nothing in it is quoted, else empty; `text` is the word
/// after quote removal.
pub(super) fn check(bare: &str, text: &str) -> Result<(), Code> {
    if text.is_empty() {
        return Err(Code::EmptyProgram);
    }
    if let Some(code) = check_start(text) {
        return Err(code);
    }
    // A path is in no table.
    if bare.starts_with('/') {
        return Ok(());
    }
    if contains(RESERVED, bare) {
        return Err(if bare == "{" {
            Code::Group
        } else {
            Code::ReservedWord
        });
    }
    // The grammar refuses `local` under a code that tells more.
    if bare != "local" && is_alias(bare) {
        return Err(Code::PredefinedAlias);
    }
    if is_label(bare) {
        return Err(Code::Label);
    }
    Ok(())
}

/// Returns the fault that the start of a program's text alone shows, quoted or not.
pub(super) fn check_start(text: &str) -> Option<Code> {
    match text.as_bytes() {
        [b'%', ..] => Some(Code::JobControl),
        [b'-' | b'+', ..] => Some(Code::OptionAsProgram),
        bytes => {
            let name = bytes.iter().take_while(|&&byte| is_name_byte(byte)).count();
            match bytes.get(name..) {
                Some([b'=' | b'[', ..] | [b'+', b'=', ..]) if name > 0 => Some(Code::Assignment),
                _ => None,
            }
        }
    }
}

/// Returns whether `bare` is an alias that some shell defines by itself.
pub(super) fn is_alias(bare: &str) -> bool {
    contains(PREDEFINED_ALIASES, bare)
}

/// Looks `bare` up, after the first byte has ruled most names out.
fn contains(table: &[(&str, &str)], bare: &str) -> bool {
    let first = bare.as_bytes().first();
    first.is_some_and(|&byte| FIRST_BYTES >> (byte & 0x7f) & 1 == 1)
        && table.iter().any(|(name, _)| *name == bare)
}

/// The bytes that a name in the tables starts with, one bit each.
const FIRST_BYTES: u128 = first_bytes(RESERVED) | first_bytes(PREDEFINED_ALIASES);

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which checks it"
)]
const fn first_bytes(table: &[(&str, &str)]) -> u128 {
    let (mut bits, mut at) = (0, 0);
    while at < table.len() {
        bits |= 1u128 << table[at].0.as_bytes()[0];
        at += 1;
    }
    bits
}

fn is_label(bare: &str) -> bool {
    bare.strip_suffix(':')
        .is_some_and(|name| !name.is_empty() && name.bytes().all(is_name_byte))
}

/// The bytes of names that some shell assigns to or jumps to.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.'
}
