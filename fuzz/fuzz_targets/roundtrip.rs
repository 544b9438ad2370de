//! Canonical text means what the line meant, and so does every edit of one byte that is accepted.
#![no_main]

libfuzzer_sys::fuzz_target!(|command: &str| {
    plainpipe::promises::roundtrip(command);
    if command.len() <= 20 {
        plainpipe::promises::edits(command);
    }
});
