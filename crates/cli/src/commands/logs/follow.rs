//! Printing what is said in a run as it goes on: by file events, across attempts and supervisors, until the run is over
//! and all its files say so.

use super::attempt_banners::Attempts;
use super::filter::LogFilter;
use super::{LogReader, ReadError};
use crate::failure::Failure;
use crate::output::out;
use crate::{output, runtime};
use longhaul::RunWatch;
use longhaul_store::{Journal, RunDir, StoreError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;

/// Prints what is there and what comes.
pub fn follow(
    dir: &RunDir,
    attempts: &mut Attempts,
    (reading, wanted): (&mut dyn LogReader, LogFilter),
    out: &mut impl Write,
    quiet: bool,
) -> Result<Result<(), ReadError>, Failure> {
    let runtime = runtime::new()?;
    Ok(runtime.block_on(print(dir, attempts, (reading, wanted), out, quiet)))
}

async fn print(
    dir: &RunDir,
    attempts: &mut Attempts,
    (reading, wanted): (&mut dyn LogReader, LogFilter),
    out: &mut impl Write,
    quiet: bool,
) -> Result<(), ReadError> {
    let mut watching = RunWatch::new(dir);
    let mut has_said_so = false;
    loop {
        // In this order: what its supervisor wrote last is read after it is seen to be gone, and what was said in an
        // attempt after its end.
        let is_held = Journal::is_locked(&dir.journal_path()).map_err(ReadError::Failed)?;
        read_on(attempts, reading, out)?;
        let is_over = attempts.run().state().outcome().is_some();
        if is_over && dir.status().is_ok_and(|status| status.returncode.is_some()) {
            // Its files are in order now; they may not have been when they were read.
            return read_on(attempts, reading, out);
        }
        if wanted.attempt.is_some_and(|number| attempts.has_ended(number)) {
            return Ok(());
        }
        if is_held {
            has_said_so = false;
        } else if !has_said_so && !quiet {
            has_said_so = true;
            output::print_status(&unsupervised(dir));
        }
        if !is_read() {
            return Err(ReadError::Unread);
        }
        watching.file(&dir.transcript_path());
        if let Some(path) = reading.watched() {
            watching.file(path);
        }
        watching.changed().await.map_err(|cause| {
            ReadError::Failed(StoreError::Io { doing: "watch", path: dir.path().to_owned(), cause })
        })?;
    }
}

/// Prints what came since the last time.
fn read_on(
    attempts: &mut Attempts,
    reading: &mut dyn LogReader,
    out: &mut impl Write,
) -> Result<(), ReadError> {
    attempts.read_on().map_err(ReadError::Failed)?;
    reading.read_on(attempts, out)?;
    Ok(out.flush()?)
}

fn unsupervised(dir: &RunDir) -> String {
    let id = dir.id();
    format!(
        "nobody supervises run {id}; waiting until somebody does: `longhaul recover {id}` goes on with it"
    )
}

/// Whether somebody still reads what is printed: a pipe that was closed says so before anything is written to it.
fn is_read() -> bool {
    let stdout = out::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    !matches!(poll(&mut asked, Some(&now)), Ok(1..)) || !asked[0].revents().contains(PollFlags::ERR)
}
