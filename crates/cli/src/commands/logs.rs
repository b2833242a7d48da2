//! `longhaul logs`: what was said and done in a run. It reads the run's transcript line by line, and changes nothing.

use crate::args::{Global, LogsArgs, OutputFormat};
use crate::failure::Failure;
use crate::home;
use crate::output::{self, conversation::Conversation};
use longhaul_agent::message::Message;
use longhaul_store::read_lines;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

/// Carries out the command and returns its exit code.
pub fn logs(global: &Global, args: &LogsArgs) -> Result<u8, Failure> {
    let dir = home::find_run_to_read(&args.run)?;
    let path = dir.transcript_path();
    let format = if args.transcript_json { Some(OutputFormat::Json) } else { global.output_format };
    let mut out = BufWriter::new(io::stdout().lock());
    // For people, also where they page through it: programs say what they want.
    let shown = match format {
        None | Some(OutputFormat::Text) => text(&path, &mut out)?,
        Some(OutputFormat::Json) => array(&path, &mut out)?,
        Some(OutputFormat::StreamJson) => lines(&path, &mut out)?,
    };
    // Nobody reads a closed pipe.
    let _ = out.flush();
    if shown == 0 && !global.quiet {
        output::talk(&format!("nothing was said in run {} yet", dir.id()));
    }
    Ok(0)
}

/// Prints the messages as text, and returns how many there are.
fn text(path: &Path, out: &mut impl Write) -> Result<u64, Failure> {
    let mut conversation = Conversation::default();
    each(path, |_, line| match serde_json::from_slice::<Message>(line) {
        Ok(message) => out.write_all(conversation.told(&message).as_bytes()),
        // One of a newer version: the rest is told.
        Err(_) => Ok(()),
    })
}

/// Prints the messages as one array.
fn array(path: &Path, out: &mut impl Write) -> Result<u64, Failure> {
    let shown = each(path, |number, line| {
        out.write_all(if number == 0 { b"[\n" } else { b",\n" })?;
        out.write_all(line)
    })?;
    let _ = out.write_all(if shown == 0 { b"[]\n" } else { b"\n]\n" });
    Ok(shown)
}

/// Prints the messages as they are written down.
fn lines(path: &Path, out: &mut impl Write) -> Result<u64, Failure> {
    each(path, |_, line| {
        out.write_all(line)?;
        out.write_all(b"\n")
    })
}

/// Shows each line with its number, from 0, until nobody reads any more, and returns how many were shown.
fn each(path: &Path, mut show: impl FnMut(u64, &[u8]) -> io::Result<()>) -> Result<u64, Failure> {
    let mut shown = 0;
    let read = read_lines(path, |line| match show(shown, line) {
        Ok(()) => {
            shown += 1;
            ControlFlow::Continue(())
        }
        Err(_) => ControlFlow::Break(()),
    });
    read.map_err(|error| home::of_store(&error))?;
    Ok(shown)
}
