//! `longhaul logs`: prints the conversation of a run.
//!
//! Reads the run's files line by line, as they are or as they grow, and changes nothing.

mod attempt_banners;
mod filter;
mod follow;
mod messages;
mod raw;

use crate::args::{GlobalArgs, LogsArgs, OutputFormat};
use crate::failure::Failure;
use crate::output;
use crate::output::out;
use crate::output::pager;
use crate::{open_home, runtime};
use attempt_banners::Attempts;
use filter::LogFilter;
use longhaul_store::StoreError;
use messages::MessageLog;
use raw::Raw;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A printer for one of a run's files. Each call continues where the last one ended.
trait LogReader {
    /// Prints the content that was not printed yet. If `attempts` contains the end of an attempt, all of its
    /// output has been written.
    fn print_new(&mut self, attempts: &mut Attempts, out: &mut dyn Write) -> Result<(), ReadError>;

    fn has_printed(&self) -> bool;

    /// Returns a file to watch in addition to the journal and the transcript.
    fn watched(&self) -> Option<&Path>;
}

enum ReadError {
    OutputClosed,
    Failed(StoreError),
}

impl From<io::Error> for ReadError {
    /// Only the output returns plain I/O errors.
    fn from(_: io::Error) -> ReadError {
        ReadError::OutputClosed
    }
}

pub fn logs(global: &GlobalArgs, args: &LogsArgs) -> Result<u8, Failure> {
    let dir = open_home::find_run(&open_home::locate()?, &args.run)?;
    // Text is the default even for a pager. Programs select a format.
    let format = if args.json_array { Some(OutputFormat::Json) } else { global.output_format };
    check(args, format)?;
    let filter = LogFilter { attempt: args.attempt, since: args.since };
    let mut attempts = Attempts::new(&dir);
    let result = attempts.update();
    if let Some(number) = filter.attempt {
        result?;
        attempts.check(number)?;
    } else if args.follow || args.raw {
        result?;
    }
    let format = format.unwrap_or(OutputFormat::Text);
    let mut reader: Box<dyn LogReader> = if args.raw {
        Box::new(Raw::new(&dir, filter, args.follow))
    } else {
        Box::new(MessageLog::new(&dir, filter, format))
    };
    // Live output and output for programs are not paged.
    let is_paged = !args.follow && !args.raw && format == OutputFormat::Text;
    let target: Box<dyn Write> = match is_paged {
        true => pager::open(global),
        false if args.raw => out::printer_of_bytes(),
        false => Box::new(out::printer()),
    };
    let mut out = BufWriter::new(target);
    let result = if args.follow {
        let follow = follow::follow(&dir, &mut attempts, &mut *reader, filter, &mut out);
        runtime::new()?.block_on(follow)
    } else {
        reader.print_new(&mut attempts, &mut out)
    };
    match result {
        Ok(()) => {}
        Err(ReadError::OutputClosed) => return Ok(0),
        Err(ReadError::Failed(error)) => return Err(error.into()),
    }
    // The printer keeps a write error until the end of the command.
    let _ = out.flush();
    if !reader.has_printed() && format != OutputFormat::Json {
        let qualifier = if filter.is_all() { "" } else { " that match" };
        output::print_status(&format!("run {} has no messages{qualifier} yet", dir.id()));
    }
    Ok(0)
}

fn check(args: &LogsArgs, format: Option<OutputFormat>) -> Result<(), Failure> {
    let usage = |error: &str, hint: &str| Err(Failure::usage(error, hint));
    match format {
        Some(OutputFormat::Json) if args.follow => usage(
            "cannot print one JSON object with --follow",
            "`--output-format stream-json` prints one object per line",
        ),
        Some(OutputFormat::Json | OutputFormat::StreamJson) if args.raw => usage(
            "cannot print the agent's own stream in another format",
            "leave out --raw or --output-format: --raw prints the stream as the agent wrote it",
        ),
        None | Some(OutputFormat::Text | OutputFormat::Json | OutputFormat::StreamJson) => Ok(()),
    }
}
