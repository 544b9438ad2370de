//! Any bytes are a policy that does not reach above its ceiling, or a fault in one printable line.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| rea_gateway::promises::policy(input));
