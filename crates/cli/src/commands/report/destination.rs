//! Writes a report to stdout, a file or a device.

use crate::failure::{Failure, OrFailure};
use crate::output::out;
use longhaul_store::Home;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Writes the report to this path; `-` is stdout. Returns the absolute path, because terminals make it clickable, or
/// `None` for stdout.
pub fn write(path: &Path, report: &str) -> Result<Option<PathBuf>, Failure> {
    if path.as_os_str() == "-" {
        out::print(report);
        return Ok(None);
    }
    // A symbolic link stays in place; its target is replaced.
    let absolute = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    let path = absolute.unwrap_or_else(|_| path.to_owned());
    write_file(&path, report.as_bytes()).or_usage(
        format!("cannot write the report to {}", path.display()),
        "name a file in a directory that you can write to with --output, or `-` for stdout",
    )?;
    Ok(Some(path))
}

/// Writes to a pipe or a device, or replaces a file once the new one is complete.
fn write_file(path: &Path, report: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if metadata.permissions().readonly() => Err(io::ErrorKind::PermissionDenied.into()),
        Ok(metadata) if !metadata.is_file() => File::options().write(true).open(path)?.write_all(report),
        Ok(_) | Err(_) => {
            // The report contains the tasks of all runs, so only its owner may read it, like the run directories.
            let dir = path.parent().unwrap_or(path);
            // Its error is clearer than that of the temporary file.
            fs::metadata(dir)?;
            let file = NamedTempFile::with_prefix_in(".longhaul-report-", dir);
            // The name of the temporary file would not help the user.
            let mut file = file.map_err(|error| io::Error::from(error.kind()))?;
            file.write_all(report)?;
            file.persist(path).map(drop).map_err(|error| error.error)
        }
    }
}

/// Returns the path of this name in the home's `reports` directory, which no project sees.
pub fn path_in_home(home: &Home, name: &str) -> Result<PathBuf, Failure> {
    let folder = home.path().join("reports");
    let created = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    created.or_usage(
        format!("cannot create the report directory {}", folder.display()),
        "name a file with --output, or `-` for stdout",
    )?;
    Ok(folder.join(name))
}
