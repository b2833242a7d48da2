//! Plays one case: a loopback API, `longhaul run` in its own sandbox, and a sender of the scenario's signals.
//! Leftover processes are counted and then killed.

use super::case::{Case, Victim};
use super::sessions::{self, Sessions};
use crate::api::Loopback;
use crate::process::{KillOnDrop, wait_until};
use crate::programs::{AgentChoice, Programs};
use crate::sandbox::{PERMISSION, Sandbox};
use crate::{journal, processes};
use longhaul_agent::default_environment;
use longhaul_core::{Preset, draw};
use longhaul_drill::{RequestLog, Scenario, announced_message_ids, scenario, workspace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::broadcast::Receiver;

// One and a half times the expected duration of the slowest scenario. A run that takes longer hangs.
const TIMEOUT: Duration = Duration::from_secs(120);
// The delay between a crash of longhaul and its recovery: a person or a service manager takes a moment.
const RECOVER_WAIT_MIN_MS: u64 = 500;
const RECOVER_WAIT_SPREAD_MS: u64 = 3500;

pub struct TestRig {
    pub programs: Programs,
    pub agent: AgentChoice,
    pub keep: bool,
}

pub struct CaseRun {
    pub case: Case,
    pub scenario: Scenario,
    pub seed: u64,
    /// Tokens and seconds of the same work without faults.
    pub ideal: Option<(u64, f64)>,
    /// Envelope that `longhaul` printed, if it finished the run.
    pub envelope: Option<Value>,
    pub request_log: RequestLog,
    /// Start of the API, in milliseconds since 1970. The times of the log count from it.
    pub started_ms: u64,
    pub wall: Duration,
    /// Time of the last signal, in milliseconds since 1970.
    pub struck_ms: Option<u64>,
    /// Differences between the files and those that the work should leave.
    pub differences: Vec<String>,
    pub effect_errors: Vec<String>,
    pub leftover_processes: usize,
    pub sessions: Sessions,
    /// Messages whose final usage is in the agent's streams.
    pub announced: BTreeSet<String>,
    pub records: Vec<Value>,
    pub kept: Option<PathBuf>,
}

pub fn play(rig: &TestRig, case: &Case, seed: u64) -> io::Result<CaseRun> {
    let scenario = case.scenario()?;
    let sandbox = Sandbox::new()?;
    let loopback = Loopback::start(&scenario, seed)?;
    let (started_ms, started) = (now_ms(), Instant::now());
    let mut sender = SignalSender {
        signal_points: loopback.api.signal_points(),
        victim: case.victim,
        sandbox: &sandbox,
        struck_ms: None,
        strikes: 0,
    };
    let mut runs = Vec::new();
    for _ in 0..case.calls.unwrap_or(1) {
        runs.push(KillOnDrop(rig.run(case, &scenario, &loopback, &sandbox)?.spawn()?));
    }
    for run in &mut runs {
        sender.follow(run)?;
    }
    // Each signal to longhaul needs one recovery.
    for number in 0..scenario.faults.len() {
        if case.victim == Victim::Agent || sender.strikes <= number {
            break;
        }
        let spread = draw(seed, number as u64, RECOVER_WAIT_SPREAD_MS);
        sleep(Duration::from_millis(RECOVER_WAIT_MIN_MS + spread));
        let recover = rig.longhaul(&loopback, &sandbox)?.arg("recover").spawn()?;
        sender.follow(&mut KillOnDrop(recover))?;
    }
    let (wall, struck_ms) = (started.elapsed(), sender.struck_ms);

    let mut files = workspace::read(&sandbox.work())?;
    let effect_errors = workspace::effect_errors(&mut files, scenario.expected_effects());
    let run_dir = journal::run_dir(&sandbox);
    let case_run = CaseRun {
        case: case.clone(),
        seed,
        ideal: None,
        envelope: envelope(&sandbox),
        request_log: loopback.api.request_log(),
        started_ms,
        wall,
        struck_ms,
        differences: workspace::differences(&scenario.expected_files().unwrap_or_default(), &files),
        effect_errors,
        sessions: sessions::read(&sandbox.home()),
        announced: run_dir.and_then(|dir| announced_message_ids(&dir).ok()).unwrap_or_default(),
        records: journal::records(&sandbox),
        leftover_processes: processes::end(&sandbox),
        scenario,
        kept: None,
    };
    Ok(CaseRun { kept: rig.keep.then(|| sandbox.keep()), ..case_run })
}

impl TestRig {
    fn run(
        &self,
        case: &Case,
        scenario: &Scenario,
        loopback: &Loopback,
        sandbox: &Sandbox,
    ) -> io::Result<Command> {
        let mut command = self.longhaul(loopback, sandbox)?;
        command.args(["run", &scenario.prompt, "--model", &scenario.model]);
        command.args(PERMISSION).arg("--keep-partial-messages");
        if let Some(idle_s) = case.idle_s {
            let idle = format!("{idle_s}s");
            command.args(["--stall-timeout", &idle, "--background-wait", &idle]);
        }
        if let Some(wait_s) = case.background_wait_s {
            command.args(["--keep-going", "--time-limit", "1h", "--background-wait", &format!("{wait_s}s")]);
        }
        if case.calls.is_some() {
            command.args(["--key", &case.name]);
        }
        if let Some(claim) = &case.claim {
            command.args(["--check", &claim.check]);
        }
        let Programs { longhaul, claude } = &self.programs;
        match self.agent {
            AgentChoice::Scripted => command.arg("--agent-path").arg(sandbox.scripted_agent(longhaul)?),
            AgentChoice::Acp => {
                command.args(["--agent", "acp", "--"]).arg(longhaul).args(["drill-agent", "--acp"])
            }
            AgentChoice::Claude => command.arg("--agent-path").arg(claude),
        };
        Ok(command)
    }

    fn longhaul(&self, loopback: &Loopback, sandbox: &Sandbox) -> io::Result<Command> {
        let log = |name: &str| File::options().create(true).append(true).open(sandbox.path().join(name));
        let mut command = sandbox.agent_command(&self.programs.longhaul, loopback);
        command.args(["--output-format", "json", "--verbose"]).stdout(log(STDOUT)?).stderr(log("stderr")?);
        if self.agent == AgentChoice::Acp {
            // The Agent Client Protocol has no such setting.
            let retries = Preset::Default.policy().inner_retries.to_string();
            command.env(default_environment().max_retries, retries);
        }
        Ok(command)
    }
}

const STDOUT: &str = "stdout";

/// Returns the last printed envelope: `recover` may print one for each run, in an array or one after the
/// other.
fn envelope(sandbox: &Sandbox) -> Option<Value> {
    let printed = fs::read(sandbox.path().join(STDOUT)).ok()?;
    let values = serde_json::Deserializer::from_slice(&printed).into_iter::<Value>().map_while(Result::ok);
    let envelopes = values.flat_map(|value| match value {
        Value::Array(envelopes) => envelopes,
        envelope => vec![envelope],
    });
    envelopes.filter(|envelope| envelope["run"]["outcome"].is_string()).last()
}

struct SignalSender<'a> {
    signal_points: Receiver<scenario::Signal>,
    victim: Victim,
    sandbox: &'a Sandbox,
    struck_ms: Option<u64>,
    strikes: usize,
}

