//! A derived file of lines that is only ever added to, such as `logs/transcript.jsonl`. Nothing is flushed to the disk:
//! whoever finds it behind brings it up to date.

use crate::atomic::TempFile;
use crate::files::private;
use crate::{StoreError, failpoint_io, open_regular};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The end of an array that is not empty, and the length of an empty one.
const END: &[u8] = b"\n]\n";
const EMPTY_BYTES: u64 = 3;

/// An open file of lines.
#[derive(Debug)]
pub struct LineLog {
    file: File,
    path: PathBuf,
}

impl LineLog {
    /// Opens the file for adding to it, makes it if it is not there, and shows each line that it has. A line that a
    /// writer did not live to finish is cut off.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(path: &Path, mut each: impl FnMut(&[u8])) -> Result<LineLog, StoreError> {
        let file = failpoint_io::open(private().read(true).append(true).create(true), path)
            .map_err(StoreError::io("open", path))?;
        let mut settle = || -> io::Result<()> {
            let whole = whole_lines(&file, |line| {
                each(line);
                ControlFlow::Continue(())
            })?;
            if file.metadata()?.len() > whole { file.set_len(whole) } else { Ok(()) }
        };
        settle().map_err(StoreError::io("read", path))?;
        Ok(LineLog { file, path: path.to_owned() })
    }

    /// Adds whole lines.
    ///
    /// # Errors
    /// [`StoreError::Io`]; part of a line may then be there, and the file must be opened again.
    pub fn add(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        failpoint_io::write_all(&self.file, &self.path, lines).map_err(StoreError::io("write", &self.path))
    }
}

