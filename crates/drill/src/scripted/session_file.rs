//! Writes the session's file: one JSON row per line, linked by `parentUuid`. It never reads the file;
//! `history` does. If the folder is not writable, the session is not stored, as with the real agent.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use longhaul_agent::claude::session_paths;
use serde_json::{Value, json};

use super::VERSION;
use crate::clock;

#[derive(Debug)]
pub(super) struct SessionFile {
    pub id: String,
    pub path: PathBuf,
    file: Option<File>,
    cwd: String,
    pub is_stored: bool,
    /// The last row of the conversation. It is the parent of the next row.
    pub leaf: Option<String>,
}

impl SessionFile {
    /// Returns a session whose last row is `leaf`. The first new row creates the file.
    pub(super) fn new(path: PathBuf, cwd: &Path, id: &str, leaf: Option<String>) -> Self {
        Self { id: id.to_owned(), path, file: None, is_stored: true, cwd: cwd.display().to_string(), leaf }
    }

    pub(super) fn outputs(&self) -> PathBuf {
        self.path.with_extension("").join("tasks")
    }

    pub(super) fn link(&mut self, kind: &str, uuid: String, mut fields: Value) {
        fields["parentUuid"] = json!(self.leaf);
        fields["isSidechain"] = json!(false);
        fields["uuid"] = json!(uuid);
        fields["userType"] = json!("external");
        fields["entrypoint"] = json!("sdk-cli");
        fields["cwd"] = json!(self.cwd);
        fields["version"] = json!(VERSION);
        self.row(kind, fields);
        self.leaf = Some(uuid);
    }

    /// Writes a row outside the conversation.
    pub(super) fn row(&mut self, kind: &str, mut fields: Value) {
        fields["type"] = json!(kind);
        fields["sessionId"] = json!(self.id);
        fields["timestamp"] = json!(clock::timestamp());
        self.write(&fields);
    }

    /// Writes a row unchanged, for the copy that a fork starts with.
    pub(super) fn write(&mut self, row: &Value) {
        if !self.is_stored {
            return;
        }
        if self.file.is_none() {
            self.file = self.path.parent().and_then(|folder| {
                fs::create_dir_all(folder).ok()?;
                OpenOptions::new().create(true).append(true).open(&self.path).ok()
            });
        }
        if let Some(file) = &mut self.file {
            // A single write, so that a kill leaves the row complete or absent.
            let _ = file.write_all(format!("{row}\n").as_bytes());
        }
    }
}

/// Returns the file of session `id` for the working directory `cwd`.
pub(super) fn path(config: &Path, cwd: &Path, id: &str) -> PathBuf {
    config.join(session_paths::session_file(cwd, id))
}

/// Returns the file of session `id`: from the folder of `cwd`, or else from any other folder.
pub(super) fn find(config: &Path, cwd: &Path, id: &str) -> Option<PathBuf> {
    let file_of_cwd = path(config, cwd, id);
    if file_of_cwd.is_file() {
        return Some(file_of_cwd);
    }
    let folders = fs::read_dir(config.join("projects")).ok()?;
    let mut files = folders.flatten().map(|folder| folder.path().join(format!("{id}.jsonl")));
    files.find(|file| file.is_file())
}
