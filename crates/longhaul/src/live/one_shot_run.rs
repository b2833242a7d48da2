//! The one-shot process of a run: a check or a summary. At most one runs at a time, and none during an
//! attempt.

use super::check_run::CheckRun;
use super::one_shot::OneShotProcess;
use super::summary_run::SummaryRun;
use longhaul_core::Exit;
use std::io;

/// A running check or summary.
pub(crate) enum OneShotRun {
    Check(CheckRun),
    Summary(SummaryRun),
}

impl OneShotRun {
    /// Returns `true` if its process has exited.
    pub(crate) fn has_exited(&self) -> bool {
        match self {
            OneShotRun::Check(CheckRun { process, .. }) | OneShotRun::Summary(SummaryRun { process, .. }) => {
                process.has_exited()
            }
        }
    }

    /// Returns the exit of a check's command, or `None` while it runs.
    pub(crate) fn check_exit(&self) -> Option<Exit> {
        match self {
            OneShotRun::Check(check) => check.process.exit(),
            OneShotRun::Summary(_) => None,
        }
    }

    /// Waits until its process exits.
    ///
    /// # Errors
    ///
    /// Returns an error if the system does not report the exit.
    pub(crate) async fn wait_for_exit(&mut self) -> io::Result<()> {
        let process: &mut OneShotProcess = match self {
            OneShotRun::Check(check) => &mut check.process,
            OneShotRun::Summary(summary) => &mut summary.process,
        };
        process.wait_for_exit().await.map(drop)
    }
}
