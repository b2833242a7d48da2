//! Where a report goes. That it can be written there is found out before anything is read: nobody waits for a report that
//! has no place.

use crate::failure::Failure;
use crate::output::out;
use longhaul_store::Home;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where a report goes.
pub enum Destination {
    /// To whoever reads our output.
    Stdout,
    /// To a file, which gets its name when it is whole.
    File(NamedTempFile, PathBuf),
    /// To something that is there and no file: a pipe, a device.
    Other(File, PathBuf),
}

impl Destination {
    /// A file of this name; `-` is stdout.
    ///
    /// # Errors
    /// Wrong usage: it cannot be written there.
    pub fn new(path: &Path) -> Result<Destination, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Destination::Stdout);
        }
        let refused = |why: &dyn std::fmt::Display, hint: &str| {
            Failure::usage(format!("write the report to {}: {why}", path.display()), hint)
        };
        // A link stays one: what it points to is replaced. The whole path is printed, for a click in a terminal.
        let whole = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
        let path = whole.unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => {
                return Err(refused(&"this is a directory", "name a file in it with --output"));
            }
            Ok(found) if found.permissions().readonly() => {
                return Err(refused(&"it is read-only", "name another file with --output"));
            }
            Ok(found) if !found.is_file() => {
                let opened = File::options().write(true).open(&path);
                let hint = "name a file with --output, or `-` for stdout";
                return opened
                    .map(|file| Destination::Other(file, path.clone()))
                    .map_err(|cause| refused(&cause, hint));
            }
            Ok(_) | Err(_) => {}
        }
        let parent = path.parent().unwrap_or(&path);
        // The report has the name of every task in it: it is for its owner alone, as the runs are.
        NamedTempFile::with_prefix_in(".longhaul-report-", parent)
            .map(|file| Destination::File(file, path.clone()))
            .map_err(|error| {
                // What the temporary file would have been called says nothing to anybody.
                let cause = io::Error::from(error.kind());
                refused(
                    &cause,
                    "name a file in a directory that you can write to with --output, or `-` for stdout",
                )
            })
    }

    /// A file of this name in the home's `reports`, where no project sees it.
    ///
    /// # Errors
    /// Wrong usage: that folder cannot be written.
    pub fn in_home(home: &Home, name: &str) -> Result<Destination, Failure> {
        let folder = home.path().join("reports");
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        created.map_err(|error| {
            let error = format!("create the folder of reports {}: {error}", folder.display());
            Failure::usage(error, "name a file with --output, or `-` for stdout")
        })?;
        Destination::new(&folder.join(name))
    }

    /// Writes the report, and returns the name of its file if it has one.
    ///
    /// # Errors
    /// What the system says, with what to do about it.
    pub fn write(self, report: &str) -> Result<Option<PathBuf>, Failure> {
        let (written, path) = match self {
            Destination::Stdout => {
                out::print(report);
                return Ok(None);
            }
            Destination::File(mut file, path) => {
                let written = file.write_all(report.as_bytes());
                (written.and_then(|()| file.persist(&path).map(drop).map_err(|error| error.error)), path)
            }
            Destination::Other(mut file, path) => (file.write_all(report.as_bytes()), path),
        };
        match written {
            Ok(()) => Ok(Some(path)),
            Err(cause) => {
                let failed = Failure::unexpected(format!("write the report to {}: {cause}", path.display()));
                let hint = "see whether there is room, or name another file with --output".to_owned();
                Err(Failure { hint: Some(hint), ..failed })
            }
        }
    }
}
