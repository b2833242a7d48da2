//! Runs on disk, as Longhaul leaves them: plans, journals and what attempts spent, without the agents.

use jiff::Timestamp;
use longhaul_core::{
    Fault, Moment, Next, Outcome, OutcomeKind, Preset, Proc, Record, Remedy, Say, SessionPlan, SpawnPlan,
    Tally, Tokens, Usd,
};
use serde_json::json;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

const DAYS: u64 = 365;
const DAY_MS: u64 = 86_400_000;
/// 2026-01-01.
const FIRST_DAY_MS: u64 = 1_767_225_600_000;
const LETTERS: &[u8; 19] = b"bcdfghjkmnpqrstvwxz";
const MODELS: [&str; 3] = ["claude-opus-5-5", "claude-sonnet-4-5", "claude-haiku-5-5"];

/// Makes so many runs, and returns the id of one in the middle.
pub fn make(home: &Path, count: usize, attempts: u32) -> io::Result<String> {
    let policy = Preset::Default.policy();
    for number in 0..count as u64 {
        let began = FIRST_DAY_MS + number % DAYS * DAY_MS + number / DAYS * 60_000;
        let dir = home.join("runs").join(&stamp(began)[..10]).join(id(number));
        fs::create_dir_all(dir.join("attempts"))?;
        let plan = json!({
            "longhaul": env!("CARGO_PKG_VERSION"),
            "started_at": stamp(began),
            "prompt": { "text": format!("Prove lemma {number} of the paper, and write down what it rests on.") },
            "cwd": format!("/home/me/projects/project-{}", number % 40),
            "model": MODELS[(number % 3) as usize],
            "agent": { "name": "claude", "program": "/usr/local/bin/claude" },
            "argv": [],
            "env": { "set": [], "removed": [] },
            "policy": &policy,
        });
        fs::write(dir.join("plan.json"), serde_json::to_vec(&plan)?)?;
        let mut journal = io::BufWriter::new(fs::File::create(dir.join("journal.jsonl"))?);
        for (seq, (at, records)) in steps(number, began, attempts).iter().enumerate() {
            serde_json::to_writer(&mut journal, &json!({ "seq": seq + 1, "at": at, "records": records }))?;
            journal.write_all(b"\n")?;
        }
        journal.flush()?;
        for attempt in 1..=attempts {
            let dir = dir.join("attempts").join(format!("{attempt:03}"));
            fs::create_dir(&dir)?;
            fs::write(dir.join("spent.json"), serde_json::to_vec(&spent(number))?)?;
        }
    }
    Ok(id(count as u64 / 2))
}

fn stamp(ms: u64) -> String {
    let timestamp = Timestamp::from_millisecond(ms as i64).expect("it is within the calendar");
    format!("{timestamp:.3}")
}

fn id(number: u64) -> String {
    // A factor that shares none with 19^6, so that neighbours do not begin alike.
    let mut rest = number.wrapping_mul(7_368_787) % 47_045_881;
    let letter = |_| {
        let letter = LETTERS[(rest % 19) as usize];
        rest /= 19;
        char::from(letter)
    };
    (0..6).map(letter).collect()
}

fn cost(number: u64) -> u64 {
    10_000 + number % 977 * 100
}

fn tokens() -> Tokens {
    Tokens { input: 120, output: 2_400, cache_read: 90_000, cache_write: 4_000 }
}

fn spent(number: u64) -> serde_json::Value {
    json!([{
        "model": MODELS[(number % 3) as usize],
        "cost_usd": cost(number) as f64 / 1e6,
        "estimated_cost_usd": 0.0,
        "unpriced": false,
        "tokens": tokens(),
        "cut_tokens": Tokens::default(),
        "messages": 12,
    }])
}

/// A run that was overloaded but for its last attempt.
fn steps(number: u64, began: u64, attempts: u32) -> Vec<(Moment, Vec<Record>)> {
    let session = format!("{number:08x}-0000-4000-8000-000000000000");
    let plan = |attempt: u32| {
        let plan = if attempt == 1 {
            SessionPlan::New(session.as_str().into())
        } else {
            SessionPlan::Resume(session.as_str().into())
        };
        SpawnPlan::new(attempt, plan, if attempt == 1 { Say::Task } else { Say::Continue(Fault::Overloaded) })
    };
    let kind = if number.is_multiple_of(10) { OutcomeKind::Failed } else { OutcomeKind::Done };
    let outcome = Outcome { kind, ..Outcome::DONE };
    let mut steps = Vec::new();
    for attempt in 1..=attempts {
        let at = |seconds: u64| Moment(began + (u64::from(attempt) * 600 + seconds) * 1_000);
        let started = Record::AttemptStarted { at: at(0), plan: plan(attempt) };
        let first = (attempt == 1).then_some(Record::RunStarted { at: at(0) });
        steps.push((at(0), first.into_iter().chain([started]).collect()));
        let proc = Proc { pid: 4_711, start_ticks: 123_456 };
        steps.push((at(0), vec![Record::AttemptSpawned { at: at(0), proc }]));
        steps.push((at(1), vec![Record::SessionOpened { at: at(1), session: session.as_str().into() }]));
        steps.push((at(20), vec![Record::Progressed { at: at(20), forgives: true }]));
        let is_last = attempt == attempts;
        let next = if is_last {
            Next::Finish(outcome)
        } else {
            Next::Attempt { at: at(500), remedy: Remedy::WaitOut, plan: plan(attempt + 1) }
        };
        let ended = Record::AttemptEnded {
            at: at(400),
            fault: (!is_last).then_some(Fault::Overloaded),
            tally: Tally {
                tokens: tokens(),
                messages: 12,
                turns: 12,
                cost: Usd(cost(number)),
                ..Tally::default()
            },
            result: None,
            denied: 0,
            questions: Default::default(),
            continuity: None,
            evidence: None,
            next,
        };
        steps.push((at(400), vec![ended]));
        let swept = Record::Swept { at: at(401), ended: 0 };
        let finished = is_last.then_some(Record::RunFinished { at: at(401), outcome });
        steps.push((at(401), [swept].into_iter().chain(finished).collect()));
    }
    steps
}
