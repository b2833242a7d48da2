//! What a person sees while a run is under way: decisions as lines, and on a terminal a live line
//! with the agent's activity, the attempt, the next wait, the spend and the elapsed time.

use super::paint::{Meaning, Paint};
use super::{clock, words};
use crate::args::Global;
use indicatif::{ProgressBar, ProgressStyle};
use longhaul::{Observer, Untold, View};
use longhaul_core::{Fault, Moment, Phase, Policy, Record, RunId, ServerBound, Span, Step};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

// A person sees no more, and a waiting run must cost nothing.
const REDRAW_EVERY: Span = Span(100);
const TICK_EVERY: Duration = Duration::from_secs(1);
const ACTIVITY_CHARS_MAX: usize = 60;
const WARNING: &str = "warning:";

/// A run on a person's screen.
pub struct Screen {
    quiet: bool,
    verbose: bool,
    /// What lines begin with where several runs share a terminal.
    prefix: String,
    line: Option<ProgressBar>,
    /// What the live line begins with: who looks from another terminal needs it.
    run: String,
    drawn: Moment,
    /// Whether the user named a permission mode; if not, one that asks is pointed out.
    permission_named: bool,
    permission_told: bool,
    unpriced_told: bool,
    waiting_for: Option<Fault>,
    /// The attempt whose questions are told, and how many of them were.
    questions_told: (u32, usize),
}

impl Screen {
    pub fn new(global: &Global, permission_named: bool) -> Screen {
        let live = !global.quiet && io::stderr().is_terminal();
        Screen {
            quiet: global.quiet,
            verbose: global.verbose,
            prefix: String::new(),
            line: live.then(live_line),
            run: String::new(),
            drawn: Moment::default(),
            permission_named,
            permission_told: false,
            unpriced_told: false,
            waiting_for: None,
            questions_told: (0, 0),
        }
    }

    /// The screen of one of several runs: lines only, each with the run's name in front.
    pub fn among_others(global: &Global, run: &RunId) -> Screen {
        Screen { prefix: format!("{run}: "), line: None, ..Screen::new(global, true) }
    }

    /// Removes the live line.
    pub fn close(&mut self) {
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
        }
    }

    fn say(&self, text: &str) {
        if self.quiet {
            return;
        }
        match &self.line {
            Some(line) => line.suspend(|| eprint_line(text)),
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

    fn redraw(&mut self, view: View<'_>) {
        let Some(line) = &self.line else { return };
        self.drawn = view.at;
        line.set_message(self.message(view));
    }

    fn message(&self, view: View<'_>) -> String {
        let state = view.run.state();
        let mut parts = vec![match &state.phase {
            Phase::New | Phase::Launching => "starting the agent".to_owned(),
            Phase::Condensing { .. } => "condensing older work".to_owned(),
            Phase::Live => activity(view).unwrap_or_else(|| "working".to_owned()),
            Phase::Closing { .. } | Phase::Sweeping { .. } => "closing".to_owned(),
            Phase::Stopping { .. } => "stopping the agent".to_owned(),
            Phase::Checking { .. } => "checking the work".to_owned(),
            Phase::Waiting { until, .. } => {
                let cause = self.waiting_for.map_or("waiting", words::cause);
                format!(
                    "{cause}; waiting until {}{}",
                    clock::coming(*until),
                    tries(view.policy, state.streak, state.wall_waits)
                )
            }
            Phase::Over { outcome } => outcome.kind.to_string(),
        }];
        if state.attempts() > 1 {
            parts.push(format!("attempt {}", state.attempts()));
        }
        let spent = state.tally.cost + state.tally.cost_estimated;
        let now =
            view.glance.map(|glance| glance.tally.cost + glance.tally.cost_estimated).unwrap_or_default();
        parts.push(words::money(spent + now));
        format!("{}{}", self.run, parts.join(" · "))
    }
}

impl Observer for Screen {
    fn untold(&mut self, untold: &Untold) {
        self.say(&words::untold(untold));
    }

    fn began(&mut self, run: &RunId, dir: &Path) {
        self.run = format!("{run}  ");
        if self.verbose {
            self.say(&format!("run {run} in {}", dir.display()));
        }
    }

    fn stepped(&mut self, view: View<'_>, step: &Step) {
        self.tell_permissions(view);
        self.tell_prices(view);
        self.tell_defaults(view);
        for record in &step.records {
            if let Record::AttemptEnded { fault, .. } = record {
                self.waiting_for = *fault;
            }
            let words = words::plain(record, view.policy)
                .or_else(|| self.verbose.then(|| words::detailed(record)).flatten());
            if let Some(words) = words {
                self.say(&words);
            }
        }
        if self.line.is_some() && (!step.records.is_empty() || view.at.since(self.drawn) >= REDRAW_EVERY) {
            self.redraw(view);
        }
    }
}

fn live_line() -> ProgressBar {
    let line = ProgressBar::new_spinner();
    let style =
        ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}").expect("the template is valid");
    line.set_style(style);
    line.enable_steady_tick(TICK_EVERY);
    line
}

fn activity(view: View<'_>) -> Option<String> {
    let activity = view.glance?.activity.as_str();
    (!activity.is_empty()).then(|| match activity.char_indices().nth(ACTIVITY_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &activity[..end]),
        None => activity.to_owned(),
    })
}

/// ` (2 of 5)`, where attempts are counted.
fn tries(policy: &Policy, streak: u32, waits: u32) -> String {
    let used = match policy.server_bound {
        ServerBound::Retries => streak + waits,
        ServerBound::Time(_) => streak,
    };
    if used == 0 { String::new() } else { format!(" ({used} of {})", policy.retries_max) }
}

fn eprint_line(text: &str) {
    let (warning, rest) = text.split_at(if text.starts_with(WARNING) { WARNING.len() } else { 0 });
    let warning = Paint::stderr().as_meant(warning, Some(Meaning::Care));
    // A terminal that went away takes no talk; the run goes on.
    let _ = writeln!(io::stderr().lock(), "{warning}{rest}");
}
