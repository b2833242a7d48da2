//! The destination of a report: stdout, a file or a device.
//!
//! Checks that the destination is writable before any data is read, so that a report is never computed for
//! nothing.

use crate::failure::{Failure, OrFailure};
use crate::output::out;
use longhaul_store::Home;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

pub enum ReportDestination {
    /// Standard output.
    Stdout,
    /// A file, which appears under its name once it is complete.
    File(NamedTempFile, PathBuf),
    /// An existing path that is not a regular file, such as a pipe or a device.
    Other(File, PathBuf),
}

impl ReportDestination {
    /// Opens the destination at this path. `-` is stdout.
    pub fn new(path: &Path) -> Result<ReportDestination, Failure> {
        if path.as_os_str() == "-" {
            return Ok(ReportDestination::Stdout);
        }
        // A symbolic link stays in place; its target is replaced. The absolute path is printed, because
        // terminals make it clickable.
        let absolute = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
        let path = absolute.unwrap_or_else(|_| path.to_owned());
        let opened = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
            Ok(metadata) if metadata.permissions().readonly() => {
                Err(io::Error::from(io::ErrorKind::PermissionDenied))
            }
            Ok(metadata) if !metadata.is_file() => File::options()
                .write(true)
                .open(&path)
                .map(|file| ReportDestination::Other(file, path.clone())),
            // The report contains the tasks of all runs, so only its owner may read it, like the run directories.
            Ok(_) | Err(_) => {
                NamedTempFile::with_prefix_in(".longhaul-report-", path.parent().unwrap_or(&path))
                    .map(|file| ReportDestination::File(file, path.clone()))
                    // The name of the temporary file would not help the user.
                    .map_err(|error| io::Error::from(error.kind()))
            }
        };
        opened.or_usage(
            format!("cannot write the report to {}", path.display()),
            "name a file in a directory that you can write to with --output, or `-` for stdout",
        )
    }

    /// Opens a file with this name in the home's `reports` directory, which no project sees.
    pub fn in_home(home: &Home, name: &str) -> Result<ReportDestination, Failure> {
        let folder = home.path().join("reports");
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        created.or_usage(
            format!("cannot create the report directory {}", folder.display()),
            "name a file with --output, or `-` for stdout",
        )?;
        ReportDestination::new(&folder.join(name))
    }

    /// Writes the report. Returns the path of its file, or `None` for stdout.
    pub fn write(self, report: &str) -> Result<Option<PathBuf>, Failure> {
        let (result, path) = match self {
            ReportDestination::Stdout => {
                out::print(report);
                return Ok(None);
            }
            ReportDestination::File(mut file, path) => {
                let written = file.write_all(report.as_bytes());
                (written.and_then(|()| file.persist(&path).map(drop).map_err(|error| error.error)), path)
            }
            ReportDestination::Other(mut file, path) => (file.write_all(report.as_bytes()), path),
        };
        let hint = "check the free disk space, or name another file with --output".to_owned();
        let written = result.or_unexpected(format!("cannot write the report to {}", path.display()));
        written.map(|()| Some(path)).map_err(|failure| Failure { hint: Some(hint), ..failure })
    }
}
