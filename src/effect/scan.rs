//! From words to options and operands, by the option grammar of a model.

use super::model::{Command, Dashes, Opt, Order, Role, Syntax, Table};
use super::rule::Rule;
use super::words::Arg;

/// The options and operands of a call.
#[derive(Debug, Default)]
pub(crate) struct Scan<'m> {
    pub(crate) seen: Vec<Seen<'m>>,
    /// Places of the operands before `--`, or of all if the grammar treats them alike.
    pub(crate) operands: Vec<usize>,
    /// Places of the operands after `--`.
    pub(crate) after_dashes: Vec<usize>,
    /// How many operands stand before `--`, if there is one that ends the options.
    pub(crate) dashes: Option<usize>,
    /// What is not understood: the place of the word, and the rule.
    pub(crate) faults: Vec<Fault>,
    /// The place of the word that names a sub-command.
    pub(crate) sub: Option<usize>,
}

/// A word that the grammar does not account for.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) rule: Rule,
    pub(crate) detail: String,
}

/// An option on the command line.
#[derive(Debug)]
pub(crate) struct Seen<'m> {
    /// The table that knows it, and its entries there, which differ in the values they take.
    pub(crate) table: &'m Table,
    pub(crate) entries: &'m [usize],
    /// The entry, where the name was only a prefix of the word.
    pub(crate) prefixed: Option<usize>,
    /// Its name as the model has it.
    pub(crate) name: &'m str,
    pub(crate) at: usize,
    /// Where its values are: the place of the word and the byte at which the value starts.
    pub(crate) values: Vec<(usize, usize)>,
    /// Whether the value is glued to a short option and starts with `=`, which programs read in two ways.
    pub(crate) ambiguous: bool,
    /// Whether it is a flag with `=false`.
    pub(crate) negated: bool,
}

impl Seen<'_> {
    /// Returns whether the option has `name`, or another name of the option that does.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.entries
            .iter()
            .copied()
            .chain(self.prefixed)
            .filter_map(|index| self.table.options.get(index))
            .any(|option| option.names.iter().any(|known| **known == *name))
    }

    /// Returns whether it is the same option, by whichever of its names.
    pub(crate) fn is_same(&self, other: &Seen<'_>) -> bool {
        let key = |seen: &Seen<'_>| (std::ptr::from_ref(seen.table).addr(), seen.prefixed);
        key(self) == key(other) && self.entries == other.entries
    }

    /// Returns whether the one is `--x` and the other `--no-x`, by any of their names.
    pub(crate) fn is_opposite_of(&self, other: &Seen<'_>) -> bool {
        let negates = |no: &str, yes: &str| {
            let bare = no.strip_prefix("--no-");
            bare.is_some_and(|bare| yes.strip_prefix("--") == Some(bare))
        };
        let mut names = self.names();
        names.any(|name| {
            other
                .names()
                .any(|other| negates(name, other) || negates(other, name))
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let entries = self.entries.iter().copied().chain(self.prefixed);
        entries
            .filter_map(|index| self.table.options.get(index))
            .flat_map(|option| &option.names)
            .map(|name| &**name)
    }

    /// Returns whether its first value has this role.
    pub(crate) fn takes(&self, role: &Role) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|&index| {
            let option = self.table.options.get(index);
            option.is_some_and(|option| option.values.first() == Some(role))
        })
    }
}

/// Reads the words after `start` by the grammar of `command`.
///
/// `outer` are the commands around it whose options it accepts too, the innermost first.
pub(crate) fn scan<'m>(
    command: &'m Command,
    outer: &[&'m Command],
    words: &[Arg<'_>],
    start: usize,
) -> Scan<'m> {
    let mut scanner = Scanner {
        command,
        tables: std::iter::once(&command.table)
            .chain(outer.iter().map(|command| &command.table))
            .collect(),
        words,
        next: start,
        scan: Scan::default(),
    };
    scanner.run();
    scanner.scan
}

struct Scanner<'m, 'a> {
    command: &'m Command,
    tables: Vec<&'m Table>,
    words: &'a [Arg<'a>],
    next: usize,
    scan: Scan<'m>,
}

