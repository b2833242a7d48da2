//! Reads and writes the progress of learning from past sessions: `.claude/bootstrap_state.json`, in the
//! format of the ACE playbook hooks.
//!
//! Unknown fields are preserved.

use crate::UserError;
use longhaul_store::{Durability, if_exists, replace};
use serde_json::{Map, Value, json};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const FILE: &str = ".claude/bootstrap_state.json";
const VERSION: &str = "1.0";
const SESSIONS: &str = "processed_sessions";

/// Progress of learning from past sessions. Its methods fail with [`UserError`] if the file cannot be read or
/// written.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapState {
    path: PathBuf,
    content: Map<String, Value>,
}

impl BootstrapState {
    /// Reads the file of this project. A missing file is an empty state.
    pub fn read(project: &Path) -> Result<BootstrapState, UserError> {
        let path = project.join(FILE);
        let unreadable = |cause: String| {
            let message = format!("cannot read {}: {cause}", path.display());
            UserError::new(message, "move it away; parts that were learned are not learned again")
        };
        let content = match if_exists(fs::read(&path)).map_err(|error| unreadable(error.to_string()))? {
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?,
            None => Map::new(),
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
    pub fn record_learned(&mut self, transcript: &Path, at: &str, points: usize) -> Result<(), UserError> {
        self.content.entry("version").or_insert_with(|| VERSION.into());
        let session = json!({ "processed_at": at, "key_points_after": points });
        let sessions = self.content.entry(SESSIONS).or_insert_with(|| Map::new().into());
        if let Some(sessions) = sessions.as_object_mut() {
            sessions.insert(transcript.to_string_lossy().into_owned(), session);
        }
        let text = serde_json::to_vec_pretty(&self.content).unwrap_or_default();
        let dir = self.path.parent().unwrap_or(&self.path);
        let written = fs::create_dir_all(dir)
            .and_then(|()| replace(&self.path, &text, Durability::Power).map_err(io::Error::other));
        written.map_err(|cause| {
            let message = format!("cannot write {}: {cause}", self.path.display());
            UserError::new(message, "check that the directory is writable and has free space")
        })
    }
}
