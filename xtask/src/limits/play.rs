//! Plays one run in its own sandbox with a git repository and a loopback API. Leftover processes are counted
//! and killed.

use super::case::LimitUnit;
use crate::bench::sandbox::Sandbox;
use crate::faults::{journal, processes};
use longhaul_drill::api::Billed;
use longhaul_drill::{Api, RequestLog, Scenario};
use rustix::param::page_size;
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

// Several times the duration of the longest case, which waits half a minute between its attempts.
const TIMEOUT: Duration = Duration::from_secs(180);
const PROBE_INTERVAL: Duration = Duration::from_millis(20);

/// The programs for playing cases.
pub struct LimitRig {
    pub longhaul: PathBuf,
    pub claude: PathBuf,
}

/// The observations of one played run.
pub struct LimitRun {
    envelope: Value,
    pub code: Option<i32>,
    pub request_log: RequestLog,
    pub wall: Duration,
    /// Peak resident memory of all processes of the run together, in bytes.
    pub resident: u64,
    commits: String,
    records: Vec<Value>,
    /// Number of leftover processes.
    pub leftover_processes: usize,
}

impl LimitRig {
    /// Plays the scenario to its end or to a timeout.
    pub fn play(&self, scenario: &io::Result<Scenario>, flags: &[&str]) -> io::Result<LimitRun> {
        let scenario = scenario.as_ref().map_err(|error| io::Error::other(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let api = runtime.block_on(Api::start(scenario, 1)).map_err(io::Error::other)?;
        let sandbox = Sandbox::new()?;
        let result = self.run_scenario(scenario, flags, &api, &sandbox);
        let leftover_processes = processes::matching(&sandbox).len();
        processes::end(&sandbox);
        result.map(|case_run| LimitRun { leftover_processes, ..case_run })
    }

    fn run_scenario(
        &self,
        scenario: &Scenario,
        flags: &[&str],
        api: &Api,
        sandbox: &Sandbox,
    ) -> io::Result<LimitRun> {
        let identity = "[user]\n\tname = Test\n\temail = test@localhost\n[init]\n\tdefaultBranch = main\n";
        fs::write(sandbox.home().join(".gitconfig"), identity)?;
        git(sandbox, &["init", "-q"])?;
        git(sandbox, &["commit", "-q", "--allow-empty", "-m", "Start"])?;
        let stdout_path = sandbox.path().join("stdout");
        let mut command = sandbox.command(&self.longhaul);
        command.args(["run", &scenario.prompt, "--permission-mode", "bypassPermissions"]);
        command.args(["--output-format", "json", "--agent-path"]).arg(&self.claude).args(flags);
        // As root the real agent refuses bypassPermissions unless this variable says that it runs in a
        // sandbox.
        command.envs(api.environment()).env("IS_SANDBOX", "1").stdout(File::create(&stdout_path)?);
        let started = Instant::now();
        let mut run = command.spawn()?;
        let mut resident = 0;
        let status = loop {
            if let Some(status) = run.try_wait()? {
                break status;
            }
            if started.elapsed() > TIMEOUT {
                run.kill()?;
                break run.wait()?;
            }
            resident = resident.max(resident_now(sandbox));
            sleep(PROBE_INTERVAL);
        };
        Ok(LimitRun {
            wall: started.elapsed(),
            envelope: serde_json::from_slice(&fs::read(stdout_path)?).unwrap_or_default(),
            code: status.code(),
            request_log: api.request_log(),
            resident,
            commits: git(sandbox, &["log", "--format=%s"])?,
            records: journal::records(sandbox),
            leftover_processes: 0,
        })
    }
}

impl LimitRun {
    pub fn outcome(&self) -> &str {
        self.envelope["run"]["outcome"].as_str().unwrap_or("none")
    }

    /// Returns the faults that ended attempts.
    pub fn faults(&self) -> Vec<String> {
        journal::survived(&self.records)
    }

    pub fn attempts(&self) -> u64 {
        self.envelope["run"]["attempts"].as_u64().unwrap_or(0)
    }

    /// Returns whether the agent received the wrap-up prompt.
    pub fn has_wrap_up(&self) -> bool {
        self.records.iter().any(|record| record["record"] == "prompt_sent")
    }

    /// Returns whether the work is in the repository.
    pub fn has_saved_work(&self) -> bool {
        self.commits.lines().any(|subject| subject != "Start")
    }

    /// Returns how much of the limited unit the agent's largest response used.
    pub fn largest_response(&self, unit: LimitUnit) -> f64 {
        let largest =
            |figure: &dyn Fn(&Billed) -> f64| self.request_log.billed().map(figure).fold(0.0, f64::max);
        match unit {
            LimitUnit::Dollars => largest(&|billed| billed.cost().map_or(0.0, |cost| cost.dollars())),
            LimitUnit::Tokens => largest(&|billed| billed.tokens.total() as f64),
            LimitUnit::Turns | LimitUnit::Seconds | LimitUnit::Mebibytes => 1.0,
        }
    }
}

/// Returns the resident memory of the run's processes. Pages shared by several processes count for each of
/// them, as they do for the limit.
fn resident_now(sandbox: &Sandbox) -> u64 {
    let pages = processes::matching(sandbox).into_iter().filter_map(|pid| {
        let statm = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())).ok()?;
        statm.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    pages.sum::<u64>() * page_size() as u64
}

fn git(sandbox: &Sandbox, args: &[&str]) -> io::Result<String> {
    let output = sandbox.command("git").args(args).stdout(Stdio::piped()).output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(io::Error::other(format!("git {}: {}", args.join(" "), output.status)))
    }
}
