//! Any name of a tool is offered under a permitted one that leads back to no other tool.
#![no_main]

libfuzzer_sys::fuzz_target!(|name: &str| rea_gateway::promises::tool_name(name));
