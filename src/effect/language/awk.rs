//! Programs of `awk`: read as tokens, every name from a closed list.

use std::collections::BTreeSet;

use super::Reading;
use super::cursor::{Cursor, is_name};
use crate::effect::effects::Access;
use crate::effect::rule::Rule;

/// Reads a program.
pub(super) fn read(program: &str) -> Reading {
    let mut reading = Reading::default();
    match tokens(program) {
        Ok(tokens) => judge(&tokens, &mut reading),
        Err(problem) => reading.unreadable(problem),
    }
    reading
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Token<'a> {
    Name(&'a str),
    Number,
    /// A string, without its quotes and with its escapes.
    Text(&'a str),
    Expression,
    Operator(&'a str),
    Break,
}

/// Operators, longer ones first. `@` is left out: it calls functions by computed names and loads code.
const OPERATORS: &[&str] = &[
    "**=", "||", "&&", "|&", "==", "!=", "<=", ">=", ">>", "++", "--", "+=", "-=", "*=", "/=",
    "%=", "^=", "**", "!~", "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "%", "^", "!",
    "<", ">", "|", "?", ":", "~", "$", "=",
];

fn tokens(program: &str) -> Result<Vec<Token<'_>>, String> {
    let mut cursor = Cursor::new(program);
    let mut tokens = Vec::new();
    while let Some(next) = cursor.peek() {
        match next {
            ' ' | '\t' => cursor.skip_blanks(),
            '\n' => {
                cursor.next();
                tokens.push(Token::Break);
            }
            '\\' if cursor.eat("\\\n") => {}
            '#' => {
                cursor.take_while(|c| c != '\n');
            }
            '"' => tokens.push(Token::Text(quoted(&mut cursor)?)),
            '/' if starts_expression(tokens.last(), cursor.rest())? => {
                expression(&mut cursor)?;
                tokens.push(Token::Expression);
            }
            '/' => {
                cursor.next();
                let whole = cursor.eat("=");
                tokens.push(Token::Operator(if whole { "/=" } else { "/" }));
            }
            digit if digit.is_ascii_digit() || digit == '.' => {
                let number = cursor.take_while(|c| is_name(c) || c == '.');
                if !is_number(number) {
                    return Err(format!("the number {number:?}"));
                }
                tokens.push(Token::Number);
            }
            letter if is_name(letter) => tokens.push(Token::Name(cursor.take_while(is_name))),
            other => match OPERATORS.iter().find(|operator| cursor.eat(operator)) {
                Some(operator) => tokens.push(Token::Operator(operator)),
                None => return Err(format!("{other:?}")),
            },
        }
    }
    Ok(tokens)
}

/// Returns whether all of `text` is a number; `1system("x")` is a number and a call.
fn is_number(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, ""));
    mantissa.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && exponent.bytes().all(|b| b.is_ascii_digit())
}

/// Decides whether a `/` starts a regular expression or divides.
///
/// Where versions differ, or the grammar would have to be known, a `/` with a second one on the line is
/// not read.
fn starts_expression(before: Option<&Token<'_>>, rest: &str) -> Result<bool, String> {
    match before {
        Some(Token::Operator("$")) => Err("a / after a $".into()),
        Some(Token::Operator(")")) => divides_alone(rest, "a )"),
        Some(Token::Name(name)) if BEFORE_EXPRESSIONS.contains(name) => Ok(true),
        Some(Token::Name(name)) if KEYWORDS.contains(name) => Err(format!("a / after {name}")),
        Some(Token::Name(name)) if FUNCTIONS.contains(name) => divides_alone(rest, name),
        Some(
            Token::Operator("]" | "++" | "--")
            | Token::Name(_)
            | Token::Number
            | Token::Text(_)
            | Token::Expression,
        ) => Ok(false),
        Some(Token::Operator(_) | Token::Break) | None => Ok(true),
    }
}

