//! Any bytes in the place of the file of grants are an error or grants that keep.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| plainpipe::promises::grant_store(content));
