//! The supervisor's side of the watchdog: starts its process with the first agent, and stops it when the run
//! has no process left.

use super::system::start_ticks;
use super::world_config::WorldConfig;
use longhaul_agent::Program;
use longhaul_store::RunDir;
use std::io;
use std::process::{self, Stdio};
use tokio::process::{Child, Command};

pub(crate) struct WatchdogProcess {
    /// The program, until it is started. `None` if there is none or the policy has no orphan timeout.
    program: Option<Program>,
    process: Option<Child>,
}

impl WatchdogProcess {
    pub(crate) fn new(config: &WorldConfig<'_>) -> WatchdogProcess {
        let is_needed = config.spec().policy.orphan_timeout.is_some();
        let program = config.environment.watchdog.clone().filter(|_| is_needed);
        WatchdogProcess { program, process: None }
    }

    pub(crate) async fn start(&mut self, dir: &RunDir) {
        if let Some(program) = self.program.take() {
            // The agent receives its prompt first, because it waits for the prompt.
            tokio::task::yield_now().await;
            self.process = start(&program, dir).ok();
        }
    }

    /// Kills the watchdog if it is running, because its run is finished.
    pub(crate) fn kill(&mut self) {
        if let Some(process) = &mut self.process {
            // A watchdog that has already exited needs no signal.
            let _ = process.start_kill();
        }
    }

    /// Kills the watchdog if it is running, and waits for its exit, because this process may continue.
    pub(crate) async fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill().await;
        }
    }
}

/// Starts the program as the watchdog of this run and this process. It inherits the markers of enclosing runs
/// but not the marker of this run, so that the run's sweep does not stop it.
fn start(program: &Program, dir: &RunDir) -> io::Result<Child> {
    let pid = process::id();
    let started = start_ticks(pid).unwrap_or_default();
    Command::new(&program.path)
        .args(&program.leading_args)
        .arg(dir.path())
        .args([pid.to_string(), started.to_string()])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}
