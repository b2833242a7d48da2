//! Options of the command line that replace settings of a workflow file.

use longhaul_core::{Span, Usd};

/// Options of the command line. Each replaces a setting of the file; the default replaces none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopOptions {
    /// Name of the phase that the first iteration starts with.
    pub from: Option<String>,
    /// Name of the only phase that takes place.
    pub only: Option<String>,
    /// Names of the phases that never take place.
    pub skip: Vec<String>,
    /// Maximum number of iterations, at least 1.
    pub iterations_max: Option<u32>,
    /// Maximum number of live runs, at least 1.
    pub parallel_max: Option<u32>,
    /// Whether all runs take place one after another, whatever the file and `parallel_max` say.
    pub serial: bool,
    /// Budget of the workflow. Zero is unlimited.
    pub budget: Option<Usd>,
    /// Working time of the workflow. Zero is unlimited.
    pub time: Option<Span>,
}
