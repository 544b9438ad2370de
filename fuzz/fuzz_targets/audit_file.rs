//! Any bytes can be walked as a log, and built upon so that only they are to blame.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| rea_gateway::promises::audit_file(input));
