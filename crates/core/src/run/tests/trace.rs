//! The language of one-line traces, and how a run's answers are written out.
//!
//! `start; spawn; open; tool; ends 529; idle; exit 1; swept; tick`: each word is an event. `+2s`
//! lets time pass, `tick` lets it pass until the deadline. What an agent says is remembered, so
//! that its `exit` brings the evidence that its stream would have brought. A session that is looked for is
//! there and whole, and at a silent agent nobody can look, without a word, unless the next word
//! is `found`, or `sees` or `looking`, or something comes in between.

use crate::{
    Action, ApiError, Ask, Because, By, Checked, Condensation, Condensed, Continuity, Ending, Event,
    Evidence, Exit, Fault, Found, Jitter, Left, MessageError, Moment, Next, Notice, Now, Outcome, Policy,
    Posture, Preset, Proc, Push, RateLimit, RateLimitStatus, Record, Run, Say, SessionFound, SessionId,
    SessionPlan, Signs, Span, SpawnError, SpawnPlan, StartupError, Step, StopReason, Tally, Tokens,
    TurnResult, Usd,
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
    let begun = Story::of(policy, beginning).text.lines().count();
    let rest: Vec<&str> = whole.lines().skip(begun).collect();
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
        let looks = step.actions.iter().any(|action| matches!(action, Action::Inspect(_)));
        if looks && !comes(&["found", "recover", "cancel"]) {
            step.actions = self.step(words, Event::Inspected(SessionFound::Ready)).actions;
        }
        if step.actions.contains(&Action::Examine) && !comes(&["sees", "looking"]) {
            step = self.step(words, Event::Examined(None));
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
                    "" => Ask::Continue,
                    "again" => Ask::Again,
                    words => Ask::Prompt(words.to_owned()),
                };
                Event::Reopened(ask, Vec::new())
            }
            "found" => Event::Inspected(match rest {
                "ready" => SessionFound::Ready,
                "damaged" => SessionFound::Damaged,
                "behind" => SessionFound::Behind,
                "elsewhere" => SessionFound::Elsewhere,
                "empty" => SessionFound::Empty,
                "missing" => SessionFound::Missing,
                _ => panic!("what is found: `{rest}`?"),
            }),
            "spawn" => {
                self.evidence = Evidence::of_exit(Exit::Unseen);
                Event::Spawned(Proc { pid: 7, start_ticks: 1 })
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
            "summary" => Event::Condensed(match rest {
                "none" => Condensation::NotNeeded,
                _ => Condensation::Ended(summary(rest)),
            }),
            "check" => Event::Checked(match rest {
                "passes" => Checked::Passed,
                "fails" => Checked::Failed,
                _ => Checked::Stopped,
            }),
            "sees" => Event::Examined(signs(rest)),
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
                "person" => By::Person,
                "now" => By::PersonNow,
                "term" => By::Sigterm,
                "hup" => By::Sighup,
                _ => panic!("who cancels: `{rest}`?"),
            }),
            "recover" => {
                Event::Recovered { found: self.found(rest), last_at: Some(self.at), changes: Vec::new() }
            }
            // What the agent's files say besides notices.
            "refuses" => {
                self.evidence.startup = Some(startup(rest));
                return None;
            }
            "oom" => {
                self.evidence.memory_kill = true;
                return None;
            }
            "history" => {
                self.evidence.continuity = Some(match rest {
                    "unchanged" => Continuity::Unchanged,
                    "branched" => Continuity::Branched,
                    "separate" => Continuity::Separate,
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
                let message = Tally { tokens, messages: 1, cost: Usd(tokens.output), ..Tally::default() };
                self.evidence.tally = self.evidence.tally.plus(message);
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

    fn found(&self, words: &str) -> Found {
        match words {
            "live" => Found::Live(Proc { pid: 7, start_ticks: 1 }),
            "never" => Found::Gone(Evidence::of_exit(Exit::NeverSpawned)),
            "summary ok" => Found::Gone(Evidence { exit: Exit::Unseen, ..summary("ok") }),
            "summary killed" => Found::Gone(Evidence { exit: Exit::Unseen, ..summary("killed") }),
            _ => Found::Gone(Evidence { exit: Exit::Unseen, ..self.evidence.clone() }),
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
            "stir" => Notice::Stirred,
            "message" => Notice::MessageEnded,
            "halts" => Notice::Halted,
            "turn" => {
                evidence.turn_open = evidence.result.is_some();
                evidence.claimed = false;
                Notice::TurnBegan
            }
            "tool" => {
                evidence.turn_open = evidence.result.is_some();
                Notice::ToolBegan
            }
            "tool-ends" => {
                evidence.progressed = true;
                Notice::ToolEnded
            }
            "ends" => {
                let result = result(rest);
                evidence.result = Some(result);
                evidence.turn_open = false;
                evidence.turns += 1;
                evidence.progressed |= result.is_progress();
                Notice::TurnEnded(result)
            }
            "claims" => {
                evidence.claimed = true;
                Notice::Claimed
            }
            "idle" => Notice::Idled,
            "used" => {
                let tokens = Tokens { output: rest.parse().expect("tokens"), ..Tokens::default() };
                let cost = Usd(tokens.output);
                evidence.tally =
                    evidence.tally.plus(Tally { tokens, messages: 1, turns: 1, cost, ..Tally::default() });
                Notice::Used(evidence.tally)
            }
            "surveyed" => {
                evidence.workspace = rest.parse().ok();
                Notice::Surveyed(rest.parse().expect("a number"))
            }
            "swells" => Notice::Swollen,
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
            Record::RungTaken { rung, because, .. } => {
                format!("rung {} ({})", rung.word(), because_of(*because))
            }
            Record::AttemptStarted { plan, .. } => format!("attempt {}", self.plan(plan)),
            Record::CondenseOrdered { .. } => "summary ordered".to_owned(),
            Record::CondenseStopped { why, .. } => format!("summary stopped ({})", word(why)),
            Record::Condensed { outcome, tally, .. } => {
                let came = match outcome {
                    Condensed::Written => "summary written".to_owned(),
                    Condensed::NotNeeded => "no summary needed".to_owned(),
                    Condensed::Failed(fault) => format!("no summary ({fault})"),
                };
                let (spent, all) = (tally.cost.0, self.run.state().tally.cost.0);
                format!("{came} for {spent} of {all}")
            }
            Record::AttemptSpawned { proc, .. } => format!("spawned {}", proc.pid),
            Record::SessionOpened { session, .. } => format!("opened {}", self.session(session)),
            Record::Progressed { forgives, .. } => {
                if *forgives { "progress" } else { "progress, nothing forgiven" }.to_owned()
            }
            Record::LimitReached { limit, reach, .. } => format!("{} of {limit}", word(reach)),
            Record::Stopped { claimed, workspace, background, .. } => {
                let at = workspace.map_or_else(String::new, |workspace| format!(" at {workspace}"));
                let running = if *background > 0 { format!(", {background} running") } else { String::new() };
                format!("stopped{at}{}{running}", if *claimed { ", finished" } else { "" })
            }
            Record::Said { say, left, .. } => format!("said {}{}", said(*say), left_of(*left)),
            Record::InputEnded { .. } => "input ended".to_owned(),
            Record::StopOrdered { why, level, silence, .. } => {
                let seen = silence.and_then(|silence| silence.signs).map(seen).unwrap_or_default();
                format!("stop {} {}{seen}", word(why), word(level))
            }
            Record::SilenceExcused { until, silence, .. } => {
                let seen = silence.signs.map(seen).unwrap_or_default();
                format!("silent for {}{seen}: excused for {}", silence.unheard, until.since(self.at))
            }
            Record::Recovered { remains, .. } => format!("recovered ({})", word(remains)),
            Record::Downtime { span } => format!("slept {span}"),
            Record::AttemptEnded { fault, next, evidence, .. } => {
                let kept = if evidence.is_some() { ", evidence kept" } else { "" };
                format!("{}{kept} -> {}", fault.map_or("well", Fault::word), self.next(next))
            }
            Record::CheckOrdered { .. } => "check ordered".to_owned(),
            Record::CheckStopped { why, .. } => format!("check stopped ({})", word(why)),
            Record::Checked { result, .. } => format!("check {}", word(result)),
            Record::Swept { ended, .. } => format!("swept {ended}"),
            Record::CancelOrdered { by, .. } => format!("cancel by {}", word(by)),
            Record::SuspendOrdered { by, .. } => format!("suspend by {}", word(by)),
            Record::Suspended { .. } => "suspended".to_owned(),
            Record::RunFinished { outcome, .. } => self.outcome(outcome),
        }
    }

    fn action(&mut self, action: &Action) -> String {
        match action {
            Action::Inspect(session) => format!("> look for {}", self.session(session)),
            Action::Condense(plan) => format!("> condense for {}", plan.attempt),
            Action::EndCondensing => "> end condensing".to_owned(),
            Action::Check(number) => format!("> check {number}"),
            Action::EndCheck => "> end check".to_owned(),
            Action::Spawn(plan) if plan.condensed => format!("> spawn {}, condensed", plan.attempt),
            Action::Spawn(plan) => format!("> spawn {}", plan.attempt),
            Action::Say(say, _) => format!("> say {}", said(*say)),
            Action::EndInput => "> end input".to_owned(),
            Action::Examine => "> examine".to_owned(),
            Action::Stop(level) => format!("> {}", word(level)),
            Action::Sweep => "> sweep".to_owned(),
            Action::Finish(outcome) => format!("> finish {}", outcome.exit_code()),
        }
    }

    fn next(&mut self, next: &Next) -> String {
        match next {
            Next::Attempt { at, remedy, plan } => {
                format!("{} in {}: {}", word(remedy), at.since(self.at), self.plan(plan))
            }
            Next::Check => "check".to_owned(),
            Next::Finish(outcome) => self.outcome(outcome),
        }
    }

    fn plan(&mut self, plan: &SpawnPlan) -> String {
        let session = match &plan.session {
            SessionPlan::New(id) => format!("new {}", self.session(id)),
            SessionPlan::Resume(id) => format!("resume {}", self.session(id)),
            SessionPlan::Fork { from, to } => format!("fork {} to {}", self.session(from), self.session(to)),
        };
        format!("{} {session}, {}{}", plan.attempt, said(plan.say), left_of(plan.left))
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

fn said(say: Say) -> String {
    match say {
        Say::Task => "task".to_owned(),
        Say::TaskAgain(fault) => format!("task again ({fault})"),
        Say::Asked => "what was asked".to_owned(),
        Say::Continue(fault) => format!("continue ({fault})"),
        Say::Nudge(nudge) => format!("nudge to {}", word(&nudge)),
        Say::WrapUp(limit) => format!("wrap up ({limit})"),
        Say::More(limit) => format!("there is more ({limit})"),
        Say::KeepGoing(Push { stop, extended, worked, last }) => {
            let worked = worked.map_or_else(String::new, |worked| format!(", {worked} worked"));
            let extended = if extended { ", extended" } else { "" };
            format!(
                "go on after stop {stop}{extended}{worked}{}",
                if last { ", the last warning" } else { "" }
            )
        }
        Say::Confirm => "confirm".to_owned(),
        Say::CheckFailed(number) => format!("check {number} failed"),
    }
}

fn left_of(left: Left) -> String {
    let money = left.money.map(|money| format!("{} of money", money.0));
    let turns = left.turns.map(|turns| format!("{turns} turns"));
    let time = left.time.map(|time| time.to_string());
    let left: Vec<String> = [money, turns, time].into_iter().flatten().collect();
    if left.is_empty() { String::new() } else { format!(", left {}", left.join(", ")) }
}

fn because_of(because: Because) -> String {
    match because {
        Because::Found(found) => word(&found),
        Because::Fault(fault) => fault.to_string(),
        Because::NeverOpened => "never opened".to_owned(),
    }
}

/// A value's wire word.
fn word<T: serde::Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).expect("plain data serialises");
    json.replace(['"', '{', '}'], "").replace(':', " ")
}

/// What somebody sees who looks: a posture of the agent, and how many of the other processes are busy of how many.
fn signs(words: &str) -> Option<Signs> {
    let (agent, others) = words.split_once(' ')?;
    let agent = match agent {
        "idle" => Posture::Idle,
        "busy" => Posture::Busy,
        "halted" => Posture::Halted,
        _ => panic!("what does the agent do: `{agent}`?"),
    };
    let (busy, others) = others.split_once(" of ").expect("`1 of 2`");
    let number = |word: &str| word.parse().expect("a number of processes");
    Some(Signs { agent, connections: 1, others: number(others), busy: number(busy) })
}

fn seen(signs: Signs) -> String {
    format!(" ({}, {} of {} busy)", word(&signs.agent), signs.busy, signs.others)
}

/// What a model that was to condense leaves: it cost 5 each time.
fn summary(words: &str) -> Evidence {
    let tally = Tally { messages: 1, cost: Usd(5), ..Tally::default() };
    match words {
        "killed" => Evidence { tally, ..Evidence::of_exit(Exit::Code(143)) },
        "missing" => {
            let startup = Some(StartupError::ProgramMissing);
            Evidence { startup, ..Evidence::of_exit(Exit::NeverSpawned) }
        }
        _ => Evidence { result: Some(result(words)), tally, ..Evidence::of_exit(Exit::Code(0)) },
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

fn result(word: &str) -> TurnResult {
    let done = TurnResult::COMPLETED;
    let error =
        TurnResult { is_error: true, ending: Ending::ApiError, stop_reason: StopReason::Other, ..done };
    let ended = |ending| TurnResult { ending, ..error };
    let typed = |kind| TurnResult { api_error: Some(kind), ..error };
    match word {
        "ok" => done,
        "empty" => TurnResult { empty: true, ..done },
        "paused" => TurnResult { stop_reason: StopReason::PauseTurn, ..done },
        "denied" => TurnResult { denials: 1, ..done },
        "refusal" => TurnResult { stop_reason: StopReason::Refusal, ..error },
        "aborted" => ended(Ending::Aborted),
        "full" => ended(Ending::PromptTooLong),
        "turns" => ended(Ending::MaxTurns),
        "budget" => ended(Ending::BudgetExhausted),
        "unclear" => ended(Ending::Unstated),
        "cut" => typed(ApiError::MaxOutputTokens),
        "network" => typed(ApiError::ConnectionFailed),
        "portal" => typed(ApiError::Malformed),
        "usage" => TurnResult { api_status: Some(429), ..typed(ApiError::UsageLimitReached) },
        "credit" => TurnResult { message_error: Some(MessageError::Billing), ..error },
        "model" => {
            TurnResult { api_status: Some(404), message_error: Some(MessageError::ModelNotFound), ..error }
        }
        _ => TurnResult { api_status: Some(word.parse().expect("a result's word or status")), ..error },
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
