//! Has older work condensed by a model, between two attempts. Whatever goes wrong here is no more than the failure of
//! that: the record is then told without it.

use super::LiveWorld;
use crate::SuperviseError;
use crate::failpoints::{self, Failpoint};
use crate::handoff::conversation_of;
use crate::live::agent_process::LaunchSpec;
use crate::live::one_shot::{OneShotProcess, evidence_of};
use crate::live::process_discovery::exit_of;
use crate::live::sweep::sweep;
use longhaul_agent::{
    HandoffContext, HandoffReason, Invocation, SUMMARY_TOKENS_MAX, Summary, summary_prompt,
};
use longhaul_core::{AttemptPlan, Event, Evidence, Exit, PromptKind, SpawnError, SummaryReport};
use longhaul_store::AttemptDir;
use std::future;
use std::io;

/// A model at work on older work.
pub(super) struct SummaryRun {
    process: OneShotProcess,
    /// Where it writes.
    dir: AttemptDir,
}

impl SummaryRun {
    pub(super) fn is_gone(&self) -> bool {
        self.process.is_gone()
    }
}

impl LiveWorld<'_> {
    /// Starts a model on the older work for this attempt, if there is any.
    pub(super) fn start_summary(&mut self, plan: &AttemptPlan) {
        let Some(invocation) = self.summary_invocation(plan) else {
            return self.events.push_back(Event::SummaryEnded(SummaryReport::NotNeeded));
        };
        match self.start_one_shot(plan, invocation) {
            Ok(condensing) => self.summary_run = Some(condensing),
            Err(error) => {
                let evidence = Evidence { startup: error.startup(), ..Evidence::of_exit(Exit::NeverSpawned) };
                self.events.push_back(Event::SummaryEnded(SummaryReport::Ended(evidence)));
            }
        }
    }

    /// How to ask for a summary; nothing if there is nothing to summarise, or nobody to do it.
    fn summary_invocation(&self, plan: &AttemptPlan) -> Option<Invocation> {
        let (order, dialect) = (&self.setup.order, self.setup.dialect.as_ref());
        let (Some(model), PromptKind::TaskAfterLoss(fault)) = (&order.handoff_summary, plan.prompt) else {
            return None;
        };
        let transcript = conversation_of(&self.setup.dir, dialect, &order.prompt, plan.attempt - 1).ok()?;
        let task = order.task();
        let about = HandoffContext::unlimited(&task, HandoffReason::Fault(fault));
        let prompt = summary_prompt(&transcript, &about, order.handoff_tokens, SUMMARY_TOKENS_MAX)?;
        Some(dialect.summary_invocation(order, plan.attempt, model, &prompt))
    }

    fn start_one_shot(&self, plan: &AttemptPlan, invocation: Invocation) -> Result<SummaryRun, SpawnError> {
        let no_room = |_| SpawnError::NoResources;
        let dir = self.setup.dir.attempt(plan.attempt).create_summary().map_err(no_room)?;
        let output = (dir.create_stream().map_err(no_room)?, dir.create_stderr().map_err(no_room)?);
        let launch = LaunchSpec::new(&invocation, &self.setup.environment, &self.setup.marker, output);
        // For people.
        let _ = dir.write_argv(&launch.argv());
        let (process, proc) = OneShotProcess::start(launch, invocation.stdin).map_err(|(kind, _)| kind)?;
        failpoints::agent_is(proc.pid);
        failpoints::hit(Failpoint::Spawned);
        Ok(SummaryRun { process, dir })
    }

    /// Ends it if it lives, and whatever it left behind, and says what came of it.
    pub(super) async fn stop_summary(&mut self) -> Result<(), SuperviseError> {
        if let Some(SummaryRun { mut process, dir }) = self.summary_run.take() {
            let exit = process.end(&self.setup.marker).await?;
            let evidence = self.read_summary(dir, exit);
            self.events.push_back(Event::SummaryEnded(SummaryReport::Ended(evidence)));
        }
        Ok(())
    }

    /// What a dead supervisor left of it, of which nothing goes on.
    pub(super) async fn poll_summary(&mut self, dir: &AttemptDir) -> Result<Evidence, SuperviseError> {
        sweep(&self.setup.marker).await?;
        let dir = dir.summary();
        let exit = exit_of(&dir);
        Ok(self.read_summary(dir, exit))
    }

    fn read_summary(&mut self, dir: AttemptDir, exit: Exit) -> Evidence {
        let files = (&*dir.stream_path(), &*dir.stderr_path());
        let (evidence, decoder) = evidence_of(self.setup.dialect.as_ref(), files, exit);
        self.ended.push((dir, decoder));
        evidence
    }

    /// The summary that this attempt is told, if it is told one. One that cannot be read is told by nobody.
    pub(super) fn summary_for(&self, plan: &AttemptPlan) -> Option<Summary> {
        let model = self.setup.order.handoff_summary.clone().filter(|_| plan.with_summary)?;
        let dir = self.setup.dir.attempt(plan.attempt).summary();
        let files = (&*dir.stream_path(), &*dir.stderr_path());
        let (_, decoder) = evidence_of(self.setup.dialect.as_ref(), files, Exit::Unobserved);
        Some(Summary { model, text: decoder.snapshot().result.clone()? })
    }
}

/// Waits for the end of what condenses; for ever, if nothing does.
pub(super) async fn gone(condensing: &mut Option<SummaryRun>) -> io::Result<()> {
    match condensing {
        Some(condensing) => condensing.process.gone().await.map(drop),
        None => future::pending().await,
    }
}
