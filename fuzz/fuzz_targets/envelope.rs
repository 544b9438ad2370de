//! Any bytes are a message, a batch or a fault; with another id every other byte stays.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| rea_gateway::promises::envelope(input));
