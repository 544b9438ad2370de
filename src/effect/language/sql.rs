//! Statements for a database, and the commands of its shell: only plain questions are read.
//!
//! Views, operators and columns can hide functions of the database; that is not seen.

use super::Reading;
use super::cursor::{Cursor, is_name};

/// Reads one statement, or one command of `psql` or `sqlite3`.
pub(super) fn read(text: &str) -> Reading {
    let mut reading = Reading::default();
    let text = text.trim();
    let problem = if let Some(command) = text.strip_prefix(['\\', '.']) {
        shell_command(command)
    } else {
        statement(text)
    };
    if let Err(problem) = problem {
        reading.unreadable(problem);
    }
    reading
}

/// Commands that list what there is.
fn shell_command(command: &str) -> Result<(), String> {
    let mut words = command.split_whitespace();
    let name = words.next().unwrap_or_default();
    let describes = name.starts_with('d')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'+' | b'S'));
    let describes = describes && !matches!(name, "dump" | "databases" | "dbinfo" | "dbconfig");
    let lists = matches!(
        name,
        "tables"
            | "schema"
            | "indexes"
            | "indices"
            | "databases"
            | "dbinfo"
            | "l"
            | "l+"
            | "conninfo"
            | "z"
            | "fullschema"
    );
    let harmless = |word: &str| {
        word.chars()
            .all(|c| is_name(c) || matches!(c, '.' | '*' | '%' | '-'))
    };
    if (lists || describes) && words.all(harmless) {
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
                cursor.take_while(char::is_whitespace);
                if cursor.peek() == Some('(')
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
            mark if "()*,.+-/%<>=!|[]:^~&".contains(mark) => {
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
