//! Runs one-line traces for timeline tests: `start; spawn; open; used 3; ends 529; idle; exit 1; swept;
//! tick`.
//!
//! Each word is an event for the core, which decides as in a real run, but without jitter. `+2s` lets time
//! pass, and `tick` lets it pass until the deadline. The records are formatted like the output of `longhaul
//! why`.

use crate::output::time::TimeFormat;
use crate::run_history::timeline_text::{next_text, text};
use crate::run_history::{AttemptFiles, RunStatus, next_step, timeline};
use longhaul_core::{
    Action, AgentResult, ApiError, CancelSource, CheckResult, Continuity, Event, Evidence, Exit,
    FoundAttempt, Jitter, Moment, Notice, Now, Policy, Preset, ProcessActivity, ProcessId, ProcessState,
    RateLimit, RateLimitStatus, Record, ResumeRequest, Run, RunHistory, RunSpec, SessionFileState,
    SessionPlan, SettingChange, Span, StopReason, SummaryReport, TerminalReason, Tokens, Usage, Usd,
};
use longhaul_store::WatchdogStop;
use std::collections::BTreeMap;

/// Returns the default policy without jitter, so that waits are round numbers.
pub fn plain() -> Policy {
    let mut policy = Preset::Default.policy();
    policy.backoff.jitter = Jitter::None;
    policy.reset_jitter = Span::ZERO;
    policy
}

/// Returns the output of `longhaul why` for this trace. The run is supervised unless the trace contains
/// `gone`.
pub fn render(policy: &Policy, trace: &str) -> String {
    let clock = TimeFormat::utc();
    let at = clock.read("2026-11-22T22:00").expect("a time");
    let mut trace_run = TraceRun {
        policy,
        at,
        run: Run::new(),
        journal: Vec::new(),
        evidence: Evidence::from_exit(Exit::NeverSpawned),
        files: BTreeMap::new(),
        is_supervised: true,
    };
    let events: Vec<&str> = trace.split(';').map(str::trim).filter(|event| !event.is_empty()).collect();
    for (index, event) in events.iter().enumerate() {
        trace_run.handle(event, events.get(index + 1).unwrap_or(&""));
    }
    let history = RunHistory::new(trace_run.journal.iter().map(|(at, record)| (*at, record)));
    let entries = timeline(&history, &trace_run.files);
    let is_finished = trace_run.run.state().outcome().is_some();
    let status = RunStatus {
        is_supervised: trace_run.is_supervised && !is_finished,
        is_outcome_published: is_finished,
        now: trace_run.at,
    };
    let spec = RunSpec::new("/bin/claude", "/work", "p", policy.clone());
    let next = next_step("kmzqbd", &trace_run.run, &spec, status, &clock);
    format!("{}{}", text(&entries, &clock), next_text(&next))
}

fn is_sleep(record: &Record) -> bool {
    matches!(record, Record::Downtime { .. })
}

struct TraceRun<'a> {
    policy: &'a Policy,
    at: Moment,
    run: Run,
    journal: Vec<(Moment, Record)>,
    /// Evidence of the current process.
    evidence: Evidence,
    files: BTreeMap<u32, AttemptFiles>,
    is_supervised: bool,
}

