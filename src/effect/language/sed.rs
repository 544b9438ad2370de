//! Scripts of `sed`: every command by name, GNU's included.
//!
//! Delimiters inside brackets, and line breaks inside expressions, are read differently from one `sed`
//! to the next, so they are not read at all.

use super::Reading;
use super::cursor::Cursor;
use crate::effect::effects::Access;
use crate::effect::rule::Rule;

/// Reads a script, or the part of one that an `-e` holds.
pub(super) fn read(script: &str) -> Reading {
    let mut reading = Reading::default();
    if let Err(problem) = commands(&mut Cursor::new(script), &mut reading) {
        reading.unreadable(problem);
    }
    reading
}

fn commands(cursor: &mut Cursor<'_>, reading: &mut Reading) -> Result<(), String> {
    loop {
        cursor.take_while(|c| matches!(c, ' ' | '\t' | '\n' | ';'));
        if cursor.is_done() {
            return Ok(());
        }
        addresses(cursor)?;
        command(cursor, reading)?;
    }
}

/// Reads no, one or two addresses and the `!` after them.
fn addresses(cursor: &mut Cursor<'_>) -> Result<(), String> {
    if address(cursor)? {
        cursor.skip_blanks();
        if cursor.eat(",") {
            cursor.skip_blanks();
            let relative = cursor.eat("+") || cursor.eat("~");
            if relative {
                if cursor.take_while(|c| c.is_ascii_digit()).is_empty() {
                    return Err("an address that is no number".into());
                }
            } else if !address(cursor)? {
                return Err("a second address is missing".into());
            }
        }
    }
    cursor.take_while(|c| matches!(c, ' ' | '\t' | '!'));
    Ok(())
}

fn address(cursor: &mut Cursor<'_>) -> Result<bool, String> {
    match cursor.peek() {
        Some('$') => {
            cursor.next();
        }
        Some(digit) if digit.is_ascii_digit() => {
            cursor.take_while(|c| c.is_ascii_digit());
            if cursor.eat("~") {
                cursor.take_while(|c| c.is_ascii_digit());
            }
        }
        Some('/') => {
            cursor.next();
            delimited(cursor, '/', true)?;
            cursor.take_while(|c| matches!(c, 'I' | 'M'));
        }
        Some('\\') => {
            cursor.next();
            let delimiter = delimiter(cursor)?;
            delimited(cursor, delimiter, true)?;
            cursor.take_while(|c| matches!(c, 'I' | 'M'));
        }
        Some(_) | None => return Ok(false),
    }
    Ok(true)
}

fn command(cursor: &mut Cursor<'_>, reading: &mut Reading) -> Result<(), String> {
    let Some(name) = cursor.next() else {
        return Err("an address without a command".into());
    };
    match name {
        '{' => return Ok(()),
        '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {
        }
        'q' | 'Q' | 'l' | 'L' => {
            cursor.skip_blanks();
            cursor.take_while(|c| c.is_ascii_digit());
        }
        '#' => {
            cursor.take_while(|c| c != '\n');
            return Ok(());
        }
        ':' | 'b' | 't' | 'T' | 'v' => {
            cursor.skip_blanks();
            let label = cursor.take_while(|c| !matches!(c, '\n' | ';' | '}'));
            // To some a blank ends the label, and what follows is a command.
            if !label
                .trim_end()
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
            {
                return Err(format!("the label {label:?}"));
            }
        }
        'a' | 'i' | 'c' => {
            text(cursor);
            return Ok(());
        }
        's' => substitute(cursor, reading)?,
        'y' => {
            let delimiter = delimiter(cursor)?;
            // To some a bracket hides the delimiter here too.
            delimited(cursor, delimiter, true)?;
            delimited(cursor, delimiter, false)?;
        }
        'w' | 'W' => {
            file(cursor, reading, Access::Write);
            return Ok(());
        }
        'r' | 'R' => {
            reading.add(Rule::ReadsFromCode, "");
            file(cursor, reading, Access::Read);
            return Ok(());
        }
        'e' => {
            reading.add(Rule::RunsCode, "the command e hands text to a shell");
            cursor.take_while(|c| c != '\n');
            return Ok(());
        }
        other => return Err(format!("the command {other:?}")),
    }
    end(cursor)
}

/// Reads the end of a command: a line break, `;`, a comment, or a `}` that the next round reads.
fn end(cursor: &mut Cursor<'_>) -> Result<(), String> {
    cursor.skip_blanks();
    match cursor.peek() {
        None | Some('\n' | ';' | '}' | '#') => Ok(()),
        Some(other) => Err(format!("{other:?} after a command")),
    }
}

