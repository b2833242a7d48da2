//! Writes a derived file of lines that only grows, such as `logs/transcript.jsonl`. It is never flushed to
//! disk: a reader that finds it incomplete brings it up to date.

use crate::atomic::TempFile;
use crate::files::{if_exists, private};
use crate::{StoreError, failpoint_io, open_regular};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

const END: &[u8] = b"\n]\n";
const EMPTY_BYTES: u64 = 3;

/// A file of lines, open for appending.
#[derive(Debug)]
pub struct LineLog {
    file: File,
    path: PathBuf,
}

impl LineLog {
    /// Opens the file for appending, creating it if necessary, and passes each existing line to `each`. An
    /// unfinished last line is cut off.
    pub fn open(path: &Path, mut each: impl FnMut(&[u8])) -> Result<LineLog, StoreError> {
        let file = failpoint_io::open(private().read(true).append(true).create(true), path)
            .map_err(StoreError::io("open", path))?;
        let mut read_existing = || -> io::Result<()> {
            let whole_bytes = whole_lines(&file, |line| {
                each(line);
                ControlFlow::Continue(())
            })?;
            if file.metadata()?.len() > whole_bytes { file.set_len(whole_bytes) } else { Ok(()) }
        };
        read_existing().map_err(StoreError::io("read", path))?;
        Ok(LineLog { file, path: path.to_owned() })
    }

    /// Appends complete lines.
    ///
    /// A failed write may leave part of a line in the file, so it must be reopened.
    pub fn add(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        failpoint_io::write_all(&self.file, &self.path, lines).map_err(StoreError::io("write", &self.path))
    }
}

/// Passes each complete line of a file to `each` until that returns `Break`. A missing file has no lines.
pub fn read_lines(path: &Path, each: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), StoreError> {
    read_lines_from(path, 0, each).map(drop)
}

/// Reads lines as [`read_lines`] does, from the offset `from` of the start of a line. Returns the offset
/// after the last complete line that was read.
///
/// A later call with that offset reads the lines added since. An unfinished last line is not counted, because
/// its writer may have died and the next one replaces it.
pub fn read_lines_from(
    path: &Path,
    from: u64,
    each: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<u64, StoreError> {
    let result = open_regular(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        whole_lines(&file, each)
    });
    let bytes = if_exists(result).map_err(StoreError::io("read", path))?;
    Ok(from + bytes.unwrap_or_default())
}

/// A JSON array in a growing file. An addition overwrites only the closing bracket.
#[derive(Debug)]
pub struct ArrayFile {
    file: File,
    path: PathBuf,
    bytes: u64,
}

impl ArrayFile {
    /// Writes the lines of `lines`, which are JSON, to the file `to` as an array, and opens it for additions.
    pub fn create(lines: &Path, to: &Path) -> Result<ArrayFile, StoreError> {
        write_array(lines, to)?;
        let result = failpoint_io::open(private().read(true).write(true), to);
        let result = result.and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = result.map_err(StoreError::io("open", to))?;
        Ok(ArrayFile { file, path: to.to_owned(), bytes })
    }

    /// Appends lines of JSON.
    ///
    /// A failed write may leave the array without its end, and it must be created again.
    pub fn add(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        let (offset, separator) = match self.bytes {
            0..=EMPTY_BYTES => (0, "[\n"),
            bytes => (bytes - END.len() as u64, ",\n"),
        };
        let mut text = separator.as_bytes().to_vec();
        let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
        for (index, line) in lines.split(|byte| *byte == b'\n').enumerate() {
            text.extend_from_slice(if index == 0 { b"" } else { b",\n" });
            text.extend_from_slice(line);
        }
        text.extend_from_slice(END);
        failpoint_io::write_at(&self.file, &self.path, &text, offset)
            .map_err(StoreError::io("write", &self.path))?;
        self.bytes = offset + text.len() as u64;
        Ok(())
    }
}

/// Writes the lines of `lines`, which are JSON, to the file `to` as an array, replacing it.
///
/// A failure leaves the old file unchanged.
fn write_array(lines: &Path, to: &Path) -> Result<(), StoreError> {
    let scratch = TempFile::next_to(to);
    let result = scratch.create().and_then(|file| {
        let mut out = BufWriter::new(file);
        let (mut separator, mut failed) = ("[\n", None);
        let each = |line: &[u8]| match write!(out, "{separator}").and_then(|()| out.write_all(line)) {
            Ok(()) => {
                separator = ",\n";
                ControlFlow::Continue(())
            }
            Err(cause) => {
                failed = Some(cause);
                ControlFlow::Break(())
            }
        };
        if let Some(lines) = if_exists(open_regular(lines))? {
            whole_lines(&lines, each)?;
        }
        if let Some(cause) = failed {
            return Err(cause);
        }
        out.write_all(if separator == "[\n" { b"[]\n" } else { END })?;
        out.flush()?;
        scratch.persist(to)
    });
    result.map_err(StoreError::io("write", to))
}

