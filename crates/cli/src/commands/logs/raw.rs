//! The agent's own output, attempt after attempt, byte by byte as it came.

use super::attempt_banners::Attempts;
use super::filter::{LogFilter, moment};
use super::{LogReader, ReadError};
use longhaul_core::Moment;
use longhaul_store::{RunDir, StoreError, open_regular};
use serde::Deserialize;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

// Large enough that system calls do not count, and all that is held of a stream.
const CHUNK_BYTES: usize = 64 << 10;
// A longer line is data, and its time is not looked for.
const TIMED_LINE_BYTES_MAX: u64 = 1 << 20;

pub struct Raw {
    dir: RunDir,
    filter: LogFilter,
    /// Whether an attempt's stream may still grow.
    follows: bool,
    stream: Option<Stream>,
    /// All attempts up to this one were printed, or are not wanted.
    done: u32,
    has_shown: bool,
}

/// A stream that is being printed. Its file stays open: it may be replaced by a smaller one when the run is over.
struct Stream {
    attempt: u32,
    path: PathBuf,
    file: File,
    /// How far it was printed, or passed over.
    at: u64,
    /// From when on it is wanted, as long as that was not reached.
    since: Option<Moment>,
    /// Whether what was printed ends within a line.
    in_line: bool,
}

impl Raw {
    pub fn new(dir: &RunDir, wanted: LogFilter, follows: bool) -> Raw {
        Raw { dir: dir.clone(), filter: wanted, follows, stream: None, done: 0, has_shown: false }
    }

    /// Opens the stream of the next attempt that is wanted, if it is there.
    fn open(&mut self, attempts: &Attempts) -> Result<Option<Stream>, ReadError> {
        let done = self.done;
        for attempt in attempts.all().iter().filter(|attempt| attempt.number > done) {
            let is_other = self.filter.attempt.is_some_and(|wanted| wanted != attempt.number);
            let since = self.filter.since;
            let is_before = attempt.end.as_ref().zip(since).is_some_and(|(ended, since)| ended.at < since);
            let path = self.dir.attempt(attempt.number).stream_path();
            if !is_other && !is_before {
                match open_regular(&path) {
                    Ok(file) => {
                        let since = since.filter(|since| attempt.began() < *since);
                        let number = attempt.number;
                        return Ok(Some(Stream {
                            attempt: number,
                            path,
                            file,
                            at: 0,
                            since,
                            in_line: false,
                        }));
                    }
                    Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                        return Err(ReadError::Failed(StoreError::Io { doing: "read", path, cause }));
                    }
                    // Its agent was not started yet.
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
    fn read_on(&mut self, attempts: &Attempts, out: &mut dyn Write) -> Result<(), ReadError> {
        loop {
            let mut stream = match self.stream.take() {
                Some(stream) => stream,
                None => match self.open(attempts)? {
                    Some(stream) => stream,
                    None => return Ok(()),
                },
            };
            let number = stream.attempt;
            self.has_shown |= stream.print(out)?;
            if self.follows && !attempts.has_ended(number) {
                self.stream = Some(stream);
                return Ok(());
            }
            // Torn by a kill: what follows is no part of it.
            if stream.in_line {
                out.write_all(b"\n")?;
            }
            self.done = number;
        }
    }

    fn has_shown(&self) -> bool {
        self.has_shown
    }

    fn watched(&self) -> Option<&Path> {
        self.stream.as_ref().map(|stream| stream.path.as_path())
    }
}

/// What says when an event of a stream came, if it says so.
#[derive(Deserialize)]
struct LineHeader<'a> {
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
}

impl Stream {
    /// Prints what is there, and returns whether there was anything.
    fn print(&mut self, out: &mut dyn Write) -> Result<bool, ReadError> {
        let failed = |path: &Path, cause| {
            ReadError::Failed(StoreError::Io { doing: "read", path: path.to_owned(), cause })
        };
        self.pass_over().map_err(|cause| failed(&self.path, cause))?;
        if self.since.is_some() {
            return Ok(false);
        }
        self.file.seek(SeekFrom::Start(self.at)).map_err(|cause| failed(&self.path, cause))?;
        let (mut chunk, mut has_shown) = (vec![0; CHUNK_BYTES], false);
        loop {
            let length = match self.file.read(&mut chunk) {
                Ok(0) => return Ok(has_shown),
                Ok(length) => length,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(failed(&self.path, cause)),
            };
            let bytes = &chunk[..length];
            out.write_all(bytes)?;
            self.at += length as u64;
            self.in_line = !bytes.ends_with(b"\n");
            has_shown = true;
        }
    }

    /// Passes over what came before the moment from which on it is wanted.
    fn pass_over(&mut self) -> io::Result<()> {
        let Some(since) = self.since else { return Ok(()) };
        self.file.seek(SeekFrom::Start(self.at))?;
        let (mut reader, mut line) = (BufReader::with_capacity(CHUNK_BYTES, &self.file), Vec::new());
        loop {
            line.clear();
            let mut length = (&mut reader).take(TIMED_LINE_BYTES_MAX).read_until(b'\n', &mut line)? as u64;
            if !line.ends_with(b"\n") {
                length += reader.skip_until(b'\n')? as u64;
                // Its end has not come yet, or it has none.
                if length < TIMED_LINE_BYTES_MAX {
                    return Ok(());
                }
            }
            let sign: Option<LineHeader<'_>> = serde_json::from_slice(&line).ok();
            let at = sign.and_then(|sign| moment(sign.timestamp?.as_ref()));
            if at.is_some_and(|at| at >= since) {
                self.since = None;
                return Ok(());
            }
            self.at += length;
        }
    }
}
