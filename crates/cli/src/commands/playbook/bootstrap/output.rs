//! What is printed: what will be learnt from, what will not and why, and what came of it.

use crate::args::playbook::BootstrapArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::output;
use crate::output::phrases::{bytes, counted, money};
use longhaul_core::Usd;
use longhaul_playbook::Judge;
use longhaul_playbook::bootstrap::{BootstrapPlan, PastSession, PlannedSession, SkipReason};
use longhaul_store::rfc3339;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What was done, or would be.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BootstrapOutput {
    /// Whether nothing was done: the rest is what would be.
    dry_run: bool,
    /// The directory whose playbook learns.
    project: PathBuf,
    /// The model that judges.
    model: String,
    /// The sessions to learn from, in their order.
    sessions: Vec<Session>,
    /// Those that are not learnt from.
    skipped: Vec<Skipped>,
    /// About how many tokens all of it takes. An estimate, as everything that is called so.
    estimated_tokens: u64,
    /// About what that costs; nothing for a model without a price.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    estimated_cost_usd: Option<f64>,
    /// What was spent on questions meanwhile, as far as it is known here: what Claude Code asked is counted by its runs.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Dollars"))]
    pub cost_usd: f64,
    /// Why it came to an end before all of it was done; nothing if all was.
    pub stopped: Option<String>,
}

/// A session to learn from.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Session {
    /// Its transcript.
    transcript: PathBuf,
    /// How large that is.
    bytes: u64,
    /// When it was last written to.
    #[cfg_attr(test, schemars(with = "longhaul_core::schema::Rfc3339"))]
    last_written_at: String,
    /// About how many tokens it takes.
    estimated_tokens: u64,
    /// About what that costs.
    #[cfg_attr(test, schemars(with = "Option<longhaul_core::schema::Dollars>"))]
    estimated_cost_usd: Option<f64>,
    /// How far it came.
    result: SessionProgress,
    /// What came of it, in a few words.
    message: Option<String>,
}

/// How far a session came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionProgress {
    /// Nothing was done yet.
    Open,
    /// It is learnt from.
    Learned,
    /// There was nothing to learn.
    Empty,
    /// Nothing will come of it.
    Failed,
    /// It is queued, and waits.
    Waits,
}

/// A session that is not learnt from.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Skipped {
    /// Its transcript.
    transcript: PathBuf,
    /// Why, in one word: learnt, nothing_new, nothing_said, sub_agent, too_large, too_old, beyond_limit, foreign, unreadable.
    reason: &'static str,
    /// The same for people.
    message: String,
}

impl BootstrapOutput {
    /// What will be done.
    pub fn new(
        project: &Path,
        args: &BootstrapArgs,
        judge: &dyn Judge,
        plan: &BootstrapPlan,
    ) -> BootstrapOutput {
        let session = |planned: &PlannedSession| Session {
            transcript: planned.session.path.clone(),
            bytes: planned.session.bytes,
            last_written_at: rfc3339(planned.session.at),
            estimated_tokens: planned.estimate.tokens.total(),
            estimated_cost_usd: planned.estimate.cost.map(Usd::as_dollars),
            result: SessionProgress::Open,
            message: None,
        };
        let skipped = |(session, why): &(PastSession, SkipReason)| Skipped {
            transcript: session.path.clone(),
            reason: why.as_str(),
            message: why.to_string(),
        };
        BootstrapOutput {
            dry_run: args.dry_run,
            project: project.to_owned(),
            model: judge.model().to_owned(),
            sessions: plan.included.iter().map(session).collect(),
            skipped: plan.skipped.iter().map(skipped).collect(),
            estimated_tokens: plan.estimate.tokens.total(),
            estimated_cost_usd: plan.estimate.cost.map(Usd::as_dollars),
            cost_usd: 0.0,
            stopped: None,
        }
    }

    /// What came of one of the sessions.
    pub fn came(&mut self, place: usize, result: SessionProgress, said: Option<String>) {
        if let Some(session) = self.sessions.get_mut(place) {
            (session.result, session.message) = (result, said);
        }
    }

    /// How many sessions came so far.
    pub fn count(&self, result: SessionProgress) -> u64 {
        self.sessions.iter().filter(|session| session.result == result).count() as u64
    }

    /// Prints it.
    pub fn print(&self, global: &GlobalArgs) {
        match output::format(global) {
            OutputFormat::Text => output::print_text(&self.text()),
            OutputFormat::Json | OutputFormat::StreamJson => output::print_json(self),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let is_plan =
            self.count(SessionProgress::Open) == self.sessions.len() as u64 && self.stopped.is_none();
        for session in &self.sessions {
            let Session { transcript, bytes: length, estimated_tokens, message: said, .. } = session;
            let (name, length) = (transcript.display(), bytes(*length));
            let said = match (session.result, said) {
                (SessionProgress::Open, _) => format!("{length}, about {estimated_tokens} tokens"),
                (SessionProgress::Learned, said) => describe("learnt", said),
                (SessionProgress::Empty, _) => "nothing to learn".to_owned(),
                (SessionProgress::Failed, said) => describe("failed", said),
                (SessionProgress::Waits, said) => describe("queued", said),
            };
            text += &format!("{name}: {said}\n");
        }
        for Skipped { transcript, message: said, .. } in &self.skipped {
            text += &format!("{}: skipped: {said}\n", transcript.display());
        }
        let (sessions, skipped) = (self.sessions.len() as u64, self.skipped.len());
        if is_plan {
            let cost = cost(self.estimated_cost_usd.and_then(Usd::from_dollars));
            let tokens = self.estimated_tokens;
            text += &format!(
                "{} to learn from, {skipped} skipped; {cost} (an estimate: about {tokens} tokens of {})\n",
                counted(sessions, "session"),
                self.model
            );
        } else {
            let spent = Usd::from_dollars(self.cost_usd).filter(|spent| *spent > Usd::ZERO);
            let spent = spent.map(|spent| format!(", for {}", money(spent))).unwrap_or_default();
            let learned = self.count(SessionProgress::Learned);
            text += &format!("{learned} of {} learnt from{spent}\n", counted(sessions, "session"));
        }
        if let Some(stopped) = &self.stopped {
            text += &format!("{stopped}\n");
        }
        text
    }
}

fn describe(result: &str, said: &Option<String>) -> String {
    said.as_ref().map_or_else(|| result.to_owned(), |said| format!("{result}: {said}"))
}

/// About what something costs.
pub fn cost(cost: Option<Usd>) -> String {
    cost.map_or_else(|| "a cost that is not known".to_owned(), |cost| format!("about {}", money(cost)))
}
