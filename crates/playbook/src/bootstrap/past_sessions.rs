//! The transcripts of a project's past sessions. Whose a transcript is stands in its rows; the name of its folder is made of
//! the project's path in a way that cannot be undone, and is not looked at.

use longhaul_core::Moment;
use serde::Deserialize;
use std::borrow::Cow;
use std::fs::{self, DirEntry, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// How far a transcript is read for the directory that it is about. It is in the first row of the conversation, behind a few
/// short ones.
const LOOK_BYTES_MAX: u64 = 4 << 20;

/// Where transcripts are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TranscriptSource {
    /// In the agent's own directory, those of this project.
    Project {
        /// Claude Code's own directory.
        config_dir: PathBuf,
        /// The project.
        project: PathBuf,
    },
    /// In this folder, whatever they are about.
    Folder(PathBuf),
}

/// A session of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastSession {
    /// Its transcript.
    pub path: PathBuf,
    /// How large that is.
    pub bytes: u64,
    /// When it was last written to.
    pub at: Moment,
    /// Whether it is a sub-agent's.
    pub is_subagent: bool,
}

/// The sessions there are, the oldest first.
///
/// # Errors
/// If a folder cannot be read. One that is not there has no sessions in it.
pub fn sessions(place: &TranscriptSource) -> io::Result<Vec<PastSession>> {
    let (folders, project) = match place {
        TranscriptSource::Project { config_dir, project } => {
            let folders = entries(&config_dir.join("projects"))?.iter().map(DirEntry::path).collect();
            (folders, Some(project.as_path()))
        }
        TranscriptSource::Folder(folder) => (vec![folder.clone()], None),
    };
    let project = project.map(|project| [project.to_owned(), fs::canonicalize(project).unwrap_or_default()]);
    let mut found = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for path in transcripts(folder)? {
            let is_ours = project.as_ref().is_none_or(|names| {
                directory(&path).is_some_and(|directory| {
                    names.contains(&directory)
                        || fs::canonicalize(&directory).is_ok_and(|real| names.contains(&real))
                })
            });
            if let Some(session) = session(path).filter(|_| is_ours) {
                found.push(session);
            }
        }
    }
    found.sort_by(|one, other| (one.at, &one.path).cmp(&(other.at, &other.path)));
    Ok(found)
}

/// The transcripts of a folder, with those of each session's sub-agents: beside it, or in a folder of its own
/// (2.1.330).
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
    let found = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let modified = found.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let is_named_so = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"));
    let is_there = path.parent().is_some_and(|parent| parent.ends_with("subagents"));
    Some(PastSession {
        bytes: found.len(),
        at: Moment(modified.as_millis() as u64),
        is_subagent: is_named_so || is_there,
        path,
    })
}

/// The directory that a transcript is about: that of its first row which names one.
fn directory(path: &Path) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Row<'a> {
        #[serde(borrow)]
        cwd: Option<Cow<'a, str>>,
    }
    let mut reader = BufReader::new(File::open(path).ok()?.take(LOOK_BYTES_MAX));
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