impl<'m> Scanner<'m, '_> {
    fn run(&mut self) {
        if self.command.old_style
            && let Some(word) = self.words.get(self.next)
            && !word.text.starts_with('-')
            && !word.text.is_empty()
        {
            let at = self.next;
            self.next += 1;
            self.old_style(at);
        }
        while let Some(word) = self.words.get(self.next) {
            let at = self.next;
            self.next += 1;
            let text = &*word.text;
            if text == "--" && self.command.dashes == Dashes::End {
                self.scan.dashes = Some(self.scan.operands.len());
                let target = if self.command.after_dashes.is_some() {
                    &mut self.scan.after_dashes
                } else {
                    &mut self.scan.operands
                };
                target.extend(self.next..self.words.len());
                return;
            }
            let first = self.scan.operands.is_empty() && !self.command.subs.is_empty();
            if first && text.starts_with('-') && self.command.sub(text).is_some() {
                self.scan.sub = Some(at);
                return;
            }
            if self.option(at, text) {
                continue;
            }
            if first && (self.command.sub(text).is_some() || self.command.operands.is_empty()) {
                self.scan.sub = Some(at);
                return;
            }
            self.scan.operands.push(at);
            if self.command.order == Order::Posix {
                self.scan.operands.extend(self.next..self.words.len());
                return;
            }
        }
    }

    /// Reads `text` as an option; false if it is an operand.
    fn option(&mut self, at: usize, text: &str) -> bool {
        let dashed = text.len() > 1 && text.starts_with('-');
        if !dashed {
            return self.undashed(at, text);
        }
        if self.exact(at, text) {
            return true;
        }
        match self.command.syntax {
            Syntax::Exact => self.fault(at, Rule::UnknownOption, text),
            Syntax::Go => self.go(at, text),
            Syntax::Gnu | Syntax::Pflag => {
                if text.starts_with("--") {
                    self.long(at, text);
                } else if !self.numeric(at, text, "-#") {
                    self.cluster(at, text, 1);
                }
            }
        }
        true
    }

    /// Reads a word without a dash: `+x`, `key=value`, a listed word, letters as `ps` has them.
    fn undashed(&mut self, at: usize, text: &str) -> bool {
        if self.tables.iter().any(|table| table.words) && !text.is_empty() && self.exact(at, text) {
            return true;
        }
        if text.len() > 1 && text.starts_with('+') && self.tables.iter().any(|table| table.plus) {
            if !self.exact(at, text) && !self.numeric(at, text, "+#") && !self.prefixed(at, text) {
                self.fault(at, Rule::UnknownOption, text);
            }
            return true;
        }
        if self.tables.iter().any(|table| table.keys)
            && let Some(equals) = text.find('=')
            && let Some(key) = text.get(..=equals)
            && let Some(found) = self.find(key)
        {
            self.see(found, at, vec![(at, equals + 1)]);
            return true;
        }
        if self.tables.iter().any(|table| table.letters)
            && self.scan.operands.is_empty()
            && !text.is_empty()
            && text.chars().all(|letter| letter.is_ascii_alphanumeric())
            && self.letters(text)
        {
            self.cluster(at, text, 0);
            return true;
        }
        self.prefixed(at, text)
    }

    /// Returns whether every letter of `text`, up to one that takes a value, is an option without a dash.
    fn letters(&self, text: &str) -> bool {
        for (index, letter) in text.char_indices() {
            let name = text
                .get(index..index + letter.len_utf8())
                .unwrap_or_default();
            let Some(found) = self.find(name) else {
                return false;
            };
            if found.arity().0 > 0 {
                return true;
            }
        }
        true
    }

    /// Reads a word that is the name of an option, or such a name with `=value`.
    fn exact(&mut self, at: usize, text: &str) -> bool {
        if let Some(found) = self.find(text) {
            let (count, optional) = found.arity();
            let values = if optional {
                Vec::new()
            } else if found.takes_command() {
                self.take_command(at, text)
            } else {
                self.take(at, count, text)
            };
            self.see(found, at, values);
            return true;
        }
        if let Some((name, value)) = text.split_once('=')
            && (self.command.syntax == Syntax::Exact || name.starts_with('+'))
            && let Some(found) = self.find(name)
        {
            self.glued(found, at, text.len() - value.len());
            return true;
        }
        self.command.syntax == Syntax::Exact && self.prefixed(at, text)
    }

    fn go(&mut self, at: usize, text: &str) {
        let single = text
            .strip_prefix('-')
            .filter(|rest| rest.starts_with('-'))
            .unwrap_or(text);
        let (name, value) = match single.split_once('=') {
            Some((name, value)) => (name, Some(text.len() - value.len())),
            None => (single, None),
        };
        match (self.find(name), value) {
            (Some(found), Some(value)) => self.glued(found, at, value),
            (Some(found), None) => {
                let (count, optional) = found.arity();
                let values = if optional {
                    Vec::new()
                } else {
                    self.take(at, count, text)
                };
                self.see(found, at, values);
            }
            (None, _) => self.fault(at, Rule::UnknownOption, text),
        }
    }

    fn long(&mut self, at: usize, text: &str) {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(text.len() - value.len())),
            None => (text, None),
        };
        if let Some(found) = self.find(name) {
            if let Some(value) = value {
                self.glued(found, at, value);
            }
            return;
        }
        if self.prefixed(at, text) {
            return;
        }
        let completion = self.tables.iter().find_map(|table| table.completion(name));
        match completion {
            Some(full) => {
                let detail = format!("may stand for {full}");
                self.fault_with(at, Rule::AbbreviatedOption, detail);
            }
            None => self.fault(at, Rule::UnknownOption, name),
        }
    }

    /// Reads letters from byte `from` of the word on: flags, the last of which may take a value.
    fn cluster(&mut self, at: usize, text: &str, from: usize) {
        let mut index = from;
        while let Some(letter) = text.get(index..).and_then(|rest| rest.chars().next()) {
            let mut buffer = [0; MAX_SHORT_NAME];
            let name = short_name(from > 0, letter, &mut buffer);
            let after = index + letter.len_utf8();
            let Some(found) = self.find(name) else {
                if index == from && self.prefixed(at, text) {
                    return;
                }
                let alone = text.len() == from + letter.len_utf8();
                let rule = if alone {
                    Rule::UnknownOption
                } else {
                    Rule::UnlistedCluster
                };
                self.fault(at, rule, name);
                return;
            };
            let (count, optional) = found.arity();
            let glued = after < text.len();
            if count == 0 {
                self.see(found, at, Vec::new());
                index = after;
                continue;
            }
            if glued && count == 1 {
                let equals = text
                    .get(after..)
                    .is_some_and(|value| value.starts_with('='));
                let strips = self.command.syntax == Syntax::Pflag;
                let start = after + usize::from(equals && strips);
                self.see(found, at, vec![(at, start)]);
                if let Some(seen) = self.scan.seen.last_mut() {
                    seen.ambiguous = equals && !strips;
                }
            } else if optional {
                self.see(found, at, Vec::new());
            } else if glued {
                self.fault(at, Rule::UnlistedCluster, name);
            } else {
                let values = self.take(at, count, name);
                self.see(found, at, values);
            }
            return;
        }
    }

    /// Reads a first word without a dash, whose letters take their values from the words that follow.
    fn old_style(&mut self, at: usize) {
        let text = self.words.get(at).map_or("", |word| &word.text).to_owned();
        for letter in text.chars() {
            let mut buffer = [0; MAX_SHORT_NAME];
            let name = short_name(true, letter, &mut buffer);
            let Some(found) = self.find(name) else {
                self.fault(at, Rule::UnlistedCluster, name);
                return;
            };
            let (count, optional) = found.arity();
            let values = if optional {
                Vec::new()
            } else {
                self.take(at, count, name)
            };
            self.see(found, at, values);
        }
    }

    /// Reads `-12` where the model lists `-#`.
    fn numeric(&mut self, at: usize, text: &str, name: &str) -> bool {
        let digits = text.get(1..).unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return false;
        }
        let Some(found) = self.find(name) else {
            return false;
        };
        self.see(found, at, Vec::new());
        true
    }

    /// Reads a word that starts with a name that the model lists as `name*`.
    fn prefixed(&mut self, at: usize, text: &str) -> bool {
        let found = self.tables.iter().find_map(|&table| {
            table
                .prefixed(text)
                .map(|(index, length)| (table, index, length))
        });
        let Some((table, index, length)) = found else {
            return false;
        };
        let count = table
            .options
            .get(index)
            .map_or(0, |option| option.values.len());
        // One value is the rest of the word; more are the words that follow.
        let values = match count {
            0 => Vec::new(),
            1 => vec![(at, length)],
            more => self.take(at, more - 1, text),
        };
        self.scan.seen.push(Seen {
            table,
            entries: &[],
            prefixed: Some(index),
            name: table.prefix(index),
            at,
            values,
            ambiguous: false,
            negated: false,
        });
        true
    }

    fn glued(&mut self, found: Found<'m>, at: usize, value: usize) {
        let (count, _) = found.arity();
        let text = self.words.get(at).and_then(|word| word.text.get(value..));
        let boolean = matches!(self.command.syntax, Syntax::Pflag | Syntax::Go)
            && matches!(text, Some("true" | "false"));
        match count {
            0 if boolean => {
                self.see(found, at, Vec::new());
                if let Some(seen) = self.scan.seen.last_mut() {
                    seen.negated = text == Some("false");
                }
            }
            1 => self.see(found, at, vec![(at, value)]),
            _ => self.fault(at, Rule::UnlistedValue, found.name),
        }
    }

    /// Takes the next `count` words as values.
    fn take(&mut self, at: usize, count: usize, name: &str) -> Vec<(usize, usize)> {
        let end = self.next.saturating_add(count).min(self.words.len());
        let values: Vec<_> = (self.next..end).map(|place| (place, 0)).collect();
        if values.len() < count {
            self.fault(at, Rule::MissingValue, name);
        }
        self.next = end;
        values
    }

    /// Takes the words of a command up to `;`, or up to `+` after `{}`.
    fn take_command(&mut self, at: usize, name: &str) -> Vec<(usize, usize)> {
        let mut values = Vec::new();
        let mut before = "";
        while let Some(word) = self.words.get(self.next) {
            let place = self.next;
            self.next += 1;
            if word.text == ";" || (word.text == "+" && before == "{}") {
                return values;
            }
            before = &word.text;
            values.push((place, 0));
        }
        self.fault(at, Rule::MissingValue, name);
        values
    }

    fn find(&self, name: &str) -> Option<Found<'m>> {
        self.tables.iter().find_map(|&table| {
            let (name, entries) = table.named(name)?;
            Some(Found {
                table,
                name,
                entries,
            })
        })
    }

    fn see(&mut self, found: Found<'m>, at: usize, values: Vec<(usize, usize)>) {
        self.scan.seen.push(Seen {
            table: found.table,
            entries: found.entries,
            prefixed: None,
            name: found.name,
            at,
            values,
            ambiguous: false,
            negated: false,
        });
    }

    fn fault(&mut self, at: usize, rule: Rule, detail: &str) {
        self.fault_with(at, rule, detail.to_owned());
    }

    fn fault_with(&mut self, at: usize, rule: Rule, detail: String) {
        self.scan.faults.push(Fault { at, rule, detail });
    }
}

