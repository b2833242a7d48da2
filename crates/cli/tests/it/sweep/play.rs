//! Plays one point: a run is struck there, gone on with as a person would, and measured.

use super::calls::{Repeated, branches, repeated};
use super::strike::Strike;
use super::thaw::Thaw;
use super::{DONE, IDEAL_REQUESTS, STEPS, WORK};
use crate::artifacts;
use crate::call::{Ended, poll};
use crate::harness::Stage;
use crate::server::Server;
use crate::tidy;
use longhaul_drill::api::Billed;
use longhaul_drill::{RequestLog, announced, workspace};
use longhaul_store::RunDir;
use rustix::process::{Signal, kill_process};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

// A process that is just going may still be seen.
const GRACE: Duration = Duration::from_secs(1);

/// What came of one strike.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Whether anybody was hit: an agent may not be there yet, or no more.
    pub struck: bool,
    /// What does not hold; nothing if all does.
    #[serde(skip)]
    pub amiss: Vec<String>,
    /// The hash of the workspace, and whether it is what the work leaves.
    pub workspace: String,
    pub reached: bool,
    /// Processes that were left at any end.
    pub leftover_processes: u64,
    /// Places where a session has two branches.
    pub branches: u64,
    pub repeated: Repeated,
    /// Turns of the model that were asked for again.
    pub wasted: u64,
    pub attempts: u64,
    /// Tokens of completed messages as reported, and as billed.
    pub reported: u64,
    pub billed: u64,
    /// The same with those that were cut.
    pub reported_in_all: u64,
    pub billed_in_all: u64,
    /// The most that one message was billed with.
    #[serde(skip)]
    one_answer: u64,
    /// The last envelope.
    #[serde(skip)]
    pub told: Value,
}

impl Figures {
    /// Which bars are missed that the scripted agent always meets.
    pub fn missed(&self, strike: Strike) -> Vec<String> {
        let wasted_max = strike.wasted_max();
        // Exact unless the agent ended: an answer that was on its way to it is billed, and was heard by nobody.
        let off_max = if wasted_max == 0 { 0 } else { self.one_answer };
        let off = self.reported_in_all.abs_diff(self.billed_in_all);
        let missed = [
            (self.wasted > wasted_max, format!("{} turns wasted", self.wasted)),
            (self.reported != self.billed, format!("{} tokens told of {}", self.reported, self.billed)),
            (off > off_max, format!("{} tokens told of {} in all", self.reported_in_all, self.billed_in_all)),
        ];
        missed.into_iter().filter_map(|(is_missed, words)| is_missed.then_some(words)).collect()
    }
}

/// Runs the work to its end; nothing if the supervisor was killed.
pub fn run(
    stage: &Stage,
    claude: Option<&Path>,
    server: &Server,
    strike: Strike,
    env: &[(&str, String)],
) -> Option<Ended> {
    let agent = claude.map_or_else(|| stage.agent(), Path::to_owned);
    let mut all = vec!["p", "--permission-mode", "bypassPermissions", "--preset", "drill", "--keep-partial-messages"];
    if strike.is_stop() {
        all.extend(["--stall-timeout", "2s"]);
    }
    if strike.is_guarded() {
        all.extend(["--deny-tools", "WebFetch"]);
    }
    let mut call = stage.run(&agent, &all).against(server);
    for (name, value) in env {
        call = call.env(name, value);
    }
    call.start().end_or_killed()
}

/// Lets it strike at this point, goes on until the work is done, and measures.
pub fn play(strike: Strike, point: u64, claude: Option<&Path>) -> Figures {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    let _ends = Ends(stage.folder().to_owned());
    let _thaw = strike.is_stop().then(|| Thaw::of(stage.folder().to_owned()));
    let mut played =
        Played { stage: &stage, envelopes: Vec::new(), leftover_processes: 0, amiss: Vec::new() };

    let log = stage.folder().join("points");
    let orders = [strike.order(point), ("LONGHAUL_FAILPOINT_LOG", log.to_string_lossy().into_owned())];
    let mut ended = run(&stage, claude, &server, strike, &orders);
    if let Some(first) = &ended {
        played.count_left();
        let code = first.code;
        match code {
            0 => {}
            143 if strike.is_shutdown() => {
                played.suspended(first);
                ended = None;
            }
            25 if strike.is_of_the_disk() => {
                played.says(first, &["error:", "hint:", "free some space"]);
                played.expect(stage.runs().is_empty(), "refused, and there is a run");
                ended = run(&stage, claude, &server, strike, &[]);
            }
            26 if strike.is_of_the_disk() => {
                let id = stage.only_run().id().to_string();
                played.says(first, &["error:", "hint: make room", &format!("longhaul recover {id}")]);
                let told: Value = serde_json::from_str(&first.stdout).unwrap_or_default();
                played.expect(told["run"]["id"] == id.as_str(), "the envelope does not name the run");
            }
            _ => played.amiss.push(format!("exit code {code}: {}", first.stderr)),
        }
    }
    let is_told = |run: &RunDir| run.status().is_ok_and(|status| status.returncode.is_some());
    if strike.is_of_the_disk() && !stage.runs().iter().all(is_told) {
        // It broke off, or is done and had no room to say so in its files.
        ended = None;
    }
    // After a kill of the supervisor its agent goes on, and what is left is counted when the run is over.
    let ended = ended.unwrap_or_else(|| stage.longhaul(["recover"]).against(&server).end());
    let told = match stage.runs().as_slice() {
        // It was over before it was struck, or had nothing left to do but say so.
        [_, ..] if ended.stdout.is_empty() => stage.longhaul(["attach", "@"]).end().envelope(0),
        _ => serde_json::from_str(&ended.stdout).unwrap_or_default(),
    };
    played.envelopes.push(told);
    played.count_left();
    let struck = strike.is_of_the_disk()
        || fs::read_to_string(log).is_ok_and(|log| log.lines().any(|line| line == "struck"));
    played.measured(struck, &server.api.account())
}