/// Shows each whole line of such a file, one after the other, until it breaks off; none if there is no file.
///
/// # Errors
/// [`StoreError::Io`].
pub fn read_lines(path: &Path, each: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), StoreError> {
    match open_regular(path).and_then(|file| whole_lines(&file, each)) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(StoreError::io("read", path)(cause)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The same from a place in the file on, which is the beginning of a line; returns the place behind the last whole line
/// that was shown. Whoever comes back with it is shown what was added since: a line that its writer did not live to finish
/// is not counted, and may be another one by then.
///
/// # Errors
/// [`StoreError::Io`].
pub fn read_lines_from(
    path: &Path,
    from: u64,
    each: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<u64, StoreError> {
    let read = open_regular(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        whole_lines(&file, each)
    });
    match read {
        Ok(whole) => Ok(from + whole),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(from),
        Err(cause) => Err(StoreError::io("read", path)(cause)),
    }
}

/// A JSON array in a file that grows at its end: an addition replaces the closing bracket, and nothing else is written again.
#[derive(Debug)]
pub struct ArrayFile {
    file: File,
    path: PathBuf,
    bytes: u64,
}

impl ArrayFile {
    /// Writes the lines of a file, which are JSON, as an array to another file, and opens that for additions.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn create(lines: &Path, to: &Path) -> Result<ArrayFile, StoreError> {
        write_array(lines, to)?;
        let opened = failpoint_io::open(private().read(true).write(true), to);
        let opened = opened.and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = opened.map_err(StoreError::io("open", to))?;
        Ok(ArrayFile { file, path: to.to_owned(), bytes })
    }

    /// Adds lines of JSON.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the array may then lack its end, and must be created again.
    pub fn add(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        let (offset, before) = match self.bytes {
            0..=EMPTY_BYTES => (0, "[\n"),
            bytes => (bytes - END.len() as u64, ",\n"),
        };
        let mut text = before.as_bytes().to_vec();
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

/// Writes the lines of such a file, which are JSON, to another file as one array, and replaces what was there.
///
/// # Errors
/// [`StoreError::Io`]; what was there is then as it was.
fn write_array(lines: &Path, to: &Path) -> Result<(), StoreError> {
    let scratch = TempFile::beside(to);
    let written = scratch.create().and_then(|file| {
        let mut out = BufWriter::new(file);
        let (mut before, mut failed) = ("[\n", None);
        let each = |line: &[u8]| match write!(out, "{before}").and_then(|()| out.write_all(line)) {
            Ok(()) => {
                before = ",\n";
                ControlFlow::Continue(())
            }
            Err(cause) => {
                failed = Some(cause);
                ControlFlow::Break(())
            }
        };
        match open_regular(lines) {
            Ok(lines) => drop(whole_lines(&lines, each)?),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(cause),
        }
        if let Some(cause) = failed {
            return Err(cause);
        }
        out.write_all(if before == "[\n" { b"[]\n" } else { END })?;
        out.flush()?;
        scratch.persist(to)
    });
    written.map_err(StoreError::io("write", to))
}

/// Shows whole lines, without their newlines, and returns how many bytes they are.
fn whole_lines(file: &File, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<u64> {
    let mut reader = BufReader::new(file);
    let (mut line, mut whole) = (Vec::new(), 0);
    while reader.read_until(b'\n', &mut line)? > 0 {
        let Some(text) = line.strip_suffix(b"\n") else { break };
        if each(text).is_break() {
            break;
        }
        whole += line.len() as u64;
        line.clear();
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::{ArrayFile, LineLog, read_lines, read_lines_from, write_array};
    use crate::StoreError;
    use std::fs;
    use std::ops::ControlFlow;

    #[test]
    fn a_line_that_was_not_finished_is_cut_off() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lines");
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

    #[test]
    fn reading_changes_nothing_and_ends_when_it_is_told_to() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lines");
        let read = |lines_max: usize| {
            let mut seen = Vec::new();
            let each = |line: &[u8]| {
                seen.push(String::from_utf8_lossy(line).into_owned());
                if seen.len() == lines_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            read_lines(&path, each).expect("it can be read");
            seen
        };
        assert!(read(9).is_empty(), "there is no file");
        fs::write(&path, "one\ntwo\nthr").expect("written");
        assert_eq!((read(9), read(1)), (vec!["one".to_owned(), "two".to_owned()], vec!["one".to_owned()]));
        assert_eq!(fs::read_to_string(&path).expect("text"), "one\ntwo\nthr");
    }

    #[test]
    fn what_was_added_is_read_from_where_the_last_whole_line_ended() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lines");
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
        // Its writer died, and the next one cut that off.
        fs::write(&path, "one\ntwo\nthree\n").expect("written");
        assert_eq!(read(4), (14, "two three".to_owned()));
    }

    #[test]
    fn lines_become_an_array() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, array) = (dir.path().join("lines"), dir.path().join("array"));
        let check = |expected: &str| {
            write_array(&path, &array).expect("it can be written");
            assert_eq!(fs::read_to_string(&array).expect("text"), expected);
        };
        check("[]\n");
        fs::write(&path, "{}\n[1]\n{torn").expect("written");
        check("[\n{},\n[1]\n]\n");
        let refused = write_array(&path, &dir.path().join("missing/array"));
        assert!(matches!(refused, Err(StoreError::Io { doing: "write", .. })));
    }

    #[test]
    fn array_grows_as_its_lines_do() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, array) = (dir.path().join("lines"), dir.path().join("array"));
        let whole = dir.path().join("whole");
        let mut lines = LineLog::open(&path, |_| {}).expect("it can be opened");
        let mut file = ArrayFile::create(&path, &array).expect("it can be made");
        for added in ["{}\n", "[1]\n[2]\n", "3\n"] {
            lines.add(added.as_bytes()).expect("added");
            file.add(added.as_bytes()).expect("added");
            write_array(&path, &whole).expect("written");
            assert_eq!(fs::read_to_string(&array).expect("text"), fs::read_to_string(&whole).expect("text"));
        }
        let mut again = ArrayFile::create(&path, &array).expect("it can be made");
        again.add(b"4\n").expect("added");
        assert_eq!(fs::read_to_string(&array).expect("text"), "[\n{},\n[1],\n[2],\n3,\n4\n]\n");
    }

    #[test]
    fn what_cannot_be_opened_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let refused = LineLog::open(&dir.path().join("missing/lines"), |_| {});
        assert!(matches!(refused, Err(StoreError::Io { doing: "open", .. })));
    }
}
