//! Plays one case: a loopback API, `longhaul run` in a place of its own, and a hand that sends signals at the
//! scenario's moments. What is left behind is counted, and then ended.

use super::case::{Case, Victim};
use super::sessions::Sessions;
use super::{journal, processes, sessions};
use crate::bench::sandbox::Sandbox;
use longhaul_core::draw;
use longhaul_drill::{Api, RequestLog, Scenario, SignalPoint, announced, workspace};
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

// Half as long again as the slowest scenario should take; whoever takes longer is not going to end.
const PATIENCE: Duration = Duration::from_secs(120);
// From the death of longhaul to its recovery: a person or a service manager takes a moment.
const RECOVER_WAIT_LEAST_MS: u64 = 500;
const RECOVER_WAIT_ROOM_MS: u64 = 3500;

/// What plays the cases.
pub struct TestRig {
    pub longhaul: PathBuf,
    /// The agent's program; the scripted one if there is none.
    pub claude: Option<PathBuf>,
    /// Whether the places are kept.
    pub keep: bool,
}

/// What became of one case.
pub struct CaseRun {
    /// What `longhaul` printed when it had finished the run, if it did.
    pub envelope: Option<Value>,
    pub account: RequestLog,
    /// When the API started, in milliseconds since 1970; its account counts from there.
    pub started_ms: u64,
    pub wall: Duration,
    /// When a signal was sent, in milliseconds since 1970.
    pub struck_ms: Option<u64>,
    /// Files that are not as the work leaves them.
    pub differences: Vec<String>,
    /// Steps of the work that were not done exactly once.
    pub effect_errors: Vec<String>,
    /// Processes of the run that were left.
    pub leftover_processes: usize,
    pub sessions: Sessions,
    /// Messages whose final usage the agent's streams hold.
    pub announced: BTreeSet<String>,
    pub records: Vec<Value>,
    /// The place, if it was kept.
    pub kept: Option<PathBuf>,
}

/// Plays the case to its end, or until patience is out.
pub async fn play(rig: &TestRig, case: &Case, scenario: &Scenario, seed: u64) -> io::Result<CaseRun> {
    let place = Sandbox::new()?;
    let api = Api::start(scenario, seed).await.map_err(io::Error::other)?;
    let (begun_ms, started) = (now_ms(), Instant::now());
    let mut hand = SignalSender {
        moments: api.signal_points(),
        victim: case.victim,
        sandbox: &place,
        struck_ms: None,
        strikes: 0,
    };
    let mut run = rig.run(case, scenario, &api, &place)?;
    let mut others = Vec::new();
    for _ in 1..case.calls.unwrap_or(1) {
        others.push(rig.run(case, scenario, &api, &place)?);
    }
    hand.follow(&mut run).await?;
    for other in &mut others {
        hand.follow(other).await?;
    }
    // Each strike of longhaul takes one recovery.
    for number in 0..scenario.faults.len() {
        if case.victim == Victim::Agent || hand.strikes as usize <= number {
            break;
        }
        let room = draw(seed, number as u64, RECOVER_WAIT_ROOM_MS);
        sleep(Duration::from_millis(RECOVER_WAIT_LEAST_MS + room)).await;
        let mut recover = rig.recover(&api, &place)?;
        hand.follow(&mut recover).await?;
    }
    let (wall, struck_ms) = (started.elapsed(), hand.struck_ms);

    let mut files = workspace::read(&place.work()).map_err(io::Error::other)?;
    let effects_amiss = workspace::effect_errors(&mut files, scenario.expected_effects());
    let played = CaseRun {
        leftover_processes: processes::matching(&place).len(),
        envelope: envelope(&place),
        account: api.account(),
        started_ms: begun_ms,
        wall,
        struck_ms,
        differences: workspace::differences(&scenario.expected_files().unwrap_or_default(), &files),
        effect_errors: effects_amiss,
        sessions: sessions::read(&place.home()),
        announced: journal::run_dir(&place).and_then(|dir| announced(&dir).ok()).unwrap_or_default(),
        records: journal::records(&place),
        kept: None,
    };
    processes::end(&place);
    Ok(CaseRun { kept: rig.keep.then(|| place.keep()), ..played })
}

