//! An accepted line gives bash the argv that is reported.
#![no_main]

libfuzzer_sys::fuzz_target!(|command: &str| plainpipe::promises::agree_bash(command));
