//! One-line traces for the timeline: `start; spawn; open; used 3; ends 529; idle; exit 1; swept; tick`. Each word is an
//! event for the core, which decides as it would in a run without chance; `+2s` lets time pass, `tick` lets it pass until
//! the deadline. What the core records is told as `longhaul why` tells it.

use crate::chronicle::{Facts, Stand, attempts_of, next, timeline};
use crate::output::clock::Clock;
use crate::output::timeline::{next_text, text};
use longhaul::CommandContext;
use longhaul_core::{
    Action, ApiError, Ask, By, Checked, Condensation, Continuity, Ending, Event, Evidence, Exit, Found,
    Jitter, Moment, Notice, Now, Policy, Posture, Preset, Proc, RateLimit, RateLimitStatus, Record, Run,
    RunId, SessionFound, SessionPlan, SettingChange, Signs, Span, StopReason, Tally, Tokens, TurnResult, Usd,
};
use longhaul_store::Orphaned;
use std::collections::BTreeMap;
use std::path::Path;

/// The default policy without chance, so that waits are round.
pub fn plain() -> Policy {
    let mut policy = Preset::Default.policy();
    policy.backoff.jitter = Jitter::None;
    policy.reset_jitter = Span::ZERO;
    policy
}

/// What `longhaul why` prints of a run in which this happened; a supervised one, unless `gone` is the last word.
pub fn told(policy: &Policy, trace: &str) -> String {
    let clock = Clock::utc();
    let at = clock.read("2026-11-22T22:00").expect("a time");
    let mut story = Story {
        policy,
        at,
        run: Run::new(),
        journal: Vec::new(),
        evidence: Evidence::of_exit(Exit::NeverSpawned),
        facts: BTreeMap::new(),
        is_supervised: true,
    };
    let words: Vec<&str> = trace.split(';').map(str::trim).filter(|words| !words.is_empty()).collect();
    for (place, word) in words.iter().enumerate() {
        story.tell(word, words.get(place + 1).unwrap_or(&""));
    }
    let told: Vec<(Moment, &Record)> = story.journal.iter().map(|(at, record)| (*at, record)).collect();
    let entries = timeline(&told, &attempts_of(told.iter().copied()), &story.facts);
    let is_over = story.run.state().outcome().is_some();
    let stand = Stand { is_supervised: story.is_supervised && !is_over, is_told: is_over, now: story.at };
    let context =
        CommandContext { policy, model: None, permission_mode: None, program: Path::new("/bin/claude") };
    let next = next(&RunId::from("kmzqbd"), &story.run, context, stand, &clock);
    format!("{}{}", text(&entries, &clock), next_text(&next))
}

fn is_sleep(record: &Record) -> bool {
    matches!(record, Record::Downtime { .. })
}

struct Story<'a> {
    policy: &'a Policy,
    at: Moment,
    run: Run,
    journal: Vec<(Moment, Record)>,
    /// What the present process has said and done.
    evidence: Evidence,
    facts: BTreeMap<u32, Facts>,
    is_supervised: bool,
}

