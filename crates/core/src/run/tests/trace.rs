//! The trace language: parses events and renders records and actions.
//!
//! In `start; spawn; open; tool; ends 529; idle; exit 1; swept; tick`, each word is an event. `+2s` advances
//! the time, and `tick` advances it to the deadline. `sleep 1h` advances it by the downtime that it reports, and
//! `slept 1h` reports downtime that has passed. The notices of an attempt accumulate, so that its `exit`
//! has the evidence of its stream. `ends` is the end of an exchange, with its result.
//!
//! Three events follow without a word. An inspected session is ready, unless the next word is `found`,
//! `recover` or `cancel`. A probe returns nothing, unless the next word is `probe` or `probing`. A sweep finds
//! no process, unless the next word is `swept`, `sweeping`, `recover` or `cancel`.
//!
//! Some words stand for events with their usual results. The trace checks these results and prints no line:
//! - `opened` is `start; spawn; open`, `working` is `opened; exchange`, and `resumed` is `spawn; exchange`.
//! - `works` is `tool; tool-ends`, and `opens` is `spawn; open` of a new session.
//! - `active 6m` is `+6m; activity`, and `silent` is the `tick` that orders a probe.
//! - `retry` is `tick; spawn` for the attempt that the line above announces, and `inspect` is its `tick` alone,
//!   which inspects the session.
//! - `review again` is the `tick` that starts the next review of a check.
//!
//! Others print only the results of their last event:
//! - `completes` is `ends ok; idle; exit 0`, and `fails 529` is `ends 529; exit 1`.
//! - `crashes` is `spawn; signal 9`, and `cancels` is `cancel person; ends aborted; exit 0`.
//! - `stops 1` is `ends ok; workspace 1; idle` after progress.

use crate::trace_words::{cancel_source, parse_span};
use crate::{
    Action, AfterAttempt, AgentResult, ApiError, AttemptEnd, AttemptPlan, CheckResult, Continuity, Event,
    Evidence, Exit, Fault, FoundAttempt, Jitter, KeepGoingPrompt, MessageError, Moment, Notice, Now, Outcome,
    Policy, Preset, ProcessActivity, ProcessId, ProcessState, PromptKind, RateLimit, RateLimitStatus, Record,
    Remaining, ResumeRequest, ReviewPlan, ReviewResult, ReviewVerdict, Run, SessionFileState, SessionId,
    SessionPlan, Span, SpawnError, StartupError, Step, StopReason, StrategyReason, SummaryReport,
    SummaryResult, TerminalReason, Tokens, Usage, Usd,
};
use expect_test::Expect;

const START: Moment = Moment::from_unix_seconds(1_790_000_000);

/// The events of `opened` and `working`, each with its results.
const FIRST_ATTEMPT: [(&str, &str); 4] = [
    ("start", "run started; attempt 1 new s1, task; > spawn 1"),
    ("spawn", "spawned 7"),
    ("open", "opened s1"),
    ("exchange", "-"),
];

/// Returns the default policy without jitter, so that waits are round numbers.
pub(super) fn plain() -> Policy {
    steady(Preset::Default)
}

/// Returns a preset's policy without jitter.
pub(super) fn steady(preset: Preset) -> Policy {
    let mut policy = preset.policy();
    policy.backoff.jitter = Jitter::None;
    policy.reset_jitter = Span::ZERO;
    policy
}

pub(super) fn check_run(trace: &str, expected: Expect) {
    check_run_with(&plain(), trace, expected);
}

pub(super) fn check_run_with(policy: &Policy, trace: &str, expected: Expect) {
    expected.assert_eq(&TraceRun::from_trace(policy, trace).text);
}

/// Checks a trace that a table builds, with lines as in `check_run`.
pub(super) fn check_built_run(trace: &str, expected: &[String]) {
    check_built_rest("", trace, expected);
}

/// Checks only the lines after the events of `setup`.
pub(super) fn check_rest(setup: &str, rest: &str, expected: Expect) {
    check_rest_with(&plain(), setup, rest, expected);
}

pub(super) fn check_rest_with(policy: &Policy, setup: &str, rest: &str, expected: Expect) {
    expected.assert_eq(&format!("{}\n", rest_of(policy, setup, rest).join("\n")));
}

