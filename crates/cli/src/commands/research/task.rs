//! Reads the directory of a task and decides which of its files the agent may see.

use super::TASK_HINT;
use crate::failure::Failure;
use crate::{guard_flags, prompt_arg, table_files};
use longhaul_agent::UrlPattern;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Files with the task description. The first one that exists is used.
const DESCRIPTIONS: [&str; 3] = ["task_description.md", "README.md", "readme.md"];
const INSTRUCTIONS: &str = "instructions.txt";
/// Files with blocked URLs. They are hidden from the agent, because they name what it must not find.
const BLOCKED: [&str; 2] = ["blocked_urls.yaml", "blocked_urls.yml"];
const HINT: &str = "idea_hint.txt";
/// Files that ResearchGym's runtimes install in advance. Longhaul leaves this to the agent.
const SETUP: [&str; 3] = ["requirements.txt", "install.sh", "setup.sh"];
/// Files that the agent does not need. A Git history could reveal what is hidden.
const NOISE: [&str; 3] = [".git", "__pycache__", ".DS_Store"];

#[derive(Debug)]
pub struct Task {
    /// Directory to copy for the agent, absolute.
    pub files: PathBuf,
    pub description: String,
    pub instructions: Option<String>,
    pub blocked: Vec<UrlPattern>,
    /// Files that describe what to install.
    pub setup: Vec<&'static str>,
    is_hinted: bool,
}

impl Task {
    /// Reads the directory of a task. Returns an error if there is no description.
    pub fn read(task_dir: &Path, is_hinted: bool) -> Result<Task, Failure> {
        let failure = |error: String| {
            Failure::usage(format!("cannot read the task {}: {error}", task_dir.display()), TASK_HINT)
        };
        let dir = fs::canonicalize(task_dir).map_err(|error| failure(error.to_string()))?;
        if !dir.is_dir() {
            return Err(failure("it is not a directory".to_owned()));
        }
        // The workspace of a run is also accepted. Its task is in `input`.
        let input = dir.join(super::INPUT);
        let folders = [dir.clone(), input];
        let mut descriptions =
            folders.iter().flat_map(|files| DESCRIPTIONS.map(|name| (files, files.join(name))));
        let found = descriptions.find(|(_, path)| path.is_file());
        let (files, description) = found.ok_or_else(|| {
            failure(format!("there is no {}, and none in `input`", DESCRIPTIONS[..2].join(" or ")))
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

    /// Returns whether the agent may see a file or directory of this name.
    pub fn shows(&self, name: &OsStr) -> bool {
        let Some(name) = name.to_str() else { return true };
        let is_noise = NOISE.contains(&name) || name.ends_with(".pyc");
        !is_noise && !BLOCKED.contains(&name) && (self.is_hinted || name != HINT)
    }
}