/// Takes the `/` at the start of `rest` for a division if nothing on its line could end an expression.
fn divides_alone(rest: &str, before: &str) -> Result<bool, String> {
    let line = rest.get(1..).and_then(|after| after.lines().next());
    let line = line.unwrap_or_default();
    if line.contains('/') || line.ends_with('\\') {
        return Err(format!(
            "a / after {before} that may divide or start an expression"
        ));
    }
    Ok(false)
}

/// Words of every version after which a `/` starts an expression.
const BEFORE_EXPRESSIONS: &[&str] = &["do", "else", "exit", "in", "print", "printf", "return"];

fn quoted<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, String> {
    cursor.next();
    let start = cursor.rest();
    while let Some(character) = cursor.next() {
        match character {
            '"' => {
                let length = start.len() - cursor.rest().len() - 1;
                return Ok(start.get(..length).unwrap_or_default());
            }
            '\\' => {
                cursor.next();
            }
            '\n' => break,
            _ => {}
        }
    }
    Err("a string without an end".into())
}

/// Reads a regular expression up to the `/` that ends it in every version.
///
/// Some versions end it at a `/` inside brackets and some do not, and they tell differently where the
/// brackets end: what is unusual inside brackets is not read.
fn expression(cursor: &mut Cursor<'_>) -> Result<(), String> {
    cursor.next();
    let mut bracket = false;
    while let Some(character) = cursor.next() {
        match character {
            '/' if bracket => return Err("a slash inside brackets".into()),
            '/' => return Ok(()),
            '\\' => match cursor.next() {
                Some('[' | ']') if bracket => {
                    return Err("a bracket with a backslash inside brackets".into());
                }
                Some('\n') | None => break,
                Some(_) => {}
            },
            '[' if bracket => class(cursor)?,
            '[' => {
                bracket = true;
                cursor.eat("^");
                cursor.eat("]");
            }
            ']' => bracket = false,
            '\n' => break,
            _ => {}
        }
    }
    Err("an expression without an end".into())
}

/// Reads the rest of a class such as `[:alpha:]` behind its first bracket.
fn class(cursor: &mut Cursor<'_>) -> Result<(), String> {
    let named = cursor.eat(":")
        && !cursor
            .take_while(|character| character.is_ascii_lowercase())
            .is_empty()
        && cursor.eat(":]");
    if named {
        Ok(())
    } else {
        Err("a bracket inside brackets".into())
    }
}

const KEYWORDS: &[&str] = &[
    "BEGIN",
    "BEGINFILE",
    "END",
    "ENDFILE",
    "break",
    "case",
    "continue",
    "default",
    "delete",
    "do",
    "else",
    "exit",
    "for",
    "func",
    "function",
    "getline",
    "if",
    "in",
    "next",
    "nextfile",
    "print",
    "printf",
    "return",
    "switch",
    "while",
];

/// Functions that compute and do nothing else.
const FUNCTIONS: &[&str] = &[
    "and",
    "asort",
    "asorti",
    "atan2",
    "bindtextdomain",
    "close",
    "compl",
    "cos",
    "dcgettext",
    "dcngettext",
    "exp",
    "fflush",
    "gensub",
    "gsub",
    "index",
    "int",
    "isarray",
    "length",
    "log",
    "lshift",
    "match",
    "mktime",
    "or",
    "patsplit",
    "rand",
    "rshift",
    "sin",
    "split",
    "sprintf",
    "sqrt",
    "srand",
    "strftime",
    "strtonum",
    "sub",
    "substr",
    "systime",
    "tolower",
    "toupper",
    "typeof",
    "xor",
];

