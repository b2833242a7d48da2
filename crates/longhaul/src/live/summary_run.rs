//! Has a model summarize older work between two attempts. Any failure here only means that the handoff prompt
//! has no summary.

use super::agent_process::LaunchSpec;
use super::one_shot::{OneShotProcess, evidence_of};
use super::process_discovery::exit_of;
use super::world_config::WorldConfig;
use crate::failpoints::{self, Failpoint};
use crate::handoff::conversation_of;
use longhaul_agent::{
    Decoder, HandoffContext, HandoffReason, Invocation, SUMMARY_TOKENS_MAX, WrittenSummary, summary_prompt,
};
use longhaul_core::{AttemptPlan, Evidence, Exit, PromptKind, RunSpec, SpawnError, SummaryReport};
use longhaul_store::AttemptDir;
use std::io;
use std::ops::ControlFlow;

/// A model that is summarizing older work.
pub(crate) struct SummaryRun {
    pub(super) process: OneShotProcess,
    /// Directory of its files.
    dir: AttemptDir,
}

/// A summary whose process ended. Its files contain the text.
pub(crate) struct EndedSummary {
    pub(crate) dir: AttemptDir,
    pub(crate) decoder: Box<dyn Decoder>,
    pub(crate) evidence: Evidence,
}

impl SummaryRun {
    /// Starts a model to summarize the older work for this attempt. Returns the report if there is none, or
    /// if the model cannot be started.
    pub(crate) fn start(
        config: &WorldConfig<'_>,
        plan: &AttemptPlan,
    ) -> ControlFlow<SummaryReport, SummaryRun> {
        let Some(invocation) = summary_invocation(config, plan) else {
            return ControlFlow::Break(SummaryReport::NotNeeded);
        };
        match SummaryRun::start_process(config, plan, invocation) {
            Ok(summary_run) => ControlFlow::Continue(summary_run),
            Err(error) => {
                let evidence =
                    Evidence { startup: error.startup(), ..Evidence::from_exit(Exit::NeverSpawned) };
                ControlFlow::Break(SummaryReport::Ended(evidence))
            }
        }
    }

    fn start_process(
        config: &WorldConfig<'_>,
        plan: &AttemptPlan,
        invocation: Invocation,
    ) -> Result<SummaryRun, SpawnError> {
        let no_resources = |_| SpawnError::NoResources;
        let dir = config.dir.attempt(plan.attempt).summary().create().map_err(no_resources)?;
        let stdout = dir.create_stream().map_err(no_resources)?;
        let stderr = dir.create_stderr().map_err(no_resources)?;
        let launch = LaunchSpec::new(&invocation, &config.environment, &config.marker, stdout, stderr);
        // For people.
        let _ = dir.write(&launch.argv());
        let (process, process_id) =
            OneShotProcess::start(launch, invocation.stdin).map_err(|(kind, _)| kind)?;
        failpoints::agent_is(process_id.pid);
        failpoints::hit(Failpoint::Spawned);
        Ok(SummaryRun { process, dir })
    }

    /// Stops the summary if it is running, with its leftover processes, and reads its files.
    pub(crate) async fn end(mut self, config: &WorldConfig<'_>) -> io::Result<EndedSummary> {
        let exit = self.process.stop(&config.marker).await?;
        Ok(EndedSummary::read(config, self.dir, exit))
    }
}

impl EndedSummary {
    /// Reads the files of the summary that a dead supervisor started for this attempt. Its processes must be
    /// stopped.
    pub(crate) fn find(config: &WorldConfig<'_>, attempt: &AttemptDir) -> EndedSummary {
        let dir = attempt.summary();
        let exit = exit_of(&dir);
        EndedSummary::read(config, dir, exit)
    }

    fn read(config: &WorldConfig<'_>, dir: AttemptDir, exit: Exit) -> EndedSummary {
        let (stream, stderr) = (dir.stream_path(), dir.stderr_path());
        let (evidence, decoder) = evidence_of(config.dialect.as_ref(), &stream, &stderr, exit);
        EndedSummary { dir, decoder, evidence }
    }
}

/// Returns the invocation that requests a summary. Returns `None` if no older work exists, no model is
/// configured, or the agent cannot summarize.
fn summary_invocation(config: &WorldConfig<'_>, plan: &AttemptPlan) -> Option<Invocation> {
    let (context, dialect) = (&config.context, config.dialect.as_ref());
    let RunSpec { prompt, policy, handoff_tokens, .. } = &context.spec;
    let (Some(summary), PromptKind::TaskAfterLoss(fault)) = (&policy.handoff_summary, plan.prompt) else {
        return None;
    };
    let transcript = conversation_of(&config.dir, dialect, prompt, plan.attempt - 1).ok()?;
    let task = context.task();
    let handoff = HandoffContext::unlimited(&task, HandoffReason::Fault(fault));
    let prompt = summary_prompt(&transcript, &handoff, *handoff_tokens, SUMMARY_TOKENS_MAX)?;
    dialect.summary_invocation(context, plan.attempt, &summary.model, &prompt)
}

/// Returns the summary for this attempt's prompt, or `None` if the plan has none or it cannot be read.
pub(crate) fn summary_for(config: &WorldConfig<'_>, plan: &AttemptPlan) -> Option<WrittenSummary> {
    let summary = config.spec().policy.handoff_summary.as_ref().filter(|_| plan.with_summary)?;
    let dir = config.dir.attempt(plan.attempt).summary();
    let EndedSummary { decoder, .. } = EndedSummary::read(config, dir, Exit::Unobserved);
    Some(WrittenSummary { model: summary.model.clone(), text: decoder.snapshot().result.clone()? })
}
