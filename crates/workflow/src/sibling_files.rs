//! Files that a workflow file names: `prompt_file` and `schema_file`. Each is read once, when the workflow starts;
//! its plan stores the text, so a later change of the file does not change the workflow.

use crate::WorkflowFileError;
use crate::error::SourceText;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Size limit of each file: more than any context window holds.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The files by the name that the workflow file gives them.
#[derive(Debug, Default)]
pub struct SiblingFiles(RefCell<BTreeMap<String, String>>);

impl SiblingFiles {
    /// Starts with texts that were read before. They are not read again.
    pub fn new(stored: &BTreeMap<String, String>) -> SiblingFiles {
        SiblingFiles(RefCell::new(stored.clone()))
    }

    /// Returns the texts of all files.
    pub fn texts(&self) -> BTreeMap<String, String> {
        self.0.borrow().clone()
    }

    /// Returns the path and the text of a file, which the workflow file names at `span`. The name is relative to the
    /// directory of the workflow file.
    pub fn read(
        &self,
        source: &SourceText,
        name: &str,
        span: &Range<usize>,
    ) -> Result<(PathBuf, String), WorkflowFileError> {
        let path = source.path.parent().unwrap_or(Path::new("")).join(name);
        let mut texts = self.0.borrow_mut();
        if let Some(text) = texts.get(name) {
            return Ok((path, text.clone()));
        }
        let read = || match fs::metadata(&path)? {
            metadata if !metadata.is_file() => Err(std::io::Error::other("it is not a regular file")),
            metadata if metadata.len() > FILE_BYTES_MAX => {
                Err(std::io::Error::other("it is larger than 1 MiB"))
            }
            _ => fs::read_to_string(&path),
        };
        match read() {
            Ok(text) => {
                texts.insert(name.to_owned(), text.clone());
                Ok((path, text))
            }
            Err(error) => {
                let message = format!("{}: {error}", path.display());
                let hint = "the path is relative to the directory of the workflow file";
                Err(source.error(span.clone(), message, hint))
            }
        }
    }
}
