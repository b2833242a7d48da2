//! Finds the project, its playbook and its learning database.

use crate::args::playbook::ProjectArgs;
use crate::failure::{Failure, OrFailure};
use crate::next_commands::quoted;
use crate::{open_home, output};
use longhaul::find_agent::claude_config_dir;
use longhaul_playbook::Templates;
use longhaul_playbook::points::threshold;
use longhaul_playbook::{FileError, LearningDb, LearningPaths, PlaybookFile, UndoError, UserError};
use longhaul_store::DatabaseError;
use std::env;
use std::path::{Path, PathBuf};

/// Variable for the similarity threshold of duplicates. The ACE playbook hooks use the same name.
const THRESHOLD: &str = "AGENTIC_CONTEXT_DEDUP_THRESHOLD";

pub fn file(args: &ProjectArgs) -> Result<PlaybookFile, Failure> {
    match &args.project {
        Some(project) if !project.is_dir() => {
            let error = format!("cannot find the project {}: there is no such directory", project.display());
            Err(Failure::usage(error, "name the project's directory with --project"))
        }
        Some(project) => Ok(PlaybookFile::in_project(project)),
        None => Ok(PlaybookFile::in_project(&current_project()?)),
    }
}

pub fn command_line(args: &ProjectArgs, words: &str) -> String {
    let project = args.project.as_ref().map(|project| quoted(&project.to_string_lossy()));
    let project = project.map_or_else(String::new, |project| format!(" --project {project}"));
    format!("longhaul playbook {words}{project}")
}

/// Returns the default project: Claude Code's project, the nearest parent directory with a playbook, or the
/// current directory.
pub fn current_project() -> Result<PathBuf, Failure> {
    if let Some(project) = env::var_os("CLAUDE_PROJECT_DIR").filter(|project| !project.is_empty()) {
        return Ok(project.into());
    }
    let here = env::current_dir().or_usage("cannot find the project", "name its directory with --project")?;
    let above: Option<PathBuf> =
        here.ancestors().find(|dir| PlaybookFile::in_project(dir).path().exists()).map(ToOwned::to_owned);
    Ok(above.unwrap_or(here))
}

pub fn learning() -> Result<LearningDb, Failure> {
    let home = open_home::open()?;
    Ok(warn_if_damaged(LearningDb::replace_if_damaged(&LearningPaths::in_home(home.path()))?))
}

pub fn existing_db() -> Result<Option<LearningDb>, Failure> {
    let home = open_home::locate()?;
    Ok(LearningDb::open_existing(&LearningPaths::in_home(home.path()))?.map(warn_if_damaged))
}

/// Prints a warning if opening the database moved a damaged one aside.
pub fn warn_if_damaged(learning: LearningDb) -> LearningDb {
    learning.damaged_copy().into_iter().for_each(warn_damaged_database);
    learning
}

pub fn warn_damaged_database(path: &Path) {
    let warning = format!("the queue was damaged; it is kept as {}", path.display());
    output::print_warning(
        &warning,
        Some("pass its transcripts to `longhaul playbook learn`; playbooks are not affected"),
    );
}

/// Returns the prompt templates for judges and sessions, including the user's own.
pub fn templates() -> Templates {
    claude_config_dir().map_or_else(Templates::bundled, |dir| Templates::in_dir(&dir.join("prompts")))
}

/// Returns the similarity threshold, and a warning if the user's value is invalid.
pub fn similarity_threshold() -> (f64, Option<String>) {
    let (threshold, flaw) = threshold(env::var(THRESHOLD).ok().as_deref());
    (threshold, flaw.map(|flaw| format!("{THRESHOLD}: {flaw}")))
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        let text = error.to_string();
        match error {
            FileError::Undo(UndoError::Nothing) => {
                Failure::usage(text, "name a change of `longhaul playbook history`")
            }
            FileError::Undo(UndoError::NoSuch(_) | UndoError::ContentDeleted(_)) => {
                Failure::usage(text, "`longhaul playbook history` lists the changes")
            }
            FileError::Undo(UndoError::Edited { .. }) => {
                Failure::usage(text, "--force reverts it as well; it stays in the history")
            }
            error => Failure::not_started(text, error.hint()),
        }
    }
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Failure {
        Failure::not_started(error.to_string(), error.hint())
    }
}

impl From<UserError> for Failure {
    fn from(error: UserError) -> Failure {
        Failure::not_started(error.message, error.hint)
    }
}
