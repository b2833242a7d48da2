//! Reads `labels.json`, in which a person labeled directories next to it.

use serde::de::DeserializeOwned;
use std::path::Path;
use std::{fs, io};

/// Reads the labels of a directory.
///
/// # Errors
///
/// Returns an error if the file cannot be read or names no tree.
pub fn read_labels<T: DeserializeOwned>(dir: &Path) -> io::Result<Vec<T>> {
    let path = dir.join("labels.json");
    let labels: Vec<T> = serde_json::from_slice(&read(&path)?)
        .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
    if labels.is_empty() {
        return Err(io::Error::other("labels.json names no tree"));
    }
    Ok(labels)
}

/// Reads a file. An error names it.
///
/// # Errors
///
/// Returns an error if the file cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display())))
}