impl Story<'_> {
    fn tell(&mut self, words: &str, next: &str) {
        if let Some(span) = words.strip_prefix('+') {
            self.at = self.at + parse_span(span);
            return;
        }
        let Some(event) = self.event(words) else { return };
        let mut actions = self.step(event);
        if actions.iter().any(|action| matches!(action, Action::Inspect(_))) && !next.starts_with("found") {
            actions = self.step(Event::Inspected(SessionFound::Ready));
        }
        if actions.contains(&Action::Examine) && !next.starts_with("sees") {
            self.step(Event::Examined(None));
        }
    }

    fn step(&mut self, event: Event) -> Vec<Action> {
        let now = Now { at: self.at, roll: self.journal.len() as u64 };
        let step = self.run.step(self.policy, now, event);
        self.journal.extend(step.records.into_iter().map(|record| (self.at, record)));
        step.actions
    }

    fn facts(&mut self) -> &mut Facts {
        self.facts.entry(self.run.state().attempts()).or_default()
    }

    /// The event that the words stand for; nothing for what only adds to what is known.
    fn event(&mut self, words: &str) -> Option<Event> {
        let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
        Some(match verb {
            "start" => Event::Started(match rest.strip_prefix("resume ") {
                Some(id) => SessionPlan::Resume(id.into()),
                None => SessionPlan::New("s1".into()),
            }),
            "reopen" => {
                let ask = if rest.is_empty() { Ask::Continue } else { Ask::Prompt(rest.to_owned()) };
                let change = |setting: &str, from: &str, to: &str| SettingChange {
                    setting: setting.to_owned(),
                    from: from.to_owned(),
                    to: to.to_owned(),
                };
                let budget = change("budget", "1", "3");
                Event::Reopened(ask, vec![change("permission_mode", "default", "acceptEdits"), budget])
            }
            "found" => Event::Inspected(match rest {
                "missing" => SessionFound::Missing,
                _ => SessionFound::Damaged,
            }),
            "spawn" => {
                self.evidence = Evidence::of_exit(Exit::Unseen);
                Event::Spawned(Proc { pid: 7, start_ticks: 1 })
            }
            "exit" | "signal" => {
                let number = rest.parse().expect("a number");
                let exit = if verb == "exit" { Exit::Code(number) } else { Exit::Signal(number) };
                (self.evidence.exit, self.facts().exit) = (exit, Some(exit));
                Event::Exited(self.evidence.clone())
            }
            "recover" => Event::Recovered {
                found: match rest {
                    "live" => Found::Live(Proc { pid: 7, start_ticks: 1 }),
                    _ => Found::Gone(Evidence { exit: Exit::Unseen, ..self.evidence.clone() }),
                },
                // Before it is told that nothing ran.
                last_at: self.journal.iter().rev().find(|(_, record)| !is_sleep(record)).map(|(at, _)| *at),
                changes: Vec::new(),
            },
            "summary" => Event::Condensed(Condensation::Ended(Evidence {
                result: Some(TurnResult::COMPLETED),
                tally: Tally { messages: 1, cost: Usd(20_000), ..Tally::default() },
                ..Evidence::of_exit(Exit::Code(0))
            })),
            "check" => Event::Checked(if rest == "passes" { Checked::Passed } else { Checked::Failed }),
            "sees" => {
                Event::Examined(Some(Signs { agent: Posture::Idle, connections: 1, others: 1, busy: 1 }))
            }
            "swept" => Event::Swept(rest.parse().unwrap_or(0)),
            "tick" => {
                self.at = self.run.deadline(self.policy).expect("a deadline to tick at").at.max(self.at);
                Event::Ticked
            }
            "sleep" => {
                self.at = self.at + parse_span(rest);
                Event::Downtime(parse_span(rest))
            }
            "cancel" => Event::Cancelled(if rest == "term" { By::Sigterm } else { By::Person }),
            "calls" => {
                self.facts().tool_calls = rest.parse().ok();
                return None;
            }
            "orphaned" => {
                let orphaned =
                    Orphaned { at: self.at, silent_ms: parse_span(rest), processes_ended: Some(2) };
                self.facts().orphaned = Some(orphaned);
                return None;
            }
            "separate" => {
                self.evidence.continuity = Some(Continuity::Separate);
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
                evidence.progressed = true;
                Notice::ToolEnded
            }
            "turn" => Notice::TurnBegan,
            "claims" => {
                evidence.claimed = true;
                Notice::Claimed
            }
            "ends" => {
                let result = result(rest);
                evidence.result = Some(result);
                evidence.turns += 1;
                evidence.progressed |= result.is_progress();
                Notice::TurnEnded(result)
            }
            "idle" => Notice::Idled,
            // So many turns, at ten cents each.
            "used" => {
                let turns: u32 = rest.parse().expect("a number of turns");
                let tokens = Tokens { output: u64::from(turns) * 1000, ..Tokens::default() };
                let cost = Usd(u64::from(turns) * 100_000);
                evidence.tally =
                    evidence.tally.plus(Tally { tokens, messages: turns, turns, cost, ..Tally::default() });
                Notice::Used(evidence.tally)
            }
            "surveyed" => Notice::Surveyed(rest.parse().expect("a number")),
            "limit" => {
                let reset = self.at + parse_span(rest.strip_prefix("until +").expect("until when"));
                let limit = RateLimit { status: RateLimitStatus::Rejected, resets_at: Some(reset) };
                evidence.rate_limit = Some(limit);
                Notice::RateLimitChanged(limit)
            }
            _ => panic!("`{verb} {rest}` is no word of the trace language"),
        }
    }
}

fn result(word: &str) -> TurnResult {
    let done = TurnResult::COMPLETED;
    let error =
        TurnResult { is_error: true, ending: Ending::ApiError, stop_reason: StopReason::Other, ..done };
    match word {
        "ok" => done,
        "empty" => TurnResult { empty: true, ..done },
        "denied" => TurnResult { denials: 2, ..done },
        "aborted" => TurnResult { ending: Ending::Aborted, ..error },
        "full" => TurnResult { ending: Ending::PromptTooLong, ..error },
        "network" => TurnResult { api_error: Some(ApiError::ConnectionFailed), ..error },
        "usage" => {
            TurnResult { api_error: Some(ApiError::UsageLimitReached), api_status: Some(429), ..error }
        }
        _ => TurnResult { api_status: Some(word.parse().expect("a result's word or status")), ..error },
    }
}

fn parse_span(words: &str) -> Span {
    crate::duration::duration(words).expect("a duration")
}
