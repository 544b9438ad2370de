//! Hostile text needs little stack.

use plainpipe::Line;

/// Bytes of stack that reading any text must do with.
const STACK: usize = 256 * 1024;

#[test]
fn the_worst_texts_are_read_on_a_small_stack() {
    let units = [
        "(", "$(", "`", "{", "[", "'\"'\"", "\\\\", "]", "{}", "|a", " ", " \\\n", "\"\\\"\"",
        "'a'\"b\"", "b", " b", "$((", "<(", "@(",
    ];
    for unit in units {
        for start in ["", "a ", "a x", "a '", "a \""] {
            let text = format!(
                "{start}{}",
                unit.repeat((plainpipe::MAX_BYTES - 8) / unit.len())
            );
            let reading = std::thread::Builder::new()
                .stack_size(STACK)
                .spawn(move || Line::parse(&text).is_ok());
            reading.unwrap().join().unwrap();
        }
    }
}
