//! Lists the transcripts of a project's past sessions.
//!
//! The rows of a transcript name its project. The name of its folder is not used, because the project's path
//! cannot be derived from it. A file or a folder that cannot be read is listed too, so that the plan can name it.

use longhaul_core::Moment;
use longhaul_store::{if_exists, open_regular};
use serde::Deserialize;
use std::borrow::Cow;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Number of bytes of a transcript that are searched for its directory. The first row of the conversation has
/// it, after a few short rows.
const CWD_SEARCH_BYTES_MAX: u64 = 4 << 20;

/// A past session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastSession {
    /// Transcript of the session, or a folder that cannot be read.
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
/// Returns an error if the folder of all projects cannot be read. A missing folder has no sessions.
pub fn project_sessions(config_dir: &Path, project: &Path) -> io::Result<Vec<PastSession>> {
    let names = [project.to_owned(), fs::canonicalize(project).unwrap_or_default()];
    let is_own = |directory: PathBuf| {
        names.contains(&directory) || fs::canonicalize(&directory).is_ok_and(|real| names.contains(&real))
    };
    let mut paths = Vec::new();
    for folder in entries(&config_dir.join("projects"))? {
        paths.extend(transcripts(&folder).unwrap_or_else(|_| vec![folder]));
    }
    paths.retain(|path| directory(path).map_or(true, |directory| directory.is_some_and(is_own)));
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
    let mut found: Vec<PastSession> = paths.into_iter().map(session).collect();
    found.sort_by(|one, other| (one.at, &one.path).cmp(&(other.at, &other.path)));
    found
}

/// Returns the transcripts of a folder, including those of sub-agents: next to the session's transcript, or
/// in a separate folder since 2.1.330.
fn transcripts(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_transcript = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
    let mut found = Vec::new();
    for path in entries(folder)? {
        let subagents = path.join("subagents");
        match path.is_dir().then(|| entries(&subagents)) {
            None => found.extend(Some(path).filter(is_transcript)),
            Some(Ok(paths)) => found.extend(paths.into_iter().filter(is_transcript)),
            Some(Err(_)) => found.push(subagents),
        }
    }
    Ok(found)
}

fn session(path: PathBuf) -> PastSession {
    let metadata = fs::metadata(&path).ok();
    let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
    let age = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let has_subagent_name = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"));
    let is_in_subagents_dir = path.parent().is_some_and(|parent| parent.ends_with("subagents"));
    PastSession {
        bytes: metadata.map_or(0, |metadata| metadata.len()),
        at: Moment(age.as_millis() as u64),
        is_subagent: has_subagent_name || is_in_subagents_dir,
        path,
    }
}

/// Returns the directory that the session worked in: that of the first row that has one. A missing file has none.
fn directory(path: &Path) -> io::Result<Option<PathBuf>> {
    #[derive(Deserialize)]
    struct Row<'a> {
        #[serde(borrow)]
        cwd: Option<Cow<'a, str>>,
    }
    let Some(file) = if_exists(open_regular(path))? else { return Ok(None) };
    let mut reader = BufReader::new(file.take(CWD_SEARCH_BYTES_MAX));
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if let Ok(Row { cwd: Some(cwd) }) = serde_json::from_slice(&line) {
            return Ok(Some(PathBuf::from(cwd.into_owned())));
        }
    }
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}