/// Checks the lines after `setup` of a trace that a table builds.
pub(super) fn check_built_rest(setup: &str, rest: &str, expected: &[String]) {
    assert_eq!(rest_of(&plain(), setup, rest), expected, "{rest}");
}

/// Checks that the lines after `setup` are the same with both of the policies.
pub(super) fn check_rest_with_both(policies: &[Policy; 2], setup: &str, rest: &str, expected: Expect) {
    let [first, second] = policies.each_ref().map(|policy| rest_of(policy, setup, rest));
    assert_eq!(first, second, "the policies differ");
    expected.assert_eq(&format!("{}\n", first.join("\n")));
}

/// Returns the lines after the events of `setup`.
fn rest_of(policy: &Policy, setup: &str, rest: &str) -> Vec<String> {
    let full_text = TraceRun::from_trace(policy, &format!("{setup}; {rest}")).text;
    let setup_lines = TraceRun::from_trace(policy, setup).text.lines().count();
    full_text.lines().skip(setup_lines).map(str::to_owned).collect()
}

/// Returns the records of a trace with their times, for tests of the journal.
pub(super) fn records_of(policy: &Policy, trace: &str) -> Vec<(Moment, Record)> {
    TraceRun::from_trace(policy, trace).journal
}

/// Returns the run that these records describe.
pub(super) fn replay(records: &[(Moment, Record)]) -> Run {
    Run::replay(records.iter().map(|(at, record)| (*at, record)))
}

struct TraceRun<'a> {
    policy: &'a Policy,
    at: Moment,
    run: Run,
    /// A second run that only applies the records.
    replayed: Run,
    journal: Vec<(Moment, Record)>,
    evidence: Evidence,
    /// Sessions in the order of their appearance: `s1`, `s2`, ...
    sessions: Vec<SessionId>,
    announced: Option<AttemptPlan>,
    text: String,
}

