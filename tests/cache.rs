//! The digests that are kept: never a wrong one, whatever happens to the file that keeps them.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/machine.rs"]
mod machine;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use machine::{Machine, file, pin_with};
use plainpipe::Host;
use plainpipe::program::{PinCache, StoreError};

/// A program that was left alone for long, on whatever file system it lies.
const OLD: &str = "cat";

fn host() -> Host {
    let host = Host::new(Some("/usr/bin:/bin".into()), "/").unwrap();
    host.with_shell(plainpipe::Shell::None)
}

/// Fills a cache on disk, or returns `false` where nothing can be kept: the file system of the
/// programs is not one whose times are trusted.
fn fill(path: &std::path::Path) -> bool {
    let mut cache = PinCache::on_disk(path);
    pin_with(&host(), OLD, &mut cache).unwrap();
    if cache.is_empty() {
        machine::skip("programs on a file system whose times are trusted");
        return false;
    }
    cache.save().unwrap();
    true
}

#[test]
fn what_was_learned_is_there_the_next_time_and_the_answer_is_the_same() {
    let machine = Machine::new();
    let path = machine.at("cache/pins.json");
    if !fill(&path) {
        return;
    }
    let mut warm = PinCache::on_disk(&path);
    assert!(!warm.is_empty());
    let warm = pin_with(&host(), OLD, &mut warm).unwrap();
    let cold = pin_with(&host(), OLD, &mut PinCache::in_memory()).unwrap();
    assert_eq!(warm, cold);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn a_damaged_cache_counts_as_empty_and_is_built_again() {
    let machine = Machine::new();
    let path = machine.at("pins.json");
    if !fill(&path) {
        return;
    }
    let good = fs::read(&path).unwrap();
    let text = String::from_utf8(good.clone()).unwrap();
    let mut damaged: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"null".into(),
        b"[]".into(),
        b"\xff\xfe".into(),
        text.replacen("\"version\":2", "\"version\":3", 1).into(),
        text.replacen("\"fingerprint\":\"", "\"fingerprint\":\"x", 1)
            .into(),
        text.replacen("{\"version\"", "{\"more\":1,\"version\"", 1)
            .into(),
        format!("{text}\n").into(),
    ];
    damaged.extend((0..good.len()).step_by(37).map(|end| good[..end].to_vec()));
    for bytes in damaged {
        fs::write(&path, &bytes).unwrap();
        let cache = PinCache::on_disk(&path);
        assert!(cache.is_empty(), "{}", bytes.escape_ascii());
    }
    // A line that is no entry, or one of another file, is not believed either. Only bytes that the
    // first line does not count are changed.
    let cold = pin_with(&host(), OLD, &mut PinCache::in_memory()).unwrap();
    let (_, line) = text.split_once('\n').unwrap();
    let device = line.split(' ').next().unwrap();
    let digest = text.find("\"digest\":\"").unwrap() + "\"digest\":\"".len();
    let mut other = text.clone();
    other.replace_range(digest..digest + 8, "deadbeef");
    for spoilt in [
        text.replacen("\"dev\":", "\"DEV\":", 1),
        text.replacen(device, &"9".repeat(device.len()), 1),
        text.clone(),
    ] {
        fs::write(&path, &spoilt).unwrap();
        let mut cache = PinCache::on_disk(&path);
        assert!(!cache.is_empty(), "{spoilt}");
        assert_eq!(pin_with(&host(), OLD, &mut cache).unwrap(), cold);
    }
    // What the test is for: an entry that looks right is what is answered.
    fs::write(&path, &other).unwrap();
    let believed = pin_with(&host(), OLD, &mut PinCache::on_disk(&path)).unwrap();
    assert_ne!(believed, cold);
    assert!(fs::remove_file(&path).is_ok() && fill(&path));
    assert!(!PinCache::on_disk(&path).is_empty());
    // Neither is a file that others can write, or that is no file.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(PinCache::on_disk(&path).is_empty());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(!PinCache::on_disk(&path).is_empty());
    assert!(PinCache::on_disk(machine.link("link", &path)).is_empty());
    assert!(PinCache::on_disk(machine.root()).is_empty());
}

#[test]
fn several_writers_lose_nothing() {
    let machine = Machine::new();
    let path = machine.at("pins.json");
    if !fill(&path) {
        return;
    }
    let names = ["cat", "head", "tail", "sort", "uniq", "wc", "cut", "tr"];
    std::thread::scope(|scope| {
        for name in names {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..5 {
                    let mut cache = PinCache::on_disk(path);
                    pin_with(&host(), name, &mut cache).unwrap();
                    cache.save().unwrap();
                    assert!(!PinCache::on_disk(path).is_empty(), "a half-written file");
                }
            });
        }
    });
    let mut cache = PinCache::on_disk(&path);
    let before = cache.len();
    for name in names {
        pin_with(&host(), name, &mut cache).unwrap();
    }
    assert_eq!(cache.len(), before, "something was lost");
}

#[test]
fn what_is_forgotten_is_gone_from_the_file_too() {
    let machine = Machine::new();
    let path = machine.at("pins.json");
    if !fill(&path) {
        return;
    }
    let mut cache = PinCache::on_disk(&path);
    let pinned = pin_with(&host(), OLD, &mut cache).unwrap();
    let real_path = file(&pinned).identity().real_path.clone();
    let before = cache.len();
    assert!(cache.forget(&real_path).unwrap());
    assert_eq!(
        (cache.len(), PinCache::on_disk(&path).len()),
        (before - 1, before - 1)
    );
    assert!(!cache.forget(&real_path).unwrap());
}

#[test]
fn a_cache_that_cannot_be_written_says_so_and_answers_stand() {
    let machine = Machine::new();
    machine.write("file", "", 0o600);
    let mut cache = PinCache::on_disk(machine.at("file/pins.json"));
    pin_with(&host(), OLD, &mut cache).unwrap();
    if cache.is_empty() {
        return machine::skip("programs on a file system whose times are trusted");
    }
    assert!(matches!(cache.save(), Err(StoreError::Write { .. })));
}

#[test]
fn a_file_that_changed_a_moment_ago_is_not_kept() {
    let machine = Machine::new();
    machine.program("bin/tool", "x");
    let host = machine.host("@/bin");
    let mut cache = PinCache::in_memory();
    let pinned = pin_with(&host, "tool", &mut cache).unwrap();
    let tool = file(&pinned).identity().real_path.clone();
    assert!(!cache.forget(&tool).unwrap());
}
