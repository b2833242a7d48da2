//! The language of one-line traces, and how a run's answers are written out.
//!
//! `start; spawn; open; tool; ends 529; idle; exit 1; swept; tick`: each word is an event. `+2s`
//! lets time pass, `tick` lets it pass until the deadline. What an agent says is remembered, so
//! that its `exit` brings the evidence that its stream would have brought. A session that is looked for is
//! there and whole, and at a silent agent nobody can look, without a word, unless the next word
//! is `found`, or `sees` or `looking`, or something comes in between.

use crate::{
    Action, AfterAttempt, AgentResult, ApiError, AttemptPlan, CancelSource, CheckResult, Continuity, Event,
    Evidence, Exit, Fault, FoundAttempt, Jitter, KeepGoingPrompt, MessageError, Moment, Notice, Now, Outcome,
    Policy, Preset, ProcessActivity, ProcessId, ProcessState, PromptKind, RateLimit, RateLimitStatus, Record,
    Remaining, ResumeRequest, Run, SessionFileState, SessionId, SessionPlan, Span, SpawnError, StartupError,
    Step, StopReason, StrategyReason, SummaryReport, SummaryResult, TerminalReason, Tokens, Usage, Usd,
};
use expect_test::Expect;

const START: Moment = Moment::from_unix_seconds(1_790_000_000);

/// The default policy without chance, so that waits are round.
pub(super) fn plain() -> Policy {
    steady(Preset::Default)
}

/// A preset without chance.
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
    expected.assert_eq(&Story::of(policy, trace).text);
}

/// What follows a beginning.
pub(super) fn check_rest_with(policy: &Policy, beginning: &str, rest: &str, expected: Expect) {
    let whole = Story::of(policy, &format!("{beginning}; {rest}")).text;
    let started = Story::of(policy, beginning).text.lines().count();
    let rest: Vec<&str> = whole.lines().skip(started).collect();
    expected.assert_eq(&format!("{}\n", rest.join("\n")));
}

/// The records of a trace, for tests of the journal.
pub(super) fn records_of(policy: &Policy, trace: &str) -> Vec<Record> {
    Story::of(policy, trace).journal
}

struct Story<'a> {
    policy: &'a Policy,
    at: Moment,
    run: Run,
    shadow: Run,
    journal: Vec<Record>,
    /// What the present process has said and done.
    evidence: Evidence,
    /// Sessions in the order of their appearance: `s1`, `s2`, ...
    sessions: Vec<SessionId>,
    text: String,
}