impl TraceRun<'_> {
    fn handle(&mut self, words: &str, next: &str) {
        if let Some(span) = words.strip_prefix('+') {
            self.at = self.at + parse_span(span);
            return;
        }
        let Some(event) = self.event(words) else { return };
        let mut actions = self.step(event);
        if actions.iter().any(|action| matches!(action, Action::InspectSession(_)))
            && !next.starts_with("found")
        {
            actions = self.step(Event::SessionInspected(SessionFileState::Ready));
        }
        if actions.contains(&Action::ProbeProcesses) && !next.starts_with("sees") {
            self.step(Event::ProcessesProbed(None));
        }
    }

    fn step(&mut self, event: Event) -> Vec<Action> {
        let now = Now { at: self.at, roll: self.journal.len() as u64 };
        let step = self.run.step(self.policy, now, event);
        self.journal.extend(step.records.into_iter().map(|record| (self.at, record)));
        step.actions
    }

    fn files(&mut self) -> &mut AttemptFiles {
        self.files.entry(self.run.state().attempts()).or_default()
    }

    /// Returns the event for these words, or `None` if they only add evidence or files.
    fn event(&mut self, words: &str) -> Option<Event> {
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        Some(match verb {
            "start" => Event::Started(match rest.strip_prefix("resume ") {
                Some(id) => SessionPlan::Resume(id.into()),
                None => SessionPlan::New("s1".into()),
            }),
            "reopen" => {
                let request = if rest.is_empty() {
                    ResumeRequest::Continue
                } else {
                    ResumeRequest::Prompt(rest.to_owned())
                };
                let change = |setting: &str, from: &str, to: &str| SettingChange {
                    setting: setting.to_owned(),
                    from: from.to_owned(),
                    to: to.to_owned(),
                };
                let budget = change("budget", "1", "3");
                Event::Reopened(request, vec![change("permission_mode", "default", "acceptEdits"), budget])
            }
            "found" => Event::SessionInspected(match rest {
                "missing" => SessionFileState::Missing,
                _ => SessionFileState::Damaged,
            }),
            "spawn" => {
                self.evidence = Evidence::from_exit(Exit::Unobserved);
                Event::Spawned(ProcessId { pid: 7, start_ticks: 1 })
            }
            "exit" | "signal" => {
                let number = rest.parse().expect("a number");
                let exit = if verb == "exit" { Exit::Code(number) } else { Exit::Signal(number) };
                (self.evidence.exit, self.files().exit) = (exit, Some(exit));
                Event::Exited(self.evidence.clone())
            }
            "recover" => Event::Recovered {
                found: match rest {
                    "live" => FoundAttempt::Running(ProcessId { pid: 7, start_ticks: 1 }),
                    _ => FoundAttempt::Ended(Evidence { exit: Exit::Unobserved, ..self.evidence.clone() }),
                },
                stop: None,
                // The downtime that precedes the takeover is not counted.
                last_record_at: self
                    .journal
                    .iter()
                    .rev()
                    .find(|(_, record)| !is_sleep(record))
                    .map(|(at, _)| *at),
                changes: Vec::new(),
            },
            "summary" => Event::SummaryEnded(SummaryReport::Ended(Evidence {
                result: Some(AgentResult::COMPLETED),
                usage: Usage { messages: 1, reported_cost: Usd(20_000), ..Usage::default() },
                ..Evidence::from_exit(Exit::Code(0))
            })),
            "check" => {
                Event::CheckEnded(if rest == "passes" { CheckResult::Passed } else { CheckResult::Failed })
            }
            "sees" => Event::ProcessesProbed(Some(ProcessActivity {
                agent: ProcessState::Idle,
                connections: 1,
                children: 1,
                busy_children: 1,
            })),
            "swept" => Event::Swept(rest.parse().unwrap_or(0)),
            "tick" => {
                self.at = self.run.deadline(self.policy).expect("a deadline to tick at").at.max(self.at);
                Event::Ticked
            }
            "sleep" => {
                self.at = self.at + parse_span(rest);
                Event::Downtime(parse_span(rest))
            }
            "cancel" => {
                Event::Cancelled(if rest == "term" { CancelSource::Sigterm } else { CancelSource::Person })
            }
            "calls" => {
                self.files().tool_calls = rest.parse().ok();
                return None;
            }
            "orphaned" => {
                let stop = WatchdogStop {
                    at: self.at.into(),
                    silent_ms: parse_span(rest),
                    processes_stopped: Some(2),
                };
                self.files().watchdog_stop = Some(stop);
                return None;
            }
            "disk-full" => {
                self.files().disk_was_full = true;
                return None;
            }
            "separate" => {
                self.evidence.continuity = Some(Continuity::Unrelated);
                return None;
            }
            "gone" => {
                self.is_supervised = false;
                return None;
            }
            _ => Event::Noticed(self.notice(verb, rest)),
        })
    }

    fn notice(&mut self, verb: &str, rest: &str) -> Notice {
        let evidence = &mut self.evidence;
        match verb {
            "open" => {
                let plan = self.run.state().plan.as_ref().expect("an attempt that opens a session");
                evidence.session = Some(plan.session.id().clone());
                Notice::SessionOpened(plan.session.id().clone())
            }
            "tool" => {
                evidence.made_progress = true;
                Notice::ToolEnded
            }
            "turn" => Notice::ExchangeStarted,
            "claims" => {
                evidence.claimed_done = true;
                Notice::ClaimedDone
            }
            "ends" => {
                let result = result(rest);
                evidence.result = Some(result);
                evidence.results += 1;
                evidence.made_progress |= result.is_progress();
                Notice::ExchangeEnded(result)
            }
            "idle" => Notice::Idle,
            // The number of turns, at 10 cents each.
            "used" => {
                let turns: u32 = rest.parse().expect("a number of turns");
                let tokens = Tokens { output: u64::from(turns) * 1000, ..Tokens::default() };
                let cost = Usd(u64::from(turns) * 100_000);
                evidence.usage = evidence.usage.plus(Usage {
                    tokens,
                    messages: turns,
                    turns,
                    reported_cost: cost,
                    ..Usage::default()
                });
                Notice::UsageUpdated(evidence.usage)
            }
            "surveyed" => Notice::WorkspaceFingerprinted(rest.parse().expect("a number")),
            "limit" => {
                let reset = self.at + parse_span(rest.strip_prefix("until +").expect("until when"));
                let limit = RateLimit { status: RateLimitStatus::Rejected, resets_at: Some(reset) };
                evidence.rate_limit = Some(limit);
                Notice::RateLimitChanged(limit)
            }
            _ => panic!("`{verb} {rest}` is not a word of the trace language"),
        }
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
    match word {
        "ok" => done,
        "empty" => AgentResult { empty: true, ..done },
        "denied" => AgentResult { denials: 2, ..done },
        "aborted" => AgentResult { terminal_reason: TerminalReason::Aborted, ..error },
        "full" => AgentResult { terminal_reason: TerminalReason::PromptTooLong, ..error },
        "network" => AgentResult { api_error: Some(ApiError::ConnectionFailed), ..error },
        "usage" => {
            AgentResult { api_error: Some(ApiError::UsageLimitReached), api_status: Some(429), ..error }
        }
        _ => AgentResult { api_status: Some(word.parse().expect("a result's word or status")), ..error },
    }
}

fn parse_span(words: &str) -> Span {
    crate::time_arg::duration(words).expect("a duration")
}