impl SignalSender<'_> {
    fn follow(&mut self, longhaul: &mut KillOnDrop) -> io::Result<()> {
        let ended = wait_until("the end of longhaul", TIMEOUT, || match longhaul.0.try_wait() {
            Ok(None) => {
                while let Ok(signal) = self.signal_points.try_recv() {
                    self.strike(signal.into(), &longhaul.0);
                }
                None
            }
            ended => Some(ended.map(drop)),
        });
        // A run that hangs is killed. It is no error, because its results show that it did not finish.
        ended.unwrap_or_else(|_| {
            longhaul.0.kill()?;
            longhaul.0.wait().map(drop)
        })
    }

    fn strike(&mut self, signal: Signal, longhaul: &Child) {
        match self.victim {
            Victim::Longhaul => signal_child(longhaul, signal),
            Victim::All => {
                for pid in processes::matching(self.sandbox) {
                    processes::signal(pid, signal, self.sandbox);
                }
                signal_child(longhaul, signal);
            }
            Victim::Agent => {
                let Some(agent) = journal::agent(self.sandbox) else { return };
                processes::signal(agent, signal, self.sandbox);
            }
        }
        self.struck_ms = Some(now_ms());
        self.strikes += 1;
    }
}

/// Sends a signal to a child. Its PID is not reused, because only the caller waits for it.
fn signal_child(child: &Child, signal: Signal) {
    if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process(pid, signal);
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
