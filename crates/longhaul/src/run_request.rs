//! The request for a new run: its description, and where it is stored.

use longhaul_core::RunSpec;
use longhaul_store::{Inherited, Placement, WorkflowPosition};
use std::collections::BTreeMap;

/// A request for a new run. A [`RunSpec`] converts into one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunRequest {
    /// Where the run is stored, and its id.
    pub placement: Placement,
    /// Description of the run. A relative `cwd` is relative to the workspace of the placement.
    pub spec: RunSpec,
    /// Usage of the same work under another harness, if the run takes it over.
    pub inherited: Option<Inherited>,
    /// Origins of the description's values, for the plan.
    pub origins: BTreeMap<String, String>,
    /// Position in the workflow that starts the run, if one does.
    pub workflow: Option<WorkflowPosition>,
}

impl From<RunSpec> for RunRequest {
    fn from(spec: RunSpec) -> RunRequest {
        let placement = Placement::default();
        RunRequest { placement, spec, inherited: None, origins: BTreeMap::new(), workflow: None }
    }
}
