//! Many commands through one process: NUL-separated in, one JSON object a line out.

use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::process::ExitCode;

use plainpipe::{MAX_BYTES, Refusal};

use super::{Answer, Depth, Failure, Reading, written};

/// Bytes read and written at a time.
const BUFFER: usize = 64 * 1024;

/// Answers every command of `input` in order.
///
/// What has been answered is written out before waiting for more input, so that a caller may wait
/// for one answer before it sends the next command.
pub(super) fn run(input: impl Read, output: impl Write, depth: &mut Depth) -> Answer {
    let mut input = BufReader::with_capacity(BUFFER, input);
    let mut output = BufWriter::with_capacity(BUFFER, output);
    let mut command = Command::default();
    loop {
        if input.buffer().is_empty()
            && let Err(error) = output.flush()
        {
            return written(Err(error), ExitCode::SUCCESS);
        }
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::new("reading standard input", error)),
        };
        if bytes.is_empty() {
            break;
        }
        let end = memchr::memchr(0, bytes);
        let used = end.map_or(bytes.len(), |end| end + 1);
        command.push(bytes.get(..end.unwrap_or(used)).unwrap_or_default());
        input.consume(used);
        if end.is_some()
            && let Err(error) = command.answer(depth, &mut output)?
        {
            return written(Err(error), ExitCode::SUCCESS);
        }
    }
    // The last command may end without a NUL.
    if command.length > 0
        && let Err(error) = command.answer(depth, &mut output)?
    {
        return written(Err(error), ExitCode::SUCCESS);
    }
    written(output.flush(), ExitCode::SUCCESS)
}

/// The command that is being read: its start, and how long it is in all.
#[derive(Default)]
struct Command {
    /// At most the length limit and what is needed to see that it was crossed.
    head: Vec<u8>,
    length: usize,
    /// The answer, before it is written as a whole.
    json: Vec<u8>,
}

impl Command {
    fn push(&mut self, bytes: &[u8]) {
        let room = (MAX_BYTES + 1).saturating_sub(self.head.len());
        self.head.extend(bytes.iter().take(room));
        self.length = self.length.saturating_add(bytes.len());
    }

    /// Writes the answer and starts on the next command; the inner result is that of writing.
    fn answer(
        &mut self,
        depth: &mut Depth,
        output: &mut impl Write,
    ) -> Result<std::io::Result<()>, Failure> {
        let reading = if self.length > MAX_BYTES {
            Reading::Refused(Refusal::too_long(&self.head, self.length))
        } else {
            depth.read(&self.head)
        };
        self.head.clear();
        self.length = 0;
        self.json.clear();
        serde_json::to_writer(&mut self.json, &reading)
            .map_err(|error| Failure::new("writing JSON", error))?;
        self.json.push(b'\n');
        Ok(output.write_all(&self.json))
    }
}
