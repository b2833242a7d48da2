//! Reads and writes the progress of learning from past sessions: `.claude/bootstrap_state.json`, in the
//! format of the ACE playbook hooks.
//!
//! Unknown fields are preserved.

use longhaul_store::{Durability, replace};
use serde_json::{Map, Value, json};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thiserror::Error;

const FILE: &str = ".claude/bootstrap_state.json";
const VERSION: &str = "1.0";
const SESSIONS: &str = "processed_sessions";

/// Progress of learning from past sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapState {
    path: PathBuf,
    content: Map<String, Value>,
}

/// Why the file cannot be used.
#[derive(Debug, Error)]
pub enum StateError {
    /// It cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Cause of the error.
        cause: String,
    },
    /// It cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// Cause of the error.
        cause: String,
    },
}

impl StateError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            StateError::Unreadable { .. } => "move it away; parts that were learned are not learned again",
            StateError::Unwritable { .. } => "check that the directory is writable and has free space",
        }
    }
}

impl BootstrapState {
    /// Reads the file of this project. A missing file is an empty state.
    ///
    /// # Errors
    /// Returns [`StateError`] if the file cannot be read or is invalid.
    pub fn read(project: &Path) -> Result<BootstrapState, StateError> {
        let path = project.join(FILE);
        let unreadable = |cause: String| StateError::Unreadable { path: path.clone(), cause };
        let content = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Map::new(),
            Err(error) => return Err(unreadable(error.to_string())),
        };
        if content.get(SESSIONS).is_some_and(|sessions| !sessions.is_object()) {
            return Err(unreadable(format!("`{SESSIONS}` is not an object")));
        }
        Ok(BootstrapState { path, content })
    }

    /// Returns when the transcript was processed, as written in the file, or `None` if it was not.
    pub fn learned_at(&self, transcript: &Path) -> Option<&str> {
        let session = self.content.get(SESSIONS)?.get(&*transcript.to_string_lossy())?;
        Some(session.get("processed_at").and_then(Value::as_str).unwrap_or_default())
    }

    /// Records that the transcript was processed at that time and the playbook then had this many points. The
    /// file is replaced as a whole and is on disk when this returns.
    ///
    /// # Errors
    /// Returns [`StateError`] if the file cannot be written.
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
