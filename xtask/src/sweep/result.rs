//! What the test binary tells of each point: a line of JSON.

use serde::Deserialize;
use std::io;

/// One point.
#[derive(Clone, Debug, Deserialize)]
pub struct PointResult {
    pub agent: String,
    pub seed: u64,
    /// What struck: `SIGKILL of the agent`.
    pub victim: String,
    pub point: u64,
    /// How many there are.
    pub points: u64,
    /// What did not hold.
    pub failed: Vec<String>,
    /// Nothing where it could not be played to its end.
    pub figures: Option<CaseMetrics>,
}

/// What was measured.
#[derive(Clone, Debug, Deserialize)]
pub struct CaseMetrics {
    pub struck: bool,
    pub workspace: String,
    pub reached: bool,
    pub leftover_processes: u64,
    pub branches: u64,
    pub repeated: Repeated,
    pub wasted: u64,
    /// Tokens of completed messages.
    pub reported: u64,
    pub billed: u64,
    /// With those of cut ones.
    pub reported_in_all: u64,
    pub billed_in_all: u64,
}

/// Calls that were made again.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Repeated {
    pub completed: u64,
    pub named: u64,
    pub unnamed: u64,
}

/// The points of a report.
pub fn read(report: &str) -> io::Result<Vec<PointResult>> {
    report.lines().map(|line| serde_json::from_str(line).map_err(io::Error::other)).collect()
}
