//! `manifest.json`, the first file of an exported run or workflow: it lists the other files and describes the workspace.
//! Fields are only ever added. A change that an older version would misread raises [`FORMAT`].

use longhaul_core::{Moment, RunId};
use longhaul_store::{OsText, rfc3339};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Component, Path};

/// The newest format that this version reads.
pub const FORMAT: u32 = 1;

pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const BUNDLE: &str = "workspace.bundle";
pub(super) const RUN: &str = "run/";
pub(super) const WORKFLOW: &str = "workflow/";
const RUNS: &str = "runs/";

// The largest known run has ten thousand attempts and forty thousand files.
const MEMBERS_MAX: usize = 100_000;
// This is more than the largest git histories, but less than a disk.
const UNPACKED_BYTES_MAX: u64 = 256 << 30;

/// The content of an exported run or workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Manifest {
    /// Format of the file; see [`FORMAT`].
    pub format: u32,
    /// Version of longhaul that wrote the file.
    pub longhaul_version: String,
    /// Id of the run or the workflow.
    pub run: RunId,
    /// Runs of the workflow. `None` if the file contains a run, not a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_runs: Option<Vec<RunId>>,
    /// When the file was written, RFC 3339, UTC.
    pub exported_at: String,
    /// Absolute working directory of the agent, or the directory that the workflow works on, on the exporting
    /// machine.
    pub cwd: OsText,
    /// Sessions that the runs have worked on.
    pub sessions: Vec<SessionEntry>,
    /// The workspace. `None` if it is not in the file.
    #[serde(default)]
    pub workspace: Option<WorkspaceManifest>,
    /// All other files, in the order of the archive.
    pub members: Vec<ArchiveMember>,
}

/// A session of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionEntry {
    /// Id of the session.
    pub id: String,
    /// Whether its file was found and is in the `sessions` directory of the run.
    pub found: bool,
}

/// The state of a workspace in git. Its bundle holds `refs/longhaul/snapshot` (all files that git does not
/// ignore), `refs/longhaul/staged` (the index) and `refs/longhaul/head` with its history. The last two exist
/// only if the workspace has an index tree and a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceManifest {
    /// Commit that was checked out. `None` before the first commit.
    pub head: Option<String>,
    /// Branch that was checked out. `None` for a detached head.
    pub branch: Option<String>,
    /// Tree of all files.
    pub tree: String,
    /// Hash of the repository's object names: `sha1` or `sha256`.
    pub object_format: String,
    /// Commits before which the repository has no history.
    #[serde(default)]
    pub shallow: Vec<String>,
    /// Working directory of the agent or the workflow, relative to the top of the repository. Empty for the top
    /// itself.
    pub subdirectory: OsText,
    /// Nested repositories, including submodules. Their files are not in the bundle.
    #[serde(default)]
    pub omitted: Vec<OsText>,
    /// Files that git stores through a filter, for example large or encrypted files. The bundle has the
    /// filter's output.
    #[serde(default)]
    pub filtered: Vec<OsText>,
}

/// One file of the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArchiveMember {
    /// Relative name, with `/` between the components.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the content in hexadecimal.
    pub sha256: String,
}

impl Manifest {
    pub(super) fn new(run: RunId, workflow_runs: Option<Vec<RunId>>, cwd: &Path, at: Moment) -> Manifest {
        Manifest {
            format: FORMAT,
            longhaul_version: env!("CARGO_PKG_VERSION").to_owned(),
            run,
            workflow_runs,
            exported_at: rfc3339(at),
            cwd: cwd.into(),
            sessions: Vec::new(),
            workspace: None,
            members: Vec::new(),
        }
    }

    /// Returns each run, with the directory in the file that its members are in.
    pub(super) fn run_dirs(&self) -> Vec<(&RunId, String)> {
        match &self.workflow_runs {
            Some(runs) => runs.iter().map(|run| (run, format!("{RUNS}{run}/"))).collect(),
            None => vec![(&self.run, RUN.to_owned())],
        }
    }

    /// Returns a description of the first flaw of this manifest, or `None` if it is valid.
    pub(super) fn validate(&self) -> Option<String> {
        if self.members.len() > MEMBERS_MAX {
            return Some(format!("it names more than {MEMBERS_MAX} files"));
        }
        let bytes = self.members.iter().try_fold(0_u64, |sum, member| sum.checked_add(member.bytes));
        if bytes.is_none_or(|bytes| bytes > UNPACKED_BYTES_MAX) {
            return Some(format!("it would be larger than {UNPACKED_BYTES_MAX} bytes"));
        }
        let mut dirs: BTreeSet<String> = self.run_dirs().into_iter().map(|(_, dir)| dir).collect();
        dirs.extend(self.workflow_runs.as_ref().map(|_| WORKFLOW.to_owned()));
        let mut names = BTreeSet::new();
        for member in &self.members {
            let is_listed = split_name(&member.name).is_none_or(|(dir, _)| dirs.contains(dir));
            if !is_listed || !is_member_name(&member.name) || !names.insert(member.name.as_str()) {
                return Some(format!(
                    "`{}` is not a valid name for a file of a run",
                    member.name.escape_debug()
                ));
            }
        }
        let needed =
            dirs.iter().flat_map(|dir| ["plan.json", "journal.jsonl"].map(|name| format!("{dir}{name}")));
        if let Some(missing) = needed.into_iter().find(|name| !names.contains(name.as_str())) {
            return Some(format!("it has no {missing}"));
        }
        if self.workspace.is_some() != names.contains(BUNDLE) {
            return Some(format!("its description of the workspace does not match its {BUNDLE}"));
        }
        self.workspace.as_ref().and_then(WorkspaceManifest::flaw)
    }
}

impl WorkspaceManifest {
    fn flaw(&self) -> Option<String> {
        let subdirectory = self.subdirectory.as_path();
        if !subdirectory.components().all(|part| matches!(part, Component::Normal(_))) {
            return Some(format!("`{}` is not a directory of the workspace", subdirectory.display()));
        }
        let is_object = |name: &String| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let objects = self.shallow.iter().chain(self.head.as_ref()).chain([&self.tree]);
        let format = self.object_format.as_str();
        (!matches!(format, "sha1" | "sha256") || !objects.into_iter().all(is_object))
            .then(|| "it has an invalid git object name or object format".to_owned())
    }
}

/// Splits the name of a file into the directory of a run or the workflow, and the name in it. Returns `None`
/// for the bundle.
pub(super) fn split_name(name: &str) -> Option<(&str, &str)> {
    let end = |from: usize| name[from..].find('/').map(|index| from + index + 1);
    let top = end(0)?;
    let dir = if &name[..top] == RUNS { end(top)? } else { top };
    Some(name.split_at(dir))
}

/// Returns `true` if an exported file may have this name. Such a name stays below the directory that it is unpacked
/// to, is not hidden, and is neither a request to a supervisor nor in a git worktree or in the run's own workspace. The
/// bundle contains the workspace, without the files that git ignores.
pub(super) fn is_member_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\0', '\\']);
    match split_name(name) {
        Some((dir, rest)) => {
            let is_dir = dir == RUN || dir == WORKFLOW || dir.starts_with(RUNS);
            let top = rest.split('/').next().unwrap_or_default();
            is_dir && name.split('/').all(is_part) && !["requests", "workspace", "worktrees"].contains(&top)
        }
        None => name == BUNDLE,
    }
}
