//! Records which content of a project's file the user trusts: one record per file, in `trusted/` of the home,
//! named by the hash of the file's path.
//! Never reads a project's file, and never extends what a file may set.

use super::file::FileTrust;
use longhaul_store::{Durability, Home, if_exists, read_regular, replace_json};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[derive(Debug, Serialize, Deserialize)]
struct TrustedFile {
    /// Canonical path of the file.
    path: PathBuf,
    /// SHA-256 of its content, in hexadecimal.
    sha256: String,
}

/// Returns whether the user trusts this content of the file. An unreadable record means no trust.
pub fn file_trust(path: &Path, content: &str) -> FileTrust {
    let Ok(home) = Home::locate(None, |name| env::var_os(name)) else { return FileTrust::Unknown };
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let found = read_regular(&record_path(&home, &path)).ok();
    match found.and_then(|bytes| serde_json::from_slice::<TrustedFile>(&bytes).ok()) {
        Some(trusted) if trusted.path == path && trusted.sha256 == hash(content.as_bytes()) => {
            FileTrust::Trusted
        }
        Some(trusted) if trusted.path == path => FileTrust::Changed,
        Some(_) | None => FileTrust::Unknown,
    }
}

pub fn trust(home: &Home, path: &Path, content: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let record_path = record_path(home, &path);
    let folder = record_path.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let record = TrustedFile { path, sha256: hash(content.as_bytes()) };
    replace_json(&record_path, &record, Durability::Power).map_err(io::Error::other)
}

/// Withdraws the trust. Returns `false` if there was none.
pub fn revoke(home: &Home, path: &Path) -> io::Result<bool> {
    let removed = if_exists(fs::remove_file(record_path(home, &fs::canonicalize(path)?)))?;
    Ok(removed.is_some())
}

fn record_path(home: &Home, path: &Path) -> PathBuf {
    let name = hash(path.as_os_str().as_encoded_bytes());
    home.path().join("trusted").join(name + ".json")
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
