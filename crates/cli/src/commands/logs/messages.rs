//! Prints a run's transcript, as text with a line at the start and end of each attempt, or as the original
//! lines.

use super::attempt_banners::Attempts;
use super::filter::{LogFilter, moment};
use super::{LogReader, ReadError};
use crate::args::OutputFormat;
use crate::output::conversation::render;
use crate::output::out::harmless_json;
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_store::{RunDir, read_lines_from};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub struct MessageLog {
    path: PathBuf,
    read: u64,
    filter: LogFilter,
    /// Whether lines that are not messages are printed, too: only without a filter.
    accepts_any_line: bool,
    format: OutputFormat,
    has_printed: bool,
    attempt: u32,
    end_printed: bool,
}

impl MessageLog {
    pub fn new(dir: &RunDir, filter: LogFilter, format: OutputFormat) -> MessageLog {
        MessageLog {
            path: dir.transcript_path(),
            read: 0,
            accepts_any_line: filter.is_all(),
            filter,
            format,
            has_printed: false,
            attempt: 0,
            end_printed: false,
        }
    }

    fn print(&mut self, line: &[u8], attempts: &mut Attempts, out: &mut dyn Write) -> io::Result<()> {
        if self.format != OutputFormat::Text {
            if self.accepts_any_line || self.filter.selects_line(line) {
                let before = match (self.format, self.has_printed) {
                    (OutputFormat::Json, false) => "[\n",
                    (OutputFormat::Json, true) => ",\n",
                    (OutputFormat::Text | OutputFormat::StreamJson, _) => "",
                };
                self.has_printed = true;
                let after = if self.format == OutputFormat::Json { "" } else { "\n" };
                write!(out, "{before}{}{after}", harmless_json(&String::from_utf8_lossy(line)))?;
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
        attempts: &mut Attempts,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if self.attempt == message.attempt {
            return Ok(());
        }
        // The transcript is read after the journal, so it may contain an attempt that began in between. Without
        // a readable journal, the banners have less to say.
        if attempts.history.attempt(message.attempt).is_none() {
            let _ = attempts.update();
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
    fn print_new(&mut self, attempts: &mut Attempts, out: &mut dyn Write) -> Result<(), ReadError> {
        let (path, from) = (self.path.clone(), self.read);
        let mut print_result = Ok(());
        let result = read_lines_from(&path, from, |line| {
            print_result = self.print(line, attempts, out);
            if print_result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        self.read = result.map_err(ReadError::Failed)?;
        print_result?;
        match self.format {
            OutputFormat::Text => self.end(attempts, out)?,
            // An array cannot be followed, so this is its end.
            OutputFormat::Json => out.write_all(if self.has_printed { b"\n]\n" } else { b"[]\n" })?,
            OutputFormat::StreamJson => {}
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

#[cfg(test)]
mod tests;
