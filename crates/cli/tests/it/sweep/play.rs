//! Plays one point: injects the fault there, continues the run as a user would, and measures the result.

use super::SweepAgent;
use super::calls::{Repeated, count_branches, count_repeated};
use super::strike::Strike;
use super::thaw::Thaw;
use super::work::Work;
use crate::artifacts;
use crate::call::{Output, poll};
use crate::harness::{LONGHAUL, Stage};
use crate::server::Server;
use crate::tidy;
use longhaul_drill::api::Billed;
use longhaul_drill::{RequestLog, announced_message_ids, workspace};
use longhaul_store::RunDir;
use rustix::process::{Signal, kill_process};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

// A process that is exiting may still be visible.
const GRACE: Duration = Duration::from_secs(5);

/// Measurements of one strike.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Whether the fault reached a process. An agent may not have started, or may have exited.
    pub struck: bool,
    /// Violated expectations. Empty if there are none.
    #[serde(skip)]
    pub problems: Vec<String>,
    /// Hash of the workspace.
    pub workspace: String,
    /// Whether the workspace has the expected files.
    pub reached: bool,
    /// Processes left after any of the calls.
    pub leftover_processes: u64,
    /// Rows where a session branches.
    pub branches: u64,
    pub repeated: Repeated,
    /// Model turns that were requested again.
    pub wasted: u64,
    pub attempts: u64,
    /// Reported tokens of complete messages.
    pub reported: u64,
    /// Billed tokens of complete messages.
    pub billed: u64,
    /// Reported tokens, including those of truncated messages.
    pub reported_in_all: u64,
    /// Billed tokens, including those of truncated messages.
    pub billed_in_all: u64,
    /// Most tokens billed for one message.
    #[serde(skip)]
    message_tokens_max: u64,
    /// The last envelope.
    #[serde(skip)]
    pub envelope: Value,
}

impl Figures {
    /// Returns the violated bounds. The scripted agent always meets all of them.
    pub fn missed_bounds(&self, wasted_max: u64) -> Vec<String> {
        // The totals are equal unless an agent was stopped: then its message in flight is billed but not received.
        let difference_max = wasted_max * self.message_tokens_max;
        let difference = self.reported_in_all.abs_diff(self.billed_in_all);
        let missed_bounds = [
            (self.wasted > wasted_max, format!("{} turns wasted", self.wasted)),
            (self.reported != self.billed, format!("{} tokens reported of {}", self.reported, self.billed)),
            (
                difference > difference_max,
                format!("{} tokens reported of {} in all", self.reported_in_all, self.billed_in_all),
            ),
        ];
        missed_bounds.into_iter().filter_map(|(is_missed, text)| is_missed.then_some(text)).collect()
    }
}

/// Runs the work to its end. Returns `None` if the supervisor was killed.
pub fn run(
    stage: &Stage,
    agent: &SweepAgent,
    server: &Server,
    strike: Strike,
    env: &[(&str, String)],
) -> Option<Output> {
    let mut args =
        vec!["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--keep-partial-messages"];
    if strike.is_freeze() {
        args.extend(["--stall-timeout", "2s"]);
    }
    if strike.is_guarded() {
        args.extend(["--deny-tools", "WebFetch"]);
    }
    let call = match agent {
        SweepAgent::Scripted => stage.run(&stage.agent(), &args),
        SweepAgent::Claude(path) => stage.run(path, &args),
        SweepAgent::Acp => {
            let call = stage.longhaul(["run", "--agent", "acp", "--cwd"]).args([stage.work()]).args(&args);
            call.args(["--", LONGHAUL, "drill-agent", "--acp"])
        }
        SweepAgent::Workflow => {
            let file = Work::of(agent).file(stage).expect("the work is a workflow");
            let call =
                stage.longhaul(["loop", "--permission-mode", "bypassPermissions", "--preset", "drill"]);
            let call = call.args(["--memory-reserve", "0", "--agent-path"]).args([stage.agent()]);
            call.args([file]).in_dir(&stage.work())
        }
    };
    let mut call = call.against(server);
    for (name, value) in env {
        call = call.env(name, value);
    }
    call.start().output_unless_killed()
}

