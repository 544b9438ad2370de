//! What a byte may be outside quotes.

/// How the lexer treats a byte outside quotes, or the end of the text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Class {
    /// Stands for itself anywhere.
    Bare,
    /// Stands for itself in some positions of a word.
    Position,
    /// Space and tab.
    Blank,
    /// A line feed.
    Newline,
    /// `|`
    Pipe,
    /// `& ; < > ( )`
    Operator,
    /// `'`
    Single,
    /// `"`
    Double,
    /// `\`
    Backslash,
    /// `$`
    Dollar,
    /// `` ` ``
    Backtick,
    /// `*` and `?`
    Glob,
    /// C0 and DEL, less tab and line feed.
    Control,
    /// 0x80 and above.
    NonAscii,
    /// The text is over.
    End,
}

/// Returns the class of `byte`.
pub(super) fn class(byte: u8) -> Class {
    // The table has an entry for every value of a byte.
    TABLE
        .get(usize::from(byte))
        .copied()
        .unwrap_or(Class::Control)
}

static TABLE: [Class; 256] = table();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which checks it"
)]
const fn table() -> [Class; 256] {
    let mut table = [Class::NonAscii; 256];
    let mut byte = 0u8;
    while byte < 0x80 {
        table[byte as usize] = match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'_'
            | b'-'
            | b'+'
            | b'.'
            | b'/'
            | b':'
            | b'@'
            | b'%'
            | b'!'
            | b'^' => Class::Bare,
            b'=' | b'~' | b'#' | b'{' | b'}' | b'[' | b']' | b',' => Class::Position,
            b' ' | b'\t' => Class::Blank,
            b'\n' => Class::Newline,
            b'|' => Class::Pipe,
            b'&' | b';' | b'<' | b'>' | b'(' | b')' => Class::Operator,
            b'\'' => Class::Single,
            b'"' => Class::Double,
            b'\\' => Class::Backslash,
            b'$' => Class::Dollar,
            b'`' => Class::Backtick,
            b'*' | b'?' => Class::Glob,
            _ => Class::Control,
        };
        byte += 1;
    }
    table
}
