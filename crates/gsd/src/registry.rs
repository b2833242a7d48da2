//! The registry of projects, in the file and the format of openclawpack: `openclawpack/registry.json` in the user's
//! data directory. A change is locked and atomic, and keeps fields that this version does not know.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;
use tempfile::NamedTempFile;
use thiserror::Error;

const VERSION: u64 = 1;
/// A change takes milliseconds. A lock that is held longer belongs to a stopped process.
const LOCK_POLLS_MAX: u32 = 50;
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A project of the registry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegisteredProject {
    /// Unique name.
    pub name: String,
    /// Directory of the project, absolute.
    pub path: String,
    /// When the project was added, RFC 3339.
    pub registered_at: String,
    /// When its state was last read, RFC 3339.
    #[serde(default)]
    pub last_checked_at: Option<String>,
    /// State at that time.
    #[serde(default)]
    pub last_known_state: Option<Value>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The registry could not be read or changed. Nothing was lost.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// Neither `XDG_DATA_HOME` nor `HOME` is set.
    #[error("cannot find the registry of projects: neither XDG_DATA_HOME nor HOME is set")]
    NoDataDir,
    /// The file cannot be read or written.
    #[error("cannot {action} the registry of projects {}: {source}", path.display())]
    Io {
        /// Operation.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Another process holds the lock.
    #[error("cannot change the registry of projects: another process has locked {}", .0.display())]
    Locked(PathBuf),
    /// A newer program wrote the file.
    #[error("cannot read the registry of projects {}: it has version {version}", path.display())]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// The name belongs to another project.
    #[error("a project is already named `{name}`: {path}")]
    NameTaken {
        /// The name.
        name: String,
        /// Directory of that project.
        path: String,
    },
    /// The directory belongs to another name.
    #[error("{path} is already in the list, as `{name}`")]
    PathTaken {
        /// The directory.
        path: String,
        /// Its name.
        name: String,
    },
    /// No project has this name.
    #[error("there is no project `{name}` in the list")]
    Unknown {
        /// The name.
        name: String,
        /// The names that exist.
        existing: Vec<String>,
    },
}

#[derive(Serialize, Deserialize)]
struct RegistryFile {
    version: u64,
    projects: BTreeMap<String, RegisteredProject>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// The registry, locked until it is dropped.
#[derive(Debug)]
pub struct Registry {
    path: PathBuf,
    projects: BTreeMap<String, RegisteredProject>,
    other: Map<String, Value>,
    set_aside: Option<PathBuf>,
    _lock: File,
}

impl Registry {
    /// Returns the path of the file, from `XDG_DATA_HOME` or `HOME`.
    ///
    /// # Errors
    /// Returns [`RegistryError::NoDataDir`] if neither is an absolute path.
    pub fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, RegistryError> {
        let dir = |name| variable(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
        let data = dir("XDG_DATA_HOME").or_else(|| Some(dir("HOME")?.join(".local/share")));
        Ok(data.ok_or(RegistryError::NoDataDir)?.join("openclawpack/registry.json"))
    }

    /// Locks and reads the registry. A missing file is an empty registry. A damaged file is renamed, and the registry
    /// starts empty: see [`Registry::set_aside`].
    ///
    /// # Errors
    /// Returns an error if the file or its lock cannot be used, or if a newer version wrote it.
    pub fn open(path: PathBuf) -> Result<Registry, RegistryError> {
        let error =
            |action| move |path: &Path, source| RegistryError::Io { action, path: path.to_owned(), source };
        let dir = path.parent().unwrap_or(Path::new("/"));
        let lock = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .and_then(|()| File::open(dir))
            .map_err(|source| error("open")(dir, source))?;
        lock_dir(&lock, dir)?;
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(missing) if missing.kind() == ErrorKind::NotFound => {
                let (projects, other) = (BTreeMap::new(), Map::new());
                return Ok(Registry { path, projects, other, set_aside: None, _lock: lock });
            }
            Err(source) => return Err(error("read")(&path, source)),
        };
        let version = serde_json::from_slice::<Value>(&text).ok().and_then(|file| file["version"].as_u64());
        if let Some(version) = version.filter(|version| *version > VERSION) {
            return Err(RegistryError::Newer { path, version });
        }
        if let Ok(RegistryFile { projects, other, .. }) = serde_json::from_slice(&text) {
            return Ok(Registry { path, projects, other, set_aside: None, _lock: lock });
        }
        let aside = unused(&path);
        fs::rename(&path, &aside).map_err(|source| error("rename")(&path, source))?;
        let (projects, other) = (BTreeMap::new(), Map::new());
        Ok(Registry { path, projects, other, set_aside: Some(aside), _lock: lock })
    }

    /// Returns the new path of a damaged file.
    pub fn set_aside(&self) -> Option<&Path> {
        self.set_aside.as_deref()
    }

    /// Returns the projects, by name.
    pub fn projects(&self) -> impl Iterator<Item = &RegisteredProject> {
        self.projects.values()
    }

    /// Adds a project that was checked to have a `.planning` directory.
    ///
    /// # Errors
    /// Returns an error if its name or its directory is in the list, or if the file cannot be written.
    pub fn add(&mut self, project: RegisteredProject) -> Result<(), RegistryError> {
        if let Some(other) = self.projects.values().find(|other| other.path == project.path) {
            let (path, name) = (project.path, other.name.clone());
            return Err(RegistryError::PathTaken { path, name });
        }
        if let Some(other) = self.projects.get(&project.name) {
            let (name, path) = (project.name, other.path.clone());
            return Err(RegistryError::NameTaken { name, path });
        }
        self.projects.insert(project.name.clone(), project);
        self.save()
    }

    /// Removes a project and returns it. Its files stay.
    ///
    /// # Errors
    /// Returns an error if no project has this name, or if the file cannot be written.
    pub fn remove(&mut self, name: &str) -> Result<RegisteredProject, RegistryError> {
        let Some(project) = self.projects.remove(name) else {
            let existing = self.projects.keys().cloned().collect();
            return Err(RegistryError::Unknown { name: name.to_owned(), existing });
        };
        self.save()?;
        Ok(project)
    }

    /// Stores the state of each project as of `at`. A project for which `read` returns `None` keeps its last state.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn refresh(
        &mut self,
        at: &str,
        mut read: impl FnMut(&RegisteredProject) -> Option<Value>,
    ) -> Result<(), RegistryError> {
        for project in self.projects.values_mut() {
            if let Some(state) = read(project) {
                project.last_known_state = Some(state);
                project.last_checked_at = Some(at.to_owned());
            }
        }
        self.save()
    }

    fn save(&self) -> Result<(), RegistryError> {
        let (projects, other) = (self.projects.clone(), self.other.clone());
        let file = RegistryFile { version: VERSION, projects, other };
        let text = serde_json::to_vec_pretty(&file).expect("the registry has only string keys");
        let write = || {
            let dir = self.path.parent().unwrap_or(Path::new("/"));
            // Only the owner can read the file.
            let mut temporary = NamedTempFile::new_in(dir)?;
            temporary.write_all(&text)?;
            temporary.as_file().sync_all()?;
            temporary.persist(&self.path)?;
            File::open(dir)?.sync_all()
        };
        let path = self.path.clone();
        write().map_err(|source| RegistryError::Io { action: "write", path, source })
    }
}

fn lock_dir(dir: &File, path: &Path) -> Result<(), RegistryError> {
    for _ in 0..LOCK_POLLS_MAX {
        match dir.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => sleep(LOCK_POLL_INTERVAL),
            Err(TryLockError::Error(source)) => {
                return Err(RegistryError::Io { action: "lock", path: path.to_owned(), source });
            }
        }
    }
    Err(RegistryError::Locked(path.to_owned()))
}

/// Returns a free name for a damaged file, next to it.
fn unused(path: &Path) -> PathBuf {
    let numbered = (1..).map(|number: u64| path.with_extension(format!("damaged-{number}.json")));
    numbered
        .into_iter()
        .find(|path| !path.exists())
        .expect("a directory has fewer files than there are numbers")
}

#[cfg(test)]
mod tests;
