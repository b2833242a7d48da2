//! Records which notifications were sent to the `--notify` commands: one file per notification, created
//! before the commands run. It prevents a second notification after a takeover. No decision about the run
//! depends on it.

use crate::files::{make_dirs, make_parents, private, sync_dir};
use crate::{StoreError, failpoint_io};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The records and logs of the notifications of a run or a workflow.
#[derive(Clone, Debug)]
pub struct NotifyFiles {
    dir: PathBuf,
}

impl NotifyFiles {
    pub(crate) fn new(dir: &Path) -> NotifyFiles {
        NotifyFiles { dir: dir.to_owned() }
    }

    /// Returns the path of the record of this notification.
    pub fn record_path(&self, name: &str) -> PathBuf {
        self.dir.join("notified").join(format!("{name}.json"))
    }

    /// Records a notification durably before it is sent. Returns `false` if it was recorded already.
    ///
    /// After a failure, the notification may have been sent before, so the caller must not send it.
    pub fn claim(&self, name: &str, text: &[u8]) -> Result<bool, StoreError> {
        let path = self.record_path(name);
        let folder = self.dir.join("notified");
        make_dirs(&folder)?;
        let file = match failpoint_io::open(private().write(true).create_new(true), &path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(StoreError::io("create", &path)(error)),
        };
        // Only the existence of the file counts; its text is for people.
        let _ = failpoint_io::write_all(&file, &path, text);
        sync_dir(&folder)?;
        sync_dir(&self.dir)?;
        Ok(true)
    }

    /// Returns the path of the output of command `index` (from 0) for this notification.
    pub fn log_path(&self, name: &str, index: usize) -> PathBuf {
        self.dir.join("logs").join(format!("notify-{name}.{}.log", index + 1))
    }

    /// Opens the output of this command for appending.
    pub fn create_log(&self, name: &str, index: usize) -> Result<File, StoreError> {
        let path = self.log_path(name, index);
        make_parents(&path)?;
        failpoint_io::open(private().append(true).create(true), &path)
            .map_err(StoreError::io("create", &path))
    }
}

#[cfg(test)]
mod tests {
    use super::NotifyFiles;
    use std::fs;

    #[test]
    fn notifies_once() {
        let home = tempfile::tempdir().expect("a directory");
        let files = NotifyFiles::new(home.path());
        let claim = |name: &str, text: &str| files.claim(name, text.as_bytes()).expect("claimed");
        assert!(claim("outcome-0", "one"));
        assert!(!claim("outcome-0", "two"));
        assert!(claim("outcome-1", "three"));
        assert_eq!(fs::read_to_string(files.record_path("outcome-0")).expect("text"), "one");
        fs::remove_dir_all(home.path()).expect("it is there");
        fs::write(home.path(), "").expect("written");
        assert!(files.claim("outcome-0", b"").is_err());
        fs::remove_file(home.path()).expect("it is there");
    }
}
