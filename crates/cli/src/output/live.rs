//! The live view of a run: its state in at most four lines, as a pure function of a snapshot, the time and
//! the width of the terminal. `region` draws it.

use super::color::{Colors, Style};
use super::envelope_text::{fit, short_count};
use super::{phrases, time};
use crate::figures::{LimitStatus, figures};
use longhaul::StepView;
use longhaul_core::{
    CheckStage, Limits, Moment, OutageBound, OutcomeKind, Phase, Policy, RunId, Span, State, WrapUpStage,
};
use longhaul_store::RunDir;
use std::path::Path;

// Longer than a line of any terminal, and cheap to copy at every step.
const MESSAGE_CHARS_MAX: usize = 400;
// Indentation of all lines but the first.
const INDENT: usize = 2;
// A shorter tool call is shown without its duration.
const CLOCK_AFTER: Span = Span::from_secs(3);

/// A run as of its last step. It is a copy, because a thread draws it between the steps.
#[derive(Clone, Debug, Default)]
pub struct LiveView {
    /// `kmzxqp`, or `nightly (kmzxqp)`.
    label: String,
    state: State,
    limits: Limits,
    /// `(2 of 5)`, if attempts are counted.
    retries: String,
    activity: Activity,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Activity {
    tool: Option<String>,
    /// Activity between tool calls: `thinking`.
    other: String,
    message: String,
    since: Moment,
}

impl LiveView {
    pub fn new(label: String) -> LiveView {
        LiveView { label, ..LiveView::default() }
    }

    pub fn update(&mut self, view: StepView<'_>, now: Moment) {
        self.state.clone_from(view.run.state());
        self.limits = view.policy.limits;
        self.retries = retries(view.policy, &self.state);
        // Without a process, the state already includes the usage of the last one.
        let snapshot = view.snapshot.filter(|_| self.state.process.is_some());
        let mut activity = Activity { since: now, ..Activity::default() };
        if let Some(snapshot) = snapshot {
            self.state.usage = self.state.usage.plus(snapshot.usage);
            activity.tool.clone_from(&snapshot.tool);
            activity.other.clone_from(&snapshot.activity);
            activity.message = snapshot.last_text.chars().take(MESSAGE_CHARS_MAX).collect();
        }
        let is_same = (&activity.tool, &activity.other) == (&self.activity.tool, &self.activity.other);
        if is_same && self.activity.since != Moment(0) {
            activity.since = self.activity.since;
        }
        self.activity = activity;
    }
}

pub fn label(run: &RunId, dir: &Path) -> String {
    let plan = RunDir::from_path(dir.to_owned()).and_then(|dir| dir.plan().ok());
    phrases::label(run, plan.and_then(|plan| plan.spec.name).as_deref())
}

/// Returns the lines for a terminal of this width, the most important one first. Each fits.
pub fn lines(view: &LiveView, now: Moment, width: usize) -> Vec<String> {
    let activity = activity_line(view, now, width.saturating_sub(INDENT));
    let details = [wait_line(view, now), activity, usage_line(view), limits_line(view, now)];
    let details = details.into_iter().flatten().map(|line| format!("{:INDENT$}{line}", ""));
    [headline(view, now)].into_iter().chain(details).map(|line| fit(&line, width)).collect()
}

/// Returns the same lines for stderr, the first one in the color of its meaning.
pub fn colored_lines(view: &LiveView, now: Moment, width: usize) -> Vec<String> {
    let is_delayed =
        matches!(view.state.phase, Phase::Waiting { .. } | Phase::Suspended { .. } | Phase::Stopping { .. });
    let style = if is_delayed { Style::Warning } else { Style::Hint };
    let mut lines = lines(view, now, width);
    lines[0] = Colors::stderr().styled(&lines[0], Some(style));
    lines
}

/// `nightly (kmzxqp): working, attempt 3, 42m 10s`.
fn headline(view: &LiveView, now: Moment) -> String {
    let state = &view.state;
    let mut line = format!("{}: {}", view.label, action(state));
    if state.attempts() > 1 {
        line += &format!(", attempt {}", state.attempts());
    }
    if state.clocks.started != Moment(0) {
        line += &format!(", {}", seconds(state.clocks.wall(now)));
    }
    line
}

fn action(state: &State) -> &'static str {
    let is_wrapping_up = state
        .limit_state
        .is_some_and(|limit| matches!(limit.stage, WrapUpStage::Due | WrapUpStage::Requested));
    match &state.phase {
        Phase::Running if is_wrapping_up => "saving its work before the limit",
        Phase::Checking { stage: CheckStage::Review, .. } => "reviewing the work",
        Phase::Finished { outcome } if outcome.kind == OutcomeKind::Done => "done",
        phase => phrases::phase_words(phase.into()),
    }
}