fn judge(tokens: &[Token<'_>], reading: &mut Reading) {
    let defined: BTreeSet<&str> = tokens
        .windows(2)
        .filter_map(|pair| match pair {
            [Token::Name("function" | "func"), Token::Name(name)] => Some(*name),
            _ => None,
        })
        .collect();
    let mut printing = Printing::default();
    for (index, token) in tokens.iter().enumerate() {
        let next = index.checked_add(1).and_then(|after| tokens.get(after));
        printing.see(token);
        match *token {
            Token::Name(name) => judge_name(name, next, &defined, reading),
            Token::Operator("|" | "|&") => {
                reading.add(Rule::RunsCode, "a pipe hands text to a shell");
            }
            Token::Operator(">" | ">>") if printing.redirects() => {
                let after = tokens.get(index.saturating_add(2));
                redirect(next, after, reading);
            }
            Token::Operator("<") if reads_line(tokens, index) => {
                reading.add(Rule::ReadsFromCode, "getline reads a file");
                if let Some(Token::Text(path)) = next {
                    reading.paths.push(((*path).to_owned(), Access::Read));
                }
            }
            Token::Text(text) if text.starts_with("/inet") => {
                reading.add(Rule::Network, "a file under /inet is a connection");
            }
            Token::Operator(_)
            | Token::Number
            | Token::Text(_)
            | Token::Expression
            | Token::Break => {}
        }
    }
}

fn judge_name(
    name: &str,
    next: Option<&Token<'_>>,
    defined: &BTreeSet<&str>,
    reading: &mut Reading,
) {
    match name {
        "system" => reading.add(Rule::RunsCode, "system hands text to a shell"),
        "ENVIRON" => reading.add(Rule::PrintsEnvironment, ""),
        "ARGV" | "ARGC" | "ARGIND" => {
            reading.add(
                Rule::ReadsFromCode,
                "the list of files is changed or read by the program",
            );
        }
        "SYMTAB" | "FUNCTAB" | "PROCINFO" => reading.unreadable(format!("the table {name}")),
        called
            if next == Some(&Token::Operator("("))
                && !KEYWORDS.contains(&called)
                && !FUNCTIONS.contains(&called)
                && !defined.contains(called) =>
        {
            // A blank before the bracket makes it a concatenation, which is rare enough.
            reading.unreadable(format!("the function {called}"));
        }
        _ => {}
    }
}

/// Judges what a `print` writes to.
fn redirect(target: Option<&Token<'_>>, after: Option<&Token<'_>>, reading: &mut Reading) {
    let whole = matches!(
        after,
        None | Some(Token::Break | Token::Operator(";" | "}"))
    );
    match target {
        Some(Token::Text("/dev/stdout" | "/dev/stderr")) if whole => {}
        Some(Token::Text(path)) if whole && !path.contains('\\') => {
            reading.paths.push(((*path).to_owned(), Access::Write));
        }
        Some(_) | None => reading.add(Rule::WritesOutside, "the file is named by the program"),
    }
}

/// Returns whether the `<` at `index` may belong to a `getline` before it in the same statement.
fn reads_line(tokens: &[Token<'_>], index: usize) -> bool {
    let mut asked = false;
    let mut goes_on = false;
    for token in tokens.get(..index).unwrap_or_default() {
        match token {
            Token::Name("getline") => asked = true,
            Token::Break if goes_on => continue,
            Token::Break | Token::Operator(";" | "{" | "}") => asked = false,
            Token::Name(_)
            | Token::Number
            | Token::Text(_)
            | Token::Expression
            | Token::Operator(_) => {}
        }
        goes_on = continues(token);
    }
    asked
}

/// Returns whether a statement goes on behind a line break that follows the token.
fn continues(token: &Token<'_>) -> bool {
    matches!(token, Token::Operator("," | "&&" | "||" | "?" | ":"))
}

/// Whether the tokens belong to the arguments of a `print`.
#[derive(Debug, Default)]
struct Printing {
    inside: bool,
    depth: usize,
    /// Whether the statement goes on behind a line break.
    goes_on: bool,
}

impl Printing {
    fn see(&mut self, token: &Token<'_>) {
        match token {
            Token::Name("print" | "printf") => {
                self.inside = true;
                self.depth = 0;
            }
            Token::Break if self.goes_on => return,
            Token::Break | Token::Operator(";" | "{" | "}") => self.inside = false,
            Token::Operator("(" | "[") => self.depth += 1,
            Token::Operator(")" | "]") => self.depth = self.depth.saturating_sub(1),
            Token::Name(_)
            | Token::Number
            | Token::Text(_)
            | Token::Expression
            | Token::Operator(_) => {}
        }
        self.goes_on = continues(token);
    }

    fn redirects(&self) -> bool {
        self.inside && self.depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_do_what_they_say() {
        let rows: &[(&str, &[Rule])] = &[
            ("{print $1, $NF}", &[]),
            ("NR>1 && $3 ~ /x{2,}/ {s+=$3} END {print s}", &[]),
            ("{\n print $1\n}", &[]),
            ("{ printf \"%s|%s\\n\", $1, ($2 > 3) }", &[]),
            ("/a|b/ {n++} END {print n/2}", &[]),
            ("END { print (a+b)/2 }", &[]),
            ("function f(x) { return x*2 } { print f($1) }", &[]),
            ("{ print > \"/dev/stderr\" }", &[]),
            ("!seen[$0]++", &[]),
            (
                "BEGIN { while ((getline l < \".env\") > 0) print l }",
                &[Rule::ReadsFromCode],
            ),
            ("BEGIN { system(\"id\") }", &[Rule::RunsCode]),
            ("{ print | \"sh\" }", &[Rule::RunsCode]),
            ("BEGIN { \"id\" | getline x; print x }", &[Rule::RunsCode]),
            ("{ print $1 > $2 }", &[Rule::WritesOutside]),
            ("{ print 1, # x\n\n $2 > $3 }", &[Rule::WritesOutside]),
            ("{ print $1\n if ($2 > $3) n++ }", &[]),
            ("BEGIN { $1system(\"id\") }", &[Rule::UnreadableCode]),
            ("$1 > 1e3 && $2 < .5", &[]),
            (
                "{ getline / x; system(\"id\") / 2 }",
                &[Rule::UnreadableCode],
            ),
            (
                "/[[:alpha:]/\"]/ {system(\"id\") #\"",
                &[Rule::UnreadableCode],
            ),
            ("/[[.a.]]/", &[Rule::UnreadableCode]),
            ("/[[:alpha:][:digit:]_]+/ {print}", &[]),
            ("/[^]x]/ && /\\[a\\]/ {print}", &[]),
            ("$/\"/ + system(\"id\") /\"/", &[Rule::UnreadableCode]),
            ("length / 2 > 3", &[]),
            ("length /\"/ + system(\"id\") /\"/", &[Rule::UnreadableCode]),
            (
                "{ default /\"/ + system(\"id\") /\"/ }",
                &[Rule::UnreadableCode],
            ),
            ("{ getline x[1&&1] < \"file\" }", &[Rule::ReadsFromCode]),
            ("{ getline x[1&&\n1] < \"file\" }", &[Rule::ReadsFromCode]),
            ("{ getline\n if (a < b) print }", &[]),
            ("@load \"x\"", &[Rule::UnreadableCode]),
            (
                "BEGIN { f = \"system\"; @f(\"id\") }",
                &[Rule::UnreadableCode],
            ),
            ("BEGIN { print ENVIRON[\"X\"] }", &[Rule::PrintsEnvironment]),
            ("if (1) /a\"/ system(\"id\") /\"/", &[Rule::UnreadableCode]),
        ];
        let mut wrong = Vec::new();
        for (program, want) in rows {
            let got: Vec<Rule> = read(program)
                .met
                .into_iter()
                .map(|(rule, _)| rule)
                .collect();
            if got != *want {
                wrong.push(format!("{program:?}: {got:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert_eq!(
            read("{print > \"out\"}").paths,
            [("out".to_owned(), Access::Write)]
        );
    }
}
