//! Has a model summarize older work between two attempts. Any failure here only means that the handoff prompt
//! has no summary.

use super::LiveWorld;
use crate::SuperviseError;
use crate::failpoints::{self, Failpoint};
use crate::handoff::conversation_of;
use crate::live::agent_process::LaunchSpec;
use crate::live::one_shot::{OneShotProcess, evidence_of};
use crate::live::process_discovery::exit_of;
use crate::live::sweep::sweep;
use longhaul_agent::{
    HandoffContext, HandoffReason, Invocation, SUMMARY_TOKENS_MAX, WrittenSummary, summary_prompt,
};
use longhaul_core::{AttemptPlan, Event, Evidence, Exit, PromptKind, RunSpec, SpawnError, SummaryReport};
use longhaul_store::AttemptDir;
use std::future;
use std::io;

/// A model that is summarizing older work.
pub(super) struct SummaryRun {
    process: OneShotProcess,
    /// Directory of its files.
    dir: AttemptDir,
}

impl SummaryRun {
    pub(super) fn has_exited(&self) -> bool {
        self.process.has_exited()
    }
}

impl LiveWorld<'_> {
    /// Starts a model to summarize the older work for this attempt, if there is any.
    pub(super) fn start_summary(&mut self, plan: &AttemptPlan) {
        let Some(invocation) = self.summary_invocation(plan) else {
            return self.events.push_back(Event::SummaryEnded(SummaryReport::NotNeeded));
        };
        match self.start_one_shot(plan, invocation) {
            Ok(summary_run) => self.summary_run = Some(summary_run),
            Err(error) => {
                let evidence =
                    Evidence { startup: error.startup(), ..Evidence::from_exit(Exit::NeverSpawned) };
                self.events.push_back(Event::SummaryEnded(SummaryReport::Ended(evidence)));
            }
        }
    }

    /// Returns the invocation that requests a summary. Returns `None` if no older work exists, no model is
    /// configured, or the agent cannot summarize.
    fn summary_invocation(&self, plan: &AttemptPlan) -> Option<Invocation> {
        let (context, dialect) = (&self.setup.context, self.setup.dialect.as_ref());
        let RunSpec { prompt, policy, handoff_tokens, .. } = &context.spec;
        let (Some(summary), PromptKind::TaskAfterLoss(fault)) = (&policy.handoff_summary, plan.prompt) else {
            return None;
        };
        let transcript = conversation_of(&self.setup.dir, dialect, prompt, plan.attempt - 1).ok()?;
        let task = context.task();
        let handoff = HandoffContext::unlimited(&task, HandoffReason::Fault(fault));
        let prompt = summary_prompt(&transcript, &handoff, *handoff_tokens, SUMMARY_TOKENS_MAX)?;
        dialect.summary_invocation(context, plan.attempt, &summary.model, &prompt)
    }

    fn start_one_shot(&self, plan: &AttemptPlan, invocation: Invocation) -> Result<SummaryRun, SpawnError> {
        let no_resources = |_| SpawnError::NoResources;
        let dir = self.setup.dir.attempt(plan.attempt).create_summary().map_err(no_resources)?;
        let stdout = dir.create_stream().map_err(no_resources)?;
        let stderr = dir.create_stderr().map_err(no_resources)?;
        let launch =
            LaunchSpec::new(&invocation, &self.setup.environment, &self.setup.marker, stdout, stderr);
        // For people.
        let _ = dir.write_argv(&launch.argv());
        let (process, process_id) =
            OneShotProcess::start(launch, invocation.stdin).map_err(|(kind, _)| kind)?;
        failpoints::agent_is(process_id.pid);
        failpoints::hit(Failpoint::Spawned);
        Ok(SummaryRun { process, dir })
    }

    /// Stops the summary if it is running, with its leftover processes, and reports its result.
    pub(super) async fn stop_summary(&mut self) -> Result<(), SuperviseError> {
        if let Some(SummaryRun { mut process, dir }) = self.summary_run.take() {
            let exit = process.stop(&self.setup.marker).await?;
            let evidence = self.read_summary(dir, exit);
            self.events.push_back(Event::SummaryEnded(SummaryReport::Ended(evidence)));
        }
        Ok(())
    }

    /// Returns the evidence of a summary that a dead supervisor started, after stopping its processes.
    pub(super) async fn poll_summary(&mut self, dir: &AttemptDir) -> Result<Evidence, SuperviseError> {
        sweep(&self.setup.marker).await?;
        let dir = dir.summary();
        let exit = exit_of(&dir);
        Ok(self.read_summary(dir, exit))
    }

    fn read_summary(&mut self, dir: AttemptDir, exit: Exit) -> Evidence {
        let (stream, stderr) = (dir.stream_path(), dir.stderr_path());
        let (evidence, decoder) = evidence_of(self.setup.dialect.as_ref(), &stream, &stderr, exit);
        self.ended_attempts.push((dir, decoder));
        evidence
    }

    /// Returns the summary for this attempt's prompt, or `None` if the plan has none or it cannot be read.
    pub(super) fn summary_for(&self, plan: &AttemptPlan) -> Option<WrittenSummary> {
        let summary = self.spec().policy.handoff_summary.as_ref().filter(|_| plan.with_summary)?;
        let dir = self.setup.dir.attempt(plan.attempt).summary();
        let (stream, stderr) = (dir.stream_path(), dir.stderr_path());
        let (_, decoder) = evidence_of(self.setup.dialect.as_ref(), &stream, &stderr, Exit::Unobserved);
        Some(WrittenSummary { model: summary.model.clone(), text: decoder.snapshot().result.clone()? })
    }
}

/// Waits until the summary's process exits. Waits forever if none is running.
pub(super) async fn wait_for_exit(summary_run: &mut Option<SummaryRun>) -> io::Result<()> {
    match summary_run {
        Some(summary) => summary.process.wait_for_exit().await.map(drop),
        None => future::pending().await,
    }
}