/// Injects the fault at this point, continues until the work is done, and measures the result.
pub fn play(strike: Strike, point: u64, agent: &SweepAgent) -> Figures {
    let work = Work::of(agent);
    let (stage, server) = (Stage::new(), Server::start(work.script));
    let _leftovers = KillLeftovers(stage.folder().to_owned());
    let _thaw = strike.is_freeze().then(|| Thaw::new(stage.folder().to_owned()));
    let mut trial = Trial {
        stage: &stage,
        work: &work,
        envelopes: Vec::new(),
        leftover_processes: 0,
        problems: Vec::new(),
    };

    let log = stage.folder().join("points");
    let orders = [strike.order(point), ("LONGHAUL_FAILPOINT_LOG", log.to_string_lossy().into_owned())];
    let mut output = run(&stage, agent, &server, strike, &orders);
    if let Some(first) = &output {
        trial.count_leftovers();
        let code = first.code;
        match code {
            0 => {}
            143 if strike.is_shutdown() => {
                trial.expect_suspended(first, strike);
                output = None;
            }
            25 if strike.is_disk_fault() => {
                trial.expect_error(first, &["error:", "hint:", "free some space"]);
                trial.expect(stage.runs().is_empty(), "the call was rejected, but there is a run");
                output = run(&stage, agent, &server, strike, &[]);
            }
            26 if strike.is_disk_fault() => {
                let id = stage.only_run().id().to_string();
                trial.expect_error(
                    first,
                    &["error:", "hint: free disk space", &format!("longhaul recover {id}")],
                );
                let envelope: Value = serde_json::from_str(&first.stdout).unwrap_or_default();
                trial.expect(envelope["run"]["id"] == id.as_str(), "the envelope does not name the run");
            }
            _ => trial.problems.push(format!("exit code {code}: {}", first.stderr)),
        }
    }
    if strike.is_disk_fault() && !stage.runs().iter().all(RunDir::is_outcome_published) {
        // The run stopped early, or it finished without room to write its files.
        output = None;
    }
    // After a kill of the supervisor, its agent continues. Leftover processes are counted when the run is
    // finished.
    let output = output.unwrap_or_else(|| stage.longhaul(["recover"]).against(&server).output());
    let envelope = match stage.runs().as_slice() {
        // The run finished before the strike, or only its report was missing.
        [_, ..] if output.stdout.is_empty() => {
            let id = stage.workflows().first().map_or_else(|| "@".to_owned(), |dir| dir.id().to_string());
            work.envelope(&stage.longhaul(["attach", &id]).output(), 0)
        }
        _ => serde_json::from_str(&output.stdout).unwrap_or_default(),
    };
    trial.envelopes.push(envelope);
    trial.count_leftovers();
    let struck = strike.is_disk_fault()
        || fs::read_to_string(log).is_ok_and(|log| log.lines().any(|line| line == "struck"));
    trial.measure(struck, &server.api.request_log())
}

/// State of a trial.
struct Trial<'a> {
    stage: &'a Stage,
    work: &'a Work,
    /// Envelopes of every call that reported a cost.
    envelopes: Vec<Value>,
    leftover_processes: u64,
    problems: Vec<String>,
}