/// An option that a table knows by a name.
#[derive(Clone, Copy)]
struct Found<'m> {
    table: &'m Table,
    name: &'m str,
    entries: &'m [usize],
}

impl Found<'_> {
    /// Returns how many values the option takes, and whether the one value may only be glued on.
    fn arity(&self) -> (usize, bool) {
        let option = self.option();
        option.map_or((0, false), |option| (option.values.len(), option.optional))
    }

    fn takes_command(&self) -> bool {
        self.option().is_some_and(|option| {
            matches!(option.values.first(), Some(Role::Exec | Role::ExecThere))
        })
    }

    fn option(&self) -> Option<&Opt> {
        let index = self.entries.first();
        index.and_then(|&index| self.table.options.get(index))
    }
}

/// A dash and a letter.
const MAX_SHORT_NAME: usize = 1 + 4;

/// Returns the name of a short option, put together in `buffer`.
fn short_name(dash: bool, letter: char, buffer: &mut [u8; MAX_SHORT_NAME]) -> &str {
    let start = usize::from(dash);
    buffer[0] = b'-';
    let letter = buffer
        .get_mut(start..)
        .map_or(0, |rest| letter.encode_utf8(rest).len());
    let name = buffer.get(..start + letter).unwrap_or_default();
    std::str::from_utf8(name).unwrap_or_default()
}
