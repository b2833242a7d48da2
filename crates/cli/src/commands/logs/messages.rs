//! The conversation, by the run's transcript: as text for people, with a line where an attempt begins and ends, or as the
//! lines that are written down.

use super::attempt_banners::Attempts;
use super::filter::{LogFilter, LogFilterState, moment};
use super::{LogReader, ReadError};
use crate::output::conversation::render;
use crate::output::out::harmless_json;
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_store::{RunDir, read_lines_from};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub struct Messages {
    path: PathBuf,
    /// How far the transcript was read.
    read: u64,
    filter: LogFilterState,
    as_text: bool,
    has_shown: bool,
    /// The attempt of the last message that was shown; 0 before the first.
    attempt: u32,
    /// Whether its end was shown.
    ended: bool,
}

impl Messages {
    pub fn as_text(dir: &RunDir, wanted: LogFilter) -> Messages {
        let (path, filter) = (dir.transcript_path(), wanted.filter());
        Messages { path, read: 0, filter, as_text: true, has_shown: false, attempt: 0, ended: false }
    }

    pub fn as_lines(dir: &RunDir, wanted: LogFilter) -> Messages {
        Messages { as_text: false, ..Messages::as_text(dir, wanted) }
    }

    fn show(&mut self, line: &[u8], attempts: &Attempts, out: &mut dyn Write) -> io::Result<()> {
        if !self.as_text {
            if self.filter.takes_line(line) {
                self.has_shown = true;
                out.write_all(harmless_json(&String::from_utf8_lossy(line)).as_bytes())?;
                out.write_all(b"\n")?;
            }
            return Ok(());
        }
        // One of a newer version: the rest is told.
        let Ok(message) = serde_json::from_slice::<TranscriptMessage>(line) else { return Ok(()) };
        if !self.filter.takes(message.attempt, message.timestamp.as_deref()) {
            return Ok(());
        }
        self.reach(&message, attempts, out)?;
        out.write_all(render(&message).as_bytes())
    }

    /// Shows what lies between the last message and this one, if that is another attempt's.
    fn reach(
        &mut self,
        message: &TranscriptMessage,
        attempts: &Attempts,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if self.attempt == message.attempt {
            return Ok(());
        }
        self.end(attempts, out)?;
        // Attempts in which nothing was said.
        let before = if self.has_shown { self.attempt + 1 } else { message.attempt };
        for number in before..message.attempt {
            if let Some(ending) = attempts.ending(number) {
                write!(out, "\n{}{ending}", attempts.banner(number, None))?;
            }
        }
        let between = if self.has_shown { "\n" } else { "" };
        let since = message.timestamp.as_deref().and_then(moment);
        write!(out, "{between}{}", attempts.banner(message.attempt, since))?;
        (self.attempt, self.ended, self.has_shown) = (message.attempt, false, true);
        Ok(())
    }

    /// Shows how the attempt ended, once it has.
    fn end(&mut self, attempts: &Attempts, out: &mut dyn Write) -> io::Result<()> {
        if let Some(ending) = attempts.ending(self.attempt).filter(|_| self.has_shown && !self.ended) {
            self.ended = true;
            out.write_all(ending.as_bytes())?;
        }
        Ok(())
    }
}

impl LogReader for Messages {
    fn read_on(&mut self, attempts: &Attempts, out: &mut dyn Write) -> Result<(), ReadError> {
        let (path, from) = (self.path.clone(), self.read);
        let mut written = Ok(());
        let read = read_lines_from(&path, from, |line| {
            written = self.show(line, attempts, out);
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        self.read = read.map_err(ReadError::Failed)?;
        written?;
        if self.as_text {
            self.end(attempts, out)?;
        }
        Ok(())
    }

    fn has_shown(&self) -> bool {
        self.has_shown
    }

    fn watched(&self) -> Option<&Path> {
        None
    }
}
