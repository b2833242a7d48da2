//! What differs between two states, file by file and in figures.

use super::ChangesError;
use super::scratch_repo::ScratchRepo;
use super::workspace_tree::pathspecs;
use longhaul_store::{DiffStat, OsText, WorkspaceState};
use serde::Serialize;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedFile {
    /// Its path from the top of the repository on.
    pub path: OsText,
    /// What became of it.
    pub status: ChangeKind,
    /// What it was called before, if that was otherwise.
    pub from: Option<OsText>,
    /// Lines that came; nothing for one that is no text.
    pub insertions: Option<u64>,
    /// Lines that went; nothing for one that is no text.
    pub deletions: Option<u64>,
    /// Whether it is no text.
    pub binary: bool,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It was not there.
    Added,
    /// Its content, its mode or its kind is another.
    Modified,
    /// It is not there any more.
    Deleted,
    /// It has another name, and most of its content.
    Renamed,
}

/// Beginning and end of a comparison, as git takes them: what was left out of one state is told of neither.
pub(super) fn between(
    began: &WorkspaceState,
    ended: &WorkspaceState,
    paths: &[OsString],
) -> [Vec<OsString>; 2] {
    let trees = [began, ended].map(|state| OsString::from(state.tree.clone().unwrap_or_default()));
    let omitted: Vec<_> = began.omitted.iter().chain(&ended.omitted).map(OsText::as_path).collect();
    let excluded = pathspecs(&omitted);
    // Excluded alone is excluded from everything.
    let paths = if paths.is_empty() { vec![OsString::from(".")] } else { paths.to_vec() };
    [trees.to_vec(), [paths, excluded].concat()]
}

/// How git is asked to compare: without a program that somebody has named for it.
pub(super) const COMPARE: [&str; 6] =
    ["diff-tree", "-r", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color"];

/// The files that differ between two states, of these paths; of none for all.
///
/// # Errors
/// If git cannot compare them.
pub(super) async fn figures(
    ours: &ScratchRepo,
    began: &WorkspaceState,
    ended: &WorkspaceState,
    paths: &[OsString],
) -> Result<Vec<ChangedFile>, ChangesError> {
    let [trees, paths] = between(began, ended, paths);
    let how = COMPARE.iter().chain(&["-z", "--raw", "--numstat"]).map(OsString::from);
    let args: Vec<OsString> = how.chain(trees).chain([OsString::from("--")]).chain(paths).collect();
    let listed = ours.git.call(&args).await?;
    parsed(&listed).ok_or_else(|| ChangesError::Git {
        doing: "diff-tree".to_owned(),
        git_error: "it lists the files in a way that this version does not know".to_owned(),
    })
}

/// All of that added up.
pub(super) fn sum(files: &[ChangedFile]) -> DiffStat {
    DiffStat {
        files: files.len() as u64,
        insertions: files.iter().filter_map(|file| file.insertions).sum(),
        deletions: files.iter().filter_map(|file| file.deletions).sum(),
    }
}

/// What `-z --raw --numstat` prints: first every file with what became of it, then every one with its lines.
fn parsed(listed: &[u8]) -> Option<Vec<ChangedFile>> {
    let mut parts = listed.split(|byte| *byte == 0).peekable();
    let path = |part: Option<&[u8]>| Some(OsText::from(OsString::from_vec(part?.to_vec())));
    let mut files = Vec::new();
    while let Some(raw) = parts.next_if(|part| part.starts_with(b":")) {
        let how = raw.rsplit(|byte| *byte == b' ').next()?.first()?;
        let first = path(parts.next())?;
        let (status, from, path) = match how {
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
            // Both names follow.
            parts.nth(1)?;
        }
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::{ChangeKind, parsed, sum};

    #[test]
    fn what_git_lists_is_read() {
        let listed = b":100644 100644 0a 0b M\0a \xff\nb\0:100644 100644 0a 0b R087\0old\0new\0:000000 100644 0 0b A\0z\0\
                       3\t1\ta \xff\nb\x000\t2\t\0old\0new\0-\t-\tz\0";
        let files = parsed(listed).expect("it is as git writes it");
        let told: Vec<_> = files
            .iter()
            .map(|file| (file.status, file.insertions, file.deletions, file.binary, file.from.is_some()))
            .collect();
        assert_eq!(
            told,
            [
                (ChangeKind::Modified, Some(3), Some(1), false, false),
                (ChangeKind::Renamed, Some(0), Some(2), false, true),
                (ChangeKind::Added, None, None, true, false),
            ]
        );
        let all = sum(&files);
        assert_eq!((all.files, all.insertions, all.deletions), (3, 3, 3));
        assert_eq!(parsed(b""), Some(Vec::new()));
        for odd in [&b":100644 100644 0a 0b X\0a\0"[..], b":100644 100644 0a 0b M\0a\0", b":1 R1\0old\0"] {
            assert_eq!(parsed(odd), None);
        }
    }
}
