//! Output of the bootstrap: the plan, the skipped sessions and the results.

use crate::args::GlobalArgs;
use crate::args::playbook::BootstrapArgs;
use crate::output;
use crate::output::phrases::{bytes, counted};
use longhaul_core::{Dollars, Rfc3339, Usd};
use longhaul_playbook::Judge;
use longhaul_playbook::bootstrap::{BootstrapPlan, PastSession, PlannedSession, SkipReason};
use serde::Serialize;
use std::path::Path;

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BootstrapOutput {
    /// Whether nothing was done. The other fields then describe the plan.
    dry_run: bool,
    /// Directory whose playbook learns.
    project: String,
    /// Model of the judge.
    model: String,
    /// Sessions to learn from, in order.
    sessions: Vec<Session>,
    /// Sessions that are skipped.
    skipped: Vec<Skipped>,
    /// Estimated number of tokens.
    estimated_tokens: u64,
    /// Estimated cost. `None` for a model without a known price.
    estimated_cost_usd: Option<Dollars>,
    /// Cost of the judge's requests, if known here. Requests of Claude Code are counted by its runs.
    pub cost_usd: Dollars,
    /// Why the bootstrap stopped early. `None` if it completed.
    pub stopped: Option<String>,
}

/// A session to learn from.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Session {
    /// Path of the transcript.
    transcript: String,
    /// Size of the transcript.
    bytes: u64,
    /// Time of the last write.
    last_written_at: Rfc3339,
    /// Estimated number of tokens.
    estimated_tokens: u64,
    /// Estimated cost.
    estimated_cost_usd: Option<Dollars>,
    /// Progress of the session.
    result: SessionProgress,
    /// Short description of the result.
    message: Option<String>,
}

/// Progress of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionProgress {
    /// Nothing was done yet.
    Open,
    /// A lesson was learned.
    Learned,
    /// There was nothing to learn.
    Empty,
    /// Learning failed.
    Failed,
    /// The session is queued.
    Queued,
}

/// A session that is skipped.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Skipped {
    /// Path of the transcript, or of a folder that cannot be read.
    transcript: String,
    /// Reason in one word: learned, nothing_new, no_messages, sub_agent, too_large, too_old, beyond_limit,
    /// foreign, judging_failed, unreadable.
    reason: &'static str,
    /// Reason, for people.
    message: String,
}

fn message(reason: &SkipReason) -> String {
    let retry = "; `longhaul playbook status` prints why, and how to retry";
    format!("{reason}{}", if *reason == SkipReason::JudgingFailed { retry } else { "" })
}

impl BootstrapOutput {
    pub fn new(
        project: &Path,
        args: &BootstrapArgs,
        judge: &dyn Judge,
        plan: &BootstrapPlan,
    ) -> BootstrapOutput {
        let session = |planned: &PlannedSession| Session {
            transcript: planned.session.path.display().to_string(),
            bytes: planned.session.bytes,
            last_written_at: planned.session.at.into(),
            estimated_tokens: planned.estimate.tokens.total(),
            estimated_cost_usd: planned.estimate.cost.map(Dollars),
            result: SessionProgress::Open,
            message: None,
        };
        let skipped = |(session, reason): &(PastSession, SkipReason)| Skipped {
            transcript: session.path.display().to_string(),
            reason: reason.into(),
            message: message(reason),
        };
        BootstrapOutput {
            dry_run: args.dry_run,
            project: project.display().to_string(),
            model: judge.model().to_owned(),
            sessions: plan.included.iter().map(session).collect(),
            skipped: plan.skipped.iter().map(skipped).collect(),
            estimated_tokens: plan.estimate.tokens.total(),
            estimated_cost_usd: plan.estimate.cost.map(Dollars),
            cost_usd: Dollars::default(),
            stopped: None,
        }
    }

    pub fn record_result(&mut self, index: usize, result: SessionProgress, message: Option<String>) {
        (self.sessions[index].result, self.sessions[index].message) = (result, message);
    }

    pub fn count(&self, result: SessionProgress) -> u64 {
        self.sessions.iter().filter(|session| session.result == result).count() as u64
    }

    pub fn print(&self, global: &GlobalArgs) {
        output::print_output(global, self, || self.text());
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let is_plan =
            self.count(SessionProgress::Open) == self.sessions.len() as u64 && self.stopped.is_none();
        for session in &self.sessions {
            let Session { transcript, bytes: length, estimated_tokens, message, .. } = session;
            let (name, length) = (transcript, bytes(*length));
            let message = match (session.result, message) {
                (SessionProgress::Open, _) => format!("{length}, about {estimated_tokens} tokens"),
                (SessionProgress::Learned, message) => describe("learned", message),
                (SessionProgress::Empty, _) => "nothing to learn".to_owned(),
                (SessionProgress::Failed, message) => describe("failed", message),
                (SessionProgress::Queued, message) => describe("queued", message),
            };
            text += &format!("{name}: {message}\n");
        }
        for Skipped { transcript, message, .. } in &self.skipped {
            text += &format!("{}: skipped: {message}\n", transcript);
        }
        let (sessions, skipped) = (self.sessions.len() as u64, self.skipped.len());
        if is_plan {
            let cost = cost(self.estimated_cost_usd.map(|cost| cost.0));
            let tokens = self.estimated_tokens;
            text += &format!(
                "{} to learn from, {skipped} skipped; {cost} (an estimate: about {tokens} tokens of {})\n",
                counted(sessions, "session"),
                self.model
            );
        } else {
            let spent = match self.cost_usd.0 {
                Usd::ZERO => String::new(),
                spent => format!(", for {spent}"),
            };
            let learned = self.count(SessionProgress::Learned);
            text += &format!("{learned} of {} learned{spent}\n", counted(sessions, "session"));
        }
        if let Some(stopped) = &self.stopped {
            text += &format!("{stopped}\n");
        }
        text
    }
}

fn describe(result: &str, message: &Option<String>) -> String {
    message.as_ref().map_or_else(|| result.to_owned(), |message| format!("{result}: {message}"))
}

pub fn cost(cost: Option<Usd>) -> String {
    cost.map_or_else(|| "an unknown cost".to_owned(), |cost| format!("about {cost}"))
}
