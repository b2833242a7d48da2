//! The folder of a task: what is read of it, and what the agent is not to see.

use super::TASK_HINT;
use crate::failure::Failure;
use crate::{guard_flags, prompt_arg, table_files};
use longhaul_agent::UrlPattern;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// What says what is to be done: the first of these that is there.
const DESCRIPTIONS: [&str; 3] = ["task_description.md", "README.md", "readme.md"];
/// What else there is to say.
const INSTRUCTIONS: &str = "instructions.txt";
/// What may not be looked at. The agent does not see these: they name what it is not to find.
const BLOCKED: [&str; 2] = ["blocked_urls.yaml", "blocked_urls.yml"];
/// What the solution is like.
const HINT: &str = "idea_hint.txt";
/// What ResearchGym's runtimes install beforehand; here nobody does.
const SETUP: [&str; 3] = ["requirements.txt", "install.sh", "setup.sh"];
/// What the agent needs none of. A history could tell what is hidden.
const NOISE: [&str; 3] = [".git", "__pycache__", ".DS_Store"];

/// A task.
#[derive(Debug)]
pub struct Task {
    /// What becomes the agent's folder, absolute.
    pub files: PathBuf,
    pub description: String,
    pub instructions: Option<String>,
    pub blocked: Vec<UrlPattern>,
    /// The files that say what has to be installed.
    pub setup: Vec<&'static str>,
    is_hinted: bool,
}

impl Task {
    /// Reads a folder, and refuses one that does not say what is to be done.
    pub fn read(named: &Path, is_hinted: bool) -> Result<Task, Failure> {
        let refused =
            |error: String| Failure::usage(format!("read the task {}: {error}", named.display()), TASK_HINT);
        let dir = fs::canonicalize(named).map_err(|error| refused(error.to_string()))?;
        if !dir.is_dir() {
            return Err(refused("it is no folder".to_owned()));
        }
        // A run's own workspace is such a folder, too.
        let input = dir.join(super::INPUT);
        let folders = [dir.clone(), input];
        let described = folders.iter().find_map(|files| Some((files, described(files)?)));
        let (files, description) = described.ok_or_else(|| {
            refused(format!("there is no {}, and none in `input`", DESCRIPTIONS[..2].join(" or ")))
        })?;
        let mut blocked = Vec::new();
        for list in folders.iter().flat_map(|folder| BLOCKED.map(|name| folder.join(name))) {
            if list.exists() {
                let text = table_files::read("TASK_DIR", &list)?;
                blocked.extend(guard_flags::url_list(&list.display().to_string(), &text)?);
            }
        }
        let instructions = files.join(INSTRUCTIONS);
        Ok(Task {
            files: files.clone(),
            description: prompt_arg::read(None, Some(&description))?,
            instructions: instructions
                .is_file()
                .then(|| prompt_arg::read(None, Some(&instructions)))
                .transpose()?,
            blocked,
            setup: SETUP.into_iter().filter(|name| files.join(name).is_file()).collect(),
            is_hinted,
        })
    }

    /// Whether a file or folder of this name is for the agent.
    pub fn shows(&self, name: &OsStr) -> bool {
        let Some(name) = name.to_str() else { return true };
        let is_noise = NOISE.contains(&name) || name.ends_with(".pyc");
        !is_noise && !BLOCKED.contains(&name) && (self.is_hinted || name != HINT)
    }
}

fn described(files: &Path) -> Option<PathBuf> {
    DESCRIPTIONS.into_iter().map(|name| files.join(name)).find(|path| path.is_file())
}
