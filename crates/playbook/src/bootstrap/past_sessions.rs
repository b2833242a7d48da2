//! Lists the transcripts of a project's past sessions.
//!
//! The rows of a transcript name its project. The name of its folder is not used, because the project's path
//! cannot be derived from it.

use longhaul_core::Moment;
use serde::Deserialize;
use std::borrow::Cow;
use std::fs::{self, DirEntry, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Number of bytes of a transcript that are searched for its directory. The first row of the conversation has
/// it, after a few short rows.
const CWD_SEARCH_BYTES_MAX: u64 = 4 << 20;

/// A past session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastSession {
    /// Transcript of the session.
    pub path: PathBuf,
    /// Size of the transcript.
    pub bytes: u64,
    /// Time of the last write to the transcript.
    pub at: Moment,
    /// Whether the session belongs to a sub-agent.
    pub is_subagent: bool,
}

/// Returns the past sessions of a project, oldest first. `config_dir` is Claude Code's configuration directory.
///
/// # Errors
/// Returns an error if a folder cannot be read. A missing folder has no sessions.
pub fn project_sessions(config_dir: &Path, project: &Path) -> io::Result<Vec<PastSession>> {
    let names = [project.to_owned(), fs::canonicalize(project).unwrap_or_default()];
    let is_own = |directory: PathBuf| {
        names.contains(&directory) || fs::canonicalize(&directory).is_ok_and(|real| names.contains(&real))
    };
    let mut paths = Vec::new();
    for folder in entries(&config_dir.join("projects"))? {
        paths.extend(transcripts(&folder.path())?);
    }
    paths.retain(|path| directory(path).is_some_and(is_own));
    Ok(sessions(paths))
}

/// Returns all sessions in this folder, for any project, oldest first.
///
/// # Errors
/// Returns an error if the folder cannot be read. A missing folder has no sessions.
pub fn folder_sessions(folder: &Path) -> io::Result<Vec<PastSession>> {
    Ok(sessions(transcripts(folder)?))
}

fn sessions(paths: Vec<PathBuf>) -> Vec<PastSession> {
    let mut found: Vec<PastSession> = paths.into_iter().filter_map(session).collect();
    found.sort_by(|one, other| (one.at, &one.path).cmp(&(other.at, &other.path)));
    found
}

/// Returns the transcripts of a folder, including those of sub-agents: next to the session's transcript, or
/// in a separate folder since 2.1.330.
fn transcripts(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(folder)? {
        let path = entry.path();
        if path.is_dir() {
            found.extend(entries(&path.join("subagents"))?.iter().map(DirEntry::path));
        } else {
            found.push(path);
        }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    Ok(found)
}

fn session(path: PathBuf) -> Option<PastSession> {
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let has_subagent_name = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"));
    let is_in_subagents_dir = path.parent().is_some_and(|parent| parent.ends_with("subagents"));
    Some(PastSession {
        bytes: metadata.len(),
        at: Moment(modified.as_millis() as u64),
        is_subagent: has_subagent_name || is_in_subagents_dir,
        path,
    })
}

/// Returns the directory that the session worked in: that of the first row that has one.
fn directory(path: &Path) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Row<'a> {
        #[serde(borrow)]
        cwd: Option<Cow<'a, str>>,
    }
    let mut reader = BufReader::new(File::open(path).ok()?.take(CWD_SEARCH_BYTES_MAX));
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        if let Ok(Row { cwd: Some(cwd) }) = serde_json::from_slice(&line) {
            return Some(PathBuf::from(cwd.into_owned()));
        }
    }
}

fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}
