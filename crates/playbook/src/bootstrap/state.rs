//! How far learning from the past has come, in the project: `.claude/bootstrap_state.json`, as the ACE playbook hooks have
//! it. What we do not know in it is kept.

use longhaul_store::{Durability, replace};
use serde_json::{Map, Value, json};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thiserror::Error;

const FILE: &str = ".claude/bootstrap_state.json";
const VERSION: &str = "1.0";
const SESSIONS: &str = "processed_sessions";

/// How far learning from the past has come.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapState {
    path: PathBuf,
    content: Map<String, Value>,
}

/// Why the file cannot be used.
#[derive(Debug, Error)]
pub enum StateError {
    /// It cannot be read.
    #[error("read {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// It cannot be written.
    #[error("write {}: {cause}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
}

impl StateError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            StateError::Unreadable { .. } => {
                "move it away; what was learnt already is known all the same, and is not learnt again"
            }
            StateError::Unwritable { .. } => "see whether the directory can be written to and has room",
        }
    }
}

impl BootstrapState {
    /// What the file of this project says; nothing yet where there is none.
    ///
    /// # Errors
    /// [`StateError`].
    pub fn of_project(project: &Path) -> Result<BootstrapState, StateError> {
        let path = project.join(FILE);
        let unreadable = |cause: String| StateError::Unreadable { path: path.clone(), cause };
        let content = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Map::new(),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        if content.get(SESSIONS).is_some_and(|sessions| !sessions.is_object()) {
            return Err(unreadable(format!("`{SESSIONS}` is no object")));
        }
        Ok(BootstrapState { path, content })
    }

    /// When this transcript was learnt from, in the words of the file.
    pub fn learned_at(&self, transcript: &Path) -> Option<&str> {
        let session = self.content.get(SESSIONS)?.get(&*transcript.to_string_lossy())?;
        Some(session.get("processed_at").and_then(Value::as_str).unwrap_or_default())
    }

    /// This transcript was learnt from at that time, and the playbook has so many points since. On disk when this returns,
    /// the whole file or none of it.
    ///
    /// # Errors
    /// [`StateError`].
    pub fn record_learned(&mut self, transcript: &Path, at: &str, points: usize) -> Result<(), StateError> {
        self.content.entry("version").or_insert_with(|| VERSION.into());
        let session = json!({ "processed_at": at, "key_points_after": points });
        let sessions = self.content.entry(SESSIONS).or_insert_with(|| Map::new().into());
        if let Some(sessions) = sessions.as_object_mut() {
            sessions.insert(transcript.to_string_lossy().into_owned(), session);
        }
        let unwritable = |cause: String| StateError::Unwritable { path: self.path.clone(), cause };
        let text = serde_json::to_vec_pretty(&self.content).map_err(|error| unwritable(error.to_string()))?;
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir).map_err(|error| unwritable(error.to_string()))?;
        }
        replace(&self.path, &text, Durability::Power).map_err(|error| unwritable(error.to_string()))
    }
}
