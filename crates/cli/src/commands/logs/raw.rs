//! Prints the agent's raw output, attempt by attempt, unchanged.

use super::attempt_banners::Attempts;
use super::filter::{LogFilter, moment};
use super::{LogReader, ReadError};
use longhaul_agent::{Dialect, dialect_named};
use longhaul_core::Moment;
use longhaul_store::{RunDir, StoreError, open_regular};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

// Large enough to make the cost of system calls negligible. No more of a stream is kept in memory.
const CHUNK_BYTES: usize = 64 << 10;
// A longer line is data; its time is not parsed.
const TIMED_LINE_BYTES_MAX: u64 = 1 << 20;

pub struct Raw {
    dir: RunDir,
    /// `None` for an unknown agent, whose events have no known times.
    dialect: Option<Box<dyn Dialect>>,
    filter: LogFilter,
    /// Whether an attempt's stream may still grow.
    follows: bool,
    stream: Option<Stream>,
    /// All attempts up to this one were printed or are not selected.
    done: u32,
    has_printed: bool,
}

/// A stream that is being printed. Its file stays open, because it may be replaced by a smaller one when the
/// run finishes.
struct Stream {
    attempt: u32,
    path: PathBuf,
    file: File,
    /// Offset up to which the stream was printed or skipped.
    offset: u64,
    /// Start of the selection. `None` once it was reached.
    since: Option<Moment>,
    /// Whether the printed part ends within a line.
    in_line: bool,
}

impl Raw {
    pub fn new(dir: &RunDir, filter: LogFilter, follows: bool) -> Raw {
        let dialect = dir.plan().ok().and_then(|plan| dialect_named(&plan.spec.agent.name));
        Raw { dir: dir.clone(), dialect, filter, follows, stream: None, done: 0, has_printed: false }
    }

    fn open(&mut self, attempts: &Attempts) -> Result<Option<Stream>, ReadError> {
        let done = self.done;
        for attempt in attempts.history.attempts().iter().filter(|attempt| attempt.number > done) {
            let is_other = self.filter.attempt.is_some_and(|selected| selected != attempt.number);
            let since = self.filter.since;
            let is_before = attempt.ended_at.zip(since).is_some_and(|(ended_at, since)| ended_at < since);
            let path = self.dir.attempt(attempt.number).stream_path();
            if !is_other && !is_before {
                match open_regular(&path) {
                    Ok(file) => {
                        let since = since.filter(|since| attempt.agent_started_at() < *since);
                        let attempt = attempt.number;
                        return Ok(Some(Stream { attempt, path, file, offset: 0, since, in_line: false }));
                    }
                    Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                        return Err(ReadError::Failed(StoreError::Io { action: "read", path, cause }));
                    }
                    // The agent has not started yet.
                    Err(_) if self.follows && attempt.end.is_none() => return Ok(None),
                    Err(_) => {}
                }
            }
            self.done = attempt.number;
        }
        Ok(None)
    }
}

impl LogReader for Raw {
    fn print_new(&mut self, attempts: &mut Attempts, out: &mut dyn Write) -> Result<(), ReadError> {
        loop {
            let stream = match self.stream.take() {
                None => self.open(attempts)?,
                stream => stream,
            };
            let Some(mut stream) = stream else { return Ok(()) };
            let number = stream.attempt;
            self.has_printed |= stream.print(self.dialect.as_deref(), out)?;
            if self.follows && !attempts.has_ended(number) {
                self.stream = Some(stream);
                return Ok(());
            }
            // A kill truncated the last line. The next output is not a part of it.
            if stream.in_line {
                out.write_all(b"\n")?;
            }
            self.done = number;
        }
    }

    fn has_printed(&self) -> bool {
        self.has_printed
    }

    fn watched(&self) -> Option<&Path> {
        self.stream.as_ref().map(|stream| stream.path.as_path())
    }
}

impl Stream {
    fn print(&mut self, dialect: Option<&dyn Dialect>, out: &mut dyn Write) -> Result<bool, ReadError> {
        let failed = |path: &Path, cause| {
            ReadError::Failed(StoreError::Io { action: "read", path: path.to_owned(), cause })
        };
        self.skip_early_events(dialect).map_err(|cause| failed(&self.path, cause))?;
        if self.since.is_some() {
            return Ok(false);
        }
        self.file.seek(SeekFrom::Start(self.offset)).map_err(|cause| failed(&self.path, cause))?;
        let (mut reader, start) = (BufReader::with_capacity(CHUNK_BYTES, &self.file), self.offset);
        loop {
            let bytes = reader.fill_buf().map_err(|cause| failed(&self.path, cause))?;
            if bytes.is_empty() {
                return Ok(self.offset > start);
            }
            out.write_all(bytes)?;
            self.in_line = !bytes.ends_with(b"\n");
            let length = bytes.len();
            reader.consume(length);
            self.offset += length as u64;
        }
    }

    fn skip_early_events(&mut self, dialect: Option<&dyn Dialect>) -> io::Result<()> {
        let Some(since) = self.since else { return Ok(()) };
        self.file.seek(SeekFrom::Start(self.offset))?;
        let (mut reader, mut line) = (BufReader::with_capacity(CHUNK_BYTES, &self.file), Vec::new());
        loop {
            line.clear();
            let mut length = (&mut reader).take(TIMED_LINE_BYTES_MAX).read_until(b'\n', &mut line)? as u64;
            if !line.ends_with(b"\n") {
                length += reader.skip_until(b'\n')? as u64;
                // The line is not complete yet.
                if length < TIMED_LINE_BYTES_MAX {
                    return Ok(());
                }
            }
            let at = dialect.and_then(|dialect| moment(&dialect.timestamp(&line)?));
            if at.is_some_and(|at| at >= since) {
                self.since = None;
                return Ok(());
            }
            self.offset += length;
        }
    }
}
