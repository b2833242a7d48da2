//! Tests of export and import without an agent: invalid files, and workspaces of every kind.

mod hostile;
mod workspaces;

use super::{Exported, ImportDestination, export};
use longhaul_core::{Moment, Preset, RunSpec};
use longhaul_store::{Day, Home, Plan};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A home, the working directory of its run, and a directory for both.
struct Homes {
    folder: TempDir,
    home: Home,
}

impl Homes {
    fn new() -> Homes {
        let folder = tempfile::tempdir().expect("temporary directory");
        let home = Home::open(Some(folder.path().join("home")), |_| None).expect("home");
        fs::create_dir(folder.path().join("work")).expect("a new directory");
        Homes { folder, home }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Creates a run whose agent is this test program.
    fn create_run(&self) {
        let program = std::env::current_exe().expect("a path");
        let spec = RunSpec::new(program, self.path("work"), "p", Preset::Default.policy());
        let plan = Plan::new(spec, Moment(7), "4b1d".to_owned());
        let day: Day = "2025-11-22".parse().expect("a date");
        self.home.create_run(&day, 7, &plan).expect("run");
    }

    fn export(&self) -> Exported {
        let dir = self.home.find("@").expect("a run");
        export(&self.home, &dir, &self.path("run.longhaul"), false).expect("exported")
    }

    /// Returns a destination that uses an existing directory.
    fn use_existing<'a>(&self, into: &'a std::path::Path) -> ImportDestination<'a> {
        ImportDestination { into, use_existing: true, allow_large: false, agent_path: None }
    }
}