/// What is known so far.
struct Played<'a> {
    stage: &'a Stage,
    /// Of every end that told what it cost.
    envelopes: Vec<Value>,
    leftover_processes: u64,
    amiss: Vec<String>,
}

impl Played<'_> {
    fn expect(&mut self, holds: bool, otherwise: &str) {
        if !holds {
            self.amiss.push(otherwise.to_owned());
        }
    }

    fn says(&mut self, ended: &Ended, words: &[&str]) {
        for word in words {
            self.expect(ended.stderr.contains(word), &format!("no `{word}` in {}", ended.stderr));
        }
    }

    /// Checks a run that the signal suspended.
    fn suspended(&mut self, ended: &Ended) {
        let envelope = ended.envelope(143);
        self.expect(envelope["run"]["outcome"] == "suspended", &format!("the outcome is {envelope}"));
        let status = self.stage.only_run().status().expect("the status can be read");
        self.expect(status.status == "suspended", &format!("the status says {}", status.status));
        self.expect(repeated(self.stage) == Repeated::default(), "a suspended run repeated a call");
    }

    fn count_left(&mut self) {
        let (started, left) = (Instant::now(), || tidy::processes(self.stage.folder()));
        let _ = poll(|| (left().is_empty() || started.elapsed() > GRACE).then_some(()));
        self.leftover_processes += left().len() as u64;
    }

    fn measured(mut self, struck: bool, account: &RequestLog) -> Figures {
        let told = self.envelopes.last().cloned().unwrap_or_default();
        self.expect(told["result"] == DONE, &format!("told is {told}"));
        let expected = workspace::Files::from([("steps".to_owned(), STEPS.as_bytes().to_vec())]);
        let files = workspace::read(&self.stage.work()).expect("the workspace can be read");
        let reached = files == expected;
        if !reached {
            self.amiss.extend(workspace::differences(&expected, &files));
        }
        let (left, branches, repeated) =
            (self.leftover_processes, branches(self.stage), repeated(self.stage));
        self.expect(left == 0, &format!("{left} processes are left"));
        self.expect(branches == 0, &format!("{branches} branches in a session"));
        self.expect(repeated.completed == 0, &format!("{} completed calls repeated", repeated.completed));
        self.expect(repeated.unnamed == 0, &format!("{} calls repeated that nobody named", repeated.unnamed));
        for run in self.stage.runs() {
            tidy::replayed(&run);
            artifacts::is_complete(&run);
        }
        tidy::check(self.stage);

        let usage = |name: &str| {
            self.envelopes.iter().filter_map(|envelope| envelope["usage"][name].as_u64()).sum::<u64>()
        };
        let whole =
            ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        let reported = whole.map(usage).iter().sum::<u64>();
        let received: BTreeSet<String> =
            self.stage.runs().iter().flat_map(|run| announced(run.path()).unwrap_or_default()).collect();
        let is_heard = |message: &&Billed| message.complete && received.contains(&message.id);
        Figures {
            struck,
            workspace: workspace::hash(&files),
            reached,
            leftover_processes: left,
            branches,
            repeated,
            wasted: (account.model_requests() as u64).saturating_sub(IDEAL_REQUESTS),
            attempts: self.envelopes.iter().filter_map(|told| told["run"]["attempts"].as_u64()).sum(),
            reported,
            billed: account.billed().filter(is_heard).map(|message| message.tokens.total()).sum(),
            reported_in_all: reported + usage("truncated_tokens"),
            billed_in_all: account.tokens().total(),
            one_answer: account.billed().map(|message| message.tokens.total()).max().unwrap_or_default(),
            amiss: self.amiss,
            told,
        }
    }
}

/// Ends what a failed point left of its stage, so that the next one is alone.
struct Ends(PathBuf);

impl Drop for Ends {
    fn drop(&mut self) {
        for (pid, _) in tidy::processes(&self.0) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
