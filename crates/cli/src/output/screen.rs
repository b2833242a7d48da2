//! What a person sees of a run while it is supervised or followed: decisions as lines, and on a terminal the live view
//! below them. It changes nothing.

use super::live::{self, LiveView, label};
use super::paint::{Meaning, Paint};
use super::region::Region;
use super::words;
use crate::args::Global;
use crate::output;
use longhaul::{Observer, Untold, View};
use longhaul_core::{By, Record, RunId, Step};
use std::path::Path;
use std::sync::{Arc, Mutex};

const WARNING: &str = "warning:";

/// A run on a person's screen.
pub struct Screen {
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
    permission_told: bool,
    unpriced_told: bool,
    has_warned_of_tools: bool,
    /// The attempt whose questions are told, and how many of them were.
    questions_told: (u32, usize),
}

impl Screen {
    pub fn new(global: &Global, permission_named: bool) -> Screen {
        Screen {
            quiet: global.quiet,
            verbose: global.verbose,
            prefix: String::new(),
            has_lines_only: global.quiet,
            is_supervisor: true,
            view: Arc::default(),
            region: None,
            permission_named,
            permission_told: false,
            unpriced_told: false,
            has_warned_of_tools: false,
            questions_told: (0, 0),
        }
    }

    /// The screen of one of several runs: lines only, each with the run's name in front.
    pub fn among_others(global: &Global, run: &RunId) -> Screen {
        Screen { prefix: format!("{run}: "), has_lines_only: true, ..Screen::new(global, true) }
    }

    /// The screen of a run that another process supervises.
    pub fn following(global: &Global) -> Screen {
        Screen { is_supervisor: false, ..Screen::new(global, true) }
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
    fn tell_permissions(&mut self, view: View<'_>) {
        let Some(mode) = view.glance.and_then(|glance| glance.permission_mode.as_deref()) else { return };
        if self.permission_told || self.permission_named {
            return;
        }
        self.permission_told = true;
        if matches!(mode, "default" | "acceptEdits" | "plan" | "manual") {
            self.say(&format!(
                "warning: the agent's settings ask for permission (mode `{mode}`), and nobody is here to answer; \
                 what they would ask is denied. Allow it with --permission-mode acceptEdits or bypassPermissions"
            ));
        }
    }

    /// What a model costs that no price is known of is told by its agent, at the end of each turn: so late is a budget
    /// heeded.
    fn tell_prices(&mut self, view: View<'_>) {
        let Some(glance) = view.glance.filter(|glance| glance.tally.unpriced) else { return };
        if self.unpriced_told || view.policy.limits.budget.is_none() {
            return;
        }
        self.unpriced_told = true;
        let model = glance.model.as_deref().unwrap_or("the model");
        self.say(&format!(
            "warning: no price is known of `{model}`: what it costs counts only at the end of each turn, so the budget may be \
             overstepped by a turn. Name its prices with --prices FILE"
        ));
    }

    /// Warns once of guards that guard nothing: their name is misspelled, or the agent has no such tool.
    fn warn_of_unmatched_tools(&mut self, view: View<'_>) {
        let Some(glance) = view.glance.filter(|glance| glance.model.is_some()) else { return };
        if !std::mem::replace(&mut self.has_warned_of_tools, true) {
            for pattern in &glance.unmatched_tools {
                self.say(&format!("warning: `{pattern}` matches no tool of the agent"));
            }
        }
    }

    /// A question that nobody had thought of is answered all the same, but not in silence.
    fn tell_defaults(&mut self, view: View<'_>) {
        let Some(glance) = view.glance else { return };
        let attempt = view.run.state().attempts();
        let (told_of, told) = self.questions_told;
        let told = if told_of == attempt { told } else { 0 };
        for answered in glance.answered.iter().skip(told).filter(|answered| answered.key.is_none()) {
            self.say(&words::answered_by_default(&answered.question, &answered.answer));
        }
        self.questions_told = (attempt, glance.answered.len());
    }
}

impl Observer for Screen {
    fn untold(&mut self, untold: &Untold) {
        self.say(&words::untold(untold));
    }

    fn began(&mut self, run: &RunId, dir: &Path) {
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

    fn stepped(&mut self, view: View<'_>, step: &Step) {
        self.tell_permissions(view);
        self.tell_prices(view);
        self.warn_of_unmatched_tools(view);
        self.tell_defaults(view);
        if let Some(region) = &self.region {
            self.view.lock().expect("no drawing panics").update(view, output::now());
            if !step.records.is_empty() {
                region.redraw();
            }
        }
        for record in &step.records {
            let words = words::plain(record, view.run.state(), view.policy)
                .or_else(|| self.verbose.then(|| words::detailed(record)).flatten());
            if let Some(words) = words {
                self.say(&words);
            }
            let is_asked = matches!(record, Record::CancelOrdered { by: By::Person, .. });
            if is_asked && self.is_supervisor && view.run.state().outcome().is_none() {
                self.say("Ctrl-C: the agent may finish its message; press Ctrl-C again to stop it at once");
            }
        }
    }
}

fn eprint_line(text: &str) {
    let (warning, rest) = text.split_at(if text.starts_with(WARNING) { WARNING.len() } else { 0 });
    let warning = Paint::stderr().as_meant(warning, Some(Meaning::Care));
    output::talk(&format!("{warning}{rest}"));
}
