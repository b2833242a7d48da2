//! Stores the plan of a workflow, fixed when the workflow is created: its file, its parameters, and the resolved
//! policy and run settings. It has no field for a secret.

use crate::OsText;
use longhaul_core::{Moment, Rfc3339, RunId, RunSpec, WorkflowPolicy};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `plan.json` of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowPlan {
    /// Version of Longhaul that wrote the file, so that another version can name it in an error.
    pub longhaul_version: String,
    /// When the workflow was created.
    pub started_at: Rfc3339,
    /// The user's name for the workflow. Several workflows may share a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Directory that the workflow works on, absolute, with links resolved.
    pub project_dir: OsText,
    /// The workflow file.
    pub file: WorkflowSource,
    /// Parameters of the command line.
    #[serde(default)]
    pub parameters: Vec<(String, String)>,
    /// Text that prompts can quote as `focus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// Graph, limits and reactions.
    pub policy: WorkflowPolicy,
    /// Description of the runs of each phase, in the order of the policy. The prompt is empty: it is rendered when
    /// a run starts.
    pub runs: Vec<RunSpec>,
    /// Origin of each setting of the runs, for each phase: `model` → `phase plan`.
    #[serde(default)]
    pub origins: Vec<BTreeMap<String, String>>,
    /// Memory that must be available before a run starts, in bytes.
    pub memory_reserve: u64,
    /// Notification channels of the workflow, as in the plan of a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// Random value of the marker of its own commands. It distinguishes them from those of another workflow.
    pub marker: String,
}

impl WorkflowPlan {
    /// Creates the plan of a workflow of this version, without any other fact. Its supervisor sets the time and the
    /// marker.
    pub fn new(
        project_dir: PathBuf,
        file: WorkflowSource,
        policy: WorkflowPolicy,
        runs: Vec<RunSpec>,
    ) -> WorkflowPlan {
        WorkflowPlan {
            longhaul_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: Moment::default().into(),
            name: None,
            project_dir: project_dir.into(),
            file,
            parameters: Vec::new(),
            focus: None,
            policy,
            runs,
            origins: Vec::new(),
            memory_reserve: 0,
            notify: Vec::new(),
            marker: String::new(),
        }
    }
}

/// A workflow file as it was when the workflow was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowSource {
    /// Path of the file, absolute; for a built-in workflow, its name.
    pub path: OsText,
    /// Content of the file.
    pub text: String,
    /// Contents of the files that it names (`prompt_file`, `schema_file`), by these names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// A run's position in the workflow that started it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkflowPosition {
    /// Id of the workflow.
    pub id: RunId,
    /// Name of the phase.
    pub phase: String,
    /// Iteration, starting at 1.
    pub iteration: u32,
    /// Item, as text, if the phase has items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
}
