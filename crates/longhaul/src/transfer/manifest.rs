//! `manifest.json`, the first file of an exported run: it lists the other files and describes the workspace.
//! Fields are only ever added. A change that an older version would misread raises [`FORMAT`].

use longhaul_core::{Moment, RunId};
use longhaul_store::{OsText, rfc3339};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Component, Path};

/// The format that this version writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const BUNDLE: &str = "workspace.bundle";
/// Prefix of the names of the run's own files.
pub(super) const RUN: &str = "run/";

// The largest known run has ten thousand attempts and forty thousand files.
const MEMBERS_MAX: usize = 100_000;
// This is more than the largest git histories, but less than a disk.
const UNPACKED_BYTES_MAX: u64 = 256 << 30;

/// The content of an exported run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Manifest {
    /// Format of the file; see [`FORMAT`].
    pub format: u32,
    /// Version of longhaul that wrote the file.
    pub longhaul_version: String,
    /// Id of the run.
    pub run: RunId,
    /// When the file was written, RFC 3339, UTC.
    pub exported_at: String,
    /// Absolute working directory of the agent on the exporting machine.
    pub cwd: OsText,
    /// Sessions that the run has worked on.
    pub sessions: Vec<SessionEntry>,
    /// The workspace. `None` if it is not in the file.
    #[serde(default)]
    pub workspace: Option<WorkspaceManifest>,
    /// All other files, in the order of the archive.
    pub members: Vec<ArchiveMember>,
}

/// A session of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionEntry {
    /// Id of the session.
    pub id: String,
    /// Whether its file was found and is in `run/sessions/`.
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
    /// Working directory of the agent, relative to the top of the repository. Empty for the top itself.
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
    pub(super) fn new(run: RunId, cwd: OsText, at: Moment) -> Manifest {
        Manifest {
            format: FORMAT,
            longhaul_version: env!("CARGO_PKG_VERSION").to_owned(),
            run,
            exported_at: rfc3339(at),
            cwd,
            sessions: Vec::new(),
            workspace: None,
            members: Vec::new(),
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
        let mut names = BTreeSet::new();
        for member in &self.members {
            if !is_member_name(&member.name) || !names.insert(member.name.as_str()) {
                return Some(format!(
                    "`{}` is not a valid name for a file of a run",
                    member.name.escape_debug()
                ));
            }
        }
        let missing = ["run/plan.json", "run/journal.jsonl"].into_iter().find(|name| !names.contains(name));
        if let Some(missing) = missing {
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

impl ArchiveMember {
    /// Returns the file's name in the run's directory, or `None` for the bundle.
    pub(super) fn in_run(&self) -> Option<&Path> {
        self.name.strip_prefix(RUN).map(Path::new)
    }
}

/// Returns `true` if a file of an exported run may have this name. Such a name stays below the directory that
/// it is unpacked to, is not hidden, and is not a request to a supervisor.
pub(super) fn is_member_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\0', '\\']);
    match name.strip_prefix(RUN) {
        Some(rest) => rest.split('/').all(is_part) && rest.split('/').next() != Some("requests"),
        None => name == BUNDLE,
    }
}
