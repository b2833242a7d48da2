//! Reads the progress and the objectives of a project. It never writes a file.

use super::{Assignment, ProjectProgress, Stage};
use crate::items::item_text;
use crate::project_file::read_project_file;
use crate::{GlobPattern, WorkflowFileError};
use std::path::Path;

/// Size limit of `PROGRESS.md`. Plan agents append to it, but never to this size.
const PROGRESS_BYTES_MAX: u64 = 4 << 20;

/// Reads a `PROGRESS.md` of the project.
///
/// # Errors
/// Returns an error if the file is missing, cannot be read, or states no stage.
pub fn progress(project_dir: &Path, path: &Path) -> Result<ProjectProgress, String> {
    let text = read_project_file(project_dir, path, PROGRESS_BYTES_MAX)?;
    let text = text.ok_or_else(|| format!("there is no file {}", path.display()))?;
    ProjectProgress::parse(&text).map_err(|error| error.to_string())
}

/// Returns the files that the `PROGRESS.md` at `path` assigns, without a maximum. As for globs, hidden files and files
/// that git ignores do not exist.
///
/// # Errors
/// Returns the errors of [`progress`], and an error if a name belongs to several files.
pub fn assignment(project_dir: &Path, path: &Path) -> Result<Assignment, String> {
    let progress = progress(project_dir, path)?;
    let files = GlobPattern::new("**/*.lean")?.items(project_dir)?;
    let files: Vec<String> = files.iter().map(item_text).collect();
    Assignment::new(&progress.objectives, &files, usize::MAX).map_err(|error| error.to_string())
}

/// Checks that a project can start: its `PROGRESS.md` states a stage after `init`.
///
/// # Errors
/// Returns why it cannot.
pub fn check_project(project_dir: &Path, path: &Path) -> Result<(), WorkflowFileError> {
    let (name, dir) = (path.display(), project_dir.display());
    let hint = "the file needs a heading `## Current Stage` with `autoformalize`, `prover` or `polish` below it, and a \
                heading `## Current Objectives`";
    match progress(project_dir, path) {
        Err(reason) => Err(WorkflowFileError::new(
            format!("cannot read the progress of the project {dir}: {reason}"),
            hint,
        )),
        Ok(ProjectProgress { stage: Stage::Init, .. }) => {
            let message = format!("the project {dir} is not set up: {name} states the stage `init`");
            let hint =
                "set it up with `archon init`, or write the stage `autoformalize` or `prover` into the file";
            Err(WorkflowFileError::new(message, hint))
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{assignment, check_project};
    use std::fs;
    use std::path::Path;

    #[test]
    fn project_needs_a_stage_after_init() {
        let project = tempfile::tempdir().expect("a directory");
        let path = Path::new(".archon/PROGRESS.md");
        let message = |text: Option<&str>| {
            if let Some(text) = text {
                fs::create_dir_all(project.path().join(".archon")).expect("a directory");
                fs::write(project.path().join(path), text).expect("a file");
            }
            let error = check_project(project.path(), path).err();
            error.map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(message(None).ends_with("there is no file .archon/PROGRESS.md"));
        assert!(message(Some("## Current Stage\ninit\n")).ends_with("states the stage `init`"));
        assert!(message(Some("## Current Stage\nproving\n")).contains("`proving` is no stage"));
        assert_eq!(message(Some("## Current Stage\nprover\n")), "");
        assert_eq!(message(Some("## Current Stage\nCOMPLETE\n")), "");
    }

    #[test]
    fn objectives_are_files_of_the_project() {
        let project = tempfile::tempdir().expect("a directory");
        for file in ["A/Basic.lean", "B/Basic.lean", "C.lean", ".lake/packages/C.lean"] {
            let file = project.path().join(file);
            fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
            fs::write(file, "").expect("a file");
        }
        let check = |objectives: &str, expected: Result<&[&str], &str>| {
            let text = format!("## Current Stage\nprover\n## Current Objectives\n{objectives}");
            fs::write(project.path().join("P.md"), text).expect("a file");
            let files = assignment(project.path(), Path::new("P.md")).map(|assignment| assignment.files);
            match expected {
                Ok(expected) => {
                    assert_eq!(files, Ok(expected.iter().map(|file| (*file).to_owned()).collect()))
                }
                Err(expected) => assert!(files.is_err_and(|error| error.contains(expected)), "{expected}"),
            }
        };
        check("1. **C.lean**\n2. `A/Basic.lean`\n3. **Missing.lean**\n", Ok(&["C.lean", "A/Basic.lean"]));
        check("1. **Basic.lean**\n", Err("A/Basic.lean, B/Basic.lean"));
    }
}