impl TraceRun<'_> {
    fn from_trace<'a>(policy: &'a Policy, trace: &str) -> TraceRun<'a> {
        let mut trace_run = TraceRun::new(policy);
        let mut words = trace.split(';').map(str::trim).filter(|words| !words.is_empty()).peekable();
        while let Some(word) = words.next() {
            trace_run.execute(word, words.peek().unwrap_or(&""));
        }
        trace_run
    }

    fn new(policy: &Policy) -> TraceRun<'_> {
        TraceRun {
            policy,
            at: START,
            run: Run::new(),
            replayed: Run::new(),
            journal: Vec::new(),
            evidence: Evidence::from_exit(Exit::NeverSpawned),
            sessions: Vec::new(),
            announced: None,
            text: String::new(),
        }
    }

    fn execute(&mut self, words: &str, next: &str) {
        let event = match words.split_once(' ').unwrap_or((words, "")) {
            ("opened", _) => return self.check_results(&FIRST_ATTEMPT[..3], next),
            ("working", _) => return self.check_results(&FIRST_ATTEMPT, next),
            ("resumed", _) => return self.check_results(&[("spawn", "spawned 7"), ("exchange", "-")], next),
            ("works", _) => {
                let resets = self.policy.progress_resets_retries;
                let progress = if resets { "progress" } else { "progress, retries kept" };
                return self.check_results(&[("tool", "-"), ("tool-ends", progress)], next);
            }
            ("opens", _) => {
                let plan = self.run.state().plan.clone().expect("an attempt that opens a session");
                let opened = format!("opened {}", self.session(plan.session.id()));
                return self.check_results(&[("spawn", "spawned 7"), ("open", &opened)], next);
            }
            ("active", span) => {
                self.at = self.at + parse_span(span);
                return self.check_results(&[("activity", "-")], next);
            }
            ("silent", _) => return self.check_results(&[("tick", "> probe")], next),
            ("retry", _) => {
                let plan = self.announced.clone().expect("an announced attempt");
                let started = format!("attempt {}; > spawn {}", self.plan(&plan), plan.attempt);
                return self.check_results(&[("tick", &started), ("spawn", "spawned 7")], next);
            }
            ("inspect", _) => {
                let plan = self.announced.clone().expect("an announced attempt");
                let session = self.session(plan.session.id());
                let started = format!("attempt {}; > inspect {session}", self.plan(&plan));
                return self.check_results(&[("tick", &started)], next);
            }
            ("review", "again") => {
                let is_review =
                    |(_, record): &&(Moment, Record)| matches!(record, Record::ReviewStarted { .. });
                let is_check = |(_, record): &&(Moment, Record)| matches!(record, Record::CheckStarted);
                let review = self.journal.iter().filter(is_review).count() + 1;
                let check = self.journal.iter().filter(is_check).count();
                let started = format!("review started; > review {review} of check {check}");
                return self.check_results(&[("tick", &started)], next);
            }
            ("completes", _) => {
                let progress = if self.evidence.made_progress { "-" } else { "progress" };
                self.check_results(&[("ends ok", progress), ("idle", "input closed; > close input")], "");
                "exit 0"
            }
            ("crashes", _) => {
                self.check_results(&[("spawn", "spawned 7")], "");
                "signal 9"
            }
            ("cancels", _) => {
                let interrupted = "cancel by person; stop cancelled interrupt; > interrupt";
                let closed = "input closed; > close input";
                self.check_results(&[("cancel person", interrupted), ("ends aborted", closed)], "");
                "exit 0"
            }
            ("stops", workspace) => {
                self.check_results(&[("ends ok", "-"), (&format!("workspace {workspace}"), "-")], "");
                "idle"
            }
            ("fails", result) => {
                self.check_results(&[(&format!("ends {result}"), "-")], "");
                "exit 1"
            }
            _ => words,
        };
        if let Some(results) = self.results(event, next) {
            self.text.push_str(&format!("{words:<16} {results}\n"));
        }
    }

    fn check_results(&mut self, expected: &[(&str, &str)], next: &str) {
        for (index, (words, usual)) in expected.iter().enumerate() {
            let results = self.results(words, if index + 1 == expected.len() { next } else { "" });
            assert_eq!(results.as_deref(), Some(*usual), "`{words}` after:\n{}", self.text);
        }
    }

    /// Returns the records and actions of an event, or `None` if the words only change the time or evidence.
    fn results(&mut self, words: &str, next: &str) -> Option<String> {
        let is_next = |expected: &[&str]| expected.iter().any(|word| next.starts_with(word));
        if let Some(span) = words.strip_prefix('+') {
            self.at = self.at + parse_span(span);
            return None;
        }
        let event = self.event(words)?;
        let mut step = self.step(words, event);
        let mut results = Vec::new();
        if step.actions.last() == Some(&Action::Sweep)
            && !is_next(&["swept", "sweeping", "recover", "cancel"])
        {
            results = self.render(&step);
            step = self.step(words, Event::Swept(0));
            let swept = step.records.remove(0);
            assert_eq!(self.record(&swept), "swept 0", "{words}");
        }
        let inspects = step.actions.iter().any(|action| matches!(action, Action::InspectSession(_)));
        if inspects && !is_next(&["found", "recover", "cancel"]) {
            step.actions = self.step(words, Event::SessionInspected(SessionFileState::Ready)).actions;
        }
        if step.actions.contains(&Action::ProbeProcesses) && !is_next(&["probe", "probing"]) {
            step = self.step(words, Event::ProcessesProbed(None));
        }
        results.extend(self.render(&step));
        Some(if results.is_empty() { "-".to_owned() } else { results.join("; ") })
    }

    fn render(&mut self, step: &Step) -> Vec<String> {
        let mut results: Vec<String> = step.records.iter().map(|record| self.record(record)).collect();
        results.extend(step.actions.iter().map(|action| self.action(action)));
        results
    }

    fn step(&mut self, words: &str, event: Event) -> Step {
        // The roll differs between steps, but not between test runs.
        let now = Now { at: self.at, roll: self.journal.len() as u64 };
        let before = self.run.state().clone();
        let step = self.run.step(self.policy, now, event);
        for record in &step.records {
            self.replayed.apply(self.at, record);
        }
        assert!(!step.records.is_empty() || before == *self.run.state(), "{words}: changed without a record");
        assert_eq!(self.replayed.state(), self.run.state(), "{words}: the replayed run differs");
        self.journal.extend(step.records.iter().map(|record| (self.at, record.clone())));
        step
    }

    /// Returns the event that the words stand for, or `None` if they only add to the evidence.
    fn event(&mut self, words: &str) -> Option<Event> {
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        Some(match verb {
            "start" => Event::Started(match rest.strip_prefix("resume ") {
                Some(id) => SessionPlan::Resume(id.into()),
                None => SessionPlan::New("s1".into()),
            }),
            "reopen" => {
                let request = match rest {
                    "" => ResumeRequest::Continue,
                    "again" => ResumeRequest::RepeatTask,
                    words => ResumeRequest::Prompt(words.to_owned()),
                };
                Event::Reopened(request, Vec::new())
            }
            "found" => Event::SessionInspected(match rest {
                "ready" => SessionFileState::Ready,
                "damaged" => SessionFileState::Damaged,
                "stale" => SessionFileState::Stale,
                "elsewhere" => SessionFileState::Elsewhere,
                "empty" => SessionFileState::Empty,
                "missing" => SessionFileState::Missing,
                _ => panic!("`{rest}` is not a session file state"),
            }),
            "spawn" => {
                self.evidence = Evidence::from_exit(Exit::Unobserved);
                Event::Spawned(ProcessId { pid: 7, start_ticks: 1 })
            }
            "spawn-fails" => Event::SpawnFailed(match rest {
                "missing" => SpawnError::NotFound,
                "unusable" => SpawnError::NotRunnable,
                _ => SpawnError::NoResources,
            }),
            "exit" => {
                self.evidence.exit = Exit::Code(rest.parse().expect("an exit code"));
                Event::Exited(self.evidence.clone())
            }
            "signal" => {
                self.evidence.exit = Exit::Signal(rest.parse().expect("a signal"));
                Event::Exited(self.evidence.clone())
            }
            "summary" => Event::SummaryEnded(match rest {
                "none" => SummaryReport::NotNeeded,
                _ => SummaryReport::Ended(summary(rest)),
            }),
            "check" => Event::CheckEnded(match rest {
                "passes" => CheckResult::Passed,
                "fails" => CheckResult::Failed,
                _ => CheckResult::Stopped,
            }),
            "review" => Event::ReviewEnded(self.review(rest)),
            "probe" => Event::ProcessesProbed(process_activity(rest)),
            "swept" => Event::Swept(rest.parse().unwrap_or(0)),
            "tick" => {
                self.at = self.run.deadline(self.policy).expect("a deadline to tick at").at.max(self.at);
                Event::Ticked
            }
            "sleep" => {
                let span = parse_span(rest);
                self.at = self.at + span;
                Event::Downtime(span)
            }
            "slept" => Event::Downtime(parse_span(rest)),
            "cancel" => Event::Cancelled(cancel_source(rest)),
            "recover" => {
                let (found, stop) = rest.split_once("after ").unwrap_or((rest, ""));
                Event::Recovered {
                    found: self.found(found.trim()),
                    stop: (!stop.is_empty()).then(|| cancel_source(stop)),
                    last_record_at: Some(self.at),
                    changes: Vec::new(),
                }
            }
            // Evidence from the agent's files that is not a notice.
            "refuses" => {
                self.evidence.startup = Some(match rest {
                    "lost" => StartupError::SessionUnknown,
                    "in-use" => StartupError::SessionInUse,
                    "held" => StartupError::SessionHeld,
                    "unusable" => StartupError::Unusable,
                    "no-agent" => StartupError::NotAnAgent,
                    _ => panic!("`{rest}` is not a start-up error"),
                });
                return None;
            }
            "oom" => {
                self.evidence.oom_killed = true;
                return None;
            }
            "guard-lapses" => {
                self.evidence.guard_lapsed = true;
                return None;
            }
            "bill" => {
                let tokens = Tokens { output: rest.parse().expect("tokens"), ..Tokens::default() };
                let message =
                    Usage { tokens, messages: 1, reported_cost: Usd(tokens.output), ..Usage::default() };
                self.evidence.usage = self.evidence.usage.plus(message);
                return None;
            }
            "history" => {
                self.evidence.continuity = Some(match rest {
                    "unchanged" => Continuity::Unchanged,
                    "branched" => Continuity::Branched,
                    "unrelated" => Continuity::Unrelated,
                    _ => panic!("`{rest}` is not a continuity"),
                });
                return None;
            }
            // The probe of a silent agent, or the sweep, is still running.
            "probing" | "sweeping" => return None,
            // Notices without a supervisor: they are part of the files, but no event.
            "unsupervised" => {
                let _notice = self.notice(rest);
                return None;
            }
            _ => Event::Noticed(self.notice(words)),
        })
    }

    fn found(&self, words: &str) -> FoundAttempt {
        match words {
            "live" => FoundAttempt::Running(ProcessId { pid: 7, start_ticks: 1 }),
            "never" => FoundAttempt::Ended(Evidence::from_exit(Exit::NeverSpawned)),
            _ if words.starts_with("review ") => {
                let evidence = self.review(words.trim_start_matches("review "));
                FoundAttempt::Ended(Evidence { exit: Exit::Unobserved, ..evidence })
            }
            "summary ok" => FoundAttempt::Ended(Evidence { exit: Exit::Unobserved, ..summary("ok") }),
            "summary killed" => FoundAttempt::Ended(Evidence { exit: Exit::Unobserved, ..summary("killed") }),
            _ => FoundAttempt::Ended(Evidence { exit: Exit::Unobserved, ..self.evidence.clone() }),
        }
    }

    /// Returns the evidence of a reviewer. Each reviewer costs 5 micro-dollars.
    fn review(&self, words: &str) -> Evidence {
        let verdict = |complete, missing| Evidence {
            review: Some(ReviewVerdict { complete, missing }),
            ..summary("ok")
        };
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        match (verb, rest) {
            ("passes", _) => verdict(true, 0),
            ("contradicts", _) => verdict(true, 1),
            ("finds", number) => verdict(false, number.parse().expect("a number of findings")),
            ("denied", _) => Evidence { result: Some(result("denied")), ..verdict(true, 0) },
            ("usage", span) => {
                let resets_at = span.strip_prefix('+').map(|span| self.at + parse_span(span));
                let limit = RateLimit { status: RateLimitStatus::Rejected, resets_at };
                Evidence { rate_limit: Some(limit), ..summary("usage") }
            }
            _ => summary(words),
        }
    }

    fn notice(&mut self, words: &str) -> Notice {
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        let evidence = &mut self.evidence;
        match verb {
            "open" => {
                let plan = self.run.state().plan.as_ref().expect("an attempt that opens a session");
                let session = if rest.is_empty() { plan.session.id().clone() } else { rest.into() };
                evidence.session = Some(session.clone());
                Notice::SessionOpened(session)
            }
            "activity" => Notice::Activity,
            "message" => Notice::MessageEnded,
            "freezes" => Notice::ProcessFrozen,
            "exchange" => {
                evidence.exchange_open = evidence.result.is_some();
                evidence.claimed_done = false;
                Notice::ExchangeStarted
            }
            "tool" => {
                evidence.exchange_open = evidence.result.is_some();
                Notice::ToolStarted
            }
            "tool-ends" => {
                evidence.made_progress = true;
                Notice::ToolEnded
            }
            "ends" => {
                let result = result(rest);
                evidence.result = Some(result);
                evidence.exchange_open = false;
                evidence.results += 1;
                evidence.made_progress |= result.is_progress();
                Notice::ExchangeEnded(result)
            }
            "claims" => {
                evidence.claimed_done = true;
                Notice::ClaimedDone
            }
            "idle" => Notice::Idle,
            "usage" => {
                let tokens = Tokens { output: rest.parse().expect("tokens"), ..Tokens::default() };
                let cost = Usd(tokens.output);
                evidence.usage = evidence.usage.plus(Usage {
                    tokens,
                    messages: 1,
                    turns: 1,
                    reported_cost: cost,
                    ..Usage::default()
                });
                Notice::UsageUpdated(evidence.usage)
            }
            "workspace" => {
                evidence.workspace_fingerprint = rest.parse().ok();
                Notice::WorkspaceFingerprinted(rest.parse().expect("a number"))
            }
            "memory-exceeded" => Notice::MemoryExceeded,
            "shells" => {
                evidence.background = rest.parse().expect("a number of shells");
                Notice::BackgroundChanged { tasks: evidence.background, sub_agents: 0 }
            }
            "sub-agents" => {
                evidence.background = rest.parse().expect("a number of sub-agents");
                evidence.lost_sub_agents = evidence.background > 0;
                Notice::BackgroundChanged { tasks: evidence.background, sub_agents: evidence.background }
            }
            "kills-sub-agents" => Notice::BackgroundChanged { tasks: 0, sub_agents: 0 },
            "retrying" => {
                let mut words = rest.split(' ');
                let mut number = || words.next().and_then(|word| word.parse::<u16>().ok());
                let attempt = number().expect("the number of the retry");
                Notice::Retrying { attempt: attempt.into(), status: number(), delay: Span::from_secs(1) }
            }
            "limit" => {
                let reset = rest.strip_prefix("until +").map(|span| self.at + parse_span(span));
                let limit = RateLimit { status: RateLimitStatus::Rejected, resets_at: reset };
                evidence.rate_limit = Some(limit);
                Notice::RateLimitChanged(limit)
            }
            _ => panic!("`{words}` is not a word of the trace language"),
        }
    }

    fn record(&mut self, record: &Record) -> String {
        match record {
            Record::RunStarted => "run started".to_owned(),
            Record::RunReopened { .. } => "reopened".to_owned(),
            Record::ResumeStrategyChosen { strategy, reason } => {
                format!("strategy {} ({})", strategy.as_str(), reason_text(*reason))
            }
            Record::AttemptStarted { plan } => format!("attempt {}", self.plan(plan)),
            Record::SummaryStarted => "summary started".to_owned(),
            Record::SummaryStopOrdered { cause } => format!("stop summary ({})", as_str(cause)),
            Record::SummaryEnded { result, usage } => {
                let text = match result {
                    SummaryResult::Written => "summary written".to_owned(),
                    SummaryResult::NotNeeded => "no summary needed".to_owned(),
                    SummaryResult::Failed(fault) => format!("no summary ({fault})"),
                };
                let (cost, total) = (usage.reported_cost.0, self.run.state().usage.reported_cost.0);
                format!("{text} for {cost} of {total}")
            }
            Record::AttemptSpawned { process } => format!("spawned {}", process.pid),
            Record::SessionOpened { session } => format!("opened {}", self.session(session)),
            Record::ProgressMade { resets_retries } => {
                if *resets_retries { "progress" } else { "progress, retries kept" }.to_owned()
            }
            Record::LimitReached { limit, threshold, .. } => format!("limit {limit}: {}", as_str(threshold)),
            Record::AgentStopped { claimed_done, workspace_fingerprint, background, .. } => {
                let workspace = workspace_fingerprint
                    .map_or_else(String::new, |fingerprint| format!(", workspace {fingerprint}"));
                let running = if *background > 0 { format!(", {background} running") } else { String::new() };
                let claim = if *claimed_done { ", claims done" } else { "" };
                format!("agent stopped{workspace}{claim}{running}")
            }
            Record::PromptSent { prompt, remaining, .. } => {
                format!("sent {}{}", prompt_text(*prompt), remaining_text(*remaining))
            }
            Record::InputClosed => "input closed".to_owned(),
            Record::StopOrdered { cause, level, stall } => {
                let processes =
                    stall.and_then(|stall| stall.processes).map(describe_processes).unwrap_or_default();
                format!("stop {} {}{processes}", as_str(cause), as_str(level))
            }
            Record::StallDeferred { until, stall } => {
                let processes = stall.processes.map(describe_processes).unwrap_or_default();
                format!("silent for {}{processes}: excused for {}", stall.silent_for, until.since(self.at))
            }
            Record::Recovered { finding, .. } => format!("recovered ({})", as_str(finding)),
            Record::Downtime { duration: span } => format!("downtime {span}"),
            Record::AttemptEnded(AttemptEnd { fault, next, evidence, .. }) => {
                let note = if evidence.is_some() { ", evidence kept" } else { "" };
                format!("{}{note} -> {}", fault.map_or("ok", Fault::as_str), self.next(next))
            }
            Record::CheckStarted => "check started".to_owned(),
            Record::ReviewStarted { after_commands } => {
                if *after_commands { "review started after commands" } else { "review started" }.to_owned()
            }
            Record::ReviewEnded { result, usage, retry_at } => {
                let text = match result {
                    ReviewResult::Passed => "review passed".to_owned(),
                    ReviewResult::Failed(missing) => format!("review found {missing}"),
                    ReviewResult::NoVerdict(fault) => format!("no verdict ({fault})"),
                };
                let retry =
                    retry_at.map_or_else(String::new, |at| format!(", again in {}", at.since(self.at)));
                let total = self.run.state().usage.reported_cost.0;
                format!("{text} for {} of {total}{retry}", usage.reported_cost.0)
            }
            Record::CheckStopOrdered { cause } => format!("stop check ({})", as_str(cause)),
            Record::CheckEnded { result } => format!("check {}", as_str(result)),
            Record::Swept { stopped_processes } => format!("swept {stopped_processes}"),
            Record::CancelRequested { source } => format!("cancel by {}", as_str(source)),
            Record::SuspendOrdered { source } => format!("suspend by {}", as_str(source)),
            Record::Suspended { .. } => "suspended".to_owned(),
            Record::RunFinished { outcome } => self.outcome(outcome),
        }
    }

    fn action(&mut self, action: &Action) -> String {
        match action {
            Action::InspectSession(session) => format!("> inspect {}", self.session(session)),
            Action::StartSummary(plan) => format!("> summarize for {}", plan.attempt),
            Action::StopSummary => "> stop summary".to_owned(),
            Action::StartCheck(number) => format!("> check {number}"),
            Action::StartReview(ReviewPlan { review, check, remaining, .. }) => {
                format!("> review {review} of check {check}{}", remaining_text(*remaining))
            }
            Action::StopCheck { .. } => "> stop check".to_owned(),
            Action::Spawn(plan) if plan.with_summary => format!("> spawn {}, with summary", plan.attempt),
            Action::Spawn(plan) => format!("> spawn {}", plan.attempt),
            Action::SendPrompt(prompt, _) => format!("> send {}", prompt_text(*prompt)),
            Action::CloseInput => "> close input".to_owned(),
            Action::ProbeProcesses => "> probe".to_owned(),
            Action::Stop(level) => format!("> {}", as_str(level)),
            Action::Sweep => "> sweep".to_owned(),
            Action::Finish(outcome) => format!("> finish {}", outcome.exit_code()),
        }
    }

    fn next(&mut self, next: &AfterAttempt) -> String {
        match next {
            AfterAttempt::Attempt { at, remedy, plan } => {
                self.announced = Some(plan.clone());
                format!("{} in {}: {}", as_str(remedy), at.since(self.at), self.plan(plan))
            }
            AfterAttempt::Check => "check".to_owned(),
            AfterAttempt::Finish(outcome) => self.outcome(outcome),
        }
    }

    fn plan(&mut self, plan: &AttemptPlan) -> String {
        let session = match &plan.session {
            SessionPlan::New(id) => format!("new {}", self.session(id)),
            SessionPlan::Resume(id) => format!("resume {}", self.session(id)),
            SessionPlan::Fork { from, to } => format!("fork {} to {}", self.session(from), self.session(to)),
        };
        format!("{} {session}, {}{}", plan.attempt, prompt_text(plan.prompt), remaining_text(plan.remaining))
    }

    fn outcome(&self, outcome: &Outcome) -> String {
        let fault = outcome.fault.map_or(String::new(), |fault| format!(" by {fault}"));
        let fault = outcome.limit.map_or(String::new(), |limit| format!(" by limit of {limit}")) + &fault;
        let retry = outcome.retry_at.map_or(String::new(), |at| format!(" in {}", at.since(self.at)));
        format!("{}{fault}{retry}", outcome.kind)
    }

    fn session(&mut self, id: &SessionId) -> String {
        if id.as_str().len() < 36 {
            // The id comes from the trace itself.
            return id.to_string();
        }
        let index = self.sessions.iter().position(|existing| existing == id).unwrap_or_else(|| {
            self.sessions.push(id.clone());
            self.sessions.len() - 1
        });
        format!("s{}", index + 2)
    }
}

