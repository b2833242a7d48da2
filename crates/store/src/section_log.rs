//! Writes a derived log with one section per attempt, between lines that name the attempt. If a writer died
//! before the end of a section, the next writer writes the section again.

use crate::compact_stream::copy_without;
use crate::files::{if_exists, private};
use crate::{RunDir, StoreError, failpoint_io, open_regular};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Appends a section with the output of an attempt, unless the log already has it. The section contains the
/// source file without these ranges of its bytes, which are whole lines in order. A missing file counts as empty.
///
/// After a failed write, the next writer cuts off the partial section.
pub fn add_section(
    dir: &RunDir,
    log: &Path,
    attempt: u32,
    source: &Path,
    dropped: &[Range<u64>],
) -> Result<(), StoreError> {
    let add = || -> io::Result<()> {
        let file = failpoint_io::open(private().read(true).append(true).create(true), log)?;
        let (whole_bytes, last_attempt) = complete_sections(&file)?;
        if file.metadata()?.len() > whole_bytes {
            file.set_len(whole_bytes)?;
        }
        if attempt <= last_attempt {
            return Ok(());
        }
        let mut out = BufWriter::new(&file);
        writeln!(out, "=== attempt {attempt} of run {} ===", dir.id())?;
        if let Some(source) = if_exists(open_regular(source))? {
            copy_without(&source, dropped, &mut out)?;
            let mut last = *b"\n";
            source.read_at(&mut last, source.metadata()?.len().saturating_sub(1))?;
            if last != *b"\n" {
                out.write_all(b"\n")?;
            }
        }
        writeln!(out, "{END}{attempt} ===")?;
        out.flush()
    };
    add().map_err(StoreError::io("write", log))
}

/// Start of the line after a section.
const END: &str = "=== end of attempt ";

/// Returns the length of the complete sections, and the attempt of the last one.
fn complete_sections(file: &File) -> io::Result<(u64, u32)> {
    let mut reader = BufReader::new(file);
    let (mut line, mut read, mut last) = (Vec::new(), 0, (0, 0));
    while reader.read_until(b'\n', &mut line)? > 0 {
        read += line.len() as u64;
        let number = line.strip_prefix(END.as_bytes()).and_then(|rest| rest.strip_suffix(b" ===\n"));
        let number = number.and_then(|number| str::from_utf8(number).ok()?.parse().ok());
        // Sections are in the order of their attempts. Any other line of this form is output of an agent.
        if let Some(number) = number.filter(|number| *number > last.1) {
            last = (read, number);
        }
        line.clear();
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::add_section;
    use crate::RunDir;
    use expect_test::expect;
    use std::fs;

    #[test]
    fn writes_each_section_once_and_completely() {
        let home = tempfile::tempdir().expect("a directory");
        let dir = RunDir::from_path(home.path().join("kmzxqp")).expect("an absolute path");
        let (log, source) = (home.path().join("log"), home.path().join("output"));
        let add = |attempt: u32, text: &str| {
            fs::write(&source, text).expect("written");
            let dropped = text.find("no\n").map(|start| start as u64..start as u64 + 3);
            add_section(&dir, &log, attempt, &source, dropped.as_slice()).expect("added");
        };
        add(1, "one\nno\ntorn");
        add(1, "one\n");
        let whole = fs::read(&log).expect("a log");
        add(2, "two\n");
        // A writer was killed in the middle of its section.
        let torn = fs::read(&log).expect("a log");
        fs::write(&log, &torn[..whole.len() + 20]).expect("written");
        add(1, "one\n");
        add(2, "=== end of attempt 1 ===\n");
        fs::remove_file(&source).expect("it is there");
        add_section(&dir, &log, 3, &source, &[]).expect("a missing file counts as empty");
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
