//! Captures the state of a workspace in git as objects: HEAD, the staged files, and every file that git does
//! not ignore. It never writes into the user's repository: all objects go into a temporary bare repository
//! that borrows the user's objects.

use super::TransferError;
use super::manifest::WorkspaceManifest;
use crate::git::{self, Git, GitError, copy_if_exists, copy_index, paths, pathspecs, text};
use longhaul_store::{OsText, if_exists};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
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

/// Returns the top of the repository that contains `cwd`, or `None` if there is none or if it ignores `cwd`.
/// `cwd` must be a real path.
pub(super) fn top_of(cwd: &Path) -> Result<Option<PathBuf>, TransferError> {
    let Some(top) = git::top_of(cwd)? else { return Ok(None) };
    let ignored = top != cwd && Git::new(cwd).ask(&["check-ignore", "--quiet", "."])?.is_some();
    Ok((!ignored).then_some(top))
}

impl WorkspaceSnapshot {
    /// Captures the state of the repository at `top` in the empty directory `scratch`, without the files at
    /// or below `excluded`. The agent worked in `cwd`. `top` and `cwd` must be real paths.
    pub(super) fn take(
        top: &Path,
        cwd: &Path,
        excluded: &[PathBuf],
        scratch: &Path,
    ) -> Result<WorkspaceSnapshot, TransferError> {
        let user_git = Git::new(top);
        let git_path = |name| user_git.path(&["rev-parse", "--path-format=absolute", "--git-path", name]);
        let object_format = user_git.line(&["rev-parse", "--show-object-format"])?;
        let shallow = git_path("shallow")?;
        let repository = scratch.join("repository");
        create_borrowing_repository(scratch, &repository, &object_format, &git_path("objects")?)?;
        // With a copy of the user's index, git does not read unchanged files again.
        let index = scratch.join("index");
        let user_index = git_path("index")?;
        copy_index(&user_index, &index).map_err(TransferError::io("read", &user_index))?;
        copy_if_exists(&shallow, &repository.join("shallow")).map_err(TransferError::io("read", &shallow))?;
        let scratch_repo = Git::new(&repository).with_variable("GIT_DIR", &repository);
        // The user's settings and ignore rules, with the temporary index and objects.
        let adding = user_git
            .clone()
            .with_variable("GIT_INDEX_FILE", &index)
            .with_variable("GIT_OBJECT_DIRECTORY", repository.join("objects"));

        let head = user_git.ask(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])?.map(text);
        let branch = user_git.ask(&["symbolic-ref", "--quiet", "HEAD"])?.map(text);
        if let Some(head) = &head {
            scratch_repo.call(&["update-ref", HEAD, head])?;
        }
        // During a merge with conflicts the index has no tree. The files show the state of the merge.
        if let Ok(staged) = adding.line(&["write-tree"]) {
            commit(&scratch_repo, STAGED, &staged, head.as_deref())?;
        }
        let excluded: Vec<&Path> = excluded.iter().filter_map(|path| path.strip_prefix(top).ok()).collect();
        let add_all = ["add", "--all", "--", "."].map(OsString::from);
        adding.call(&[&add_all[..], &pathspecs(&excluded)].concat())?;
        let tree = adding.line(&["write-tree"])?;
        commit(&scratch_repo, SNAPSHOT, &tree, head.as_deref())?;
        let shallow_commits = if_exists(fs::read_to_string(&shallow));
        let shallow_commits = shallow_commits.map_err(TransferError::io("read", &shallow))?;
        let workspace = WorkspaceManifest {
            omitted: gitlinks(&scratch_repo, &tree)?,
            filtered: paths(&adding.call(&FILTERED)?).map(os_text).collect(),
            head,
            branch: branch.and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned())),
            tree,
            object_format,
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

/// Creates a bare repository that borrows the objects in `objects` and stores its own objects separately.
fn create_borrowing_repository(
    scratch: &Path,
    repository: &Path,
    format: &str,
    objects: &Path,
) -> Result<(), TransferError> {
    let init = ["init", "--quiet", "--bare", "--template=", &format!("--object-format={format}")];
    let init = init.map(OsString::from).into_iter().chain([repository.into()]);
    Git::new(scratch).call(&init.collect::<Vec<_>>())?;
    let info = repository.join("objects/info");
    let alternates = [objects.as_os_str().as_bytes(), b"\n"].concat();
    fs::create_dir_all(&info)
        .and_then(|()| fs::write(info.join("alternates"), alternates))
        .map_err(TransferError::io("write", &info))
}

fn commit(scratch_repo: &Git, name: &str, tree: &str, parent: Option<&str>) -> Result<(), GitError> {
    let mut args = vec!["commit-tree", tree, "-m", "state of a longhaul run"];
    args.extend(parent.into_iter().flat_map(|parent| ["-p", parent]));
    let commit = scratch_repo.line(&args)?;
    scratch_repo.call(&["update-ref", name, &commit]).map(drop)
}

fn gitlinks(git: &Git, tree: &str) -> Result<Vec<OsText>, GitError> {
    let output = git.call(&["ls-tree", "-r", "-z", "--full-tree", tree])?;
    let links = paths(&output).filter(|entry| entry.starts_with(GITLINK));
    Ok(links.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1)).map(os_text).collect())
}

fn os_text(path: &[u8]) -> OsText {
    OsString::from_vec(path.to_vec()).into()
}
