//! The state of a workspace in git, as objects: HEAD, what is staged, and every file as it is, ignored ones
//! left out. Nothing of it is written into the user's repository, not even an object: it all goes into a
//! bare repository of ours that borrows the user's objects.

use super::TransferError;
use super::git::{Git, text};
use super::manifest::Workspace;
use longhaul_store::OsText;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub(super) const HEAD: &str = "refs/longhaul/head";
pub(super) const STAGED: &str = "refs/longhaul/staged";
pub(super) const SNAPSHOT: &str = "refs/longhaul/snapshot";

/// What git says where no directory above is a repository (2.47).
pub(crate) const NO_REPOSITORY: &str = "fatal: not a git repository (or any";
/// How git marks a directory that is a repository of its own.
const GITLINK: &[u8] = b"160000 ";

/// Lists the files of an index that have a filter.
const FILTERED: [&str; 5] = ["ls-files", "-z", "--", ".", ":(exclude,attr:!filter)"];

/// A workspace's state, in a repository of ours.
pub(super) struct WorkspaceSnapshot {
    pub(super) workspace: Workspace,
    scratch_repo: Git,
}

/// The top of the repository that has `cwd` among its files; nothing if there is none, or if it ignores
/// `cwd`. `cwd` is a real path.
///
/// # Errors
/// If there seems to be one that git cannot work with.
pub(super) fn top_of(cwd: &Path) -> Result<Option<PathBuf>, TransferError> {
    // Without any, git need not be installed.
    if !cwd.ancestors().any(|dir| dir.join(".git").exists()) {
        return Ok(None);
    }
    let git = Git::at(cwd);
    let top = match git.path(&["rev-parse", "--show-toplevel"]) {
        Ok(top) => top,
        // One that is broken is named otherwise, and is an error.
        Err(TransferError::Git { git_error: said, .. }) if said.starts_with(NO_REPOSITORY) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let ignored = top != cwd && git.ask(&["check-ignore", "--quiet", "."])?.is_some();
    Ok((!ignored).then_some(top))
}

impl WorkspaceSnapshot {
    /// Takes the state of the repository whose top is `top`, into the empty directory `scratch`; without the
    /// files at or below `excluded`. The agent worked in `cwd`. Both are real paths.
    ///
    /// # Errors
    /// If git cannot, or if `scratch` cannot be written.
    pub(super) fn take(
        top: &Path,
        cwd: &Path,
        excluded: &[PathBuf],
        scratch: &Path,
    ) -> Result<WorkspaceSnapshot, TransferError> {
        let theirs = Git::at(top);
        let place = |name| theirs.path(&["rev-parse", "--path-format=absolute", "--git-path", name]);
        let object_format = theirs.word(&["rev-parse", "--show-object-format"])?;
        let shallow = place("shallow")?;
        let repository = scratch.join("repository");
        borrow(scratch, &repository, &object_format, &place("objects")?)?;
        // Beginning with a copy of the user's index, git need not read again what has not changed.
        let index = scratch.join("index");
        copy_index(&place("index")?, &index)?;
        copy_if_there(&shallow, &repository.join("shallow"))?;
        let ours = Git::at(&repository).with("GIT_DIR", &repository);
        // Their settings and ignored files, our index and objects.
        let adding = theirs
            .clone()
            .with("GIT_INDEX_FILE", &index)
            .with("GIT_OBJECT_DIRECTORY", repository.join("objects"));

        let head = theirs.ask(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])?.map(text);
        let branch = theirs.ask(&["symbolic-ref", "--quiet", "HEAD"])?.map(text);
        if let Some(head) = &head {
            ours.call(&["update-ref", HEAD, head])?;
        }
        // In the middle of a merge there is no such tree; the files tell how far it has come.
        if let Ok(staged) = adding.word(&["write-tree"]) {
            commit(&ours, STAGED, &staged, head.as_deref())?;
        }
        adding.call(&add_all(top, excluded))?;
        let tree = adding.word(&["write-tree"])?;
        commit(&ours, SNAPSHOT, &tree, head.as_deref())?;
        let workspace = Workspace {
            omitted: gitlinks(&ours, &tree)?,
            filtered: paths(&adding.call(&FILTERED)?).map(os_text).collect(),
            head,
            branch: branch.and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned())),
            tree,
            object_format,
            shallow: lines_if_there(&shallow)?,
            subdirectory: cwd.strip_prefix(top).unwrap_or(Path::new("")).into(),
        };
        Ok(WorkspaceSnapshot { workspace, scratch_repo: ours })
    }

    /// Writes the state with the whole history of HEAD: it can be read without the repository it is from.
    ///
    /// # Errors
    /// If git cannot.
    pub(super) fn bundle(&self, to: &Path) -> Result<(), TransferError> {
        let refs = ["--glob=refs/longhaul/*"].map(OsStr::new);
        let args = ["bundle", "create", "--quiet"].map(OsStr::new);
        self.scratch_repo.call(&[&args, &[to.as_os_str()][..], &refs].concat()).map(drop)
    }
}