pub(super) fn prompt_text(prompt: PromptKind) -> String {
    match prompt {
        PromptKind::Task => "task".to_owned(),
        PromptKind::TaskAfterLoss(fault) => format!("task after loss ({fault})"),
        PromptKind::FollowUp => "follow-up".to_owned(),
        PromptKind::Continue(fault) => format!("continue ({fault})"),
        PromptKind::Nudge(nudge) => format!("nudge to {}", as_str(&nudge)),
        PromptKind::WrapUp(limit) => format!("wrap up ({limit})"),
        PromptKind::LimitRaised(limit) => format!("limit raised ({limit})"),
        PromptKind::KeepGoing(KeepGoingPrompt { stop_number, keep_improving, active_time, limit_near }) => {
            let worked = active_time.map_or_else(String::new, |worked| format!(", {worked} worked"));
            let improve = if keep_improving { ", improve" } else { "" };
            format!(
                "continue after stop {stop_number}{improve}{worked}{}",
                if limit_near { ", limit near" } else { "" }
            )
        }
        PromptKind::ConfirmDone => "confirm".to_owned(),
        PromptKind::CheckFailed(number) => format!("check {number} failed"),
    }
}

fn remaining_text(remaining: Remaining) -> String {
    let money = remaining.budget.map(|money| format!("{} of budget", money.0));
    let turns = remaining.turns.map(|turns| format!("{turns} turns"));
    let time = remaining.time.map(|time| time.to_string());
    let amounts: Vec<String> = [money, turns, time].into_iter().flatten().collect();
    if amounts.is_empty() { String::new() } else { format!(", remaining {}", amounts.join(", ")) }
}

