//! Lists the files that differ between two workspace states, with line counts.

use super::ChangesError;
use crate::git::{GitError, ScratchRepo, pathspecs};
use longhaul_store::{DiffStat, OsText, WorkspaceState};
use serde::Serialize;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedFile {
    /// Path relative to the top of the repository.
    pub path: OsText,
    /// Kind of the change.
    pub status: ChangeKind,
    /// Former path, if the file was renamed.
    pub from: Option<OsText>,
    /// Added lines. `None` for a binary file.
    pub insertions: Option<u64>,
    /// Deleted lines. `None` for a binary file.
    pub deletions: Option<u64>,
    /// Whether the file is binary.
    pub binary: bool,
}

/// The kind of a file's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The file is new.
    Added,
    /// Its content, mode or type changed.
    Modified,
    /// The file was deleted.
    Deleted,
    /// The file was renamed and kept most of its content.
    Renamed,
}

/// Compares two states in these paths, with further options of git, and returns its output. An empty list of
/// paths selects everything. Files that either state omitted are excluded.
pub(super) async fn compare(
    scratch_repo: &ScratchRepo,
    start: &WorkspaceState,
    end: &WorkspaceState,
    paths: &[OsString],
    options: &[&str],
) -> Result<Vec<u8>, GitError> {
    let trees = [start, end].map(|state| OsString::from(state.tree.clone().unwrap_or_default()));
    let omitted: Vec<_> = start.omitted.iter().chain(&end.omitted).map(OsText::as_path).collect();
    let excluded = pathspecs(&omitted);
    // An exclusion alone would match no file.
    let paths = if paths.is_empty() { vec![OsString::from(".")] } else { paths.to_vec() };
    let options = COMPARE.iter().chain(options).map(OsString::from).chain(trees);
    let args: Vec<OsString> = options.chain([OsString::from("--")]).chain(paths).chain(excluded).collect();
    scratch_repo.git.call_async(&args).await
}

/// The comparison command. It starts none of the user's diff programs.
const COMPARE: [&str; 6] =
    ["diff-tree", "-r", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color"];

/// Returns the files that differ between two states in these paths. An empty list selects everything.
pub(super) async fn changed_files(
    scratch_repo: &ScratchRepo,
    start: &WorkspaceState,
    end: &WorkspaceState,
    paths: &[OsString],
) -> Result<Vec<ChangedFile>, ChangesError> {
    let output = compare(scratch_repo, start, end, paths, &["-z", "--raw", "--numstat"]).await?;
    let unexpected = "its output has a format that this version does not know";
    parse(&output).ok_or_else(|| GitError::unexpected("diff-tree", unexpected).into())
}

pub(super) fn sum(files: &[ChangedFile]) -> DiffStat {
    DiffStat {
        files: files.len() as u64,
        insertions: files.iter().filter_map(|file| file.insertions).sum(),
        deletions: files.iter().filter_map(|file| file.deletions).sum(),
    }
}

/// Parses the output of `-z --raw --numstat`: first the kind of change of each file, then its line counts.
fn parse(output: &[u8]) -> Option<Vec<ChangedFile>> {
    let mut parts = output.split(|byte| *byte == 0).peekable();
    let path = |part: Option<&[u8]>| Some(OsText::from(OsString::from_vec(part?.to_vec())));
    let mut files = Vec::new();
    while let Some(raw) = parts.next_if(|part| part.starts_with(b":")) {
        let kind = raw.rsplit(|byte| *byte == b' ').next()?.first()?;
        let first = path(parts.next())?;
        let (status, from, path) = match kind {
            b'A' => (ChangeKind::Added, None, first),
            b'D' => (ChangeKind::Deleted, None, first),
            b'M' | b'T' => (ChangeKind::Modified, None, first),
            b'R' => (ChangeKind::Renamed, Some(first), path(parts.next())?),
            _ => return None,
        };
        files.push(ChangedFile { path, status, from, insertions: None, deletions: None, binary: true });
    }
    for file in &mut files {
        let mut columns = parts.next()?.splitn(3, |byte| *byte == b'\t');
        let mut lines = || Some(std::str::from_utf8(columns.next()?).ok()?.parse::<u64>().ok());
        (file.insertions, file.deletions) = (lines()?, lines()?);
        file.binary = file.insertions.is_none();
        if columns.next()?.is_empty() {
            // Both names of a renamed file follow.
            parts.nth(1)?;
        }
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::{ChangeKind, parse, sum};

    #[test]
    fn parses_the_output_of_git() {
        let output = b":100644 100644 0a 0b M\0a \xff\nb\0:100644 100644 0a 0b R087\0old\0new\0:000000 100644 0 0b A\0z\0\
                       3\t1\ta \xff\nb\x000\t2\t\0old\0new\0-\t-\tz\0";
        let files = parse(output).expect("the output is valid");
        let changes: Vec<_> = files
            .iter()
            .map(|file| (file.status, file.insertions, file.deletions, file.binary, file.from.is_some()))
            .collect();
        assert_eq!(
            changes,
            [
                (ChangeKind::Modified, Some(3), Some(1), false, false),
                (ChangeKind::Renamed, Some(0), Some(2), false, true),
                (ChangeKind::Added, None, None, true, false),
            ]
        );
        let all = sum(&files);
        assert_eq!((all.files, all.insertions, all.deletions), (3, 3, 3));
        assert_eq!(parse(b""), Some(Vec::new()));
        for unexpected in
            [&b":100644 100644 0a 0b X\0a\0"[..], b":100644 100644 0a 0b M\0a\0", b":1 R1\0old\0"]
        {
            assert_eq!(parse(unexpected), None);
        }
    }
}