/// A bare repository that has what is in `objects`, and writes its own elsewhere.
fn borrow(scratch: &Path, repository: &Path, format: &str, objects: &Path) -> Result<(), TransferError> {
    let init = ["init", "--quiet", "--bare", "--template=", &format!("--object-format={format}")];
    let init = init.map(OsString::from).into_iter().chain([repository.into()]);
    Git::at(scratch).call(&init.collect::<Vec<_>>())?;
    let info = repository.join("objects/info");
    let alternates = [objects.as_os_str().as_bytes(), b"\n"].concat();
    fs::create_dir_all(&info)
        .and_then(|()| fs::write(info.join("alternates"), alternates))
        .map_err(TransferError::io("write", &info))
}

/// A commit of `tree` under this name.
fn commit(ours: &Git, name: &str, tree: &str, parent: Option<&str>) -> Result<(), TransferError> {
    let mut args = vec!["commit-tree", tree, "-m", "state of a longhaul run"];
    args.extend(parent.into_iter().flat_map(|parent| ["-p", parent]));
    let commit = ours.word(&args)?;
    ours.call(&["update-ref", name, &commit]).map(drop)
}

/// The call that adds every file but those at or below `excluded`.
fn add_all(top: &Path, excluded: &[PathBuf]) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["add", "--all", "--", "."].map(OsString::from).into();
    for path in excluded.iter().filter_map(|path| path.strip_prefix(top).ok()) {
        let mut exclude = OsString::from(":(exclude,top,literal)");
        exclude.push(path);
        args.push(exclude);
    }
    args
}

/// The directories in a tree that are repositories of their own.
fn gitlinks(git: &Git, tree: &str) -> Result<Vec<OsText>, TransferError> {
    let listed = git.call(&["ls-tree", "-r", "-z", "--full-tree", tree])?;
    let links = paths(&listed).filter(|entry| entry.starts_with(GITLINK));
    Ok(links.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1)).map(os_text).collect())
}

/// A copy of an index with the time of the original: a file that was changed in the second in which the
/// index was written is only recognised by that time.
fn copy_index(from: &Path, to: &Path) -> Result<(), TransferError> {
    copy_if_there(from, to)?;
    let Ok(copy) = fs::File::options().write(true).open(to) else { return Ok(()) };
    let original = fs::metadata(from).and_then(|found| found.modified());
    original.and_then(|modified| copy.set_modified(modified)).map_err(TransferError::io("write", to))
}

/// What git lists with `-z`.
fn paths(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed.split(|byte| *byte == 0).filter(|path| !path.is_empty())
}

fn os_text(path: &[u8]) -> OsText {
    OsString::from_vec(path.to_vec()).into()
}

fn copy_if_there(from: &Path, to: &Path) -> Result<(), TransferError> {
    match fs::copy(from, to) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(TransferError::io("read", from)(error)),
    }
}

fn lines_if_there(path: &Path) -> Result<Vec<String>, TransferError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(TransferError::io("read", path)(error)),
    }
}
