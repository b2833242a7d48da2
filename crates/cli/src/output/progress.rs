//! What a person sees of a run while it is supervised or followed: decisions as lines, and on a terminal the live view
//! below them. It changes nothing.

use super::color::{Colors, Style};
use super::live::{self, LiveView, label};
use super::phrases;
use super::region::Region;
use crate::args::GlobalArgs;
use crate::output;
use longhaul::{NotifyFailure, Observer, StepView};
use longhaul_core::{CancelSource, Record, RunId, Step};
use std::path::Path;
use std::sync::{Arc, Mutex};

const WARNING: &str = "warning:";

/// A run on a person's screen.
pub struct ProgressDisplay {
    quiet: bool,
    verbose: bool,
    /// What lines begin with where several runs share a terminal.
    prefix: String,
    /// Whether lines are all that is shown.
    has_lines_only: bool,
    /// Whether Ctrl-C stops the run; if not, it only leaves it.
    is_supervisor: bool,
    view: Arc<Mutex<LiveView>>,
    region: Option<Region>,
    /// Whether the user named a permission mode; if not, one that asks is pointed out.
    permission_named: bool,
    permission_warned: bool,
    unpriced_warned: bool,
    has_warned_of_tools: bool,
    /// The attempt whose questions are told, and how many of them were.
    questions_warned: (u32, usize),
}

impl ProgressDisplay {
    pub fn new(global: &GlobalArgs, permission_named: bool) -> ProgressDisplay {
        ProgressDisplay {
            quiet: global.quiet,
            verbose: global.verbose,
            prefix: String::new(),
            has_lines_only: global.quiet,
            is_supervisor: true,
            view: Arc::default(),
            region: None,
            permission_named,
            permission_warned: false,
            unpriced_warned: false,
            has_warned_of_tools: false,
            questions_warned: (0, 0),
        }
    }

    /// The screen of one of several runs: lines only, each with the run's name in front.
    pub fn prefixed(global: &GlobalArgs, run: &RunId) -> ProgressDisplay {
        ProgressDisplay {
            prefix: format!("{run}: "),
            has_lines_only: true,
            ..ProgressDisplay::new(global, true)
        }
    }

    /// The screen of a run that another process supervises.
    pub fn following(global: &GlobalArgs) -> ProgressDisplay {
        ProgressDisplay { is_supervisor: false, ..ProgressDisplay::new(global, true) }
    }

    /// Removes the live view.
    pub fn close(&mut self) {
        if let Some(region) = self.region.take() {
            region.close();
        }
    }

    fn say(&self, text: &str) {
        if self.quiet {
            return;
        }
        match &self.region {
            Some(region) => region.print_above(|| eprint_line(text)),
            None => eprint_line(&format!("{}{text}", self.prefix)),
        }
    }

    /// A mode that asks for permission stops an unattended run: said as soon as the agent names it.
    fn warn_permissions(&mut self, view: StepView<'_>) {
        let Some(mode) = view.snapshot.and_then(|snapshot| snapshot.permission_mode.as_deref()) else {
            return;
        };
        if self.permission_warned || self.permission_named {
            return;
        }
        self.permission_warned = true;
        if matches!(mode, "default" | "acceptEdits" | "plan" | "manual") {
            self.say(&format!(
                "warning: the agent's settings ask for permission (mode `{mode}`), and nobody is here to answer; \
                 what they would ask is denied. Allow it with --permission-mode acceptEdits or bypassPermissions"
            ));
        }
    }

    /// What a model costs that no price is known of is told by its agent, at the end of each turn: so late is a budget
    /// heeded.
    fn warn_prices(&mut self, view: StepView<'_>) {
        let Some(snapshot) = view.snapshot.filter(|snapshot| snapshot.usage.unpriced) else { return };
        if self.unpriced_warned || view.policy.limits.budget.is_none() {
            return;
        }
        self.unpriced_warned = true;
        let model = snapshot.model.as_deref().unwrap_or("the model");
        self.say(&format!(
            "warning: no price is known of `{model}`: what it costs counts only at the end of each turn, so the budget may be \
             overstepped by a turn. Name its prices with --prices-file FILE"
        ));
    }

    /// Warns once of guards that guard nothing: their name is misspelled, or the agent has no such tool.
    fn warn_of_unmatched_tools(&mut self, view: StepView<'_>) {
        let Some(snapshot) = view.snapshot.filter(|snapshot| snapshot.model.is_some()) else { return };
        if !std::mem::replace(&mut self.has_warned_of_tools, true) {
            for pattern in &snapshot.unmatched_tools {
                self.say(&format!("warning: `{pattern}` matches no tool of the agent"));
            }
        }
    }

    /// A question that nobody had thought of is answered all the same, but not in silence.
    fn warn_default_answers(&mut self, view: StepView<'_>) {
        let Some(snapshot) = view.snapshot else { return };
        let attempt = view.run.state().attempts();
        let (told_of, told) = self.questions_warned;
        let told = if told_of == attempt { told } else { 0 };
        for answered in snapshot.answers.iter().skip(told).filter(|answered| answered.key.is_none()) {
            self.say(&phrases::answered_by_default(&answered.question, &answered.answer));
        }
        self.questions_warned = (attempt, snapshot.answers.len());
    }
}

impl Observer for ProgressDisplay {
    fn on_notify_failure(&mut self, untold: &NotifyFailure) {
        self.say(&phrases::notify_failure(untold));
    }

    fn on_start(&mut self, run: &RunId, dir: &Path) {
        if self.verbose {
            self.say(&format!("run {run} in {}", dir.display()));
        }
        if !self.has_lines_only {
            self.view = Arc::new(Mutex::new(LiveView::new(label(run, dir))));
            let view = Arc::clone(&self.view);
            self.region = Region::open(move |width, height| {
                let view = view.lock().expect("no step panics");
                let mut lines = live::painted(&view, output::now(), width);
                lines.truncate(height);
                lines
            });
        }
    }

    fn on_step(&mut self, view: StepView<'_>, step: &Step) {
        self.warn_permissions(view);
        self.warn_prices(view);
        self.warn_of_unmatched_tools(view);
        self.warn_default_answers(view);
        if let Some(region) = &self.region {
            self.view.lock().expect("no drawing panics").update(view, output::now());
            if !step.records.is_empty() {
                region.redraw();
            }
        }
        for record in &step.records {
            let words = phrases::headline(record, view.run.state(), view.policy)
                .or_else(|| self.verbose.then(|| phrases::verbose_line(record)).flatten());
            if let Some(words) = words {
                self.say(&words);
            }
            let is_asked = matches!(record, Record::CancelRequested { source: CancelSource::Person, .. });
            if is_asked && self.is_supervisor && view.run.state().outcome().is_none() {
                self.say("Ctrl-C: the agent may finish its message; press Ctrl-C again to stop it at once");
            }
        }
    }
}

fn eprint_line(text: &str) {
    let (warning, rest) = text.split_at(if text.starts_with(WARNING) { WARNING.len() } else { 0 });
    let warning = Colors::stderr().styled(warning, Some(Style::Warning));
    output::print_status(&format!("{warning}{rest}"));
}
