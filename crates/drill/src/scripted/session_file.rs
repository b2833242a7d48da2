//! Writes the session's file: one JSON row per line, linked by `parentUuid`. It never reads the file;
//! `history` does. If the folder is not writable, the session is not stored, as with the real agent.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::VERSION;
use crate::clock;

/// Length limit of a folder name. A longer one is truncated and gets a hash as its suffix.
const FOLDER_CHARS_MAX: usize = 200;

/// A session that is being written.
#[derive(Debug)]
pub(super) struct SessionFile {
    pub id: String,
    pub path: PathBuf,
    file: Option<File>,
    cwd: String,
    /// Whether the session is stored.
    pub is_stored: bool,
    /// The last row of the conversation. It is the parent of the next row.
    pub leaf: Option<String>,
}

impl SessionFile {
    /// Returns the file of a new session. The first row creates it.
    pub(super) fn new(config: &Path, cwd: &Path, id: &str) -> Self {
        let path = path(config, cwd, id);
        Self {
            id: id.to_owned(),
            path,
            file: None,
            is_stored: true,
            cwd: cwd.display().to_string(),
            leaf: None,
        }
    }

    /// Continues a session whose last row is `leaf`.
    pub(super) fn resume(path: PathBuf, cwd: &Path, id: &str, leaf: Option<String>) -> Self {
        Self { id: id.to_owned(), path, file: None, is_stored: true, cwd: cwd.display().to_string(), leaf }
    }

    /// Returns the folder for the output of this session's tools.
    pub(super) fn outputs(&self) -> PathBuf {
        self.path.with_extension("").join("tasks")
    }

    /// Writes a row of the conversation and returns its id.
    pub(super) fn link(&mut self, kind: &str, uuid: String, mut fields: Value) -> String {
        fields["parentUuid"] = json!(self.leaf);
        fields["isSidechain"] = json!(false);
        fields["uuid"] = json!(uuid);
        fields["userType"] = json!("external");
        fields["entrypoint"] = json!("sdk-cli");
        fields["cwd"] = json!(self.cwd);
        fields["version"] = json!(VERSION);
        self.row(kind, fields);
        self.leaf = Some(uuid.clone());
        uuid
    }

    /// Writes a row outside the conversation.
    pub(super) fn row(&mut self, kind: &str, mut fields: Value) {
        fields["type"] = json!(kind);
        fields["sessionId"] = json!(self.id);
        fields["timestamp"] = json!(clock::rfc3339(clock::unix_ms()));
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
    config.join("projects").join(folder(&cwd.display().to_string())).join(format!("{id}.jsonl"))
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

/// Returns the folder name of a working directory (Claude Code 2.1.330). Every character but ASCII letters
/// and digits becomes `-`. A long name is truncated and gets a hash of the whole path.
pub(super) fn folder(cwd: &str) -> String {
    let name: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if name.len() <= FOLDER_CHARS_MAX {
        return name;
    }
    let hash =
        cwd.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    format!("{}-{}", name.get(..FOLDER_CHARS_MAX).unwrap_or_default(), base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_names_match_the_real_agent() {
        assert_eq!(folder("/demo/a.b_c d"), "-demo-a-b-c-d");
        assert_eq!(folder("/ü"), "--");
        let long = folder(&format!("/{}", "a".repeat(280)));
        assert!(long.starts_with("-aaa") && long.len() > 201 && long.chars().nth(200) == Some('-'), "{long}");
    }
}
