//! The tables.

use std::{fmt::Write as _, fs, path::Path, time::Duration};

use crate::measure::{AT_ONCE, Measured, Way};

const BEGIN: &str = "<!-- wire -->\n";
const END: &str = "<!-- /wire -->";

/// Returns the tables as Markdown.
pub(crate) fn tables(measured: &Measured) -> String {
    let mut text = String::new();
    small(&mut text, &measured.ways);
    large(&mut text, &measured.ways);
    rest(&mut text, measured);
    text
}

fn small(text: &mut String, ways: &[Way]) {
    text.push_str(
        "### A call with 1 KiB of text that comes back\n\n\
         Bounds: the wire adds at most 0.15 ms to the median, and 99 of 100 calls take at most 1 ms; `rea serve`, with \
         all layers and a record, adds at most 0.1 ms more, and is never slower than the proxy. *Added* is the median \
         over all rounds of what was added to the median of the same round.\n\n\
         | way | median | added | 99 of 100 within | processor time in between |\n| --- | ---: | ---: | ---: | ---: |\n",
    );
    let Some(direct) = ways.first() else { return };
    for way in ways {
        let added = differences(&way.medians, &direct.medians);
        let shown = format!(
            "| {} | {} | {} | {} | {} |",
            way.name,
            micros(at(&way.small, 50)),
            if way.name == direct.name {
                "–".to_owned()
            } else {
                format!("{:.0} µs", middle(added))
            },
            micros(at(&way.small, 99)),
            if way.name == direct.name {
                "–".to_owned()
            } else {
                micros(way.processor)
            },
        );
        text.push_str(&shown);
        text.push('\n');
    }
    text.push('\n');
}

fn large(text: &mut String, ways: &[Way]) {
    text.push_str(
        "### Results of 1 MiB\n\n\
         Bound: the wire passes at least 0.8 times what the relay of bytes does, and `rea serve` no less than the proxy. \
         Ratios are medians over rounds.\n\n\
         | way | one at a time | to the relay | four at once | to the relay |\n| --- | ---: | ---: | ---: | ---: |\n",
    );
    let Some(relay) = ways.get(1) else { return };
    for way in ways {
        let _infallible = writeln!(
            text,
            "| {} | {} | {:.2} | {} | {:.2} |",
            way.name,
            megabytes(middle(way.large.clone())),
            middle(ratios(&way.large, &relay.large)),
            megabytes(middle(way.large_at_once.clone())),
            middle(ratios(&way.large_at_once, &relay.large_at_once)),
        );
    }
    text.push('\n');
}

fn rest(text: &mut String, measured: &Measured) {
    let durable = &measured.durable;
    let mut starts = measured.starts.clone();
    starts.sort_unstable();
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / 1024.0 / 1024.0);
    let rows = [
        (
            "start to the first `tools/list`, without servers",
            "30 ms",
            micros(at(&starts, 50)),
        ),
        (
            "resident without servers",
            "15 MiB",
            mib(measured.resident.0),
        ),
        (
            "resident after all calls above",
            "–",
            mib(measured.resident.1),
        ),
        (
            "size of the program",
            "12 MiB, stripped",
            mib(measured.program),
        ),
        (
            "calls that write, 64 at once, to the same without syncs",
            "at least 0.6",
            format!("{:.2}", middle(ratios(&durable.synced, &durable.unsynced))),
        ),
        (
            "durable records for each sync, 64 at once",
            "at least 8",
            format!("{:.1}", durable.records_per_sync),
        ),
        (
            "calls that write, 64 at once",
            "–",
            format!("{:.0} a second", middle(durable.synced.clone())),
        ),
    ];
    debug_assert_eq!(AT_ONCE, 64, "the rows say so");
    text.push_str("### The rest\n\n| what | bound | measured |\n| --- | --- | ---: |\n");
    for (what, bound, value) in rows {
        let _infallible = writeln!(text, "| {what} | {bound} | {value} |");
    }
}

/// Puts the tables between their marks in BENCHMARKS.md.
pub(crate) fn write(tables: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../BENCHMARKS.md");
    let old = fs::read_to_string(&file).unwrap();
    let (before, rest) = old.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    fs::write(file, format!("{before}{BEGIN}\n{tables}\n{END}{after}")).unwrap();
}

fn at(of: &[Duration], percent: usize) -> Duration {
    let mut sorted = of.to_vec();
    sorted.sort_unstable();
    let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).copied().unwrap_or_default()
}

fn middle(mut of: Vec<f64>) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or_default()
}

/// Returns the differences in microseconds.
fn differences(of: &[Duration], from: &[Duration]) -> Vec<f64> {
    let micros = |duration: &Duration| duration.as_secs_f64() * 1e6;
    of.iter()
        .zip(from)
        .map(|(of, from)| micros(of) - micros(from))
        .collect()
}

fn ratios(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of / to).collect()
}

fn micros(duration: Duration) -> String {
    match duration.as_secs_f64() * 1e3 {
        long if long >= 1.0 => format!("{long:.2} ms"),
        short => format!("{:.0} µs", short * 1e3),
    }
}

fn megabytes(rate: f64) -> String {
    format!("{:.0} MB/s", rate / 1e6)
}
