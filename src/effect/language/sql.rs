//! Statements for a database, and the commands of its shell: only plain questions are read.
//!
//! Views, operators and columns can hide functions of the database; that is not seen.

use super::Reading;
use super::cursor::{Cursor, is_name};

/// Reads one statement, or one command of `psql` or `sqlite3`.
pub(super) fn read(text: &str) -> Reading {
    let mut reading = Reading::default();
    let text = text.trim();
    let problem = if let Some(command) = text.strip_prefix('\\') {
        listing(command, is_psql_listing)
    } else if let Some(command) = text.strip_prefix('.') {
        listing(command, |name| SQLITE_LISTINGS.contains(&name))
    } else {
        statement(text)
    };
    if let Err(problem) = problem {
        reading.unreadable(problem);
    }
    reading
}

/// Commands of `sqlite3` that list what there is. It accepts any of its commands cut short, so that `.l`
/// is `.load`: only whole names are known here.
const SQLITE_LISTINGS: &[&str] = &[
    "databases",
    "dbinfo",
    "fullschema",
    "indexes",
    "indices",
    "schema",
    "tables",
];

/// Returns whether a command of `psql` lists what there is: `\l`, or `\d` and more letters.
fn is_psql_listing(name: &str) -> bool {
    let letters = name
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'+' | b'S'));
    matches!(name, "l" | "l+" | "conninfo" | "z") || (name.starts_with('d') && letters)
}

/// Reads a command and its words, which must be names or patterns.
fn listing(command: &str, is_listing: impl Fn(&str) -> bool) -> Result<(), String> {
    let mut words = command.split([' ', '\t']).filter(|word| !word.is_empty());
    let name = words.next().unwrap_or_default();
    let harmless = |word: &str| {
        word.chars()
            .all(|c| is_name(c) || matches!(c, '.' | '*' | '%' | '-'))
    };
    if is_listing(name) && !command.starts_with([' ', '\t']) && words.all(harmless) {
        Ok(())
    } else {
        Err(format!("the command {name:?}"))
    }
}

/// First words of statements that only ask.
const QUESTIONS: &[&str] = &[
    "select", "show", "explain", "describe", "desc", "with", "values", "table",
];

/// Words that change something, or that take a file.
const CHANGES: &[&str] = &[
    "alter",
    "analyse",
    "attach",
    "begin",
    "call",
    "checkpoint",
    "cluster",
    "commit",
    "copy",
    "create",
    "delete",
    "detach",
    "discard",
    "do",
    "drop",
    "dumpfile",
    "execute",
    "fsdir",
    "grant",
    "handler",
    "import",
    "insert",
    "install",
    "into",
    "kill",
    "listen",
    "load",
    "lock",
    "merge",
    "notify",
    "outfile",
    "pragma",
    "prepare",
    "reassign",
    "refresh",
    "reindex",
    "rename",
    "replace",
    "reset",
    "revoke",
    "rollback",
    "savepoint",
    "security",
    "set",
    "share",
    "shutdown",
    "start",
    "truncate",
    "unlisten",
    "update",
    "upsert",
    "use",
    "vacuum",
    "zipfile",
];

/// Words that may stand before a bracket, and functions that compute and do nothing else.
const BEFORE_BRACKETS: &[&str] = &[
    "abs",
    "all",
    "and",
    "any",
    "array_agg",
    "as",
    "avg",
    "between",
    "by",
    "case",
    "cast",
    "ceil",
    "char",
    "char_length",
    "coalesce",
    "concat",
    "count",
    "date",
    "date_trunc",
    "datetime",
    "distinct",
    "else",
    "except",
    "exists",
    "extract",
    "filter",
    "first_value",
    "floor",
    "from",
    "greatest",
    "group_concat",
    "hex",
    "ifnull",
    "iif",
    "in",
    "instr",
    "intersect",
    "join",
    "json_agg",
    "json_array_length",
    "json_each",
    "json_extract",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "least",
    "left",
    "length",
    "like",
    "limit",
    "lower",
    "ltrim",
    "max",
    "min",
    "not",
    "now",
    "nullif",
    "on",
    "or",
    "over",
    "partition",
    "pg_database_size",
    "pg_relation_size",
    "pg_size_pretty",
    "pg_total_relation_size",
    "pragma_table_info",
    "printf",
    "quote",
    "rank",
    "right",
    "round",
    "row_number",
    "rtrim",
    "select",
    "some",
    "sqlite_version",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "sum",
    "then",
    "time",
    "to_char",
    "total",
    "trim",
    "typeof",
    "union",
    "upper",
    "using",
    "values",
    "version",
    "when",
    "where",
];

/// Questions about the shape of a database that `sqlite3` has in place of a catalogue.
const PRAGMAS: &[&str] = &[
    "database_list",
    "foreign_key_list",
    "index_info",
    "index_list",
    "table_info",
    "table_list",
    "table_xinfo",
    "user_version",
];

