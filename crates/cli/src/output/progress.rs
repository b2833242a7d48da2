//! Shows the progress of a supervised or followed run: decisions as lines and, on a terminal, the live view
//! below them. Never affects the run.

use super::color::{Colors, Style};
use super::live::{self, LiveView, label};
use super::openclawpack;
use super::phrases;
use super::region::Region;
use crate::args::GlobalArgs;
use crate::output;
use longhaul::{AttemptSnapshot, NotifyFailure, Observer, StepView};
use longhaul_core::{CancelSource, Record, RunId, Step};
use std::collections::BTreeSet;
use std::path::Path;

const WARNING: &str = "warning:";

pub struct ProgressDisplay {
    verbose: bool,
    /// Whether retries are reported as by that program.
    is_openclawpack: bool,
    /// The prefix of each line when several runs share a terminal.
    prefix: String,
    /// Whether there is no live view.
    has_lines_only: bool,
    /// Whether Ctrl-C stops the run. If not, it only detaches.
    is_supervisor: bool,
    region: Option<Region<LiveView>>,
    /// Whether the user chose a permission mode. If not, a mode that asks causes a warning.
    has_permission_mode: bool,
    /// Subjects of the warnings that were printed.
    warned: BTreeSet<&'static str>,
    /// The attempt whose default answers were reported, and the number of its answers so far.
    questions_warned: (u32, usize),
}

impl ProgressDisplay {
    pub fn new(global: &GlobalArgs, has_permission_mode: bool) -> ProgressDisplay {
        ProgressDisplay {
            verbose: global.verbose,
            is_openclawpack: global.is_openclawpack,
            prefix: String::new(),
            has_lines_only: global.quiet,
            is_supervisor: true,
            region: None,
            has_permission_mode,
            warned: BTreeSet::new(),
            questions_warned: (0, 0),
        }
    }

    /// Creates the display of one of several runs: only lines, each prefixed with the run's name.
    pub fn prefixed(global: &GlobalArgs, run: &RunId) -> ProgressDisplay {
        ProgressDisplay {
            prefix: format!("{run}: "),
            has_lines_only: true,
            ..ProgressDisplay::new(global, true)
        }
    }

    pub fn following(global: &GlobalArgs) -> ProgressDisplay {
        ProgressDisplay { is_supervisor: false, ..ProgressDisplay::new(global, true) }
    }

    pub fn close(&mut self) {
        self.region = None;
    }

    fn print(&self, text: &str) {
        match &self.region {
            Some(region) => region.print_above(|| eprint_line(text)),
            None => eprint_line(&format!("{}{text}", self.prefix)),
        }
    }

    /// Warns, as soon as the agent reports its mode, of a permission mode that asks: it stops an unattended
    /// run.
    fn warn_permissions(&mut self, snapshot: &AttemptSnapshot) {
        let Some(mode) = snapshot.permission_mode.as_deref() else { return };
        if !self.has_permission_mode
            && self.warned.insert("permissions")
            && matches!(mode, "default" | "acceptEdits" | "plan" | "manual")
        {
            let edits = if mode == "acceptEdits" { "" } else { "edits with --permission-mode acceptEdits, " };
            self.print(&format!(
                "warning: the agent's permission mode is `{mode}`; no one can approve requests in an unattended run, so they are denied. Allow {edits}commands with `-- --allowedTools 'Bash(pytest:*)'`, or in a sandbox everything with --permission-mode bypassPermissions"
            ));
        }
    }

    /// Warns of an unpriced model. It is billed only when the agent reports cost, at the end of each
    /// exchange, so the budget is enforced late.
    fn warn_prices(&mut self, view: StepView<'_>, snapshot: &AttemptSnapshot) {
        let can_exceed_budget = snapshot.usage.unpriced && view.policy.limits.budget.is_some();
        if !can_exceed_budget || !self.warned.insert("prices") {
            return;
        }
        let model = snapshot.model.as_deref().unwrap_or("the model");
        self.print(&format!(
            "warning: no price is known for `{model}`: its cost counts only when the agent reports it, so the budget may be exceeded. Start runs with its price: --prices-file FILE"
        ));
    }

    /// Warns once of guards that match no tool: their name is misspelled, or the agent has no such tool.
    fn warn_of_unmatched_tools(&mut self, snapshot: &AttemptSnapshot) {
        if snapshot.model.is_some() && self.warned.insert("tools") {
            for pattern in &snapshot.unmatched_tools {
                self.print(&format!("warning: `{pattern}` matches no tool of the agent; correct it in --allow-tools or --deny-tools"));
            }
        }
    }

    fn warn_default_answers(&mut self, view: StepView<'_>, snapshot: &AttemptSnapshot) {
        let attempt = view.run.state().attempts();
        let (warned_attempt, warned) = self.questions_warned;
        let warned = if warned_attempt == attempt { warned } else { 0 };
        for answered in snapshot.answers.iter().skip(warned).filter(|answered| answered.key.is_none()) {
            self.print(&phrases::default_answer_warning(&answered.question, &answered.answer));
        }
        self.questions_warned = (attempt, snapshot.answers.len());
    }
}

impl Observer for ProgressDisplay {
    fn on_notify_failure(&mut self, failure: &NotifyFailure) {
        self.print(&phrases::notify_failure(failure));
    }

    fn on_start(&mut self, run: &RunId, dir: &Path) {
        if self.verbose {
            self.print(&format!("run {run} in {}", dir.display()));
        }
        if !self.has_lines_only {
            self.region = Region::open(LiveView::new(label(run, dir)), |view, width, height| {
                let mut lines = live::colored_lines(view, output::now(), width);
                lines.truncate(height);
                lines
            });
        }
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        if let Some(snapshot) = view.snapshot {
            self.warn_permissions(snapshot);
            self.warn_prices(view, snapshot);
            self.warn_of_unmatched_tools(snapshot);
            self.warn_default_answers(view, snapshot);
        }
        if let Some(region) = &self.region {
            region.update(|live| live.update(view, output::now()));
            if !step.records.is_empty() {
                region.redraw();
            }
        }
        for record in &step.records {
            let retry = self.is_openclawpack.then(|| openclawpack::retry_line(record, view)).flatten();
            if let Some(words) = retry.or_else(|| phrases::headline(record, view, self.verbose)) {
                self.print(&words);
            }
            let is_asked = matches!(record, Record::CancelRequested { source: CancelSource::Person });
            if is_asked && self.is_supervisor && view.run.state().outcome().is_none() {
                self.print("cancelling: the agent may finish its message; Ctrl-C stops it at once");
            }
        }
    }
}

fn eprint_line(text: &str) {
    let (warning, rest) = text.split_at(if text.starts_with(WARNING) { WARNING.len() } else { 0 });
    let warning = Colors::stderr().styled(warning, Some(Style::Warning));
    output::print_status(&format!("{warning}{rest}"));
}
