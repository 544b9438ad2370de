//! Which arguments leave an inert builtin inert.
//!
//! Shells evaluate some arguments once more: `test -v 'a[$(id)]'` runs `id` in bash, and a
//! number may be an arithmetic expression. So each builtin has a closed form.

use crate::plain::Word;

/// Operators of `test` whose operands no shell evaluates.
const TEST_OPERATORS: &[&str] = &[
    "-G", "-L", "-N", "-O", "-S", "-a", "-b", "-c", "-d", "-e", "-ef", "-f", "-g", "-h", "-k",
    "-n", "-nt", "-o", "-ot", "-p", "-r", "-s", "-u", "-w", "-x", "-z",
];

/// Operators of `test` between two numbers.
const TEST_NUMBER_OPERATORS: &[&str] = &["-eq", "-ge", "-gt", "-le", "-lt", "-ne"];

/// Looks at the arguments of an inert builtin.
///
/// # Errors
///
/// The word to blame, and what is wrong with it.
pub(super) fn check<'a>(
    program: Word<'a>,
    words: &[Word<'a>],
) -> Result<(), (Word<'a>, &'static str)> {
    match program.text {
        "pwd" => check_pwd(words),
        "test" => check_test(words),
        "[" => match words.split_last() {
            Some((last, words)) if last.text == "]" => check_test(words),
            Some((last, _)) => Err((*last, "the last argument of `[` is `]`")),
            None => Err((program, "the last argument of `[` is `]`")),
        },
        "printf" => check_printf(words),
        // These take every argument as mere text.
        ":" | "echo" | "false" | "true" => Ok(()),
        _ => Err((program, "no closed form of its arguments is known")),
    }
}

fn check_pwd<'a>(words: &[Word<'a>]) -> Result<(), (Word<'a>, &'static str)> {
    let other = words.iter().find(|word| !matches!(word.text, "-L" | "-P"));
    other.map_or(Ok(()), |word| Err((*word, "`pwd` takes `-L` or `-P`")))
}

fn check_test<'a>(words: &[Word<'a>]) -> Result<(), (Word<'a>, &'static str)> {
    for (index, word) in words.iter().enumerate() {
        let after = words.get(index + 1);
        let before = index.checked_sub(1).and_then(|index| words.get(index));
        let operands: &[Option<&Word<'_>>] = if TEST_NUMBER_OPERATORS.contains(&word.text) {
            &[before, after]
        } else if word.text == "-t" {
            &[after]
        } else if !word.text.starts_with('-')
            || word.text == "-"
            || is_integer(word.text)
            || TEST_OPERATORS.contains(&word.text)
        {
            &[]
        } else {
            return Err((*word, "not an operator that every shell only compares with"));
        };
        if let Some(other) = operands
            .iter()
            .flatten()
            .find(|word| !is_integer(word.text))
        {
            return Err((
                **other,
                "a shell may evaluate a number that is not written out",
            ));
        }
    }
    Ok(())
}

/// Reads the format, and holds the arguments against its conversions, which are used in turn.
fn check_printf<'a>(words: &[Word<'a>]) -> Result<(), (Word<'a>, &'static str)> {
    let words = match words.split_first() {
        Some((first, rest)) if first.text == "--" => rest,
        _ => words,
    };
    let Some((format, arguments)) = words.split_first() else {
        return Ok(());
    };
    if format.text.starts_with('-') {
        return Err((*format, "an option of `printf` can assign a variable"));
    }
    let Some(conversions) = conversions(format.text) else {
        return Err((
            *format,
            "a conversion other than a plain `%s`, `%b`, `%c`, `%q` or number",
        ));
    };
    for (index, argument) in arguments.iter().enumerate() {
        let Some(place) = index.checked_rem(conversions.len()) else {
            break;
        };
        if conversions.get(place) == Some(&Conversion::Number) && !is_number(argument.text) {
            return Err((
                *argument,
                "a shell may evaluate a number that is not written out",
            ));
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Conversion {
    Text,
    Number,
}

/// Returns the conversions of a format, or `None` for one of another form.
fn conversions(format: &str) -> Option<Vec<Conversion>> {
    let mut found = Vec::new();
    let mut rest = format;
    while let Some(start) = rest.find('%') {
        rest = rest.get(start + 1..)?;
        if let Some(after) = rest.strip_prefix('%') {
            rest = after;
            continue;
        }
        rest = rest.trim_start_matches(['-', '+', ' ', '#', '0']);
        rest = rest.trim_start_matches(|character: char| character.is_ascii_digit());
        if let Some(after) = rest.strip_prefix('.') {
            rest = after.trim_start_matches(|character: char| character.is_ascii_digit());
        }
        let letter = rest.chars().next()?;
        found.push(match letter {
            's' | 'b' | 'c' | 'q' => Conversion::Text,
            'd' | 'i' | 'o' | 'u' | 'x' | 'X' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
                Conversion::Number
            }
            _ => return None,
        });
        rest = rest.get(letter.len_utf8()..)?;
    }
    Some(found)
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_number(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    is_integer(whole) && !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::Line;

    #[test]
    fn arguments_that_a_shell_evaluates_are_refused() {
        let rows = [
            ("printf '%s\\n' 'a[$(id)]'", None),
            ("printf -- '%5.2f%%\\n' 3.14", None),
            ("printf '%-10s %03d\\n' a 5 b -7", None),
            ("printf 'no conversion\\n' a b", None),
            ("printf", None),
            ("printf -v x a", Some("-v")),
            ("printf -- -v", Some("-v")),
            ("printf '%d' 'a[$(id)]'", Some("a[$(id)]")),
            ("printf '%s %d' a b", Some("b")),
            ("printf '%s %d' a 1 b 'x=1'", Some("x=1")),
            ("printf '%n' x", Some("%n")),
            ("printf '%*d' 5 1", Some("%*d")),
            ("printf '%1$s' a", Some("%1$s")),
            ("printf '%(%s)T' 1", Some("%(%s)T")),
            ("printf 'a%'", Some("a%")),
            ("test -f a -a -d b", None),
            ("test 3 -lt +4", None),
            ("test -t 1", None),
            ("test a '=' b", None),
            ("test a != -1", None),
            ("test -v 'a[$(id)]'", Some("-v")),
            ("test -R x", Some("-R")),
            ("test a -eq 1", Some("a")),
            ("test 1 -eq 'a[0]'", Some("a[0]")),
            ("test -eq 1", None),
            ("test -t x", Some("x")),
            ("'[' -f a ']'", None),
            ("'[' -v a ']'", Some("-v")),
            ("'[' -f a", Some("a")),
            ("'['", Some("[")),
            ("pwd", None),
            ("pwd -P", None),
            ("pwd -r", Some("-r")),
            ("echo -e 'a[$(id)]'", None),
            (": 'a[$(id)]'", None),
        ];
        let mut wrong = Vec::new();
        for (command, want) in rows {
            let line = Line::parse(command).unwrap();
            let stage = line.stages().next().unwrap();
            let words: Vec<Word<'_>> = stage.words().skip(1).collect();
            let got = check(stage.program(), &words)
                .err()
                .map(|(word, _)| word.text);
            if got != want {
                wrong.push(format!("{command}: want {want:?}, got {got:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
