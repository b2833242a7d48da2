//! Prints a run's output as it grows, across attempts and supervisors, until the run is finished and its
//! files are complete. It waits for file events.

use super::attempt_banners::Attempts;
use super::filter::LogFilter;
use super::{LogReader, ReadError};
use crate::output;
use crate::output::out;
use longhaul::RunWatch;
use longhaul_store::{Journal, RunDir, StoreError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;

pub async fn follow(
    dir: &RunDir,
    attempts: &mut Attempts,
    reader: &mut dyn LogReader,
    filter: LogFilter,
    out: &mut impl Write,
) -> Result<(), ReadError> {
    let mut watch = RunWatch::new(dir);
    let mut has_printed_status = false;
    loop {
        // The order matters: output is read after the lock is checked, so that the last output of a dead
        // supervisor is seen.
        let is_locked = Journal::is_locked(&dir.journal_path()).map_err(ReadError::Failed)?;
        print_new(attempts, reader, out)?;
        let is_finished = attempts.history.state().outcome().is_some();
        if is_finished && dir.is_outcome_published() {
            // The files are complete now. They may not have been when they were read above.
            return print_new(attempts, reader, out);
        }
        if filter.attempt.is_some_and(|number| attempts.has_ended(number)) {
            return Ok(());
        }
        if is_locked {
            has_printed_status = false;
        } else if !has_printed_status {
            has_printed_status = true;
            let id = dir.id();
            output::print_status(&format!("run {id} has no supervisor; waiting for `longhaul recover {id}`"));
        }
        if !is_output_open() {
            return Err(ReadError::OutputClosed);
        }
        watch.add_file(&dir.transcript_path());
        if let Some(path) = reader.watched() {
            watch.add_file(path);
        }
        watch.changed().await.map_err(|cause| {
            ReadError::Failed(StoreError::Io { action: "watch", path: dir.path().to_owned(), cause })
        })?;
    }
}

fn print_new(
    attempts: &mut Attempts,
    reader: &mut dyn LogReader,
    out: &mut impl Write,
) -> Result<(), ReadError> {
    attempts.update().map_err(ReadError::Failed)?;
    reader.print_new(attempts, out)?;
    Ok(out.flush()?)
}

/// Returns whether stdout is still open. A closed pipe is detected before anything is written.
fn is_output_open() -> bool {
    let stdout = out::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    !matches!(poll(&mut fds, Some(&now)), Ok(1..)) || !fds[0].revents().contains(PollFlags::ERR)
}
