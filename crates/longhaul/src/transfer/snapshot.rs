//! Captures the state of a workspace in git as objects: HEAD, the staged files, and every file that git does
//! not ignore. It never writes into the user's repository: all objects go into a scratch repository.

use super::TransferError;
use super::manifest::WorkspaceManifest;
use crate::git::{Git, GitError, ScratchRepo, UserRepo, paths, pathspecs};
use longhaul_store::{OsText, if_exists};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

pub(super) const HEAD: &str = "refs/longhaul/head";
pub(super) const STAGED: &str = "refs/longhaul/staged";
pub(super) const SNAPSHOT: &str = "refs/longhaul/snapshot";

/// Prefix of a tree entry that is a nested repository.
const GITLINK: &[u8] = b"160000 ";

/// Lists the files of an index that have a filter.
const FILTERED: [&str; 5] = ["ls-files", "-z", "--", ".", ":(exclude,attr:!filter)"];

pub(super) struct WorkspaceSnapshot {
    pub(super) workspace: WorkspaceManifest,
    scratch_repo: Git,
}

impl WorkspaceSnapshot {
    /// Captures the state of a repository in the directory `scratch`, without the files at or below
    /// `excluded`.
    pub(super) fn take(
        repository: &UserRepo,
        excluded: &[&Path],
        scratch: &Path,
    ) -> Result<WorkspaceSnapshot, TransferError> {
        let UserRepo { cwd, top, head, branch, object_format, shallow, .. } = repository;
        let ScratchRepo { git: scratch_repo, index, objects } =
            ScratchRepo::create(scratch, repository, &[])?;
        // The user's settings, filters and ignore rules, with the temporary index and objects.
        let adding = Git::new(top)
            .with_variable("GIT_INDEX_FILE", &index)
            .with_variable("GIT_OBJECT_DIRECTORY", &objects);

        if let Some(head) = head {
            scratch_repo.call(&["update-ref", HEAD, head])?;
        }
        // During a merge with conflicts the index has no tree. The files show the state of the merge.
        if let Ok(staged) = adding.line(&["write-tree"]) {
            commit(&scratch_repo, STAGED, &staged, head.as_deref())?;
        }
        let excluded =
            excluded.iter().filter_map(|path| Some(canonical(path).strip_prefix(top).ok()?.to_owned()));
        // Git refuses to add such a repository.
        let without_commit = repositories_without_commit(&adding, top)?;
        let excluded: Vec<PathBuf> = excluded.chain(without_commit.iter().cloned()).collect();
        let add_all = ["add", "--all", "--", "."].map(OsString::from);
        adding.call(&[&add_all[..], &pathspecs(&excluded)].concat())?;
        let tree = adding.line(&["write-tree"])?;
        commit(&scratch_repo, SNAPSHOT, &tree, head.as_deref())?;
        let shallow_commits = if_exists(fs::read_to_string(shallow));
        let shallow_commits = shallow_commits.map_err(TransferError::io("read", shallow))?;
        let mut omitted = gitlinks(&scratch_repo, &tree)?;
        omitted.extend(without_commit.into_iter().map(|path| path.into_os_string().into()));
        let workspace = WorkspaceManifest {
            omitted,
            filtered: paths(&adding.call(&FILTERED)?).map(os_text).collect(),
            head: head.clone(),
            branch: branch.clone(),
            tree,
            object_format: object_format.clone(),
            shallow: shallow_commits.unwrap_or_default().lines().map(str::to_owned).collect(),
            subdirectory: cwd.strip_prefix(top).unwrap_or(Path::new("")).into(),
        };
        Ok(WorkspaceSnapshot { workspace, scratch_repo })
    }

    /// Writes a bundle of the state with the complete history of HEAD. It can be read without the original
    /// repository.
    pub(super) fn bundle(&self, to: &Path) -> Result<(), TransferError> {
        let refs = ["--glob=refs/longhaul/*"].map(OsStr::new);
        let args = ["bundle", "create", "--quiet"].map(OsStr::new);
        self.scratch_repo.call(&[&args, &[to.as_os_str()][..], &refs].concat())?;
        Ok(())
    }
}

/// Resolves symbolic links above the last component, as git does in its file names.
fn canonical(path: &Path) -> PathBuf {
    let parent = path.parent().and_then(|parent| fs::canonicalize(parent).ok());
    parent.zip(path.file_name()).map_or_else(|| path.to_owned(), |(parent, name)| parent.join(name))
}

fn commit(scratch_repo: &Git, name: &str, tree: &str, parent: Option<&str>) -> Result<(), GitError> {
    let mut args = vec!["commit-tree", tree, "-m", "state of a longhaul run"];
    args.extend(parent.into_iter().flat_map(|parent| ["-p", parent]));
    let commit = scratch_repo.line(&args)?;
    scratch_repo.call(&["update-ref", name, &commit]).map(drop)
}

/// Returns the untracked repositories without a commit, relative to `top`.
fn repositories_without_commit(git: &Git, top: &Path) -> Result<Vec<PathBuf>, GitError> {
    let untracked = git.call(&["ls-files", "-z", "--others", "--exclude-standard"])?;
    // Of a repository, git lists only the directory.
    let repositories = paths(&untracked).filter_map(|path| path.strip_suffix(b"/"));
    let repositories = repositories.map(|path| PathBuf::from(OsString::from_vec(path.to_vec())));
    let has_commit = |path: &PathBuf| {
        let head = Git::new(&top.join(path)).ask(&["rev-parse", "--quiet", "--verify", "HEAD"]);
        head.is_ok_and(|head| head.is_some())
    };
    Ok(repositories.filter(|path| !has_commit(path)).collect())
}

fn gitlinks(git: &Git, tree: &str) -> Result<Vec<OsText>, GitError> {
    let output = git.call(&["ls-tree", "-r", "-z", "--full-tree", tree])?;
    let links = paths(&output).filter(|entry| entry.starts_with(GITLINK));
    Ok(links.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1)).map(os_text).collect())
}

fn os_text(path: &[u8]) -> OsText {
    OsString::from_vec(path.to_vec()).into()
}
