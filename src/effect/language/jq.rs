//! Filters of `jq`: every name that is not a key must be a known function.
//!
//! A file `~/.jq` can define more names, so an unknown one is not harmless.

use std::collections::BTreeSet;

use super::Reading;
use super::cursor::{Cursor, is_name};
use crate::effect::rule::Rule;

/// The deepest nesting of strings and brackets.
const MAX_DEPTH: usize = 64;

/// Reads a filter.
pub(super) fn read(filter: &str) -> Reading {
    let mut reading = Reading::default();
    let mut tokens = Vec::new();
    match lex(&mut Cursor::new(filter), &mut tokens, 0) {
        Ok(()) => judge(&tokens, &mut reading),
        Err(problem) => reading.unreadable(problem),
    }
    reading
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Token<'a> {
    /// A bare name.
    Name(&'a str),
    /// A name after `.`.
    Key,
    /// A name after `$`.
    Variable(&'a str),
    /// A number, a string or a format such as `@csv`.
    Value,
    Mark(char),
}

/// Reads tokens up to the end, or up to the `)` that ends an interpolation.
fn lex<'a>(
    cursor: &mut Cursor<'a>,
    tokens: &mut Vec<Token<'a>>,
    depth: usize,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("too deep".into());
    }
    let mut open = 0_usize;
    while let Some(next) = cursor.peek() {
        match next {
            ' ' | '\t' | '\n' => {
                cursor.next();
            }
            '#' => {
                cursor.take_while(|c| c != '\n');
            }
            '"' => string(cursor, tokens, depth)?,
            '.' => {
                cursor.next();
                let follows = cursor
                    .peek()
                    .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
                if follows {
                    cursor.take_while(is_name);
                    tokens.push(Token::Key);
                } else {
                    tokens.push(Token::Mark('.'));
                }
            }
            '$' => {
                cursor.next();
                tokens.push(Token::Variable(name(cursor)));
            }
            '@' => {
                cursor.next();
                let format = cursor.take_while(is_name);
                if !FORMATS.contains(&format) {
                    return Err(format!("the format @{format}"));
                }
                tokens.push(Token::Value);
            }
            digit if digit.is_ascii_digit() => {
                cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '.');
                tokens.push(Token::Value);
            }
            letter if is_name(letter) => tokens.push(Token::Name(name(cursor))),
            ')' if depth > 0 && open == 0 => return Ok(()),
            mark if "()[]{}|,;:?=!<>+-*/%".contains(mark) => {
                match mark {
                    '(' => open += 1,
                    ')' => open = open.saturating_sub(1),
                    _ => {}
                }
                cursor.next();
                tokens.push(Token::Mark(mark));
            }
            other => return Err(format!("{other:?}")),
        }
    }
    if depth > 0 {
        return Err("an interpolation without an end".into());
    }
    Ok(())
}

fn name<'a>(cursor: &mut Cursor<'a>) -> &'a str {
    cursor.take_while(is_name)
}

fn string<'a>(
    cursor: &mut Cursor<'a>,
    tokens: &mut Vec<Token<'a>>,
    depth: usize,
) -> Result<(), String> {
    cursor.next();
    tokens.push(Token::Value);
    while let Some(character) = cursor.next() {
        match character {
            '"' => return Ok(()),
            '\\' if cursor.eat("(") => {
                // The bracket starts an expression, so a name inside is never a key.
                tokens.push(Token::Mark('('));
                lex(cursor, tokens, depth + 1)?;
                if !cursor.eat(")") {
                    break;
                }
                tokens.push(Token::Mark(')'));
            }
            '\\' => {
                cursor.next();
            }
            _ => {}
        }
    }
    Err("a string without an end".into())
}

const FORMATS: &[&str] = &[
    "base32", "base32d", "base64", "base64d", "csv", "html", "json", "sh", "text", "tsv", "uri",
    "urid",
];

const KEYWORDS: &[&str] = &[
    "and", "as", "catch", "def", "elif", "else", "end", "false", "foreach", "if", "label", "break",
    "null", "or", "reduce", "then", "true", "try",
];

