//! A child that says a lot on standard error, or says it in ways that are not fit to show.

use rea_gateway::child::{BURST_BYTES, Exit, KEPT_LINES, MAX_LINE_BYTES, Process};

use crate::scene::{Scene, shell, until};

/// Runs `script` to its end and returns what was shown of it.
async fn shown(script: &str) -> (String, Vec<String>) {
    let scene = Scene::new("noise");
    let (process, _pipes) = Process::start(&shell(script), &scene.surroundings)
        .await
        .unwrap();
    assert_eq!(process.exited().await, Exit::Code(0));
    // The last line comes when everything before it was read.
    until("the end is read", || {
        process
            .last_words()
            .last()
            .is_some_and(|line| line.ends_with("over"))
    })
    .await;
    (scene.shown(), process.last_words())
}

#[tokio::test]
async fn each_line_is_named_and_escaped() {
    let (shown, last_words) =
        shown(r"printf 'one\n\n\033[31mred\r\ntab\there \377 \342\200\256 over' >&2").await;
    let lines = [
        "one",
        "",
        r"\u{1b}[31mred",
        "tab\\there \u{fffd} \\u{202e} over",
    ];
    assert_eq!(last_words, lines);
    assert_eq!(shown, lines.map(|line| format!("[a] {line}\n")).concat());
}

#[tokio::test]
async fn a_long_line_is_cut_and_its_rest_counted() {
    let (shown, _) =
        shown("head -c 1000000 /dev/zero | tr '\\0' x >&2; printf '\\nover' >&2").await;
    let kept = "x".repeat(MAX_LINE_BYTES);
    let rest = 1_000_000 - MAX_LINE_BYTES;
    assert_eq!(
        shown,
        format!("[a] {kept} … {rest} bytes not shown\n[a] over\n")
    );
}

#[tokio::test]
async fn megabytes_are_read_but_not_shown_and_never_in_silence() {
    let line = "y".repeat(99);
    let (shown, last_words) =
        shown(&format!("yes {line} | head -n 100000 >&2; echo over >&2")).await;
    assert_eq!(last_words.len(), KEPT_LINES);
    // The budget grows with time; ten times the burst would take minutes.
    assert!(shown.len() < 10 * BURST_BYTES, "{} bytes", shown.len());
    let mut told = 0;
    for line in shown.lines() {
        let hidden = (line.strip_prefix("[a] … "))
            .and_then(|line| line.strip_suffix(" lines not shown"))
            .or_else(|| {
                line.strip_prefix("rea: ")?
                    .strip_suffix(" lines for this place were dropped")
            });
        told += hidden.map_or(1, |count| count.parse::<usize>().unwrap());
    }
    assert_eq!(told, 100_001, "every line is shown or counted");
}
