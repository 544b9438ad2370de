//! What the kernel and the dynamic linker read of an ELF file: who loads it, and from where.

use std::io;

/// The most bytes of program headers that the kernel accepts.
const MAX_HEADERS: usize = 64 * 1024;

/// The longest interpreter path that the kernel accepts, with its NUL.
const MAX_INTERPRETER: u64 = 4096;

/// The most bytes of the dynamic section that are looked at.
const MAX_DYNAMIC: usize = 64 * 1024;

/// The longest list of library directories that is looked at.
const MAX_SEARCH_PATH: usize = 4096;

const SEGMENT_LOAD: u32 = 1;
const SEGMENT_DYNAMIC: u32 = 2;
const SEGMENT_INTERPRETER: u32 = 3;

const DYNAMIC_END: u64 = 0;
const DYNAMIC_STRINGS: u64 = 5;
const DYNAMIC_RPATH: u64 = 15;
const DYNAMIC_RUNPATH: u64 = 29;

/// Machines whose programs this one's kernel runs by itself.
const MACHINES: &[u16] = if cfg!(target_arch = "x86_64") {
    &[62, 3]
} else if cfg!(target_arch = "aarch64") {
    &[183, 40]
} else if cfg!(target_arch = "x86") {
    &[3]
} else if cfg!(target_arch = "arm") {
    &[40]
} else if cfg!(target_arch = "riscv64") {
    &[243]
} else if cfg!(target_arch = "powerpc64") {
    &[21, 20]
} else if cfg!(target_arch = "s390x") {
    &[22]
} else {
    &[]
};

/// An ELF program.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Elf {
    /// The dynamic linker it asks for, as written.
    pub(crate) interpreter: Option<Vec<u8>>,
    /// The directories that its own header adds to the search for libraries, as written.
    pub(crate) library_paths: Vec<Vec<u8>>,
}

/// An ELF file that the kernel would not run.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum ElfError {
    #[error("its ELF header is damaged")]
    Damaged,
    #[error("it is no program, but an object or a core file")]
    NoProgram,
    #[error("it is a program for another kind of machine")]
    OtherMachine,
}

/// Gives the bytes of a file at an offset; fewer at its end.
pub(crate) trait ReadAt {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for std::fs::File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }
}

/// How a file writes its numbers.
#[derive(Clone, Copy)]
struct Layout {
    wide: bool,
    little: bool,
}

/// One program header.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

impl Elf {
    /// Reads an ELF file, or returns `None` for one that does not start like one.
    pub(crate) fn read(head: &[u8], file: &impl ReadAt) -> Result<Option<Self>, ElfError> {
        if !head.starts_with(b"\x7fELF") {
            return Ok(None);
        }
        let layout = Layout {
            wide: head.get(4) == Some(&2),
            little: head.get(5) == Some(&1),
        };
        let field = |wide: usize, narrow: usize, length: usize| {
            let offset = if layout.wide { wide } else { narrow };
            layout.number(head, offset, length).ok_or(ElfError::Damaged)
        };
        let machine = field(18, 18, 2)?;
        if !MACHINES.iter().any(|known| u64::from(*known) == machine) {
            return Err(ElfError::OtherMachine);
        }
        if !matches!(field(16, 16, 2)?, 2 | 3) {
            return Err(ElfError::NoProgram);
        }
        let word = layout.word();
        let start = field(32, 28, word)?;
        let (size, count) = (field(54, 42, 2)?, field(56, 44, 2)?);
        if size != if layout.wide { 56 } else { 32 } || count == 0 {
            return Err(ElfError::Damaged);
        }
        let length = usize::try_from(size * count).map_err(|_| ElfError::Damaged)?;
        if length > MAX_HEADERS {
            return Err(ElfError::Damaged);
        }
        let headers = bytes(file, start, length).filter(|bytes| bytes.len() == length);
        let headers = headers.ok_or(ElfError::Damaged)?;
        let segments: Option<Vec<Segment>> = headers
            .chunks_exact(if layout.wide { 56 } else { 32 })
            .map(|header| layout.segment(header))
            .collect();
        let segments = segments.ok_or(ElfError::Damaged)?;
        let asked = segments
            .iter()
            .find(|part| part.kind == SEGMENT_INTERPRETER);
        Ok(Some(Self {
            interpreter: asked.map(|part| interpreter(file, part)).transpose()?,
            library_paths: library_paths(layout, file, &segments).unwrap_or_default(),
        }))
    }
}

