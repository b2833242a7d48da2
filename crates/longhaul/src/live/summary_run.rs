//! Has a model summarize older work between two attempts. Any failure here only means that the handoff prompt
//! has no summary.

use super::one_shot::{EndedOneShot, ModelRun, unspawned};
use super::world_config::WorldConfig;
use crate::handoff::conversation_of;
use longhaul_agent::{
    HandoffContext, HandoffReason, Invocation, SUMMARY_TOKENS_MAX, WrittenSummary, summary_prompt,
};
use longhaul_core::{AttemptPlan, Exit, PromptKind, RunSpec, SummaryReport};
use std::ops::ControlFlow;

/// Starts a model to summarize the older work for this attempt. Returns the report if there is none, or if
/// the model cannot be started.
pub(crate) fn start_summary(
    config: &WorldConfig<'_>,
    plan: &AttemptPlan,
) -> ControlFlow<SummaryReport, ModelRun> {
    let Some(invocation) = summary_invocation(config, plan) else {
        return ControlFlow::Break(SummaryReport::NotNeeded);
    };
    match ModelRun::start(config, config.dir.attempt(plan.attempt).summary(), invocation) {
        Ok(summary) => ControlFlow::Continue(summary),
        Err(error) => ControlFlow::Break(SummaryReport::Ended(unspawned(error))),
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
    let EndedOneShot { decoder, .. } = EndedOneShot::read(config, dir, Exit::Unobserved);
    Some(WrittenSummary { model: summary.model.clone(), text: decoder.snapshot().result.clone()? })
}
