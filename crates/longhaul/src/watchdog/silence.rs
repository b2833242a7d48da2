//! Measures how long an orphaned run has been silent. It uses neither the wall clock nor file times: it adds
//! up the time between two polls, limited to the time that this process can have been awake.

use longhaul_core::Span;
use longhaul_store::RunDir;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The output of a run. The run is silent while it does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutputPosition {
    attempts: usize,
    stream_bytes: u64,
    stderr_bytes: u64,
    /// A supervisor that took over and died has appended here.
    journal_bytes: u64,
}

impl OutputPosition {
    /// Returns the current output. Files that cannot be read count as empty.
    pub(super) fn new(dir: &RunDir) -> OutputPosition {
        let attempts = dir.attempts().unwrap_or_default();
        let bytes = |path: PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
        OutputPosition {
            attempts: attempts.len(),
            stream_bytes: attempts.last().map_or(0, |newest| bytes(newest.stream_path())),
            stderr_bytes: attempts.last().map_or(0, |newest| bytes(newest.stderr_path())),
            journal_bytes: bytes(dir.journal_path()),
        }
    }
}

/// A silence up to now.
#[derive(Debug)]
pub(super) struct SilenceTimer {
    output: OutputPosition,
    lasted: Duration,
}

impl SilenceTimer {
    /// Starts a silence.
    pub(super) fn start(output: OutputPosition) -> SilenceTimer {
        SilenceTimer { output, lasted: Duration::ZERO }
    }

    /// Adds the time since the last poll, which was planned for at most `planned`, and compares the output at
    /// its end. The wait is longer than planned if the machine slept, or if the watchdog was frozen with its
    /// agent.
    pub(super) fn pass(&mut self, time: Duration, planned: Duration, output: OutputPosition) {
        if output == self.output {
            // A busy machine also wakes this process late, but by less than the planned time.
            self.lasted += time.min(planned * 2);
        } else {
            *self = SilenceTimer::start(output);
        }
    }

    /// Returns the output before the silence.
    pub(super) fn output(&self) -> OutputPosition {
        self.output
    }

    /// Returns the length of the silence.
    pub(super) fn lasted(&self) -> Span {
        Span(self.lasted.as_millis() as u64)
    }
}
