//! Records which notifications were sent to the `--notify` commands: one file per notification, created
//! before the commands run. It prevents a second notification after a takeover. No decision about the run
//! depends on it.

use crate::files::{make_dirs, private, sync_dir};
use crate::{RunDir, StoreError, failpoint_io};
use std::fs::File;
use std::io;
use std::path::PathBuf;

impl RunDir {
    /// Returns the path of the record of this notification.
    pub fn notification_path(&self, name: &str) -> PathBuf {
        self.path().join("notified").join(format!("{name}.json"))
    }

    /// Records a notification durably before it is sent. Returns `false` if it was recorded already.
    ///
    /// After a failure, the notification may have been sent before, so the caller must not send it.
    pub fn claim_notification(&self, name: &str, text: &[u8]) -> Result<bool, StoreError> {
        let path = self.notification_path(name);
        let folder = self.path().join("notified");
        make_dirs(&folder).map_err(StoreError::io("create directory", &folder))?;
        let file = match failpoint_io::open(private().write(true).create_new(true), &path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(StoreError::io("create", &path)(error)),
        };
        // Only the existence of the file counts; its text is for people.
        let _ = failpoint_io::write_all(&file, &path, text);
        sync_dir(&folder)?;
        sync_dir(self.path())?;
        Ok(true)
    }

    /// Returns the path of the output of command `index` of the list for this notification.
    pub fn notify_log_path(&self, name: &str, index: usize) -> PathBuf {
        self.logs_path().join(format!("notify-{name}.{}.log", index + 1))
    }

    /// Opens the output of this command for appending.
    pub fn create_notify_log(&self, name: &str, index: usize) -> Result<File, StoreError> {
        let path = self.notify_log_path(name, index);
        failpoint_io::open(private().append(true).create(true), &path)
            .map_err(StoreError::io("create", &path))
    }
}

#[cfg(test)]
mod tests {
    use crate::RunDir;
    use std::fs;

    #[test]
    fn notifies_once() {
        let home = tempfile::tempdir().expect("a directory");
        let dir = RunDir::from_path(home.path().to_owned()).expect("an absolute path");
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
