//! Measures how long an orphaned run has been silent. It uses neither the wall clock nor file times. Instead
//! it adds up the times between two polls, each limited to the time that this process can have been awake.

use longhaul_core::Span;
use longhaul_store::RunDir;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The position in the output of a run. The run is silent while the position does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutputPosition {
    attempts: usize,
    stream_bytes: u64,
    stderr_bytes: u64,
    /// Length of the journal. It grows if another supervisor took over and died.
    journal_bytes: u64,
}

impl OutputPosition {
    /// Returns the current position. Files that cannot be read count as empty.
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

#[derive(Debug)]
pub(super) struct SilenceTimer {
    pub(super) output: OutputPosition,
    duration: Duration,
}

impl SilenceTimer {
    pub(super) fn start(output: OutputPosition) -> SilenceTimer {
        SilenceTimer { output, duration: Duration::ZERO }
    }

    /// Adds the time since the last poll, and restarts if the output has changed. `planned` is the longest
    /// planned time. A longer time means that the machine slept, or that the watchdog was frozen together
    /// with its agent.
    pub(super) fn advance(&mut self, time: Duration, planned: Duration, output: OutputPosition) {
        if output == self.output {
            // A busy machine delays this process, too, but by less than the planned time.
            self.duration += time.min(planned * 2);
        } else {
            *self = SilenceTimer::start(output);
        }
    }

    pub(super) fn duration(&self) -> Span {
        Span(self.duration.as_millis() as u64)
    }
}
