//! Reads the end of a file, at most a given number of bytes. It never follows the file.

use longhaul_store::open_regular;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

// An agent's messages about its own start are much shorter.
const STDERR_TAIL_BYTES: u64 = 16 * 1024;

pub(crate) fn tail_of(path: &Path) -> String {
    tail(path, STDERR_TAIL_BYTES).unwrap_or_default()
}

/// The end of a file, from the start of a line if it has more than one.
pub(crate) struct FileEnd {
    pub(crate) bytes: Vec<u8>,
    /// Offset in the file at which the read started.
    pub(crate) start: u64,
}

impl FileEnd {
    pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<FileEnd> {
        let mut file = open_regular(path)?;
        let start = file.metadata()?.len().saturating_sub(bytes_max);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(bytes_max).read_to_end(&mut bytes)?;
        // A newline at the very end ends the only line, however long that is.
        let line_end = bytes.iter().position(|byte| *byte == b'\n').filter(|end| end + 1 < bytes.len());
        if let Some(end) = line_end.filter(|_| start > 0) {
            bytes.drain(..=end);
        }
        Ok(FileEnd { bytes, start })
    }
}

pub(crate) fn tail(path: &Path, bytes_max: u64) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&FileEnd::read(path, bytes_max)?.bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::tail;
    use std::fs;

    #[test]
    fn the_end_of_a_long_text_starts_with_a_line() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let check = |text: &str, bytes: u64, expected: &str| {
            fs::write(&file, text).expect("written");
            assert_eq!(tail(file.path(), bytes).expect("a file"), expected);
        };
        check("one\ntwo", 100, "one\ntwo");
        check("one\ntwo\nthree", 8, "three");
        check("one\ntwo\nthree", 11, "two\nthree");
        check("a single line", 4, "line");
        check("a single line\n", 5, "line\n");
        check("ääää", 3, "\u{fffd}ä");
        check("", 3, "");
    }
}
