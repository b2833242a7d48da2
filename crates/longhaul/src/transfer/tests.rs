//! Tests of export and import without an agent: invalid files, and workspaces of every kind.

mod hostile;
mod workspaces;

use super::{Exported, ImportDestination, export, import};
use longhaul_core::{AttemptPlan, Moment, Preset, PromptKind, Record, RunSpec, SessionPlan};
use longhaul_store::{Day, Home, Journal, Plan};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};
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

/// Otherwise, the time between a crash and an import would count as work of the agent.
#[test]
fn output_of_an_imported_run_is_as_old_as_its_last_heartbeat() {
    let (from, to) = (Homes::new(), Homes::new());
    from.create_run();
    let dir = from.home.find("@").expect("a run");
    let (mut journal, _) = Journal::open_append(&dir.journal_path()).expect("a journal");
    let at = Moment(1_000);
    let plan = AttemptPlan::new(1, SessionPlan::New("s".into()), PromptKind::Task);
    journal.append(at, &[Record::RunStarted, Record::AttemptStarted { plan }]).expect("it can be written");
    drop(journal);
    let attempt = dir.attempt(1).create().expect("a new directory");
    fs::write(attempt.stream_path(), "").expect("it can be written");
    dir.write_heartbeat(Moment(5_000));
    let (exported, into) = (from.export(), to.path("work"));
    import(&to.home, &exported.file, to.use_existing(&into)).expect("imported");
    let stream = to.home.find("@").expect("the run").attempt(1).stream_path();
    let modified = fs::metadata(stream).and_then(|file| file.modified()).expect("a time");
    assert_eq!(modified, UNIX_EPOCH + Duration::from_secs(5));
}
