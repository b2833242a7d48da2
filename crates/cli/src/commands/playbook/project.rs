//! Whose playbook is meant, what is known of it, and what to say when it cannot be used.

use crate::args::playbook::ProjectArgs;
use crate::failure::{Failure, USAGE};
use crate::open_home;
use longhaul::find_agent::claude_config_dir;
use longhaul_playbook::database::LearningError;
use longhaul_playbook::judging::Templates;
use longhaul_playbook::points::threshold;
use longhaul_playbook::{FileError, LearningDb, LearningPaths, PlaybookFile};
use std::env;
use std::path::PathBuf;

/// How alike two points must be to be one, in the name that users of the ACE playbook hooks know.
const THRESHOLD: &str = "AGENTIC_CONTEXT_DEDUP_THRESHOLD";

/// The playbook file that is meant.
pub fn file(args: &ProjectArgs) -> Result<PlaybookFile, Failure> {
    if let Some(project) = &args.project {
        if !project.is_dir() {
            let error = format!("find the project {}: there is no such directory", project.display());
            return Err(Failure::usage(error, "name the project's directory with --project"));
        }
        return Ok(PlaybookFile::of_project(project));
    }
    Ok(PlaybookFile::of_project(&of_here()?))
}

/// The project that is meant where nobody names one: what the agent calls so, else the nearest directory above with a
/// playbook, else this one.
pub fn of_here() -> Result<PathBuf, Failure> {
    if let Some(project) = env::var_os("CLAUDE_PROJECT_DIR").filter(|project| !project.is_empty()) {
        return Ok(project.into());
    }
    let here = env::current_dir().map_err(|error| {
        Failure::usage(format!("find the project: {error}"), "name its directory with --project")
    })?;
    let above: Option<PathBuf> =
        here.ancestors().find(|dir| PlaybookFile::of_project(dir).path().exists()).map(ToOwned::to_owned);
    Ok(above.unwrap_or(here))
}

/// What is known of past changes; made if it is not there.
pub fn learning() -> Result<LearningDb, Failure> {
    let home = open_home::open()?;
    LearningDb::open(&LearningPaths::in_home(home.path())).map_err(|error| of_learning(&error))
}

/// The same, if there is any.
pub fn known() -> Result<Option<LearningDb>, Failure> {
    let home = open_home::locate()?;
    LearningDb::open_existing(&LearningPaths::in_home(home.path())).map_err(|error| of_learning(&error))
}

/// What judges and sessions are told, as the user has it.
pub fn templates() -> Templates {
    claude_config_dir().map_or_else(Templates::bundled, |dir| Templates::in_dir(&dir.join("prompts")))
}

/// How alike two points must be to be one, and what is wrong with what the user says about it.
pub fn similarity_threshold() -> (f64, Option<String>) {
    let (threshold, flaw) = threshold(env::var(THRESHOLD).ok().as_deref());
    (threshold, flaw.map(|flaw| format!("{THRESHOLD}: {flaw}")))
}

/// Why a playbook cannot be read or changed, with what to do about it.
pub fn failure(error: &FileError) -> Failure {
    let failure = Failure::not_started(error.to_string(), error.hint(), None);
    match error {
        FileError::Undo(_) => Failure { exit_code: USAGE, ..failure },
        FileError::Io { .. }
        | FileError::Damaged { .. }
        | FileError::Newer { .. }
        | FileError::Busy { .. }
        | FileError::Overtaken { .. }
        | FileError::Outside { .. }
        | FileError::Learning(_) => failure,
    }
}

fn of_learning(error: &LearningError) -> Failure {
    Failure::not_started(error.to_string(), error.hint(), None)
}