impl Story<'_> {
    fn of<'a>(policy: &'a Policy, trace: &str) -> Story<'a> {
        let mut story = Story::new(policy);
        let mut words = trace.split(';').map(str::trim).filter(|words| !words.is_empty()).peekable();
        while let Some(word) = words.next() {
            story.tell(word, words.peek().unwrap_or(&""));
        }
        story
    }

    fn new(policy: &Policy) -> Story<'_> {
        Story {
            policy,
            at: START,
            run: Run::new(),
            shadow: Run::new(),
            journal: Vec::new(),
            evidence: Evidence::of_exit(Exit::NeverSpawned),
            sessions: Vec::new(),
            text: String::new(),
        }
    }

    fn tell(&mut self, words: &str, next: &str) {
        let comes = |known: &[&str]| known.iter().any(|word| next.starts_with(word));
        if let Some(span) = words.strip_prefix('+') {
            self.at = self.at + parse_span(span);
            return;
        }
        let Some(event) = self.event(words) else { return };
        let mut step = self.step(words, event);
        let looks = step.actions.iter().any(|action| matches!(action, Action::InspectSession(_)));
        if looks && !comes(&["found", "recover", "cancel"]) {
            step.actions = self.step(words, Event::SessionInspected(SessionFileState::Ready)).actions;
        }
        if step.actions.contains(&Action::ProbeProcesses) && !comes(&["sees", "looking"]) {
            step = self.step(words, Event::ProcessesProbed(None));
        }
        let mut answer: Vec<String> = step.records.iter().map(|record| self.record(record)).collect();
        answer.extend(step.actions.iter().map(|action| self.action(action)));
        let answer = if answer.is_empty() { "-".to_owned() } else { answer.join("; ") };
        self.text.push_str(&format!("{words:<16} {answer}\n"));
    }

    fn step(&mut self, words: &str, event: Event) -> Step {
        // The roll differs from step to step, and not from run to run.
        let now = Now { at: self.at, roll: self.journal.len() as u64 };
        let before = self.run.state().clone();
        let step = self.run.step(self.policy, now, event);
        for record in &step.records {
            self.shadow.apply(record);
        }
        assert!(!step.records.is_empty() || before == *self.run.state(), "{words}: changed without a record");
        assert_eq!(self.shadow.state(), self.run.state(), "{words}: the shadow differs");
        self.journal.extend(step.records.iter().cloned());
        step
    }

    /// The event that the words stand for; nothing for what only adds to the evidence.
    fn event(&mut self, words: &str) -> Option<Event> {
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        Some(match verb {
            "start" => Event::Started(match rest.strip_prefix("resume ") {
                Some(id) => SessionPlan::Resume(id.into()),
                None => SessionPlan::New("s1".into()),
            }),
            "reopen" => {
                let ask = match rest {
                    "" => ResumeRequest::Continue,
                    "again" => ResumeRequest::RepeatTask,
                    words => ResumeRequest::Prompt(words.to_owned()),
                };
                Event::Reopened(ask, Vec::new())
            }
            "found" => Event::SessionInspected(match rest {
                "ready" => SessionFileState::Ready,
                "damaged" => SessionFileState::Damaged,
                "behind" => SessionFileState::Stale,
                "elsewhere" => SessionFileState::Elsewhere,
                "empty" => SessionFileState::Empty,
                "missing" => SessionFileState::Missing,
                _ => panic!("what is found: `{rest}`?"),
            }),
            "spawn" => {
                self.evidence = Evidence::of_exit(Exit::Unobserved);
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
            "sees" => Event::ProcessesProbed(signs(rest)),
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
            "cancel" => Event::Cancelled(match rest {
                "person" => CancelSource::Person,
                "now" => CancelSource::PersonNow,
                "term" => CancelSource::Sigterm,
                "hup" => CancelSource::Sighup,
                _ => panic!("who cancels: `{rest}`?"),
            }),
            "recover" => Event::Recovered {
                found: self.found(rest),
                last_record_at: Some(self.at),
                changes: Vec::new(),
            },
            // What the agent's files say besides notices.
            "refuses" => {
                self.evidence.startup = Some(startup(rest));
                return None;
            }
            "oom" => {
                self.evidence.oom_killed = true;
                return None;
            }
            "history" => {
                self.evidence.continuity = Some(match rest {
                    "unchanged" => Continuity::Unchanged,
                    "branched" => Continuity::Branched,
                    "separate" => Continuity::Unrelated,
                    _ => panic!("what became of the history: `{rest}`?"),
                });
                return None;
            }
            "lapse" => {
                self.evidence.guard_lapsed = true;
                return None;
            }
            "hint" => {
                self.evidence.retry_after = Some(parse_span(rest));
                return None;
            }
            "bill" => {
                let tokens = Tokens { output: rest.parse().expect("tokens"), ..Tokens::default() };
                let message =
                    Usage { tokens, messages: 1, reported_cost: Usd(tokens.output), ..Usage::default() };
                self.evidence.usage = self.evidence.usage.plus(message);
                return None;
            }
            // Somebody is still looking at what a silent agent does.
            "looking" => return None,
            // Said while nobody listened: in the files, and no event.
            "unheard" => {
                let _unheard = self.notice(rest);
                return None;
            }
            _ => Event::Noticed(self.notice(words)),
        })
    }

    fn found(&self, words: &str) -> FoundAttempt {
        match words {
            "live" => FoundAttempt::Running(ProcessId { pid: 7, start_ticks: 1 }),
            "never" => FoundAttempt::Ended(Evidence::of_exit(Exit::NeverSpawned)),
            "summary ok" => FoundAttempt::Ended(Evidence { exit: Exit::Unobserved, ..summary("ok") }),
            "summary killed" => FoundAttempt::Ended(Evidence { exit: Exit::Unobserved, ..summary("killed") }),
            _ => FoundAttempt::Ended(Evidence { exit: Exit::Unobserved, ..self.evidence.clone() }),
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
            "stir" => Notice::Activity,
            "message" => Notice::MessageEnded,
            "halts" => Notice::ProcessFrozen,
            "turn" => {
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
            "used" => {
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
            "surveyed" => {
                evidence.workspace_fingerprint = rest.parse().ok();
                Notice::WorkspaceFingerprinted(rest.parse().expect("a number"))
            }
            "swells" => Notice::MemoryExceeded,
            "shells" => Notice::BackgroundChanged(rest.parse().expect("a number of shells")),
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
            _ => panic!("`{words}` is no word of the trace language"),
        }
    }

    fn record(&mut self, record: &Record) -> String {
        match record {
            Record::RunStarted { .. } => "run started".to_owned(),
            Record::RunReopened { .. } => "goes on".to_owned(),
            Record::ResumeStrategyChosen { strategy, reason: because, .. } => {
                format!("rung {} ({})", strategy.as_str(), because_of(*because))
            }
            Record::AttemptStarted { plan, .. } => format!("attempt {}", self.plan(plan)),
            Record::SummaryStarted { .. } => "summary ordered".to_owned(),
            Record::SummaryStopOrdered { cause: why, .. } => format!("summary stopped ({})", as_str(why)),
            Record::SummaryEnded { result: outcome, usage, .. } => {
                let came = match outcome {
                    SummaryResult::Written => "summary written".to_owned(),
                    SummaryResult::NotNeeded => "no summary needed".to_owned(),
                    SummaryResult::Failed(fault) => format!("no summary ({fault})"),
                };
                let (spent, all) = (usage.reported_cost.0, self.run.state().usage.reported_cost.0);
                format!("{came} for {spent} of {all}")
            }
            Record::AttemptSpawned { process, .. } => format!("spawned {}", process.pid),
            Record::SessionOpened { session, .. } => format!("opened {}", self.session(session)),
            Record::ProgressMade { resets_retries: forgives, .. } => {
                if *forgives { "progress" } else { "progress, nothing forgiven" }.to_owned()
            }
            Record::LimitReached { limit, threshold: reach, .. } => format!("{} of {limit}", as_str(reach)),
            Record::AgentStopped {
                claimed_done: claimed,
                workspace_fingerprint: workspace,
                background,
                ..
            } => {
                let at = workspace.map_or_else(String::new, |workspace| format!(" at {workspace}"));
                let running = if *background > 0 { format!(", {background} running") } else { String::new() };
                format!("stopped{at}{}{running}", if *claimed { ", finished" } else { "" })
            }
            Record::PromptSent { prompt: say, remaining: left, .. } => {
                format!("said {}{}", said(*say), left_of(*left))
            }
            Record::InputClosed { .. } => "input ended".to_owned(),
            Record::StopOrdered { cause: why, level, stall, .. } => {
                let seen = stall.and_then(|stall| stall.processes).map(seen).unwrap_or_default();
                format!("stop {} {}{seen}", as_str(why), as_str(level))
            }
            Record::StallDeferred { until, stall, .. } => {
                let seen = stall.processes.map(seen).unwrap_or_default();
                format!("silent for {}{seen}: excused for {}", stall.silent_for, until.since(self.at))
            }
            Record::Recovered { finding: remains, .. } => format!("recovered ({})", as_str(remains)),
            Record::Downtime { duration: span } => format!("slept {span}"),
            Record::AttemptEnded { fault, next, evidence, .. } => {
                let kept = if evidence.is_some() { ", evidence kept" } else { "" };
                format!("{}{kept} -> {}", fault.map_or("well", Fault::word), self.next(next))
            }
            Record::CheckStarted { .. } => "check ordered".to_owned(),
            Record::CheckStopOrdered { cause: why, .. } => format!("check stopped ({})", as_str(why)),
            Record::CheckEnded { result, .. } => format!("check {}", as_str(result)),
            Record::Swept { stopped_processes: ended, .. } => format!("swept {ended}"),
            Record::CancelRequested { source: by, .. } => format!("cancel by {}", as_str(by)),
            Record::SuspendOrdered { source: by, .. } => format!("suspend by {}", as_str(by)),
            Record::Suspended { .. } => "suspended".to_owned(),
            Record::RunFinished { outcome, .. } => self.outcome(outcome),
        }
    }

    fn action(&mut self, action: &Action) -> String {
        match action {
            Action::InspectSession(session) => format!("> look for {}", self.session(session)),
            Action::StartSummary(plan) => format!("> condense for {}", plan.attempt),
            Action::StopSummary => "> end condensing".to_owned(),
            Action::StartCheck(number) => format!("> check {number}"),
            Action::StopCheck => "> end check".to_owned(),
            Action::Spawn(plan) if plan.with_summary => format!("> spawn {}, condensed", plan.attempt),
            Action::Spawn(plan) => format!("> spawn {}", plan.attempt),
            Action::Say(say, _) => format!("> say {}", said(*say)),
            Action::CloseInput => "> end input".to_owned(),
            Action::ProbeProcesses => "> examine".to_owned(),
            Action::Stop(level) => format!("> {}", as_str(level)),
            Action::Sweep => "> sweep".to_owned(),
            Action::Finish(outcome) => format!("> finish {}", outcome.exit_code()),
        }
    }

    fn next(&mut self, next: &AfterAttempt) -> String {
        match next {
            AfterAttempt::Attempt { at, remedy, plan } => {
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
        format!("{} {session}, {}{}", plan.attempt, said(plan.prompt), left_of(plan.remaining))
    }

    fn outcome(&self, outcome: &Outcome) -> String {
        let fault = outcome.fault.map_or(String::new(), |fault| format!(" by {fault}"));
        let fault = outcome.limit.map_or(String::new(), |limit| format!(" by limit of {limit}")) + &fault;
        let later = outcome.retry_at.map_or(String::new(), |at| format!(" in {}", at.since(self.at)));
        format!("{}{fault}{later}", outcome.kind)
    }

    fn session(&mut self, id: &SessionId) -> String {
        if id.as_str().len() < 36 {
            // Named by the trace itself.
            return id.to_string();
        }
        let place = self.sessions.iter().position(|known| known == id).unwrap_or_else(|| {
            self.sessions.push(id.clone());
            self.sessions.len() - 1
        });
        format!("s{}", place + 2)
    }
}

fn said(say: PromptKind) -> String {
    match say {
        PromptKind::Task => "task".to_owned(),
        PromptKind::TaskAfterLoss(fault) => format!("task again ({fault})"),
        PromptKind::FollowUp => "what was asked".to_owned(),
        PromptKind::Continue(fault) => format!("continue ({fault})"),
        PromptKind::Nudge(nudge) => format!("nudge to {}", as_str(&nudge)),
        PromptKind::WrapUp(limit) => format!("wrap up ({limit})"),
        PromptKind::LimitRaised(limit) => format!("there is more ({limit})"),
        PromptKind::KeepGoing(KeepGoingPrompt {
            stop_number: stop,
            keep_improving: extended,
            active_time: worked,
            limit_near: last,
        }) => {
            let worked = worked.map_or_else(String::new, |worked| format!(", {worked} worked"));
            let extended = if extended { ", extended" } else { "" };
            format!(
                "go on after stop {stop}{extended}{worked}{}",
                if last { ", the last warning" } else { "" }
            )
        }
        PromptKind::ConfirmDone => "confirm".to_owned(),
        PromptKind::CheckFailed(number) => format!("check {number} failed"),
    }
}

fn left_of(left: Remaining) -> String {
    let money = left.budget.map(|money| format!("{} of money", money.0));
    let turns = left.turns.map(|turns| format!("{turns} turns"));
    let time = left.time.map(|time| time.to_string());
    let left: Vec<String> = [money, turns, time].into_iter().flatten().collect();
    if left.is_empty() { String::new() } else { format!(", left {}", left.join(", ")) }
}

fn because_of(reason: StrategyReason) -> String {
    match reason {
        StrategyReason::SessionFile(found) => as_str(&found),
        StrategyReason::Fault(fault) => fault.to_string(),
        StrategyReason::NeverOpened => "never opened".to_owned(),
    }
}

/// A value's wire word.
fn as_str<T: serde::Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).expect("plain data serialises");
    json.replace(['"', '{', '}'], "").replace(':', " ")
}

/// What somebody sees who looks: a posture of the agent, and how many of the other processes are busy of how many.
fn signs(words: &str) -> Option<ProcessActivity> {
    let (agent, others) = words.split_once(' ')?;
    let agent = match agent {
        "idle" => ProcessState::Idle,
        "busy" => ProcessState::Busy,
        "halted" => ProcessState::Frozen,
        _ => panic!("what does the agent do: `{agent}`?"),
    };
    let (busy, others) = others.split_once(" of ").expect("`1 of 2`");
    let number = |word: &str| word.parse().expect("a number of processes");
    Some(ProcessActivity { agent, connections: 1, children: number(others), busy_children: number(busy) })
}

fn seen(signs: ProcessActivity) -> String {
    format!(" ({}, {} of {} busy)", as_str(&signs.agent), signs.busy_children, signs.children)
}

/// What a model that was to condense leaves: it cost 5 each time.
fn summary(words: &str) -> Evidence {
    let usage = Usage { messages: 1, reported_cost: Usd(5), ..Usage::default() };
    match words {
        "killed" => Evidence { usage, ..Evidence::of_exit(Exit::Code(143)) },
        "missing" => {
            let startup = Some(StartupError::ProgramMissing);
            Evidence { startup, ..Evidence::of_exit(Exit::NeverSpawned) }
        }
        _ => Evidence { result: Some(result(words)), usage, ..Evidence::of_exit(Exit::Code(0)) },
    }
}

fn startup(word: &str) -> StartupError {
    match word {
        "lost" => StartupError::SessionUnknown,
        "in-use" => StartupError::SessionInUse,
        "held" => StartupError::SessionHeld,
        "unusable" => StartupError::Unusable,
        _ => panic!("what does it refuse: `{word}`?"),
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
    let ended = |ending| AgentResult { terminal_reason: ending, ..error };
    let typed = |kind| AgentResult { api_error: Some(kind), ..error };
    match word {
        "ok" => done,
        "empty" => AgentResult { empty: true, ..done },
        "paused" => AgentResult { stop_reason: StopReason::PauseTurn, ..done },
        "denied" => AgentResult { denials: 1, ..done },
        "refusal" => AgentResult { stop_reason: StopReason::Refusal, ..error },
        "aborted" => ended(TerminalReason::Aborted),
        "full" => ended(TerminalReason::PromptTooLong),
        "turns" => ended(TerminalReason::MaxTurns),
        "budget" => ended(TerminalReason::BudgetExhausted),
        "unclear" => ended(TerminalReason::NotReported),
        "cut" => typed(ApiError::MaxOutputTokens),
        "network" => typed(ApiError::ConnectionFailed),
        "portal" => typed(ApiError::Malformed),
        "usage" => AgentResult { api_status: Some(429), ..typed(ApiError::UsageLimitReached) },
        "credit" => AgentResult { message_error: Some(MessageError::Billing), ..error },
        "model" => {
            AgentResult { api_status: Some(404), message_error: Some(MessageError::ModelNotFound), ..error }
        }
        _ => AgentResult { api_status: Some(word.parse().expect("a result's word or status")), ..error },
    }
}

fn parse_span(words: &str) -> Span {
    let digits = words.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number = digits.parse().expect("a number before the unit");
    match &words[digits.len()..] {
        "ms" => Span(number),
        "s" => Span::from_secs(number),
        "m" => Span::from_mins(number),
        "h" => Span::from_hours(number),
        unit => panic!("`{unit}` is no unit"),
    }
}
