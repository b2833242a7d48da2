//! Prints a run's transcript, as text with a line at the start and end of each attempt, or as the original
//! lines.

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

pub struct MessageLog {
    path: PathBuf,
    /// Number of bytes read.
    read: u64,
    filter: LogFilterState,
    as_text: bool,
    has_printed: bool,
    /// Attempt of the last printed message. 0 before the first.
    attempt: u32,
    end_printed: bool,
}

impl MessageLog {
    pub fn as_text(dir: &RunDir, filter: LogFilter) -> MessageLog {
        let (path, filter) = (dir.transcript_path(), filter.filter());
        MessageLog {
            path,
            read: 0,
            filter,
            as_text: true,
            has_printed: false,
            attempt: 0,
            end_printed: false,
        }
    }

    pub fn as_lines(dir: &RunDir, filter: LogFilter) -> MessageLog {
        MessageLog { as_text: false, ..MessageLog::as_text(dir, filter) }
    }

    fn print(&mut self, line: &[u8], attempts: &Attempts, out: &mut dyn Write) -> io::Result<()> {
        if !self.as_text {
            if self.filter.selects_line(line) {
                self.has_printed = true;
                out.write_all(harmless_json(&String::from_utf8_lossy(line)).as_bytes())?;
                out.write_all(b"\n")?;
            }
            return Ok(());
        }
        // Lines of a newer version may be unreadable. The rest is printed.
        let Ok(message) = serde_json::from_slice::<TranscriptMessage>(line) else { return Ok(()) };
        if !self.filter.selects(message.attempt, message.timestamp.as_deref()) {
            return Ok(());
        }
        self.start_attempt(&message, attempts, out)?;
        out.write_all(render(&message).as_bytes())
    }

    /// Prints the banners between the last message and this one, if this one belongs to another attempt.
    fn start_attempt(
        &mut self,
        message: &TranscriptMessage,
        attempts: &Attempts,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if self.attempt == message.attempt {
            return Ok(());
        }
        self.end(attempts, out)?;
        // Attempts without messages.
        let before = if self.has_printed { self.attempt + 1 } else { message.attempt };
        for number in before..message.attempt {
            if let Some(ending) = attempts.ending(number) {
                write!(out, "\n{}{ending}", attempts.banner(number, None))?;
            }
        }
        let between = if self.has_printed { "\n" } else { "" };
        let since = message.timestamp.as_deref().and_then(moment);
        write!(out, "{between}{}", attempts.banner(message.attempt, since))?;
        (self.attempt, self.end_printed, self.has_printed) = (message.attempt, false, true);
        Ok(())
    }

    fn end(&mut self, attempts: &Attempts, out: &mut dyn Write) -> io::Result<()> {
        if let Some(ending) = attempts.ending(self.attempt).filter(|_| self.has_printed && !self.end_printed)
        {
            self.end_printed = true;
            out.write_all(ending.as_bytes())?;
        }
        Ok(())
    }
}

impl LogReader for MessageLog {
    fn print_new(&mut self, attempts: &Attempts, out: &mut dyn Write) -> Result<(), ReadError> {
        let (path, from) = (self.path.clone(), self.read);
        let mut print_result = Ok(());
        let result = read_lines_from(&path, from, |line| {
            print_result = self.print(line, attempts, out);
            if print_result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        self.read = result.map_err(ReadError::Failed)?;
        print_result?;
        if self.as_text {
            self.end(attempts, out)?;
        }
        Ok(())
    }

    fn has_printed(&self) -> bool {
        self.has_printed
    }

    fn watched(&self) -> Option<&Path> {
        None
    }
}
