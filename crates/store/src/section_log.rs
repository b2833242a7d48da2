//! A derived log that has what each attempt said, one after the other, between lines that name the attempt. A section
//! that its writer did not live to finish is written again as a whole.

use crate::files::private;
use crate::{RunDir, StoreError, failpoint_io, open_regular};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// Adds what an attempt said to a log, unless it is there: those lines of `said` that are to be kept. A missing file says
/// nothing.
///
/// # Errors
/// [`StoreError::Io`]; part of the section may then be there, and is cut off by the next writer.
pub fn add_section(
    dir: &RunDir,
    log: &Path,
    (attempt, said): (u32, &Path),
    keep: impl FnMut(&[u8]) -> bool,
) -> Result<(), StoreError> {
    let add = || -> io::Result<()> {
        let file = failpoint_io::open(private().read(true).append(true).create(true), log)?;
        let (whole, last) = ended_sections(&file)?;
        if file.metadata()?.len() > whole {
            file.set_len(whole)?;
        }
        if attempt <= last {
            return Ok(());
        }
        let mut out = BufWriter::new(&file);
        writeln!(out, "=== attempt {attempt} of run {} ===", dir.id())?;
        match open_regular(said) {
            Ok(said) => copy(&said, &mut out, keep)?,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(cause),
        }
        writeln!(out, "{END}{attempt} ===")?;
        out.flush()
    };
    add().map_err(StoreError::io("write", log))
}

/// How the line behind a section begins.
const END: &str = "=== end of attempt ";

/// How many bytes the finished sections are, and which attempt the last of them is of.
fn ended_sections(file: &File) -> io::Result<(u64, u32)> {
    let mut reader = BufReader::new(file);
    let (mut line, mut read, mut ended) = (Vec::new(), 0, (0, 0));
    while reader.read_until(b'\n', &mut line)? > 0 {
        read += line.len() as u64;
        let number = line.strip_prefix(END.as_bytes()).and_then(|rest| rest.strip_suffix(b" ===\n"));
        let number = number.and_then(|number| str::from_utf8(number).ok()?.parse().ok());
        // Sections are in the order of their attempts; whatever else looks like an end is what somebody said.
        if let Some(number) = number.filter(|number| *number > ended.1) {
            ended = (read, number);
        }
        line.clear();
    }
    Ok(ended)
}

/// Copies the lines to keep, and ends the last one.
fn copy(said: &File, out: &mut impl Write, mut keep: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let (mut reader, mut line) = (BufReader::new(said), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if keep(text) {
            out.write_all(text)?;
            out.write_all(b"\n")?;
        }
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::add_section;
    use crate::RunDir;
    use expect_test::expect;
    use std::fs;

    #[test]
    fn each_attempt_is_there_once_and_whole() {
        let home = tempfile::tempdir().expect("a directory");
        let dir = RunDir::at(home.path().join("kmzxqp")).expect("an absolute path");
        let (log, said) = (home.path().join("log"), home.path().join("said"));
        let add = |attempt: u32, text: &str| {
            fs::write(&said, text).expect("written");
            add_section(&dir, &log, (attempt, &said), |line| line != b"no").expect("added");
        };
        add(1, "one\nno\ntorn");
        add(1, "one\n");
        let whole = fs::read(&log).expect("a log");
        add(2, "two\n");
        // A writer that was killed in the middle of its section.
        let torn = fs::read(&log).expect("a log");
        fs::write(&log, &torn[..whole.len() + 20]).expect("written");
        add(1, "one\n");
        add(2, "=== end of attempt 1 ===\n");
        fs::remove_file(&said).expect("it is there");
        add_section(&dir, &log, (3, &said), |_| true).expect("a missing file is silent");
        expect![[r#"
            === attempt 1 of run kmzxqp ===
            one
            torn
            === end of attempt 1 ===
            === attempt 2 of run kmzxqp ===
            === end of attempt 1 ===
            === end of attempt 2 ===
            === attempt 3 of run kmzxqp ===
            === end of attempt 3 ===
        "#]]
        .assert_eq(&fs::read_to_string(&log).expect("a log"));
    }
}
