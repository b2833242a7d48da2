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
    stated_progress(project_dir, path)?
}

/// Reads a `PROGRESS.md` of the project. The inner error is that it states no stage: an agent wrote it.
///
/// # Errors
/// Returns an error if the file is missing or cannot be read.
pub fn stated_progress(project_dir: &Path, path: &Path) -> Result<Result<ProjectProgress, String>, String> {
    let text = read_project_file(project_dir, path, PROGRESS_BYTES_MAX)?;
    let text = text.ok_or_else(|| format!("there is no file {}", path.display()))?;
    Ok(ProjectProgress::parse(&text))
}

/// Returns the files that the `PROGRESS.md` at `path` assigns. As for globs, hidden files and files that git ignores
/// do not exist.
///
/// # Errors
/// Returns the errors of [`progress`], and an error if a name belongs to several files.
pub fn assignment(project_dir: &Path, path: &Path) -> Result<Assignment, String> {
    let progress = progress(project_dir, path)?;
    let files = GlobPattern::new("**/*.lean")?.items(project_dir)?;
    let files: Vec<String> = files.iter().map(item_text).collect();
    Assignment::new(&progress.objectives, &files)
}

/// Checks that provers can work on the objectives: the file states a stage, no name belongs to several files, and if it
/// names files, one of them exists. Without objectives, there is nothing to check.
///
/// # Errors
/// Returns what the plan agent must correct.
pub fn check_objectives(project_dir: &Path, path: &Path) -> Result<(), String> {
    if progress(project_dir, path)?.stage == Stage::Complete {
        return Ok(());
    }
    let Assignment { files, unresolved } = assignment(project_dir, path)?;
    if files.is_empty() && !unresolved.is_empty() {
        let names: Vec<&str> = unresolved.iter().map(|objective| objective.name.as_str()).collect();
        return Err(format!("{}: none of these files exists: {}", path.display(), names.join(", ")));
    }
    Ok(())
}

/// Checks that the `PROGRESS.md` of a project states a stage, and returns it.
///
/// # Errors
/// Returns an error if the file is missing, cannot be read, or states no stage.
pub fn check_progress(project_dir: &Path, path: &Path) -> Result<Stage, WorkflowFileError> {
    let hint = "the file needs a heading `## Current Stage` with `autoformalize`, `prover` or `polish` below it, and a \
                heading `## Current Objectives`";
    let checked = progress(project_dir, path).map(|progress| progress.stage);
    checked.map_err(|reason| {
        let dir = project_dir.display();
        WorkflowFileError::new(format!("cannot read the progress of the project {dir}: {reason}"), hint)
    })
}

/// Checks that a project can start: its `PROGRESS.md` states a stage after `init`.
///
/// # Errors
/// Returns why it cannot.
pub fn check_project(project_dir: &Path, path: &Path) -> Result<(), WorkflowFileError> {
    if check_progress(project_dir, path)? != Stage::Init {
        return Ok(());
    }
    let (name, dir) = (path.display(), project_dir.display());
    let message = format!("the project {dir} is not set up: {name} states the stage `init`");
    let hint = "set it up with `archon init`, or write the stage `autoformalize` or `prover` into the file";
    Err(WorkflowFileError::new(message, hint))
}

#[cfg(test)]
mod tests {
    use super::{assignment, check_objectives, check_project};
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

    #[test]
    fn plan_must_state_a_stage_and_name_files() {
        let project = tempfile::tempdir().expect("a directory");
        for file in ["A.lean", "B.lean", "sub/B.lean"] {
            fs::create_dir_all(project.path().join("sub")).expect("a directory");
            fs::write(project.path().join(file), "").expect("a file");
        }
        let check = |stage: &str, objectives: &str, expected: Option<&str>| {
            let text = format!("## Current Stage\n{stage}\n## Current Objectives\n{objectives}");
            fs::write(project.path().join("P.md"), text).expect("a file");
            let problem = check_objectives(project.path(), Path::new("P.md")).err();
            match (problem, expected) {
                (problem, None) => assert_eq!(problem, None, "{stage} {objectives}"),
                (problem, Some(expected)) => assert!(
                    problem.as_ref().is_some_and(|problem| problem.contains(expected)),
                    "{stage} {objectives}: {problem:?}"
                ),
            }
        };
        check("prover", "1. **A.lean**\n2. **New.lean**\n", None);
        check("prover", "", None);
        check("formalization complete; all verified", "", Some("is no stage"));
        check("prover", "1. **B.lean**\n", Some("B.lean, sub/B.lean"));
        check("prover", "1. **New.lean**\n2. **Other.lean**\n", Some("exists: New.lean, Other.lean"));
        check("COMPLETE", "1. **B.lean**\n", None);
    }
}
