//! Any bytes are a registry that prints as one that reads the same, or faults with a place.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| rea_gateway::promises::registry(input));