fn reason_text(reason: StrategyReason) -> String {
    match reason {
        StrategyReason::SessionFile(state) => as_str(&state),
        StrategyReason::Fault(fault) => fault.to_string(),
        StrategyReason::NeverOpened => "never opened".to_owned(),
    }
}

fn as_str<T: serde::Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).expect("plain data serializes");
    json.replace(['"', '{', '}'], "").replace(':', " ")
}

/// Parses the result of a probe: the agent's state, and the busy children out of all children.
fn process_activity(words: &str) -> Option<ProcessActivity> {
    let (agent, children) = words.split_once(' ')?;
    let agent = match agent {
        "idle" => ProcessState::Idle,
        "busy" => ProcessState::Busy,
        "frozen" => ProcessState::Frozen,
        _ => panic!("`{agent}` is not a process state"),
    };
    let (busy, children) = children.split_once(" of ").expect("counts such as `1 of 2`");
    let number = |word: &str| word.parse().expect("a number of processes");
    Some(ProcessActivity { agent, connections: 1, children: number(children), busy_children: number(busy) })
}

fn describe_processes(processes: ProcessActivity) -> String {
    format!(" ({}, {} of {} busy)", as_str(&processes.agent), processes.busy_children, processes.children)
}

/// Returns the evidence of a summary. Each summary costs 5 micro-dollars if its process was spawned.
fn summary(words: &str) -> Evidence {
    let usage = Usage { messages: 1, reported_cost: Usd(5), ..Usage::default() };
    match words {
        "killed" => Evidence { usage, ..Evidence::from_exit(Exit::Code(143)) },
        "missing" => {
            let startup = Some(StartupError::ProgramMissing);
            Evidence { startup, ..Evidence::from_exit(Exit::NeverSpawned) }
        }
        _ => Evidence { result: Some(result(words)), usage, ..Evidence::from_exit(Exit::Code(0)) },
    }
}

