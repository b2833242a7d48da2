//! Plays one case: a loopback API, `longhaul run` in its own sandbox, and a sender of the scenario's signals.
//! Leftover processes are counted and then killed.

use super::case::{Case, Victim};
use super::sessions::Sessions;
use super::{journal, processes, sessions};
use crate::bench::sandbox::Sandbox;
use longhaul_core::draw;
use longhaul_drill::{Api, RequestLog, Scenario, SignalPoint, announced_message_ids, workspace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::process::{Child, Command};
use tokio::sync::broadcast::Receiver;
use tokio::time::{Instant, sleep, sleep_until};

// One and a half times the expected duration of the slowest scenario. A run that takes longer hangs.
const TIMEOUT: Duration = Duration::from_secs(120);
// The delay between a crash of longhaul and its recovery: a person or a service manager takes a moment.
const RECOVER_WAIT_MIN_MS: u64 = 500;
const RECOVER_WAIT_SPREAD_MS: u64 = 3500;

/// The programs and options for playing cases.
pub struct TestRig {
    pub longhaul: PathBuf,
    /// The agent's program. `None` for the scripted agent.
    pub claude: Option<PathBuf>,
    /// Whether the scripted agent speaks the Agent Client Protocol.
    pub acp: bool,
    /// Whether the sandboxes are kept.
    pub keep: bool,
}

/// The observations of one played case.
pub struct CaseRun {
    /// Envelope that `longhaul` printed, if it finished the run.
    pub envelope: Option<Value>,
    pub request_log: RequestLog,
    /// Start of the API, in milliseconds since 1970. The times in `account` count from it.
    pub started_ms: u64,
    pub wall: Duration,
    /// Time of the last signal, in milliseconds since 1970.
    pub struck_ms: Option<u64>,
    /// Differences between the files and those that the work should leave.
    pub differences: Vec<String>,
    /// Steps of the work that were not done exactly once.
    pub effect_errors: Vec<String>,
    /// Number of leftover processes.
    pub leftover_processes: usize,
    pub sessions: Sessions,
    /// Messages whose final usage is in the agent's streams.
    pub announced: BTreeSet<String>,
    pub records: Vec<Value>,
    /// Path of the sandbox, if it was kept.
    pub kept: Option<PathBuf>,
}

/// Plays the case to its end or to a timeout.
pub async fn play(rig: &TestRig, case: &Case, scenario: &Scenario, seed: u64) -> io::Result<CaseRun> {
    let sandbox = Sandbox::new()?;
    let api = Api::start(scenario, seed).await.map_err(io::Error::other)?;
    let (started_ms, started) = (now_ms(), Instant::now());
    let mut sender = SignalSender {
        signal_points: api.signal_points(),
        victim: case.victim,
        sandbox: &sandbox,
        struck_ms: None,
        strikes: 0,
    };
    let mut run = rig.run(case, scenario, &api, &sandbox)?;
    let mut others = Vec::new();
    for _ in 1..case.calls.unwrap_or(1) {
        others.push(rig.run(case, scenario, &api, &sandbox)?);
    }
    sender.follow(&mut run).await?;
    for other in &mut others {
        sender.follow(other).await?;
    }
    // Each signal to longhaul needs one recovery.
    for number in 0..scenario.faults.len() {
        if case.victim == Victim::Agent || sender.strikes as usize <= number {
            break;
        }
        let spread = draw(seed, number as u64, RECOVER_WAIT_SPREAD_MS);
        sleep(Duration::from_millis(RECOVER_WAIT_MIN_MS + spread)).await;
        let mut recover = rig.recover(&api, &sandbox)?;
        sender.follow(&mut recover).await?;
    }
    let (wall, struck_ms) = (started.elapsed(), sender.struck_ms);

    let mut files = workspace::read(&sandbox.work()).map_err(io::Error::other)?;
    let effect_errors = workspace::effect_errors(&mut files, scenario.expected_effects());
    let case_run = CaseRun {
        leftover_processes: processes::matching(&sandbox).len(),
        envelope: envelope(&sandbox),
        request_log: api.request_log(),
        started_ms,
        wall,
        struck_ms,
        differences: workspace::differences(&scenario.expected_files().unwrap_or_default(), &files),
        effect_errors,
        sessions: sessions::read(&sandbox.home()),
        announced: journal::run_dir(&sandbox)
            .and_then(|dir| announced_message_ids(&dir).ok())
            .unwrap_or_default(),
        records: journal::records(&sandbox),
        kept: None,
    };
    processes::end(&sandbox);
    Ok(CaseRun { kept: rig.keep.then(|| sandbox.keep()), ..case_run })
}

impl TestRig {
    fn run(&self, case: &Case, scenario: &Scenario, api: &Api, sandbox: &Sandbox) -> io::Result<Child> {
        let mut command = self.longhaul(api, sandbox)?;
        command.args(["run", &scenario.prompt, "--model", &scenario.model]);
        command.args(["--permission-mode", "bypassPermissions", "--keep-partial-messages"]);
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
        if self.acp {
            command.args(["--agent", "acp", "--"]).arg(&self.longhaul).args(["drill-agent", "--acp"]);
            return command.spawn();
        }
        command.arg("--agent-path").arg(match &self.claude {
            Some(claude) => claude.clone(),
            None => sandbox.scripted_agent(&self.longhaul)?,
        });
        command.spawn()
    }

    fn recover(&self, api: &Api, sandbox: &Sandbox) -> io::Result<Child> {
        self.longhaul(api, sandbox)?.arg("recover").spawn()
    }

    /// Returns a command without files or variables of the user, which uses only this API.
    fn longhaul(&self, api: &Api, sandbox: &Sandbox) -> io::Result<Command> {
        let log = |name: &str| File::options().create(true).append(true).open(sandbox.path().join(name));
        let mut command = sandbox.command(&self.longhaul);
        command.args(["--output-format", "json", "--verbose"]).envs(api.environment());
        // As root the real agent refuses bypassPermissions unless this variable says that it runs in a
        // sandbox.
        command.env("IS_SANDBOX", "1").stdout(log(STDOUT)?).stderr(log("stderr")?);
        let mut command = Command::from(command);
        command.kill_on_drop(true);
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

/// Sends the scenario's signals while `longhaul` runs.
struct SignalSender<'a> {
    signal_points: Receiver<SignalPoint>,
    victim: Victim,
    sandbox: &'a Sandbox,
    struck_ms: Option<u64>,
    strikes: u32,
}

impl SignalSender<'_> {
    async fn follow(&mut self, longhaul: &mut Child) -> io::Result<()> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let point = tokio::select! {
                ended = longhaul.wait() => return ended.map(|_| ()),
                () = sleep_until(deadline) => return longhaul.kill().await,
                Ok(point) = self.signal_points.recv() => point,
            };
            self.strike(point, longhaul)?;
        }
    }

    fn strike(&mut self, point: SignalPoint, longhaul: &mut Child) -> io::Result<()> {
        match self.victim {
            Victim::Longhaul => signal(longhaul, point.signal.into()),
            Victim::All => {
                for pid in processes::matching(self.sandbox) {
                    processes::signal(pid, point.signal.into(), self.sandbox);
                }
                signal(longhaul, point.signal.into());
            }
            Victim::Agent => {
                let Some(agent) = journal::agent(self.sandbox) else { return Ok(()) };
                processes::signal(agent, point.signal.into(), self.sandbox);
            }
        }
        self.struck_ms = Some(now_ms());
        self.strikes += 1;
        Ok(())
    }
}

/// Sends a signal to a child, if it is alive. An unreaped child keeps its PID.
fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
        let _ = kill_process(pid, signal);
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
