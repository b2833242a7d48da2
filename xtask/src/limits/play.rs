//! Plays one run in its own sandbox with a git repository and a loopback API. Leftover processes are counted
//! and killed.

use super::case::{LimitCase, LimitUnit};
use crate::api::Loopback;
use crate::process::KillOnDrop;
use crate::programs::Programs;
use crate::sandbox::Sandbox;
use crate::{journal, processes};
use longhaul_drill::api::Billed;
use longhaul_drill::{RequestLog, Scenario};
use rustix::param::page_size;
use serde_json::Value;
use std::fs::{self, File};
use std::io;
use std::time::{Duration, Instant};

// Several times the duration of the longest case, which waits half a minute between its attempts.
const TIMEOUT: Duration = Duration::from_secs(180);

pub struct LimitRun {
    pub envelope: Value,
    pub code: Option<i32>,
    pub request_log: RequestLog,
    pub wall: Duration,
    /// Peak resident memory of all processes of the run together, in bytes.
    pub resident: u64,
    pub has_saved_work: bool,
    pub records: Vec<Value>,
    pub leftover_processes: usize,
}

pub fn play(programs: &Programs, scenario: &Scenario, flags: &[&str]) -> io::Result<LimitRun> {
    let (loopback, sandbox) = (Loopback::start(scenario, 1)?, Sandbox::new()?);
    sandbox.init_repository()?;
    let stdout_path = sandbox.path().join("stdout");
    let mut command = sandbox.run(programs, &loopback, &scenario.prompt);
    command.args(flags).stdout(File::create(&stdout_path)?);
    let started = Instant::now();
    let mut resident = 0;
    let status =
        KillOnDrop(command.spawn()?).wait(TIMEOUT, |_| resident = resident.max(resident_now(&sandbox)))?;
    let wall = started.elapsed();
    let leftover_processes = processes::end(&sandbox);
    Ok(LimitRun {
        envelope: serde_json::from_slice(&fs::read(stdout_path)?).unwrap_or_default(),
        code: status.code(),
        request_log: loopback.api.request_log(),
        wall,
        resident,
        has_saved_work: !sandbox.commits("work")?.is_empty(),
        records: journal::records(&sandbox),
        leftover_processes,
    })
}

impl LimitRun {
    pub fn has_wrap_up(&self) -> bool {
        self.records.iter().any(|record| record["record"] == "prompt_sent")
    }

    pub fn used(&self, unit: LimitUnit) -> f64 {
        match unit {
            LimitUnit::Dollars => self.request_log.cost().dollars(),
            LimitUnit::Tokens => self.request_log.tokens().total() as f64,
            LimitUnit::Turns => self.request_log.model_requests() as f64,
            LimitUnit::Seconds => self.wall.as_secs_f64(),
            LimitUnit::Mebibytes => (self.resident >> 20) as f64,
        }
    }

    pub fn excess(&self, case: &LimitCase) -> f64 {
        (self.used(case.unit) - case.limit).max(0.0)
    }

    /// Returns how much of the limited unit the agent's largest response used. A unit that responses do not
    /// use counts as it is.
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
