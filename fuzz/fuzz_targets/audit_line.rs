//! Any bytes are a record, something else, or a fault; both ways to read them agree.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| rea_gateway::promises::audit_line(input));
