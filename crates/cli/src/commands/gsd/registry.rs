//! The registry of projects, in the file and the format of openclawpack: `openclawpack/registry.json` in the user's
//! data directory. A change is locked and atomic, and keeps fields that this version does not know.

use super::call::lock_dir;
use crate::failure::{Failure, OrFailure};
use crate::next_commands::quoted;
use crate::output;
use longhaul_store::{Durability, if_exists, read_regular, replace_json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const VERSION: u64 = 1;
/// A change takes milliseconds. A lock that is held for 5 seconds belongs to a stopped process.
const LOCK_TRIES: u32 = 50;
const PERMISSIONS: &str = "make the file and its directory readable and writable";

/// A project of the registry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

#[derive(Debug, Serialize, Deserialize)]
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
    file: RegistryFile,
    _lock: File,
}

impl Registry {
    /// Returns the path of the file, from `XDG_DATA_HOME` or `HOME`.
    pub fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Failure> {
        let dir = |name| variable(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
        let data = dir("XDG_DATA_HOME").or_else(|| Some(dir("HOME")?.join(".local/share")));
        let error = "cannot find the registry of projects: neither XDG_DATA_HOME nor HOME is set";
        let data = data.ok_or_else(|| Failure::not_started(error, "set HOME"))?;
        Ok(data.join("openclawpack/registry.json"))
    }

    /// Locks and reads the registry. A missing file is an empty registry. A damaged file is renamed, with a warning, and
    /// the registry starts empty.
    pub fn open(path: PathBuf) -> Result<Registry, Failure> {
        let cannot = |action: &str| format!("cannot {action} the registry of projects {}", path.display());
        let dir = path.parent().unwrap_or(Path::new("/"));
        let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        let lock = created.and_then(|()| File::open(dir)).or_not_started(cannot("open"), PERMISSIONS)?;
        lock_dir(&lock, LOCK_TRIES).map_err(|error| match error {
            TryLockError::WouldBlock => Failure::not_started(
                format!("{}: another process has locked it", cannot("change")),
                "wait for the other process, and run the command again",
            ),
            TryLockError::Error(error) => {
                Failure::not_started(format!("{}: {error}", cannot("lock")), PERMISSIONS)
            }
        })?;
        let empty = || RegistryFile { version: VERSION, projects: BTreeMap::new(), other: Map::new() };
        let file = match if_exists(read_regular(&path)).or_not_started(cannot("read"), PERMISSIONS)? {
            None => empty(),
            Some(text) => {
                let version =
                    serde_json::from_slice::<Value>(&text).ok().and_then(|file| file["version"].as_u64());
                if let Some(version) = version.filter(|version| *version > VERSION) {
                    let error = format!("{}: it has version {version}", cannot("read"));
                    return Err(Failure::not_started(error, "use the program that wrote it"));
                }
                match serde_json::from_slice::<RegistryFile>(&text) {
                    Ok(file) => RegistryFile { version: VERSION, ..file },
                    Err(_) => {
                        let aside = unused(&path);
                        fs::rename(&path, &aside).or_not_started(cannot("rename"), PERMISSIONS)?;
                        let warning =
                            format!("the registry of projects was damaged; it is now {}", aside.display());
                        let hint = "add the projects again with `longhaul gsd projects add PATH`";
                        output::print_warning(&warning, Some(hint));
                        empty()
                    }
                }
            }
        };
        Ok(Registry { path, file, _lock: lock })
    }

    pub fn projects(&self) -> impl Iterator<Item = &RegisteredProject> {
        self.file.projects.values()
    }

    /// Adds a project that was checked to have a `.planning` directory.
    pub fn add(&mut self, project: RegisteredProject) -> Result<(), Failure> {
        let RegisteredProject { name, path, .. } = &project;
        if let Some(other) = self.projects().find(|other| other.path == *path) {
            let error = format!("{path} is already in the list, as `{}`", other.name);
            let hint = format!("`longhaul gsd projects remove {}` removes it", quoted(&other.name));
            return Err(Failure::not_started(error, hint));
        }
        if let Some(other) = self.file.projects.get(name) {
            let error = format!("a project is already named `{name}`: {}", other.path);
            return Err(Failure::not_started(error, "choose another name with --name"));
        }
        self.file.projects.insert(name.clone(), project);
        self.save()
    }

    /// Removes a project and returns it. Its files stay.
    pub fn remove(&mut self, name: &str) -> Result<RegisteredProject, Failure> {
        let Some(project) = self.file.projects.remove(name) else {
            let existing: Vec<&str> = self.file.projects.keys().map(String::as_str).collect();
            let hint = match existing.as_slice() {
                [] => "the list is empty; `longhaul gsd projects add PATH` adds a project".to_owned(),
                existing => format!("the list has {}", existing.join(", ")),
            };
            return Err(Failure::not_started(format!("there is no project `{name}` in the list"), hint));
        };
        self.save()?;
        Ok(project)
    }

    /// Stores the state of each project as of `at`. A project for which `read` returns `None` keeps its last state.
    pub fn refresh(
        &mut self,
        at: &str,
        mut read: impl FnMut(&RegisteredProject) -> Option<Value>,
    ) -> Result<(), Failure> {
        for project in self.file.projects.values_mut() {
            if let Some(state) = read(project) {
                project.last_known_state = Some(state);
                project.last_checked_at = Some(at.to_owned());
            }
        }
        self.save()
    }

    fn save(&self) -> Result<(), Failure> {
        Ok(replace_json(&self.path, &self.file, Durability::Power)?)
    }
}

/// Returns a free name for a damaged file, next to it.
fn unused(path: &Path) -> PathBuf {
    let mut numbered = (1..).map(|number: u64| path.with_extension(format!("damaged-{number}.json")));
    numbered.find(|path| !path.exists()).expect("a directory has fewer files than there are numbers")
}

#[cfg(test)]
mod tests;