impl Trial<'_> {
    fn expect(&mut self, condition: bool, problem: &str) {
        if !condition {
            self.problems.push(problem.to_owned());
        }
    }

    fn expect_error(&mut self, output: &Output, fragments: &[&str]) {
        for fragment in fragments {
            self.expect(output.stderr.contains(fragment), &format!("no `{fragment}` in {}", output.stderr));
        }
    }

    /// Checks a run that the signal suspended.
    fn expect_suspended(&mut self, output: &Output, strike: Strike) {
        let envelope = self.work.envelope(output, 143);
        self.expect(self.work.outcome(&envelope) == "suspended", &format!("the outcome is {envelope}"));
        for run in self.stage.runs() {
            let status = run.status().expect("the status can be read").status;
            let is_finished = self.work.runs > 1 && status == "done";
            self.expect(is_finished || status == "suspended", &format!("a status says {status}"));
        }
        let mut repeated = count_repeated(self.stage, self.work);
        if strike == Strike::TermAll {
            // A busy agent can see that its command was stopped, and repeat it, before it sees its own signal.
            repeated.named = 0;
        }
        self.expect(
            repeated == Repeated::default(),
            &format!("a suspended run repeated a call: {repeated:?}"),
        );
    }

    fn count_leftovers(&mut self) {
        let (started, processes) = (Instant::now(), || tidy::processes(self.stage.folder()));
        let _ = poll(|| (processes().is_empty() || started.elapsed() > GRACE).then_some(()));
        self.leftover_processes += processes().len() as u64;
    }

    fn measure(mut self, struck: bool, request_log: &RequestLog) -> Figures {
        let envelope = self.envelopes.last().cloned().unwrap_or_default();
        self.expect(self.work.is_done(&envelope), &format!("the envelope is {envelope}"));
        let runs = self.stage.runs().len();
        self.expect(runs == self.work.runs, &format!("{runs} runs"));
        let expected = &self.work.files;
        let files = workspace::read(&self.stage.work()).expect("the workspace can be read");
        let reached = files == *expected;
        if !reached {
            self.problems.extend(workspace::differences(expected, &files));
        }
        let (leftover_processes, branches, repeated) =
            (self.leftover_processes, count_branches(self.stage), count_repeated(self.stage, self.work));
        self.expect(leftover_processes == 0, &format!("{leftover_processes} leftover processes"));
        self.expect(branches == 0, &format!("{branches} branches in a session"));
        self.expect(repeated.completed == 0, &format!("{} completed calls repeated", repeated.completed));
        self.expect(
            repeated.unnamed == 0,
            &format!("{} calls repeated that no prompt named", repeated.unnamed),
        );
        for run in self.stage.runs() {
            tidy::replayed_outcome(&run);
            artifacts::assert_transcript_complete(&run);
        }
        tidy::check(self.stage);

        let envelopes = self.work.usage_envelopes(self.stage, &self.envelopes);
        let usage = |name: &str| {
            envelopes.iter().filter_map(|envelope| envelope["usage"][name].as_u64()).sum::<u64>()
        };
        let token_fields =
            ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        let reported = token_fields.map(usage).iter().sum::<u64>();
        let received: BTreeSet<String> = self
            .stage
            .runs()
            .iter()
            .flat_map(|run| announced_message_ids(run.path()).unwrap_or_default())
            .collect();
        let is_received = |message: &&Billed| message.complete && received.contains(&message.id);
        Figures {
            struck,
            workspace: workspace::hash(&files),
            reached,
            leftover_processes,
            branches,
            repeated,
            wasted: (request_log.model_requests() as u64).saturating_sub(self.work.requests),
            attempts: envelopes.iter().filter_map(|envelope| envelope["run"]["attempts"].as_u64()).sum(),
            reported,
            billed: request_log.billed().filter(is_received).map(|message| message.tokens.total()).sum(),
            reported_in_all: reported + usage("truncated_tokens"),
            billed_in_all: request_log.tokens().total(),
            message_tokens_max: request_log
                .billed()
                .map(|message| message.tokens.total())
                .max()
                .unwrap_or_default(),
            problems: self.problems,
            envelope,
        }
    }
}

/// Kills the processes of a failed point, so that they do not affect the next one.
struct KillLeftovers(PathBuf);

impl Drop for KillLeftovers {
    fn drop(&mut self) {
        for (pid, _) in tidy::processes(&self.0) {
            // The process may have exited on its own.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
