//! The head of any file is read as the kernel reads it.
#![no_main]

libfuzzer_sys::fuzz_target!(|head: &[u8]| plainpipe::promises::shebang(head));