impl TestRig {
    fn run(&self, case: &Case, scenario: &Scenario, api: &Api, place: &Sandbox) -> io::Result<Child> {
        let mut command = self.longhaul(api, place)?;
        command.args(["run", &scenario.prompt, "--model", &scenario.model]);
        command.args(["--permission-mode", "bypassPermissions", "--keep-stream"]);
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
        command.arg("--agent-path").arg(match &self.claude {
            Some(claude) => claude.clone(),
            None => place.scripted_agent(&self.longhaul)?,
        });
        command.spawn()
    }

    fn recover(&self, api: &Api, place: &Sandbox) -> io::Result<Child> {
        self.longhaul(api, place)?.arg("recover").spawn()
    }

    /// A command that finds nothing of the user's, and of the network only this API.
    fn longhaul(&self, api: &Api, place: &Sandbox) -> io::Result<Command> {
        let log = |name: &str| File::options().create(true).append(true).open(place.path().join(name));
        let mut command = place.command(&self.longhaul);
        command.args(["--output-format", "json", "--verbose"]).envs(api.environment());
        // As root the real agent refuses bypassPermissions unless it is told that this is a sandbox.
        command.env("IS_SANDBOX", "1").stdout(log(STDOUT)?).stderr(log("stderr")?);
        let mut command = Command::from(command);
        command.kill_on_drop(true);
        Ok(command)
    }
}

const STDOUT: &str = "stdout";

/// The envelope that was printed last: `recover` may print one for each run, in an array or one after the other.
fn envelope(place: &Sandbox) -> Option<Value> {
    let printed = fs::read(place.path().join(STDOUT)).ok()?;
    let values = serde_json::Deserializer::from_slice(&printed).into_iter::<Value>().map_while(Result::ok);
    let envelopes = values.flat_map(|value| match value {
        Value::Array(envelopes) => envelopes,
        one => vec![one],
    });
    envelopes.filter(|envelope| envelope["run"]["outcome"].is_string()).last()
}

/// Waits for `longhaul`, and meanwhile sends the signals that the scenario asks for.
struct SignalSender<'a> {
    moments: Receiver<SignalPoint>,
    victim: Victim,
    sandbox: &'a Sandbox,
    struck_ms: Option<u64>,
    strikes: u32,
}

impl SignalSender<'_> {
    async fn follow(&mut self, longhaul: &mut Child) -> io::Result<()> {
        let patience_ends = Instant::now() + PATIENCE;
        loop {
            let moment = tokio::select! {
                ended = longhaul.wait() => return ended.map(|_| ()),
                () = sleep_until(patience_ends) => return longhaul.kill().await,
                Ok(moment) = self.moments.recv() => moment,
            };
            self.strike(moment, longhaul)?;
        }
    }

    fn strike(&mut self, moment: SignalPoint, longhaul: &mut Child) -> io::Result<()> {
        match self.victim {
            Victim::Longhaul => signal(longhaul, moment.signal.into()),
            Victim::All => {
                for pid in processes::matching(self.sandbox) {
                    processes::signal(pid, moment.signal.into(), self.sandbox);
                }
                signal(longhaul, moment.signal.into());
            }
            Victim::Agent => {
                let Some(agent) = journal::agent(self.sandbox) else { return Ok(()) };
                processes::signal(agent, moment.signal.into(), self.sandbox);
            }
        }
        self.struck_ms = Some(now_ms());
        self.strikes += 1;
        Ok(())
    }
}

/// Sends it to our own child, if that lives: one that was not waited for keeps its number.
fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
        let _ = kill_process(pid, signal);
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
