//! The result of each point as the test binary reports it: one line of JSON.

use serde::Deserialize;
use std::io;

#[derive(Clone, Debug, Deserialize)]
pub struct PointResult {
    pub agent: String,
    pub seed: u64,
    /// Kind of strike: `SIGKILL of the agent`.
    pub victim: String,
    pub point: u64,
    /// Number of points that an undisturbed run passes.
    pub points: u64,
    pub failed: Vec<String>,
    /// The measurements. `None` if the point could not be played to its end.
    pub figures: Option<SweepMetrics>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct SweepMetrics {
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
    /// Reported tokens, including those of truncated messages.
    pub reported_in_all: u64,
    pub billed_in_all: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Repeated {
    pub completed: u64,
    pub named: u64,
    pub unnamed: u64,
}

impl PointResult {
    pub fn is_workflow(&self) -> bool {
        self.agent.ends_with("in a workflow")
    }
}

pub fn read(report: &str) -> io::Result<Vec<PointResult>> {
    report.lines().map(|line| serde_json::from_str(line).map_err(io::Error::other)).collect()
}
