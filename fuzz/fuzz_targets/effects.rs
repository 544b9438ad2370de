//! What a line could do is said the same way each time, within the bounds of the line.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| plainpipe::promises::effects(input));
