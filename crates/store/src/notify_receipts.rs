//! What the commands of `--notify` were told: `told/` in the run's directory, one file for each thing that they were told
//! of, made before they are called. It is what keeps them from being called twice, whoever supervises the run then; nothing
//! of the run is decided by it.

use crate::files::{make_dirs, private, sync_dir};
use crate::{RunDir, StoreError, failpoint_io};
use std::fs::File;
use std::io;
use std::path::PathBuf;

impl RunDir {
    /// Where it is kept what the commands of this name were told.
    pub fn notification_path(&self, name: &str) -> PathBuf {
        self.path().join("told").join(format!("{name}.json"))
    }

    /// Keeps what they are about to be told, durably; whether nobody had told it before.
    ///
    /// # Errors
    /// [`StoreError::Io`]: it may have been told, and must not be told now.
    pub fn claim_notification(&self, name: &str, text: &[u8]) -> Result<bool, StoreError> {
        let path = self.notification_path(name);
        let folder = self.path().join("told");
        make_dirs(&folder).map_err(StoreError::io("create directory", &folder))?;
        let file = match failpoint_io::open(private().write(true).create_new(true), &path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(StoreError::io("create", &path)(error)),
        };
        // The name is what counts; the text is for people.
        let _ = failpoint_io::write_all(&file, &path, text);
        sync_dir(&folder)?;
        sync_dir(self.path())?;
        Ok(true)
    }

    /// What the command at this place of the list says when it is told this.
    pub fn notify_log_path(&self, name: &str, place: usize) -> PathBuf {
        self.logs_path().join(format!("notify-{name}.{}.log", place + 1))
    }

    /// The same, open for appending.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn create_notify_log(&self, name: &str, place: usize) -> Result<File, StoreError> {
        let path = self.notify_log_path(name, place);
        failpoint_io::open(private().append(true).create(true), &path)
            .map_err(StoreError::io("create", &path))
    }
}

#[cfg(test)]
mod tests {
    use crate::RunDir;
    use std::fs;

    #[test]
    fn what_is_told_is_told_once() {
        let home = tempfile::tempdir().expect("a directory");
        let dir = RunDir::at(home.path().to_owned()).expect("an absolute path");
        let claim = |name: &str, text: &str| dir.claim_notification(name, text.as_bytes()).expect("claimed");
        assert!(claim("outcome-0", "one"));
        assert!(!claim("outcome-0", "two"));
        assert!(claim("outcome-1", "three"));
        assert_eq!(fs::read_to_string(dir.notification_path("outcome-0")).expect("text"), "one");
        fs::remove_dir_all(home.path()).expect("it is there");
        fs::write(home.path(), "").expect("written");
        assert!(dir.claim_notification("outcome-0", b"").is_err());
        fs::remove_file(home.path()).expect("it is there");
    }
}