fn result(word: &str) -> AgentResult {
    let done = AgentResult::COMPLETED;
    let error = AgentResult {
        is_error: true,
        terminal_reason: TerminalReason::ApiError,
        stop_reason: StopReason::Other,
        ..done
    };
    let ended_by = |terminal_reason| AgentResult { terminal_reason, ..error };
    let api_error = |kind| AgentResult { api_error: Some(kind), ..error };
    match word {
        "ok" => done,
        "empty" => AgentResult { empty: true, ..done },
        "paused" => AgentResult { stop_reason: StopReason::PauseTurn, ..done },
        "denied" => AgentResult { denials: 1, ..done },
        "refusal" => AgentResult { stop_reason: StopReason::Refusal, ..error },
        "aborted" => ended_by(TerminalReason::Aborted),
        "full" => ended_by(TerminalReason::PromptTooLong),
        "turns" => ended_by(TerminalReason::MaxTurns),
        "budget" => ended_by(TerminalReason::BudgetExhausted),
        "invalid" => ended_by(TerminalReason::InvalidResult),
        "unclear" => ended_by(TerminalReason::NotReported),
        "truncated" => api_error(ApiError::MaxOutputTokens),
        "network" => api_error(ApiError::ConnectionFailed),
        "portal" => api_error(ApiError::Malformed),
        "usage" => AgentResult { api_status: Some(429), ..api_error(ApiError::UsageLimitReached) },
        "credit" => AgentResult { message_error: Some(MessageError::Billing), ..error },
        "model" => {
            AgentResult { api_status: Some(404), message_error: Some(MessageError::ModelNotFound), ..error }
        }
        _ => AgentResult { api_status: Some(word.parse().expect("a result's word or status")), ..error },
    }
}