/// Functions that compute from their input and do nothing else.
const FUNCTIONS: &[&str] = &[
    "IN",
    "INDEX",
    "JOIN",
    "GROUP_BY",
    "UNIQUE_BY",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arrays",
    "ascii",
    "ascii_downcase",
    "ascii_upcase",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "booleans",
    "bsearch",
    "builtins",
    "capture",
    "cbrt",
    "ceil",
    "combinations",
    "contains",
    "copysign",
    "cos",
    "cosh",
    "debug",
    "del",
    "delpaths",
    "drem",
    "empty",
    "endswith",
    "erf",
    "error",
    "exp",
    "exp10",
    "exp2",
    "explode",
    "expm1",
    "fabs",
    "fdim",
    "finites",
    "first",
    "flatten",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "format",
    "frexp",
    "from_entries",
    "fromdate",
    "fromdateiso8601",
    "fromjson",
    "fromstream",
    "gamma",
    "getpath",
    "gmtime",
    "group_by",
    "gsub",
    "halt",
    "halt_error",
    "has",
    "have_decnum",
    "have_literal_numbers",
    "hypot",
    "implode",
    "in",
    "index",
    "indices",
    "infinite",
    "input",
    "input_filename",
    "input_line_number",
    "inputs",
    "inside",
    "isempty",
    "isfinite",
    "isinfinite",
    "isnan",
    "isnormal",
    "isvalid",
    "iterables",
    "j0",
    "j1",
    "join",
    "keys",
    "keys_unsorted",
    "last",
    "ldexp",
    "leaf_paths",
    "length",
    "lgamma",
    "lgamma_r",
    "limit",
    "localtime",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "ltrim",
    "ltrimstr",
    "map",
    "map_values",
    "match",
    "max",
    "max_by",
    "min",
    "min_by",
    "mktime",
    "modf",
    "nan",
    "nearbyint",
    "nextafter",
    "nexttoward",
    "normals",
    "not",
    "now",
    "nth",
    "nulls",
    "numbers",
    "objects",
    "path",
    "paths",
    "pick",
    "pow",
    "pow10",
    "range",
    "recurse",
    "recurse_down",
    "remainder",
    "repeat",
    "reverse",
    "rindex",
    "rint",
    "round",
    "rtrim",
    "rtrimstr",
    "scalars",
    "scalars_or_empty",
    "scalb",
    "scalbln",
    "scan",
    "select",
    "setpath",
    "significand",
    "sin",
    "sinh",
    "skip",
    "sort",
    "sort_by",
    "split",
    "splits",
    "sqrt",
    "startswith",
    "stderr",
    "strflocaltime",
    "strftime",
    "strings",
    "strptime",
    "sub",
    "tan",
    "tanh",
    "test",
    "tgamma",
    "to_entries",
    "toarray",
    "toboolean",
    "todate",
    "todateiso8601",
    "tojson",
    "tonumber",
    "tostream",
    "tostring",
    "transpose",
    "trim",
    "trimstr",
    "trunc",
    "truncate_stream",
    "type",
    "unique",
    "unique_by",
    "until",
    "utf8bytelength",
    "values",
    "walk",
    "while",
    "with_entries",
    "y0",
    "y1",
    "yn",
    "dateadd",
    "datesub",
    "date",
];

fn judge(tokens: &[Token<'_>], reading: &mut Reading) {
    let defined = definitions(tokens);
    let mut brackets = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|at| tokens.get(at));
        let next = index.checked_add(1).and_then(|at| tokens.get(at));
        match *token {
            Token::Mark(open @ ('(' | '[' | '{')) => brackets.push(open),
            Token::Mark(')' | ']' | '}') => {
                brackets.pop();
            }
            Token::Variable(name) => match name {
                "ENV" | "__prog_args" => reading.add(Rule::PrintsEnvironment, format!("${name}")),
                _ => {}
            },
            Token::Name(name) => {
                let is_key = brackets.last() == Some(&'{')
                    && matches!(before, Some(Token::Mark('{' | ',')))
                    && matches!(next, Some(Token::Mark('}' | ',' | ':')));
                if !is_key {
                    judge_name(name, &defined, reading);
                }
            }
            Token::Mark(_) | Token::Key | Token::Value => {}
        }
    }
}

fn judge_name(name: &str, defined: &BTreeSet<&str>, reading: &mut Reading) {
    match name {
        "env" => reading.add(Rule::PrintsEnvironment, ""),
        "import" | "include" | "modulemeta" | "get_search_list" => {
            reading.add(Rule::CodeFromFile, "the filter loads a module");
        }
        known
            if KEYWORDS.contains(&known)
                || FUNCTIONS.contains(&known)
                || defined.contains(known) => {}
        other => reading.unreadable(format!("the function {other}")),
    }
}

/// Returns the names that the filter defines itself: functions and their parameters.
fn definitions<'a>(tokens: &[Token<'a>]) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    let mut rest = tokens.iter().peekable();
    while let Some(token) = rest.next() {
        if *token != Token::Name("def") {
            continue;
        }
        while let Some(token) = rest.peek() {
            match **token {
                Token::Name(name) => {
                    names.insert(name);
                    rest.next();
                }
                Token::Mark('(' | ')' | ';') | Token::Variable(_) => {
                    rest.next();
                }
                Token::Mark(_) | Token::Key | Token::Value => break,
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_do_what_they_say() {
        let rows: &[(&str, &[Rule])] = &[
            (".", &[]),
            (".items[] | select(.a == \"b\") | .c", &[]),
            (".[] | \"\\(.name)\\t\\(.version)\"", &[]),
            (".version = $v", &[]),
            ("{name, env: .x, \"a\": 1} | .env", &[]),
            ("to_entries | map({key: .key, n: (.value | length)})", &[]),
            ("def f(x): x | . + 1; map(f(.))", &[]),
            ("if .a then .b else empty end", &[]),
            ("env", &[Rule::PrintsEnvironment]),
            ("\"\\(env)\"", &[Rule::PrintsEnvironment]),
            ("{a: (1, env)}", &[Rule::PrintsEnvironment]),
            ("$ENV.HOME", &[Rule::PrintsEnvironment]),
            ("include \"m\"; .", &[Rule::CodeFromFile]),
            ("frob", &[Rule::UnreadableCode]),
            ("\"\\(", &[Rule::UnreadableCode]),
        ];
        let mut wrong = Vec::new();
        for (filter, want) in rows {
            let got: Vec<Rule> = read(filter).met.into_iter().map(|(rule, _)| rule).collect();
            if got != *want {
                wrong.push(format!("{filter:?}: {got:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
