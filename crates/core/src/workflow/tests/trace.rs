//! The trace language: parses events and renders records and actions.
//!
//! In `start; ends plan done 1; +2s; tick`, each word is an event. `+2s` advances the time, and `tick` advances
//! it to the deadline. A run is named by its phase and its item: `work2`. The measurement of the memory follows
//! without a word: enough is free, unless the next word is `memory`.
//!
//! Some words stand for events with their usual results. The trace checks these results and prints no line:
//! - `starts work` is the `start` that runs `work`, and `lists work` is the `start` that lists its items.
//! - `starts work a b` is `lists work; items work a b`, which runs as many items as may run in parallel.
//! - `completes work2 1` is `ends work2 done 1` while other runs are left, and `finishes work2 1` is the same
//!   at the end of the workflow.

use crate::trace_words::{cancel_source, parse_span};
use crate::{
    AfterRun, ItemStatus, Limit, Moment, Now, Outcome, OutcomeKind, PhasePolicy, Reaction, Reactions,
    RunCost, RunEnd, RunKey, RunShare, Span, Usd, Workflow, WorkflowAction, WorkflowEvent, WorkflowLimits,
    WorkflowPolicy, WorkflowRecord, WorkflowStep,
};
use expect_test::Expect;

const START: Moment = Moment::from_unix_seconds(1_790_000_000);

/// Returns a policy of serial phases without limits. A name with `*` has items; `a<b+c` needs `b` and `c`; other
/// phases need the one before.
pub(super) fn policy(phases: &str) -> WorkflowPolicy {
    let mut all: Vec<PhasePolicy> = Vec::new();
    for (index, text) in phases.split(' ').enumerate() {
        let (name, needs) = match text.split_once('<') {
            Some((name, needs)) => {
                let find =
                    |need: &str| all.iter().position(|phase| phase.name == need).expect("a phase before");
                (name, needs.split('+').filter(|need| !need.is_empty()).map(find).collect())
            }
            None => (text, index.checked_sub(1).into_iter().collect()),
        };
        all.push(PhasePolicy {
            name: name.trim_end_matches('*').to_owned(),
            needs,
            has_items: name.ends_with('*'),
            parallel_max: 10,
            items_max: 10,
            has_worktrees: false,
            budget: None,
            time: None,
            reactions: Reactions::default(),
        });
    }
    WorkflowPolicy {
        phases: all,
        iterations_max: 1,
        until_after: None,
        from: None,
        only: None,
        skipped: Vec::new(),
        parallel_max: 10,
        limits: WorkflowLimits::default(),
        start_gap: Span::ZERO,
    }
}

/// Changes only the first phase.
pub(super) fn with_first_phase(
    mut policy: WorkflowPolicy,
    change: impl FnOnce(&mut PhasePolicy),
) -> WorkflowPolicy {
    change(&mut policy.phases[0]);
    policy
}

pub(super) fn with_budget(phases: &str, budget: f64) -> WorkflowPolicy {
    let limits = WorkflowLimits { budget: Some(dollars(budget)), time: None };
    WorkflowPolicy { limits, ..policy(phases) }
}

pub(super) fn with_time(phases: &str, hours: u64) -> WorkflowPolicy {
    let limits = WorkflowLimits { budget: None, time: Some(Span::from_hours(hours)) };
    WorkflowPolicy { limits, ..policy(phases) }
}

/// Sets the reaction of every phase to an outcome.
pub(super) fn with_reaction(
    mut policy: WorkflowPolicy,
    kind: OutcomeKind,
    reaction: Reaction,
) -> WorkflowPolicy {
    for phase in &mut policy.phases {
        phase.reactions.0.insert(kind, reaction);
    }
    policy
}

pub(super) fn dollars(dollars: f64) -> Usd {
    Usd::from_dollars(dollars).expect("a plausible amount")
}

pub(super) fn check(policy: &WorkflowPolicy, trace: &str, expected: Expect) {
    expected.assert_eq(&TraceRun::from_trace(policy, trace).text);
}

/// Checks only the lines after the events of `setup`.
pub(super) fn check_rest(policy: &WorkflowPolicy, setup: &str, rest: &str, expected: Expect) {
    let setup_lines = TraceRun::from_trace(policy, setup).text.lines().count();
    let text = TraceRun::from_trace(policy, &format!("{setup}; {rest}")).text;
    let lines: Vec<&str> = text.lines().skip(setup_lines).collect();
    expected.assert_eq(&format!("{}\n", lines.join("\n")));
}

/// Returns the workflow after a trace, and its records.
pub(super) fn workflow_after(
    policy: &WorkflowPolicy,
    trace: &str,
) -> (Workflow, Vec<(Moment, WorkflowRecord)>) {
    let run = TraceRun::from_trace(policy, trace);
    (run.workflow, run.journal)
}

