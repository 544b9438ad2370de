//! Any name of a tool has a tier, which only a registered line for a shell can lower.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| rea_gateway::promises::tool_tier(input));
