//! The request for a new run: its description, and where it is stored.

use crate::Environment;
use longhaul_core::RunSpec;
use longhaul_store::{Home, Inherited, Placement};
use std::collections::BTreeMap;

/// A request for a new run.
pub struct RunRequest {
    /// Where runs are stored.
    pub home: Home,
    /// Where this run is stored, and its id.
    pub placement: Placement,
    /// Description of the run. A relative `cwd` is relative to the workspace of the placement.
    pub spec: RunSpec,
    /// The agent's environment.
    pub environment: Environment,
    /// Usage of the same work under another harness, if the run takes it over.
    pub inherited: Option<Inherited>,
    /// Origins of the description's values, for the plan.
    pub origins: BTreeMap<String, String>,
}

impl RunRequest {
    /// Creates a request that stores the run in `home`. The agent inherits the environment of its supervisor,
    /// and no watchdog is started.
    pub fn new(home: Home, spec: RunSpec) -> RunRequest {
        RunRequest {
            home,
            placement: Placement::default(),
            spec,
            environment: Environment::default(),
            inherited: None,
            origins: BTreeMap::new(),
        }
    }
}
