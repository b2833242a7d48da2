//! `longhaul logs`: what was said and done in a run. It reads the run's files line by line as they are or as they come,
//! and changes nothing.

mod attempt_banners;
mod filter;
mod follow;
mod messages;
mod raw;

use crate::args::{GlobalArgs, LogsArgs, OutputFormat};
use crate::failure::{Failure, USAGE};
use crate::open_home;
use crate::output;
use crate::output::out::{self, harmless_json};
use crate::output::pager;
use attempt_banners::Attempts;
use filter::LogFilter;
use longhaul_store::{RunDir, StoreError, read_lines};
use messages::Messages;
use raw::Raw;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

/// What is printed of a run. Each call goes on where the last one ended.
trait LogReader {
    /// Prints what is there and was not printed. What the journal says of an attempt that has ended is in `attempts`: all
    /// of it was said.
    fn read_on(&mut self, attempts: &Attempts, out: &mut dyn Write) -> Result<(), ReadError>;

    /// Whether anything was printed.
    fn has_shown(&self) -> bool;

    /// What grows besides the journal and the transcript.
    fn watched(&self) -> Option<&Path>;
}

/// Why nothing more is printed.
enum ReadError {
    /// Nobody reads any more.
    Unread,
    Failed(StoreError),
}

impl From<io::Error> for ReadError {
    /// Only the output fails so.
    fn from(_: io::Error) -> ReadError {
        ReadError::Unread
    }
}

/// Carries out the command and returns its exit code.
pub fn logs(global: &GlobalArgs, args: &LogsArgs) -> Result<u8, Failure> {
    let dir = open_home::find_run(&open_home::locate()?, &args.run)?;
    // For people, also where they page through it: programs say what they want.
    let format = if args.json_array { Some(OutputFormat::Json) } else { global.output_format };
    check(args, format)?;
    let wanted = LogFilter { attempt: args.attempt, since: args.since };
    let mut attempts = Attempts::new(&dir);
    let read = attempts.read_on();
    if let Some(number) = wanted.attempt {
        read.map_err(|error| open_home::of_store(&error))?;
        attempts.check(number)?;
    } else if args.follow || args.raw {
        read.map_err(|error| open_home::of_store(&error))?;
    }
    let mut reading: Box<dyn LogReader> = match format {
        _ if args.raw => Box::new(Raw::new(&dir, wanted, args.follow)),
        None | Some(OutputFormat::Text) => Box::new(Messages::as_text(&dir, wanted)),
        Some(OutputFormat::StreamJson) => Box::new(Messages::as_lines(&dir, wanted)),
        Some(OutputFormat::Json) => return array(&dir, wanted),
    };
    // What comes as it is said is watched, and what programs read is read by programs.
    let is_paged = !args.follow && !args.raw && matches!(format, None | Some(OutputFormat::Text));
    let to: Box<dyn Write> = match is_paged {
        true => pager::open(global),
        false if args.raw => out::printer_of_bytes(),
        false => Box::new(out::printer()),
    };
    let mut out = BufWriter::new(to);
    let stopped = if args.follow {
        follow::follow(&dir, &mut attempts, (&mut *reading, wanted), &mut out, global.quiet)?
    } else {
        reading.read_on(&attempts, &mut out)
    };
    match stopped {
        Ok(()) => {}
        Err(ReadError::Unread) => return Ok(0),
        Err(ReadError::Failed(error)) => return Err(open_home::of_store(&error)),
    }
    // An error is kept for the end of the command.
    let _ = out.flush();
    if !reading.has_shown() && !global.quiet {
        let of_that = if wanted.is_all() { "" } else { " of what was asked for" };
        output::print_status(&format!("nothing{of_that} was said in run {} yet", dir.id()));
    }
    Ok(0)
}

/// Refuses what makes no sense together.
fn check(args: &LogsArgs, format: Option<OutputFormat>) -> Result<(), Failure> {
    let usage = |error: &str, hint: &str| Err(Failure { exit_code: USAGE, ..Failure::usage(error, hint) });
    match format {
        Some(OutputFormat::Json) if args.follow => usage(
            "print one JSON object while it still grows",
            "`--output-format stream-json` prints an object a line as they come",
        ),
        Some(OutputFormat::Json | OutputFormat::StreamJson) if args.raw => usage(
            "print the agent's own stream in another format",
            "leave out --raw, or else --output-format: the stream is printed as the agent wrote it",
        ),
        None | Some(OutputFormat::Text | OutputFormat::Json | OutputFormat::StreamJson) => Ok(()),
    }
}

/// Prints the messages as one array.
fn array(dir: &RunDir, wanted: LogFilter) -> Result<u8, Failure> {
    let mut out = BufWriter::new(out::printer());
    let (mut wanted, mut shown) = (wanted.filter(), 0_u64);
    let read = read_lines(&dir.transcript_path(), |line| {
        if !wanted.takes_line(line) {
            return ControlFlow::Continue(());
        }
        let begin: &[u8] = if shown == 0 { b"[\n" } else { b",\n" };
        shown += 1;
        let line = String::from_utf8_lossy(line);
        match out.write_all(begin).and_then(|()| out.write_all(harmless_json(&line).as_bytes())) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    read.map_err(|error| open_home::of_store(&error))?;
    let _ = out.write_all(if shown == 0 { b"[]\n" } else { b"\n]\n" }).and_then(|()| out.flush());
    Ok(0)
}