/// `until 15:00:00 (in 12m 3s): the account's usage limit is reached (2 of 5)`.
fn wait_line(view: &LiveView, now: Moment) -> Option<String> {
    let Phase::Waiting { until, .. } = &view.state.phase else { return None };
    let remaining = match seconds(until.since(now)) {
        Span::ZERO => String::new(),
        remaining => format!(" (in {remaining})"),
    };
    let cause = view.state.wait_fault().map(|fault| format!(": {}", fault.describe())).unwrap_or_default();
    Some(format!("until {}{remaining}{cause}{}", time::future_time(*until), view.retries))
}

/// `Bash: cargo test (3m 12s)`, or between tool calls `thinking: "Now I run the tests."`.
fn activity_line(view: &LiveView, now: Moment, width: usize) -> Option<String> {
    let Activity { tool, other, message, since } = &view.activity;
    let duration = seconds(now.since(*since));
    let duration = if duration < CLOCK_AFTER { String::new() } else { format!(" ({duration})") };
    if let Some(tool) = tool {
        // The duration is shown even if the argument is too long.
        let tool = fit(&phrases::one_line(tool), width.saturating_sub(duration.len()));
        return Some(format!("{tool}{duration}"));
    }
    let (other, message) = (phrases::one_line(other), phrases::one_line(message));
    match (other.is_empty(), message.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("\"{message}\"")),
        (false, true) => Some(format!("{other}{duration}")),
        (false, false) => Some(format!("{other}{duration}: \"{message}\"")),
    }
}

/// `18 turns, 1.2M tokens, $3.45`.
fn usage_line(view: &LiveView) -> Option<String> {
    let usage = view.state.usage;
    let tokens = (usage.tokens + usage.truncated_tokens).total();
    let at_least = if usage.unpriced { "at least " } else { "" };
    (tokens > 0).then(|| {
        format!(
            "{}, {} tokens, {at_least}{}",
            phrases::counted(u64::from(usage.turns), "turn"),
            short_count(tokens),
            usage.total_cost()
        )
    })
}

/// `budget 35% of $10.00, time 70% of 1h`.
fn limits_line(view: &LiveView, now: Moment) -> Option<String> {
    let used = figures(&view.state, view.limits, now).limits;
    let shares: Vec<String> = used.iter().map(share).collect();
    (!shares.is_empty()).then(|| shares.join(", "))
}

fn share(used: &LimitStatus) -> String {
    let percent = if used.limit_value > 0.0 { (used.used / used.limit_value * 100.0).floor() } else { 100.0 };
    let of = phrases::limit_amount(used.limit, used.limit_value, short_count);
    format!("{} {percent}% of {of}", used.limit)
}

/// ` (2 of 5)`, if attempts are counted.
fn retries(policy: &Policy, state: &State) -> String {
    let used = match policy.outage_bound {
        OutageBound::Retries => state.failures_since_progress + state.outage_waits,
        OutageBound::Time(_) => state.failures_since_progress,
    };
    if used == 0 { String::new() } else { format!(" ({used} of {})", policy.retries_max) }
}

/// Rounds down to whole seconds, because the view is redrawn once a second.
fn seconds(span: Span) -> Span {
    Span::from_secs(span.millis() / 1000)
}

#[cfg(test)]
mod tests;
