//! Lines composed by the grammar's rules: lexer and tree agree, or the line is refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|seed: &[u8]| plainpipe::promises::witnesses(seed));