/// Returns the workflow that these records describe.
pub(super) fn replay(records: &[(Moment, WorkflowRecord)]) -> Workflow {
    Workflow::replay(records.iter().map(|(at, record)| (*at, record)))
}

struct TraceRun<'a> {
    policy: &'a WorkflowPolicy,
    at: Moment,
    workflow: Workflow,
    /// A second workflow that only applies the records.
    replayed: Workflow,
    journal: Vec<(Moment, WorkflowRecord)>,
    /// Reason and time of the tick in progress.
    tick: String,
    text: String,
}

impl TraceRun<'_> {
    fn from_trace<'a>(policy: &'a WorkflowPolicy, trace: &str) -> TraceRun<'a> {
        let mut run = TraceRun {
            policy,
            at: START,
            workflow: Workflow::new(),
            replayed: Workflow::new(),
            journal: Vec::new(),
            tick: String::new(),
            text: String::new(),
        };
        let mut words = trace.split(';').map(str::trim).filter(|words| !words.is_empty()).peekable();
        while let Some(word) = words.next() {
            run.execute(word, words.peek().unwrap_or(&""));
        }
        run
    }

    fn execute(&mut self, words: &str, next: &str) {
        let parts: Vec<&str> = words.split(' ').collect();
        match parts[..] {
            ["starts", phase] => self.check_start(&format!("phase {phase}; run {phase}; > start {phase}")),
            ["lists", phase] => self.check_start(&format!("phase {phase}; > list {phase}")),
            ["starts", phase, ref items @ ..] => {
                self.check_start(&format!("phase {phase}; > list {phase}"));
                let run = |number| format!("; run {phase}{number}; > start {phase}{number}");
                let parallel_max = usize::try_from(self.policy.parallel_max).expect("a small number");
                let runs: String = (1..=items.len().min(parallel_max)).map(run).collect();
                let items = items.join(" ");
                self.check_results(&format!("items {phase} {items}"), &format!("items {items}{runs}"));
            }
            ["completes", run, ref cost @ ..] => self.check_done(run, cost, ""),
            ["finishes", run, ref cost @ ..] => {
                let phase = self.name(self.key(run).phase);
                self.check_done(run, cost, &format!("; {phase} ended done; done; > finish 0"));
            }
            _ => {
                if let Some(span) = words.strip_prefix('+') {
                    self.at = self.at + parse_span(span);
                } else {
                    let results = self.results(words, next);
                    let words = format!("{words}{}", std::mem::take(&mut self.tick));
                    self.text.push_str(&format!("{words:<26} {results}\n"));
                }
            }
        }
    }

    fn check_start(&mut self, usual: &str) {
        self.check_results("start", &format!("started; iteration 1; {usual}"));
    }

    fn check_done(&mut self, run: &str, cost: &[&str], then: &str) {
        let usual = format!("{} done -> complete{then}", self.run(self.key(run)));
        self.check_results(&format!("ends {run} done {}", cost.first().unwrap_or(&"0")), &usual);
    }

    fn check_results(&mut self, words: &str, usual: &str) {
        assert_eq!(self.results(words, ""), usual, "`{words}` after:\n{}", self.text);
    }

    /// Returns the records and actions of an event.
    fn results(&mut self, words: &str, next: &str) -> String {
        let event = self.event(words);
        let mut results = Vec::new();
        let mut step = self.step(event);
        loop {
            let measures = step.actions.contains(&WorkflowAction::MeasureMemory);
            let is_implied = measures && !next.starts_with("memory");
            if is_implied {
                step.actions.retain(|action| *action != WorkflowAction::MeasureMemory);
            }
            results.extend(self.render(&step));
            if !is_implied {
                break;
            }
            step = self.step(WorkflowEvent::MemoryMeasured { is_enough: true });
        }
        if results.is_empty() { "-".to_owned() } else { results.join("; ") }
    }

    fn step(&mut self, event: WorkflowEvent) -> WorkflowStep {
        let step = self.workflow.step(self.policy, Now { at: self.at, roll: 0 }, event);
        for record in &step.records {
            self.replayed.apply(self.at, record);
            let json = serde_json::to_string(record).expect("records serialize");
            let read: WorkflowRecord = serde_json::from_str(&json).expect("records load");
            assert_eq!(read, *record);
        }
        self.journal.extend(step.records.iter().map(|record| (self.at, record.clone())));
        assert_eq!(self.replayed.state(), self.workflow.state(), "after:\n{}", self.text);
        step
    }

    fn event(&mut self, words: &str) -> WorkflowEvent {
        let parts: Vec<&str> = words.split(' ').collect();
        match parts[..] {
            ["start"] => WorkflowEvent::Started,
            ["taken", idle] => {
                WorkflowEvent::TakenOver { idle_since: Moment(self.at.0 - parse_span(idle).0) }
            }
            ["reopen", budget, iterations, ref continued @ ..] => WorkflowEvent::Reopened {
                limits: budget
                    .parse()
                    .ok()
                    .map(|budget| WorkflowLimits { budget: Some(dollars(budget)), ..self.policy.limits }),
                iterations_max: iterations.parse().ok(),
                continued: continued.iter().map(|run| self.key(run)).collect(),
                costs: Vec::new(),
            },
            ["reopen-costs", run, cost] => WorkflowEvent::Reopened {
                limits: None,
                iterations_max: None,
                continued: Vec::new(),
                costs: vec![RunCost { run: self.key(run), cost: dollars(cost.parse().expect("dollars")) }],
            },
            ["items", phase, "error"] => {
                WorkflowEvent::ItemsListed { phase: self.phase(phase), items: Err("exit 1".to_owned()) }
            }
            ["items", phase, ref items @ ..] => WorkflowEvent::ItemsListed {
                phase: self.phase(phase),
                items: Ok(items.iter().map(|item| (*item).to_owned()).collect()),
            },
            ["ends", run, outcome] => self.ended(run, outcome, "0"),
            ["ends", run, outcome, cost] => self.ended(run, outcome, cost),
            ["waits", run] => WorkflowEvent::RunWaits { key: self.key(run), waits: true },
            ["works", run] => WorkflowEvent::RunWaits { key: self.key(run), waits: false },
            ["merged", phase] => WorkflowEvent::Merged { phase: self.phase(phase), problem: None },
            ["merged", phase, problem] => {
                WorkflowEvent::Merged { phase: self.phase(phase), problem: Some(problem.to_owned()) }
            }
            ["until", "yes"] => WorkflowEvent::UntilEnded { holds: Ok(true) },
            ["until", "no"] => WorkflowEvent::UntilEnded { holds: Ok(false) },
            ["until", problem] => WorkflowEvent::UntilEnded { holds: Err(problem.to_owned()) },
            ["memory", "enough"] => WorkflowEvent::MemoryMeasured { is_enough: true },
            ["memory", "short"] => WorkflowEvent::MemoryMeasured { is_enough: false },
            ["tick"] => {
                let deadline = self.workflow.deadline(self.policy).expect("a deadline");
                self.at = self.at.max(deadline.at);
                self.tick = format!(" ({} {})", deadline.kind, self.at.since(START));
                WorkflowEvent::Tick
            }
            ["sleep", span] => {
                self.at = self.at + parse_span(span);
                WorkflowEvent::Downtime(parse_span(span))
            }
            ["cancel", source] => WorkflowEvent::CancelRequested(cancel_source(source)),
            ["suspend", source] => WorkflowEvent::SuspendRequested(cancel_source(source)),
            _ => panic!("no event: {words}"),
        }
    }

    fn ended(&self, run: &str, outcome: &str, cost: &str) -> WorkflowEvent {
        let (word, later) = outcome.split_once('@').unwrap_or((outcome, ""));
        let kind = *OutcomeKind::ALL.iter().find(|kind| kind.as_str() == word).expect("an outcome");
        let limit = match kind {
            OutcomeKind::OverBudget => Some(Limit::Budget),
            OutcomeKind::OutOfTime => Some(Limit::Time),
            _ => None,
        };
        let retry_at = (!later.is_empty()).then(|| self.at + parse_span(later));
        let outcome = Outcome { kind, limit, retry_at, ..Outcome::DONE };
        let cost = dollars(cost.parse().expect("dollars"));
        WorkflowEvent::RunEnded { key: self.key(run), end: RunEnd { outcome, cost, active: Span::ZERO } }
    }

    fn phase(&self, name: &str) -> usize {
        self.policy.phases.iter().position(|phase| phase.name == name).expect("a phase")
    }

    fn key(&self, run: &str) -> RunKey {
        let name = run.trim_end_matches(|c: char| c.is_ascii_digit());
        let item = run[name.len()..].parse::<usize>().map_or(0, |number| number - 1);
        self.workflow.state().items(self.phase(name)).nth(item).expect("an item").0
    }

    fn render(&self, step: &WorkflowStep) -> Vec<String> {
        let records = step.records.iter().map(|record| self.record(record));
        records.chain(step.actions.iter().map(|action| format!("> {}", self.action(action)))).collect()
    }

    fn record(&self, record: &WorkflowRecord) -> String {
        match record {
            WorkflowRecord::WorkflowStarted => "started".to_owned(),
            WorkflowRecord::WorkflowReopened { .. } => "reopened".to_owned(),
            WorkflowRecord::IterationStarted { iteration } => format!("iteration {iteration}"),
            WorkflowRecord::PhaseStarted { phase, .. } => format!("phase {}", self.name(*phase)),
            WorkflowRecord::ItemsListed { items, deferred: 0, .. } => format!("items {}", items.join(" ")),
            WorkflowRecord::ItemsListed { items, deferred, .. } => {
                format!("items {}, {deferred} deferred", items.join(" "))
            }
            WorkflowRecord::RunPlanned { key, share, resumed } => {
                format!(
                    "{} {}{}",
                    if *resumed { "resume" } else { "run" },
                    self.run(*key),
                    render_share(share)
                )
            }
            WorkflowRecord::RunEnded { key, end, next, parked_until } => {
                let until = parked_until.map_or(String::new(), |until| format!(" {}", until.since(self.at)));
                format!("{} {} -> {}{until}", self.run(*key), end.outcome.kind, after(*next))
            }
            WorkflowRecord::ShareRefused { key, next } => {
                format!("{} refused -> {}", self.run(*key), after(*next))
            }
            WorkflowRecord::TimeExhausted => "time exhausted".to_owned(),
            WorkflowRecord::MergeStarted { phase } => format!("merge {}", self.name(*phase)),
            WorkflowRecord::PhaseEnded { phase, outcome, problem, stops } => {
                let problem = problem.as_ref().map_or(String::new(), |problem| format!(" ({problem})"));
                let stops = if *stops { ", stops" } else { "" };
                format!("{} ended {}{problem}{stops}", self.name(*phase), outcome.kind)
            }
            WorkflowRecord::UntilStarted => "until".to_owned(),
            WorkflowRecord::UntilEnded { holds, problem } => {
                format!(
                    "until {}",
                    holds.map_or(problem.clone().unwrap_or_default(), |holds| holds.to_string())
                )
            }
            WorkflowRecord::ClockStopped => "clock stopped".to_owned(),
            WorkflowRecord::ClockStarted => "clock started".to_owned(),
            WorkflowRecord::WorkflowDowntime { duration } => format!("downtime {duration}"),
            WorkflowRecord::TakenOver { .. } => "taken over".to_owned(),
            WorkflowRecord::CancelOrdered { source } => format!("cancel by {source}"),
            WorkflowRecord::WorkflowSuspendOrdered { source } => format!("suspend by {source}"),
            WorkflowRecord::WorkflowSuspended { .. } => "suspended".to_owned(),
            WorkflowRecord::WorkflowFinished { outcome } => outcome.kind.to_string(),
        }
    }

    fn action(&self, action: &WorkflowAction) -> String {
        match action {
            WorkflowAction::ListItems(phase) => format!("list {}", self.name(*phase)),
            WorkflowAction::MeasureMemory => "measure".to_owned(),
            WorkflowAction::StartRun { key, resumes: 0, .. } => format!("start {}", self.run(*key)),
            WorkflowAction::StartRun { key, resumes, .. } => format!("resume {} {resumes}", self.run(*key)),
            WorkflowAction::StopRun { key, source } => format!("stop {} {source}", self.run(*key)),
            WorkflowAction::Merge(phase) => format!("merge {}", self.name(*phase)),
            WorkflowAction::CheckUntil => "check until".to_owned(),
            WorkflowAction::Finish(outcome) => format!("finish {}", outcome.exit_code()),
        }
    }

    fn name(&self, phase: usize) -> &str {
        &self.policy.phases[phase].name
    }

    /// Renders a key: `work2`, `work2r1` for its first retry.
    fn run(&self, key: RunKey) -> String {
        let phase = &self.policy.phases[key.phase];
        let item = if phase.has_items { (key.item + 1).to_string() } else { String::new() };
        let retry = if key.retry == 0 { String::new() } else { format!("r{}", key.retry) };
        format!("{}{item}{retry}", phase.name)
    }
}

fn render_share(share: &RunShare) -> String {
    let budget = share.budget.map_or(String::new(), |budget| format!(" {budget}"));
    let time = share.time.map_or(String::new(), |time| format!(" {time}"));
    format!("{budget}{time}")
}

fn after(next: AfterRun) -> &'static str {
    match next {
        AfterRun::Complete => "complete",
        AfterRun::Continue => "continue",
        AfterRun::Retry => "retry",
        AfterRun::Park => "park",
        AfterRun::Raise => "raise",
        AfterRun::Suspend => "suspend",
        AfterRun::Stop => "stop",
    }
}

/// Returns the status of every item of a phase, for assertions.
pub(super) fn statuses(workflow: &Workflow, phase: usize) -> Vec<ItemStatus> {
    workflow.state().items(phase).map(|(_, item)| item.status).collect()
}
