//! Creates a repository from an exported workspace: the same branch at the same commit, the same files and
//! the same index. The repository never has remotes, other branches or settings of the original.

use super::TransferError;
use super::manifest::WorkspaceManifest;
use super::snapshot::{HEAD, SNAPSHOT, STAGED};
use crate::git::{Git, GitError, text};
use std::ffi::OsString;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

/// Creates the repository in the empty directory `into`. Errors about an invalid bundle name the file `from`.
pub(super) fn restore(
    bundle: &Path,
    workspace: &WorkspaceManifest,
    into: &Path,
    from: &Path,
    unpacked_max: u64,
) -> Result<(), TransferError> {
    let git = Git::new(into);
    let mut init =
        vec!["init".to_owned(), "--quiet".to_owned(), format!("--object-format={}", workspace.object_format)];
    init.extend(workspace.branch.as_ref().map(|branch| format!("--initial-branch={branch}")));
    git.call(&init)?;
    if !workspace.shallow.is_empty() {
        let shallow = into.join(".git/shallow");
        let lines = workspace.shallow.join("\n") + "\n";
        fs::write(&shallow, lines).map_err(TransferError::io("write", &shallow))?;
    }
    let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--"].map(OsString::from);
    let refs = "+refs/longhaul/*:refs/longhaul/*".into();
    git.call(&fetch.into_iter().chain([bundle.into(), refs]).collect::<Vec<_>>())?;

    let resolve =
        |name: &str| Ok::<_, GitError>(git.ask(&["rev-parse", "--quiet", "--verify", name])?.map(text));
    let tree = resolve(&format!("{SNAPSHOT}^{{tree}}"))?;
    if resolve(HEAD)? != workspace.head || tree.as_ref() != Some(&workspace.tree) {
        return Err(TransferError::invalid_archive(
            from,
            "its bundle contains a different workspace than its manifest describes",
        ));
    }
    check_size(&git, from, unpacked_max)?;
    if let Some(head) = &workspace.head {
        match &workspace.branch {
            Some(branch) => git.call(&["update-ref", &format!("refs/heads/{branch}"), head])?,
            None => git.call(&["update-ref", "--no-deref", "HEAD", head])?,
        };
    }
    // Restores all files first, and then the index, so that unstaged changes stay unstaged.
    git.call(&["read-tree", "--reset", "-u", SNAPSHOT])?;
    let staged = resolve(STAGED)?;
    match (&staged, &workspace.head) {
        (Some(_), _) => git.call(&["read-tree", STAGED])?,
        (None, Some(_)) => git.call(&["read-tree", HEAD])?,
        (None, None) => git.call(&["read-tree", "--empty"])?,
    };
    // Git exits with 1 if files differ from the index. This is allowed.
    git.ask(&["update-index", "-q", "--refresh"])?;
    for name in [SNAPSHOT, STAGED, HEAD] {
        git.call(&["update-ref", "-d", name])?;
    }
    Ok(())
}

/// Refuses files that would fill the disk. A few objects can represent any number of files, so the listing
/// stops at the limit.
fn check_size(git: &Git, from: &Path, unpacked_max: u64) -> Result<(), TransferError> {
    let mut unpacked = 0_u64;
    git.lines(&["ls-tree", "-r", "-l", SNAPSHOT], |line| {
        // `100644 blob 1f7a7a47…      12<TAB>name`
        let size = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).nth(3);
        let size = size.and_then(|size| str::from_utf8(size).ok()?.parse().ok()).unwrap_or(0_u64);
        unpacked = unpacked.saturating_add(size).saturating_add(line.len() as u64);
        if unpacked > unpacked_max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if unpacked > unpacked_max {
        return Err(TransferError::Large { path: from.to_owned(), unpacked });
    }
    Ok(())
}
