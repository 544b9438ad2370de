//! Any bytes get an answer that keeps the promises.
#![no_main]

libfuzzer_sys::fuzz_target!(|command: &[u8]| plainpipe::promises::parse(command));
