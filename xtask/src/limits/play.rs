//! Plays one run in a place of its own with a git repository and an API on loopback. What is left is counted, and ended.

use super::case::Unit;
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

// Several times what the longest of them should take, which waits for half a minute before it goes on.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What plays them.
pub struct TestRig {
    pub longhaul: PathBuf,
    pub claude: PathBuf,
}

/// What became of one run.
pub struct CaseRun {
    envelope: Value,
    pub code: Option<i32>,
    pub account: RequestLog,
    pub wall: Duration,
    /// What the run's processes had resident at most, together, in bytes.
    pub resident: u64,
    commits: String,
    records: Vec<Value>,
    /// Processes of the run that were left.
    pub leftover_processes: usize,
}

impl TestRig {
    /// Plays the scenario to its end, or until patience is out.
    pub fn play(&self, scenario: &io::Result<Scenario>, flags: &[&str]) -> io::Result<CaseRun> {
        let scenario = scenario.as_ref().map_err(|error| io::Error::other(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let api = runtime.block_on(Api::start(scenario, 1)).map_err(io::Error::other)?;
        let place = Sandbox::new()?;
        let played = self.played(scenario, flags, &api, &place);
        let left = processes::matching(&place).len();
        processes::end(&place);
        played.map(|played| CaseRun { leftover_processes: left, ..played })
    }

    fn played(&self, scenario: &Scenario, flags: &[&str], api: &Api, place: &Sandbox) -> io::Result<CaseRun> {
        let identity = "[user]\n\tname = Story\n\temail = story@localhost\n[init]\n\tdefaultBranch = main\n";
        fs::write(place.home().join(".gitconfig"), identity)?;
        git(place, &["init", "-q"])?;
        git(place, &["commit", "-q", "--allow-empty", "-m", "Begin"])?;
        let told = place.path().join("told");
        let mut command = place.command(&self.longhaul);
        command.args(["run", &scenario.prompt, "--permission-mode", "bypassPermissions"]);
        command.args(["--output-format", "json", "--agent-path"]).arg(&self.claude).args(flags);
        // As root the real agent refuses bypassPermissions unless it is told that this is a sandbox.
        command.envs(api.environment()).env("IS_SANDBOX", "1").stdout(File::create(&told)?);
        let started = Instant::now();
        let mut run = command.spawn()?;
        let mut resident = 0;
        let ended = loop {
            if let Some(ended) = run.try_wait()? {
                break ended;
            }
            if started.elapsed() > PATIENCE {
                run.kill()?;
                break run.wait()?;
            }
            resident = resident.max(resident_now(place));
            sleep(LOOK_EVERY);
        };
        Ok(CaseRun {
            wall: started.elapsed(),
            envelope: serde_json::from_slice(&fs::read(told)?).unwrap_or_default(),
            code: ended.code(),
            account: api.account(),
            resident,
            commits: git(place, &["log", "--format=%s"])?,
            records: journal::records(place),
            leftover_processes: 0,
        })
    }
}

impl CaseRun {
    pub fn outcome(&self) -> &str {
        self.envelope["run"]["outcome"].as_str().unwrap_or("none")
    }

    /// Faults that attempts ended with.
    pub fn faults(&self) -> Vec<String> {
        journal::survived(&self.records)
    }

    pub fn attempts(&self) -> u64 {
        self.envelope["run"]["attempts"].as_u64().unwrap_or(0)
    }

    /// Whether the agent was told to save its work.
    pub fn wrapped_up(&self) -> bool {
        self.records.iter().any(|record| record["record"] == "said")
    }

    /// Whether the work is in the repository.
    pub fn saved(&self) -> bool {
        self.commits.lines().any(|subject| subject != "Begin")
    }

    /// What the largest of its answers used of what is limited.
    pub fn answer(&self, unit: Unit) -> f64 {
        let largest = |figure: &dyn Fn(&Billed) -> f64| self.account.billed().map(figure).fold(0.0, f64::max);
        match unit {
            Unit::Dollars => largest(&|billed| billed.cost().map_or(0.0, |cost| cost.dollars())),
            Unit::Tokens => largest(&|billed| billed.tokens.total() as f64),
            Unit::Turns | Unit::Seconds | Unit::Mebibytes => 1.0,
        }
    }
}

/// Pages that several processes share count for each of them, as they do for a limit.
fn resident_now(place: &Sandbox) -> u64 {
    let pages = processes::matching(place).into_iter().filter_map(|pid| {
        let statm = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())).ok()?;
        statm.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    pages.sum::<u64>() * page_size() as u64
}

fn git(place: &Sandbox, args: &[&str]) -> io::Result<String> {
    let output = place.command("git").args(args).stdout(Stdio::piped()).output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(io::Error::other(format!("git {}: {}", args.join(" "), output.status)))
    }
}
