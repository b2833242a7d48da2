//! What a run changed, for somebody who looks: between its beginning and its end, or else the workspace as it is now.
//! Nothing is changed by it, neither the run nor the workspace.

use super::repository::UserRepo;
use super::scratch_repo::ScratchRepo;
use super::stats::{self, COMPARE, ChangedFile, between};
use super::{ChangesError, excluded, workspace_tree};
use crate::live::LiveClock;
use longhaul_core::Run;
use longhaul_store::{DiffStat, Home, Journal, RunBoundary, RunDir, UnrecordedReason, WorkspaceState};
use std::ffi::OsString;
use tempfile::TempDir;

/// What a run changed.
pub struct WorkspaceDiff {
    /// Before anything of the run was started.
    pub from: WorkspaceState,
    /// When it was over, or now.
    pub to: WorkspaceState,
    /// Why that is now; nothing if it is not.
    pub live: Option<LiveReason>,
    /// What differs in between.
    pub files: Vec<ChangedFile>,
    /// The commits that came, the oldest first; nothing if the history is another one, or is not there any more.
    pub commits: Option<Vec<Commit>>,
    scratch_repo: ScratchRepo,
    paths: Vec<OsString>,
    _scratch: TempDir,
}

/// Why a run is compared with its workspace as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveReason {
    /// It is not over.
    NotFinished,
    /// It is over, and its end could not be recorded, for this reason.
    Unrecorded(Option<UnrecordedReason>),
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Commit {
    /// Its name.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// How changes are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffFormat {
    /// As a patch.
    Patch {
        /// Whether it also has files that are no text, so that it can be applied.
        binary: bool,
    },
    /// The files with a bar for each, in lines so long.
    Stat {
        /// In characters.
        width: usize,
    },
    /// The files' names.
    NameOnly,
}

/// Looks at what the run of this directory changed in these paths, as git takes them from the top of its repository;
/// in none for everywhere.
///
/// # Errors
/// If the run's files cannot be read; if its beginning is not recorded ([`ChangesError::Unrecorded`]); if the workspace is in
/// no repository any more, or git cannot compare.
pub async fn diff(home: &Home, dir: &RunDir, paths: Vec<OsString>) -> Result<WorkspaceDiff, ChangesError> {
    let history = Journal::load(&dir.journal_path())?;
    let run = Run::replay(history.records());
    let record = dir.changes()?.filter(|record| {
        record.start.is_valid() && record.end.as_ref().is_none_or(|ended| ended.state.is_valid())
    });
    let record = record.ok_or(ChangesError::Unrecorded(UnrecordedReason::NotWritten))?;
    if record.start.tree.is_none() {
        return Err(ChangesError::Unrecorded(
            record.start.unrecorded_reason.unwrap_or(UnrecordedReason::NotWritten),
        ));
    }
    let cwd = dir.plan()?.cwd;
    let repository = UserRepo::new(cwd.as_path()).await.map_err(|error| match error {
        ChangesError::Unrecorded(_) => ChangesError::WorkspaceMoved(cwd.as_path().to_owned()),
        error => error,
    })?;
    let scratch = tempfile::tempdir().map_err(ChangesError::io("write", &std::env::temp_dir()))?;
    let kept = [RunBoundary::Start, RunBoundary::End].map(|of| dir.objects_path(of));
    let ours = ScratchRepo::make(scratch.path(), &repository, &[&kept[0], &kept[1]])?;
    let is_over = run.state().outcome().is_some();
    let (to, now) = match record.end(run.state().reopen_count).filter(|_| is_over) {
        Some(ended) => (ended.state.clone(), None),
        None => {
            let excluded = excluded(home, dir, &repository)?;
            let now = workspace_tree::take(&repository, &ours, &excluded, LiveClock::new().now().at).await?;
            let unrecorded = record.end.as_ref().and_then(|ended| ended.state.unrecorded_reason);
            (now, Some(if is_over { LiveReason::Unrecorded(unrecorded) } else { LiveReason::NotFinished }))
        }
    };
    let files = stats::figures(&ours, &record.start, &to, &paths).await?;
    let commits = commits(&ours, record.start.head.as_deref(), to.head.as_deref()).await;
    Ok(WorkspaceDiff {
        from: record.start,
        to,
        live: now,
        files,
        commits,
        scratch_repo: ours,
        paths,
        _scratch: scratch,
    })
}

impl WorkspaceDiff {
    /// All of it in figures.
    pub fn figures(&self) -> DiffStat {
        stats::sum(&self.files)
    }

    /// The changes as git prints them, without colours.
    ///
    /// # Errors
    /// If an object is not there any more.
    pub async fn printed(&self, form: DiffFormat) -> Result<Vec<u8>, ChangesError> {
        let form = match form {
            DiffFormat::Patch { binary: false } => "--patch".to_owned(),
            DiffFormat::Patch { binary: true } => "--binary".to_owned(),
            DiffFormat::Stat { width } => format!("--stat={width}"),
            DiffFormat::NameOnly => "--name-only".to_owned(),
        };
        let [trees, paths] = between(&self.from, &self.to, &self.paths);
        let how = COMPARE.iter().map(OsString::from).chain([form.into()]);
        let args: Vec<OsString> = how.chain(trees).chain([OsString::from("--")]).chain(paths).collect();
        self.scratch_repo.git.call(&args).await
    }
}

/// The commits between the two; nothing if the second does not follow the first, or if git does not have them.
async fn commits(ours: &ScratchRepo, began: Option<&str>, ended: Option<&str>) -> Option<Vec<Commit>> {
    let git = &ours.git;
    let range = match (began, ended) {
        (began, ended) if began == ended => return Some(Vec::new()),
        (_, None) => return None,
        (None, Some(ended)) => ended.to_owned(),
        (Some(began), Some(ended)) => {
            git.ask(&["merge-base", "--is-ancestor", began, ended]).await.ok()??;
            format!("{began}..{ended}")
        }
    };
    let told =
        git.call(&["log", "-z", "--reverse", "--no-color", "--format=%H %s", &range, "--"]).await.ok()?;
    let commits = workspace_tree::paths(&told).map(|line| {
        let line = String::from_utf8_lossy(line);
        let (id, subject) = line.split_once(' ').unwrap_or((&line, ""));
        Commit { id: id.to_owned(), subject: subject.to_owned() }
    });
    Some(commits.collect())
}
