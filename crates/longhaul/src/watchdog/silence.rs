//! How long an orphan has been silent. No calendar is asked and no file's time believed: time is what passes
//! between two looks, and only as much of it as we can have been awake for.

use longhaul_core::Span;
use longhaul_store::RunDir;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// What has been written for a run: it is silent as long as this stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutputPosition {
    attempts: usize,
    stream_bytes: u64,
    stderr_bytes: u64,
    /// A supervisor that came and died again has left something here.
    journal_bytes: u64,
}

impl OutputPosition {
    /// What there is now. What cannot be looked at is as long as nothing.
    pub(super) fn new(dir: &RunDir) -> OutputPosition {
        let attempts = dir.attempts().unwrap_or_default();
        let bytes = |path: PathBuf| fs::metadata(path).map_or(0, |found| found.len());
        OutputPosition {
            attempts: attempts.len(),
            stream_bytes: attempts.last().map_or(0, |newest| bytes(newest.stream_path())),
            stderr_bytes: attempts.last().map_or(0, |newest| bytes(newest.stderr_path())),
            journal_bytes: bytes(dir.journal_path()),
        }
    }
}

/// A silence so far.
#[derive(Debug)]
pub(super) struct SilenceTimer {
    output: OutputPosition,
    lasted: Duration,
}

impl SilenceTimer {
    /// One that begins now.
    pub(super) fn begin(received: OutputPosition) -> SilenceTimer {
        SilenceTimer { output: received, lasted: Duration::ZERO }
    }

    /// So much time has passed, which was meant to be `meant` at most, and this is heard at its end. A machine that
    /// was asleep, or a watchdog that was frozen beside its agent, has waited for longer than it meant to.
    pub(super) fn pass(&mut self, time: Duration, meant: Duration, received: OutputPosition) {
        if received == self.output {
            // A busy machine wakes us late too, by less than as long again.
            self.lasted += time.min(meant * 2);
        } else {
            *self = SilenceTimer::begin(received);
        }
    }

    /// What was heard before it.
    pub(super) fn heard(&self) -> OutputPosition {
        self.output
    }

    /// How long it has lasted.
    pub(super) fn lasted(&self) -> Span {
        Span(self.lasted.as_millis() as u64)
    }
}
