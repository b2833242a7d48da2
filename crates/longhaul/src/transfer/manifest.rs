//! `manifest.json`, the first file of an exported run: what follows, and what it is good for. Fields are
//! only ever added; what an older version would get wrong raises [`FORMAT`].

use longhaul_core::{Moment, RunId};
use longhaul_store::{OsText, rfc3339};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Component, Path};

/// The format that this version writes, and the last one that it reads.
pub const FORMAT: u32 = 1;

pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const BUNDLE: &str = "workspace.bundle";
/// What the names of the run's own files begin with.
pub(super) const RUN: &str = "run/";

// A run of ten thousand attempts, the most that anybody has seen, has forty thousand files.
const MEMBERS_MAX: usize = 100_000;
// Beyond the largest histories that people keep in git; less than a disk.
const UNPACKED_BYTES_MAX: u64 = 256 << 30;

/// What is in an exported run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Manifest {
    /// See [`FORMAT`].
    pub format: u32,
    /// The version of longhaul that wrote it.
    pub longhaul: String,
    /// The run.
    pub run: RunId,
    /// When it was written, RFC 3339, UTC.
    pub exported_at: String,
    /// Where the agent worked, absolute, on the machine that it comes from.
    pub cwd: OsText,
    /// The agent's sessions that the run has worked on.
    pub sessions: Vec<SessionEntry>,
    /// The workspace; nothing if it is not in the file.
    #[serde(default)]
    pub workspace: Option<Workspace>,
    /// Every other file, in the order in which they follow.
    pub members: Vec<ArchiveMember>,
}

/// A session of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionEntry {
    /// Its id.
    pub id: String,
    /// Whether its file was found, and is in `run/sessions/`.
    pub found: bool,
}

/// The state of a workspace in git. Its bundle holds `refs/longhaul/snapshot` (all files that git does not
/// ignore, as they were), `refs/longhaul/staged` (what was staged) and `refs/longhaul/head` with its whole
/// history; the last two only where there is such a thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workspace {
    /// The commit that was checked out; nothing before the first one.
    pub head: Option<String>,
    /// The branch that was checked out; nothing for a detached head.
    pub branch: Option<String>,
    /// The tree of all files as they were.
    pub tree: String,
    /// How the repository names objects: `sha1`, `sha256`.
    pub object_format: String,
    /// Commits behind which the repository has no history.
    #[serde(default)]
    pub shallow: Vec<String>,
    /// Where the agent worked, relative to the top of the repository; empty for the top itself.
    pub subdirectory: OsText,
    /// Repositories inside of this one, submodules too: their files are not in the bundle.
    #[serde(default)]
    pub omitted: Vec<OsText>,
    /// Files that git keeps through a filter (large files kept elsewhere, encrypted ones): the bundle has
    /// what the filter made of them.
    #[serde(default)]
    pub filtered: Vec<OsText>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArchiveMember {
    /// Its name, relative, with `/` between the parts.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The SHA-256 of its content in hexadecimal.
    pub sha256: String,
}

impl Manifest {
    /// A manifest of this version.
    pub(super) fn new(run: RunId, cwd: OsText, at: Moment) -> Manifest {
        Manifest {
            format: FORMAT,
            longhaul: env!("CARGO_PKG_VERSION").to_owned(),
            run,
            exported_at: rfc3339(at),
            cwd,
            sessions: Vec::new(),
            workspace: None,
            members: Vec::new(),
        }
    }

    /// What makes this no manifest of an exported run; nothing if it is one.
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
            if !is_name(&member.name) || !names.insert(member.name.as_str()) {
                return Some(format!("`{}` is no name for a file of a run", member.name.escape_debug()));
            }
        }
        let missing = ["run/plan.json", "run/journal.jsonl"].into_iter().find(|name| !names.contains(name));
        if let Some(missing) = missing {
            return Some(format!("it has no {missing}"));
        }
        if self.workspace.is_some() != names.contains(BUNDLE) {
            return Some(format!("what it says of the workspace does not agree with its {BUNDLE}"));
        }
        self.workspace.as_ref().and_then(Workspace::flaw)
    }
}

impl Workspace {
    fn flaw(&self) -> Option<String> {
        let below = self.subdirectory.as_path();
        if !below.components().all(|part| matches!(part, Component::Normal(_))) {
            return Some(format!("`{}` is no directory of the workspace", below.display()));
        }
        let is_object = |name: &String| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let objects = self.shallow.iter().chain(self.head.as_ref()).chain([&self.tree]);
        let format = self.object_format.as_str();
        (!matches!(format, "sha1" | "sha256") || !objects.into_iter().all(is_object))
            .then(|| "it names what git cannot have".to_owned())
    }
}

impl ArchiveMember {
    /// The file's name in the run's directory, if it is one of those.
    pub(super) fn in_run(&self) -> Option<&Path> {
        self.name.strip_prefix(RUN).map(Path::new)
    }
}

/// Whether a file of an exported run may have this name. It stays below the directory that it is unpacked
/// to, is not hidden, and asks nothing of a supervisor.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\0', '\\']);
    match name.strip_prefix(RUN) {
        Some(rest) => rest.split('/').all(is_part) && rest.split('/').next() != Some("requests"),
        None => name == BUNDLE,
    }
}