fn substitute(cursor: &mut Cursor<'_>, reading: &mut Reading) -> Result<(), String> {
    let delimiter = delimiter(cursor)?;
    delimited(cursor, delimiter, true)?;
    delimited(cursor, delimiter, false)?;
    loop {
        match cursor.peek() {
            Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                cursor.next();
            }
            Some('e') => {
                cursor.next();
                reading.add(Rule::RunsCode, "the flag e hands the result to a shell");
            }
            Some('w') => {
                cursor.next();
                file(cursor, reading, Access::Write);
                return Ok(());
            }
            Some(_) | None => return Ok(()),
        }
    }
}

/// Reads a file name, which goes on to the end of the line.
fn file(cursor: &mut Cursor<'_>, reading: &mut Reading, access: Access) {
    cursor.skip_blanks();
    let name = cursor.take_while(|c| c != '\n');
    if !matches!(name, "/dev/stdout" | "/dev/stderr" | "/dev/stdin") {
        reading.paths.push((name.to_owned(), access));
    }
}

/// Reads the text of `a`, `i` and `c`, which goes on to a line break without a backslash.
fn text(cursor: &mut Cursor<'_>) {
    while let Some(character) = cursor.next() {
        match character {
            '\n' => return,
            '\\' => {
                cursor.next();
            }
            _ => {}
        }
    }
}

fn delimiter(cursor: &mut Cursor<'_>) -> Result<char, String> {
    match cursor.next() {
        Some(character) if character.is_ascii() && !matches!(character, '\\' | '\n' | '[') => {
            Ok(character)
        }
        Some(_) | None => Err("a delimiter is missing".into()),
    }
}

/// Reads up to the next `delimiter`.
fn delimited(cursor: &mut Cursor<'_>, delimiter: char, expression: bool) -> Result<(), String> {
    let mut bracket = false;
    while let Some(character) = cursor.next() {
        match character {
            '\n' => return Err("a line break inside an expression".into()),
            '\\' if bracket => {}
            '\\' => {
                cursor.next();
            }
            '[' if expression && !bracket && delimiter != ']' => {
                bracket = true;
                cursor.eat("^");
                cursor.eat("]");
            }
            ']' if bracket => bracket = false,
            '[' if bracket => {
                // A class such as `[:alpha:]`, whose end is no end of the bracket.
                for mark in [':', '.', '='] {
                    if cursor.peek() == Some(mark) {
                        cursor.next();
                        cursor.take_while(|c| c.is_ascii_alphanumeric());
                        if !(cursor.eat(&mark.to_string()) && cursor.eat("]")) {
                            return Err("an odd class in brackets".into());
                        }
                        break;
                    }
                }
            }
            other if other == delimiter => {
                return if bracket {
                    Err("a delimiter inside brackets".into())
                } else {
                    Ok(())
                };
            }
            _ => {}
        }
    }
    Err("an expression without an end".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_do_what_they_say() {
        let rows: &[(&str, &[Rule])] = &[
            ("10,20p", &[]),
            ("/^fn main/,/^}/p", &[]),
            ("s/\"//g", &[]),
            ("s|a|b|gI; $!N; /x/{p;d}", &[]),
            ("s/[^,]*,//2", &[]),
            ("s/[[:space:]]*$//", &[]),
            ("a\\\n text e id", &[]),
            ("1~2d;0,/x/s//y/", &[]),
            (":a;N;$!ba;s/\\n/ /g", &[]),
            ("y/abc/xyz/", &[]),
            ("s/[/]w x/b/w y/", &[Rule::UnreadableCode]),
            ("1e ./x.sh", &[Rule::RunsCode]),
            ("s/a/b/e", &[Rule::RunsCode]),
            ("s/x/y/gw out.txt", &[]),
            ("r .env", &[Rule::ReadsFromCode]),
            ("k", &[Rule::UnreadableCode]),
            ("s/a/b", &[Rule::UnreadableCode]),
            ("s/a/b/k", &[Rule::UnreadableCode]),
            ("p;e id", &[Rule::RunsCode]),
            ("{p;}e id", &[Rule::UnreadableCode]),
            ("b a ; p", &[]),
            ("b a w out", &[Rule::UnreadableCode]),
            ("y/[/]/;i\\\\/w out", &[Rule::UnreadableCode]),
        ];
        let mut wrong = Vec::new();
        for (script, want) in rows {
            let got: Vec<Rule> = read(script).met.into_iter().map(|(rule, _)| rule).collect();
            if got != *want {
                wrong.push(format!("{script:?}: {got:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert_eq!(
            read("s/x/y/gw out.txt").paths,
            [("out.txt".to_owned(), Access::Write)]
        );
    }
}
