//! Reads the files of a project's `.planning` directory, within limits. It never interprets a text.

use crate::claim::{REQUIREMENTS, ROADMAP, STATE, Source};
use crate::{OpenWork, ProjectPhase, Warning};
use longhaul_workflow::read_project_bytes;
use serde::de::IgnoredAny;
use std::fs;
use std::path::{Path, PathBuf};

// The status needs no value of these files, but damage to them is reported.
const PROJECT: &str = "PROJECT.md";
const CONFIG: &str = "config.json";
/// Size limit of a file. States of long projects reach 200 kB.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Limit of paths below `phases`. Long projects have 2,000.
const PATHS_MAX: usize = 50_000;
/// Depth of directories below `phases`. GSD uses one.
const DEPTH_MAX: usize = 3;

/// The content of a `.planning` directory, as far as it is needed.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Text of `STATE.md`
    pub state: Option<String>,
    /// Text of `ROADMAP.md`
    pub roadmap: Option<String>,
    /// Text of `REQUIREMENTS.md`
    pub requirements: Option<String>,
    /// Paths of the files below `phases`, relative to `.planning`
    pub paths: Vec<String>,
    /// Parts that could not be read
    pub warnings: Vec<Warning>,
}

/// A project that has no readable state.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The directory has no `.planning`.
    #[error("{} has no directory `.planning`", .0.display())]
    NoPlanning(PathBuf),
    /// A file that decides about the state cannot be read.
    #[error("{} is unreadable: {reason}", .dir.display())]
    Unreadable {
        /// Directory `.planning`.
        dir: PathBuf,
        /// Reason, with the name of the file.
        reason: String,
    },
}

pub(crate) fn read_files(project_dir: &Path) -> Result<Files, ProjectError> {
    let planning = project_dir.join(".planning");
    if !planning.is_dir() {
        return Err(ProjectError::NoPlanning(project_dir.to_owned()));
    }
    let mut files = Files::default();
    files.state = read_text(&planning, STATE, &mut files.warnings)?;
    files.roadmap = read_text(&planning, ROADMAP, &mut files.warnings)?;
    files.requirements = read_text(&planning, REQUIREMENTS, &mut files.warnings)?;
    if !planning.join(PROJECT).is_file() {
        files.warnings.push(Source::directory(PROJECT).warning("the file is missing"));
    }
    if let Ok(Some(config)) = read_text(&planning, CONFIG, &mut files.warnings)
        && let Err(error) = serde_json::from_str::<IgnoredAny>(&config)
    {
        files.warnings.push(Source::new(CONFIG, error.line()).warning("the file is not JSON"));
    }
    list(&planning, "phases", 0, &mut files);
    files.paths.sort();
    Ok(files)
}

/// Returns the work that is left in a phase, as its files on disk show it.
///
/// # Errors
/// Returns an error if the report of the phase is unreadable or too large.
pub fn open_work(project_dir: &Path, phase: &ProjectPhase) -> Result<OpenWork, ProjectError> {
    let planning = project_dir.join(".planning");
    let report = phase.report.as_ref().map(|report| read_text(&planning, report, &mut Vec::new()));
    Ok(phase.open_work(report.transpose()?.flatten().as_deref()))
}

fn read_text(
    planning: &Path,
    name: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Option<String>, ProjectError> {
    let bytes = read_project_bytes(planning, Path::new(name), FILE_BYTES_MAX)
        .map_err(|reason| ProjectError::Unreadable { dir: planning.to_owned(), reason })?;
    Ok(bytes.map(|bytes| {
        String::from_utf8(bytes).unwrap_or_else(|error| {
            let text = "the file is not UTF-8 text, so that characters are replaced";
            warnings.push(Source::directory(name).warning(text));
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        })
    }))
}

/// Adds the paths of the files below a directory. Links are not followed.
fn list(planning: &Path, dir: &str, depth: usize, files: &mut Files) {
    let entries = match fs::read_dir(planning.join(dir)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => {
            let warning = Source::directory(dir).warning(format!("the directory cannot be read: {error}"));
            return files.warnings.push(warning);
        }
    };
    for entry in entries.flatten() {
        let path = format!("{dir}/{}", entry.file_name().to_string_lossy());
        if files.paths.len() >= PATHS_MAX {
            let text = format!("the directory has more than {PATHS_MAX} files; the rest is ignored");
            return files.warnings.push(Source::directory(dir).warning(text));
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEPTH_MAX => list(planning, &path, depth + 1, files),
            Ok(kind) if kind.is_file() => files.paths.push(path),
            _ => {}
        }
    }
}
