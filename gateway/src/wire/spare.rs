//! Large buffers that are used again, so that the system need not hand out and take back their pages for
//! every large message.

use std::sync::Mutex;

use super::lock::lock;

/// The least and the most that a buffer holds that is kept, in bytes.
const SIZES: std::ops::RangeInclusive<usize> = 128 * 1024..=2 * 1024 * 1024;

/// How many are kept.
const KEPT: usize = 4;

static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Returns an empty buffer that holds at least `bytes`, if one is to spare.
pub(super) fn take(bytes: usize) -> Option<Vec<u8>> {
    let mut spare = lock(&SPARE);
    let place = spare.iter().position(|buffer| buffer.capacity() >= bytes)?;
    Some(spare.swap_remove(place))
}

/// Keeps a buffer that is no longer needed, if it is worth it. What it held is forgotten.
pub(super) fn give(mut buffer: Vec<u8>) {
    if !SIZES.contains(&buffer.capacity()) {
        return;
    }
    buffer.clear();
    let mut spare = lock(&SPARE);
    if spare.len() < KEPT {
        spare.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_comes_back_is_empty_and_large_enough() {
        give(vec![1; 300_000]);
        give(vec![1; 10]);
        // Other tests take and give as well.
        if let Some(buffer) = take(200_000) {
            assert!(buffer.is_empty() && buffer.capacity() >= 200_000);
        }
        assert_eq!(take(*SIZES.end() + 1), None);
        for _ in 0..2 * KEPT {
            give(vec![1; 300_000]);
        }
        assert!(lock(&SPARE).len() <= KEPT);
    }
}