fn statement(text: &str) -> Result<(), String> {
    let text = text.strip_suffix(';').unwrap_or(text);
    let mut cursor = Cursor::new(text);
    let mut words = 0_usize;
    let mut pragma = false;
    while let Some(next) = cursor.peek() {
        match next {
            '\'' | '"' | '`' => {
                cursor.next();
                cursor.take_while(|c| c != next && c != '\\');
                if !cursor.eat(&next.to_string()) {
                    return Err("a quoted part without an end, or with a backslash in it".into());
                }
                if calls(&mut cursor) {
                    return Err("a function with a quoted name".into());
                }
            }
            // To some a quoted name, to others a subscript: only what is the same to both is read.
            '[' if !is_subscript(cursor.rest()) => return Err("a [ and what follows it".into()),
            ']' => {
                cursor.next();
                if calls(&mut cursor) {
                    return Err("a function with a quoted name".into());
                }
            }
            digit if digit.is_ascii_digit() => {
                let number = cursor.take_while(|c| is_name(c) || c == '.');
                if !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
                    return Err(format!("the number {number:?}"));
                }
            }
            letter if is_name(letter) => {
                let word = cursor.take_while(is_name).to_ascii_lowercase();
                words += 1;
                if words == 1 {
                    pragma = word == "pragma";
                    if !pragma && !QUESTIONS.contains(&word.as_str()) {
                        return Err(format!("a statement that starts with {word:?}"));
                    }
                    continue;
                }
                if pragma {
                    if words > 3 || (words == 2 && !PRAGMAS.contains(&word.as_str())) {
                        return Err(format!("the pragma {word:?}"));
                    }
                    continue;
                }
                if CHANGES.contains(&word.as_str()) {
                    return Err(format!("the word {word:?}"));
                }
                if calls(&mut cursor)
                    && !BEFORE_BRACKETS.contains(&word.as_str())
                    && !(words == 2 && is_alias(text, &word))
                {
                    return Err(format!("the function {word:?}"));
                }
            }
            blank if blank.is_whitespace() => {
                cursor.next();
            }
            '-' if cursor.rest().starts_with("--") => return Err("a comment".into()),
            '/' if cursor.rest().starts_with("/*") => return Err("a comment".into()),
            '=' if pragma => return Err("a pragma that is set".into()),
            mark if "()*,.+-/%<>=!|[:^~&".contains(mark) => {
                cursor.next();
            }
            other => return Err(format!("{other:?}")),
        }
    }
    if words == 0 {
        return Err("no statement".into());
    }
    Ok(())
}

/// Returns whether a bracket follows, which makes a call of the name before it.
fn calls(cursor: &mut Cursor<'_>) -> bool {
    cursor.take_while(char::is_whitespace);
    cursor.peek() == Some('(')
}

/// Returns whether `rest` starts with a subscript, as in `a[1:2]`, without anything quoted in it.
fn is_subscript(rest: &str) -> bool {
    let inside = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    inside.is_some_and(|(inside, _)| {
        let plain = |c: char| is_name(c) || matches!(c, ' ' | ',' | ':' | '-' | '+');
        inside.chars().all(plain) && !inside.contains("--")
    })
}

/// Returns whether `word` is a name that the statement gives to a part of itself, as in `with x (a) as`.
fn is_alias(text: &str, word: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.starts_with(&format!("with {word} ("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_questions_are_read() {
        let fine = [
            "select 'x' as y",
            "SELECT count(*) FROM t WHERE a > 3 ORDER BY b LIMIT 5;",
            "\\dt",
            "\\d+ public.users",
            ".tables",
            ".schema t",
            "with x as (select 1) select * from x",
            "with x (a) as (select 1) select a from x",
            "pragma table_info(t)",
            "select a[1], \"b c\" from t where d in ('x')",
            "select [a] from t",
            "explain select 1",
        ];
        let wrong = [
            "",
            "delete from t",
            "select 1; drop table t",
            "select * into x from y",
            "select pg_terminate_backend(1)",
            "\\! id",
            "\\o f",
            ".shell id",
            ".read f",
            ".l",
            ".l f",
            ".dt",
            ".tab",
            ".tables\n.shell id",
            "\\tables",
            "select \"edit\"('x')",
            "select \"load_extension\" ('x')",
            "select [writefile](1, 2)",
            "select [writefile]\n(1, 2)",
            "select `edit`(1)",
            "select [a'], writefile(1, 2), [']",
            "select main.\"edit\"(1)",
            "select \"edit\"/**/(1)",
            "select * from fsdir where path = '/'",
            "with x as (delete from t returning *) select * from x",
            "select load_extension('x')",
            "pragma user_version = 3",
            "copy t to program 'x'",
            "select 1 -- x",
            "select 'a\\'; drop table t; --'",
            "select 1into t",
            "select lo_export(1, '/x')",
            "with writefile (a) as (select 1) select writefile('x', 'y')",
        ];
        let is_fine = |text: &&str| read(text).met.is_empty();
        assert_eq!(
            fine.iter()
                .filter(|text| !is_fine(text))
                .collect::<Vec<_>>(),
            Vec::<&&str>::new()
        );
        assert_eq!(
            wrong
                .iter()
                .filter(|text| is_fine(text))
                .collect::<Vec<_>>(),
            Vec::<&&str>::new()
        );
    }
}
