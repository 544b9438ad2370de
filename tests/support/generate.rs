//! Lines that nobody wrote: made of the parts of the grammar, or of corpus rows with bytes changed.

use plainpipe::{Line, Reader};

/// Seeded, and the same on every machine (`SplitMix64`).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What the lines are to be rich in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Taste {
    /// A bit of everything.
    Any,
    /// Text outside ASCII next to quotes, backslashes and digits.
    Foreign,
}

/// The longest corpus row that bytes are changed in.
const LONGEST_SEED: usize = 300;

/// Makes plain lines.
pub(crate) struct Generator<'a> {
    random: Random,
    reader: Reader,
    /// Commands whose bytes are changed.
    seeds: Vec<&'a str>,
    taste: Taste,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(random: Random, seeds: &[&'a str], taste: Taste) -> Self {
        let seeds = seeds
            .iter()
            .copied()
            .filter(|seed| seed.len() <= LONGEST_SEED)
            .collect();
        Self {
            random,
            reader: Reader::new(),
            seeds,
            taste,
        }
    }

    /// Returns the next text that is plain.
    pub(crate) fn line(&mut self) -> (String, Line) {
        loop {
            let text = if self.seeds.is_empty() || self.random.below(5) < 3 {
                self.grammatical()
            } else {
                self.mutated()
            };
            // Should a line ever be more than it seems, let it not send signals.
            if text.contains("kill") {
                continue;
            }
            if let Ok(line) = self.reader.read(&text) {
                return (text, line);
            }
        }
    }

    fn grammatical(&mut self) -> String {
        let mut text = String::new();
        if self.random.one_in(12) {
            text.push_str(self.random.pick(&[" ", "\t", "  ", " \\\n"]));
        }
        let stages = self.random.pick(&[1, 1, 1, 1, 1, 2, 2, 3]);
        for stage in 0..stages {
            if stage > 0 {
                text.push_str(
                    self.random
                        .pick(&[" | ", "|", "| ", " |", "\t|\t", " \\\n| \\\n"]),
                );
            }
            self.program(&mut text);
            for _ in 0..self.random.below(5) {
                text.push_str(
                    self.random
                        .pick(&[" ", " ", " ", " ", "  ", "\t", " \\\n", " \\\n "]),
                );
                self.word(&mut text);
            }
        }
        if self.random.one_in(12) {
            text.push_str(self.random.pick(&[" ", "\n", "\n\n", " \n", "\t", " \\\n"]));
        }
        text
    }

    fn program(&mut self, text: &mut String) {
        match self.random.below(8) {
            0 => self.word(text),
            1 => text.push_str(self.random.pick(&[
                "a", "a]", "a+", "a@b", "a,b", "'a b'", "'a'b", "!x", "a!", "]", "@", "a^", "a:b",
                "\"a\"", "\\a", "a''", "''a", "nohup", "'if'", "\\time", "'type'", "a-b:", ",",
                "a{}", "@{1}", "'{'", "a:=b", "7", "1a", "_", ":a", "a::", "a~", "'*'", "'~'",
                "'='", "'#'", "a\\$", "a\\*", "^a", "a@{x}", "]]a", "x}", "a%", "a#", "'a:'",
            ])),
            _ => text.push_str(self.random.pick(&["p", "q", "git", "tool", "x1"])),
        }
    }

    fn word(&mut self, text: &mut String) {
        for _ in 0..=self.random.below(4) {
            match self.random.below(10) {
                0..=2 => text.push_str(self.random.pick(BARE)),
                3 => {
                    for _ in 0..=self.random.below(3) {
                        let bare = b"ab1_-+./:@%]!^=~#{},";
                        text.push(char::from(self.random.pick(bare)));
                    }
                }
                4 | 5 => {
                    text.push('\\');
                    let byte = b' ' + u8::try_from(self.random.below(95)).unwrap();
                    text.push(char::from(byte));
                }
                6 | 7 => {
                    text.push('\'');
                    self.inside(text, false);
                    text.push('\'');
                }
                _ => {
                    text.push('"');
                    self.inside(text, true);
                    text.push('"');
                }
            }
        }
    }

    fn inside(&mut self, text: &mut String, double: bool) {
        for _ in 0..self.random.below(5) {
            let foreign = if self.taste == Taste::Foreign { 2 } else { 9 };
            if self.random.one_in(foreign) {
                self.foreign(text);
                continue;
            }
            match self.random.below(4) {
                0 => text.push_str(self.random.pick(BARE)),
                1 if double => text.push_str(self.random.pick(&[
                    "\\$", "\\`", "\\\"", "\\\\", "\\\n", "\\a", "\\ ", "\\!", "\\'", "\\*", "\\n",
                ])),
                _ => {
                    let byte = b' ' + u8::try_from(self.random.below(95)).unwrap();
                    let character = match char::from(byte) {
                        '\'' if !double => '\n',
                        '"' | '$' | '`' | '\\' if double => '\t',
                        character => character,
                    };
                    text.push(character);
                }
            }
        }
    }

    /// Adds a character outside ASCII, and at times what it might swallow.
    fn foreign(&mut self, text: &mut String) {
        let known = [
            'é', '中', '文', '\u{a0}', '\u{3000}', '🚀', 'ÿ', '\u{85}', '\u{2028}', '｜',
            '\u{feff}',
        ];
        let code = match self.random.below(4) {
            0 => 0x80 + self.random.below(0x780),
            1 => 0x800 + self.random.below(0xd000),
            2 => 0x1_0000 + self.random.below(0x10_0000),
            _ => 0,
        };
        let character = u32::try_from(code)
            .ok()
            .and_then(char::from_u32)
            .filter(|&code| code != '\0');
        text.push(character.unwrap_or_else(|| self.random.pick(&known)));
        if self.random.one_in(3) {
            text.push_str(self.random.pick(&[
                "1", "12", "1a", "a", " ", "|", "0 ", "é", "~", "=", "@", "`",
            ]));
        }
    }

    fn mutated(&mut self) -> String {
        let mut bytes = self.random.pick(&self.seeds).as_bytes().to_vec();
        for _ in 0..=self.random.below(4) {
            let at = self.random.below(bytes.len() + 1);
            match self.random.below(6) {
                0 if at < bytes.len() => {
                    bytes.remove(at);
                }
                1 if at < bytes.len() => bytes[at] = self.random.pick(SPECIAL),
                2 => bytes.insert(at, self.random.pick(SPECIAL)),
                3 => {
                    let part = self.random.pick(TOKENS).as_bytes();
                    bytes.splice(at..at, part.iter().copied());
                }
                4 => {
                    let other = self.random.pick(&self.seeds).as_bytes();
                    let from = self.random.below(other.len() + 1);
                    let to = (from + self.random.below(9)).min(other.len());
                    bytes.splice(at..at, other[from..to].iter().copied());
                }
                _ => {
                    let to = (at + self.random.below(6)).min(bytes.len());
                    let part = bytes[at..to].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

const BARE: &[&str] = &[
    "a", "b", "-n", "--x", "=", "~", ":", "#", "%", "^", "!", "!!", "@", "{}", "@{", "{", "}", "]",
    "..", ",", "/", "0", "1", "2", "+", "_", ".", "-", "HEAD^", "HEAD~1", "a=b", "x:y", "@{1}",
    "{a}", "if", "in", "then", "type", "time", "]]", "[", "a]", "=~", ":~", "x=", "a.b", "1..2",
];

const SPECIAL: &[u8] = b" \t\n\\'\"~=:#%^!@{}[],.-+/|&;<>()$`*?_a1z\r";

const TOKENS: &[&str] = &[
    "''", "\"\"", "'a'", "\"b\"", " | ", "\\ ", " \\\n", "\\\n", "{}", "@{1}", "..", "'..'", "=~",
    ":~", " nohup ", " ] ", " }", "\\\\", "'中'", "\"é\"", "1'", "\"\\\n\"", " -", " +", "!", "%1",
    "^", "~+", "\\'", "\\\"", "a=", "a:", " #", " \\#", "'\n'",
];