impl Layout {
    const fn word(self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    fn number(self, bytes: &[u8], offset: usize, length: usize) -> Option<u64> {
        let bytes = bytes.get(offset..offset.checked_add(length)?)?;
        let join = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.little {
            bytes.iter().rev().fold(0, join)
        } else {
            bytes.iter().fold(0, join)
        })
    }

    fn segment(self, header: &[u8]) -> Option<Segment> {
        let word = self.word();
        let at = |wide: usize, narrow: usize| {
            self.number(header, if self.wide { wide } else { narrow }, word)
        };
        Some(Segment {
            kind: u32::try_from(self.number(header, 0, 4)?).ok()?,
            offset: at(8, 4)?,
            address: at(16, 8)?,
            size: at(32, 16)?,
        })
    }
}

/// Reads the path of the dynamic linker, under the conditions of the kernel.
fn interpreter(file: &impl ReadAt, part: &Segment) -> Result<Vec<u8>, ElfError> {
    if !(2..=MAX_INTERPRETER).contains(&part.size) {
        return Err(ElfError::Damaged);
    }
    let length = usize::try_from(part.size).map_err(|_| ElfError::Damaged)?;
    let mut path = bytes(file, part.offset, length).ok_or(ElfError::Damaged)?;
    if path.len() != length || path.last() != Some(&0) {
        return Err(ElfError::Damaged);
    }
    path.truncate(path.iter().position(|&byte| byte == 0).unwrap_or(0));
    Ok(path)
}

/// Reads the search path for libraries, if the dynamic section has one that can be found.
fn library_paths(layout: Layout, file: &impl ReadAt, segments: &[Segment]) -> Option<Vec<Vec<u8>>> {
    let dynamic = segments.iter().find(|part| part.kind == SEGMENT_DYNAMIC)?;
    let length = usize::try_from(dynamic.size).ok()?.min(MAX_DYNAMIC);
    let section = bytes(file, dynamic.offset, length)?;
    let word = layout.word();
    let (mut strings, mut lists) = (None, Vec::new());
    for entry in section.chunks_exact(2 * word) {
        let value = layout.number(entry, word, word)?;
        match layout.number(entry, 0, word)? {
            DYNAMIC_END => break,
            DYNAMIC_STRINGS => strings = Some(value),
            DYNAMIC_RPATH | DYNAMIC_RUNPATH => lists.push(value),
            _ => {}
        }
    }
    let strings = strings?;
    let mut paths = Vec::new();
    for list in lists {
        let address = strings.checked_add(list)?;
        let part = segments.iter().find(|part| {
            let inside = address.checked_sub(part.address);
            part.kind == SEGMENT_LOAD && inside.is_some_and(|offset| offset < part.size)
        })?;
        let offset = part.offset.checked_add(address - part.address)?;
        let text = bytes(file, offset, MAX_SEARCH_PATH)?;
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        paths.extend(text.split(|&byte| byte == b':').map(<[u8]>::to_vec));
    }
    Some(paths)
}

/// Reads up to `length` bytes at `offset`.
fn bytes(file: &impl ReadAt, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut buffer = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let offset = offset.checked_add(u64::try_from(filled).ok()?)?;
        match file.read_at(rest, offset) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    buffer.truncate(filled);
    Some(buffer)
}