/// Passes complete lines, without their newlines, to `each`, and returns their total length in bytes.
fn whole_lines(file: &File, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<u64> {
    let mut reader = BufReader::new(file);
    let (mut line, mut whole_bytes) = (Vec::new(), 0);
    while reader.read_until(b'\n', &mut line)? > 0 {
        let Some(text) = line.strip_suffix(b"\n") else { break };
        if each(text).is_break() {
            break;
        }
        whole_bytes += line.len() as u64;
        line.clear();
    }
    Ok(whole_bytes)
}

#[cfg(test)]
mod tests {
    use super::{ArrayFile, LineLog, read_lines, read_lines_from, write_array};
    use crate::StoreError;
    use std::fs;
    use std::ops::ControlFlow;
    use std::path::{Path, PathBuf};

    /// Returns the path of a file that does not exist, and the directory that it is in.
    fn new_file() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lines");
        (dir, path)
    }

    #[test]
    fn cuts_off_unfinished_line() {
        let (_dir, path) = new_file();
        let open = || {
            let mut seen = Vec::new();
            let file = LineLog::open(&path, |line| seen.push(String::from_utf8_lossy(line).into_owned()));
            (file.expect("it can be opened"), seen)
        };
        let (mut file, seen) = open();
        assert!(seen.is_empty());
        file.add(b"one\ntwo\n").expect("it can be added to");
        file.add(b"thr").expect("it can be added to");
        let (mut file, seen) = open();
        assert_eq!(seen, ["one", "two"]);
        file.add(b"three\n").expect("it can be added to");
        assert_eq!(fs::read_to_string(&path).expect("text"), "one\ntwo\nthree\n");
    }

    fn first_lines(path: &Path, lines_max: usize) -> Vec<String> {
        let mut seen = Vec::new();
        let each = |line: &[u8]| {
            seen.push(String::from_utf8_lossy(line).into_owned());
            if seen.len() == lines_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        read_lines(path, each).expect("it can be read");
        seen
    }

    #[test]
    fn reading_changes_nothing_and_stops_on_break() {
        let (_dir, path) = new_file();
        assert!(first_lines(&path, 9).is_empty(), "there is no file");
        fs::write(&path, "one\ntwo\nthr").expect("written");
        assert_eq!(first_lines(&path, 9), ["one", "two"]);
        assert_eq!(first_lines(&path, 1), ["one"]);
        assert_eq!(fs::read_to_string(&path).expect("text"), "one\ntwo\nthr");
    }

    #[test]
    fn reads_added_lines_from_last_offset() {
        let (_dir, path) = new_file();
        let read = |from: u64| {
            let mut seen = Vec::new();
            let to = read_lines_from(&path, from, |line| {
                seen.push(String::from_utf8_lossy(line).into_owned());
                ControlFlow::Continue(())
            });
            (to.expect("it can be read"), seen.join(" "))
        };
        assert_eq!(read(0), (0, String::new()), "there is no file");
        fs::write(&path, "one\nthr").expect("written");
        assert_eq!(read(0), (4, "one".to_owned()));
        assert_eq!(read(4), (4, String::new()));
        // The writer died, and the next one cut off its unfinished line.
        fs::write(&path, "one\ntwo\nthree\n").expect("written");
        assert_eq!(read(4), (14, "two three".to_owned()));
    }

    #[test]
    fn writes_lines_as_array() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, array) = (dir.path().join("lines"), dir.path().join("array"));
        let check = |expected: &str| {
            write_array(&path, &array).expect("it can be written");
            assert_eq!(fs::read_to_string(&array).expect("text"), expected);
        };
        check("[]\n");
        fs::write(&path, "{}\n[1]\n{torn").expect("written");
        check("[\n{},\n[1]\n]\n");
        let result = write_array(&path, &dir.path().join("missing/array"));
        assert!(matches!(result, Err(StoreError::Io { action: "write", .. })));
    }

    #[test]
    fn array_grows_with_its_lines() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, array) = (dir.path().join("lines"), dir.path().join("array"));
        let rewritten = dir.path().join("whole");
        let mut lines = LineLog::open(&path, |_| {}).expect("it can be opened");
        let mut file = ArrayFile::create(&path, &array).expect("it can be made");
        for added in ["{}\n", "[1]\n[2]\n", "3\n"] {
            lines.add(added.as_bytes()).expect("added");
            file.add(added.as_bytes()).expect("added");
            write_array(&path, &rewritten).expect("written");
            assert_eq!(
                fs::read_to_string(&array).expect("text"),
                fs::read_to_string(&rewritten).expect("text")
            );
        }
        let mut reopened = ArrayFile::create(&path, &array).expect("it can be made");
        reopened.add(b"4\n").expect("added");
        assert_eq!(fs::read_to_string(&array).expect("text"), "[\n{},\n[1],\n[2],\n3,\n4\n]\n");
    }

    #[test]
    fn open_fails_without_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let result = LineLog::open(&dir.path().join("missing/lines"), |_| {});
        assert!(matches!(result, Err(StoreError::Io { action: "open", .. })));
    }
}
