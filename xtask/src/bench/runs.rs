//! Writes runs to disk as Longhaul leaves them: plans, journals, usage and transcripts of attempts, without
//! running any agent.

use jiff::Timestamp;
use longhaul_agent::transcript_message::{EventKind, MessageOrigin, TranscriptMessage};
use longhaul_core::{
    AfterAttempt, AttemptEnd, AttemptPlan, Fault, Moment, Outcome, OutcomeKind, Preset, ProcessId,
    PromptKind, Record, Remedy, RunSpec, SessionPlan, Tokens, Usage, Usd,
};
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const DAYS: u64 = 365;
const DAY_MS: u64 = 86_400_000;
/// 2026-01-01.
const FIRST_DAY_MS: u64 = 1_767_225_600_000;
const LETTERS: &[u8; 19] = b"bcdfghjkmnpqrstvwxz";
pub const MODELS: [&str; 3] = ["claude-opus-5-5", "claude-sonnet-4-5", "claude-haiku-5-5"];

pub struct RunFixture {
    /// Number of the run. All values without a field are derived from it.
    pub number: u64,
    pub start_ms: u64,
    pub task: String,
    pub attempts: Vec<AttemptFixture>,
    pub outcome: Outcome,
    /// Number of tool calls of each attempt. If it is 0, there is no transcript.
    pub calls: u32,
}

#[derive(Clone, Copy)]
pub struct AttemptFixture {
    pub work_seconds: u64,
    pub fault: Option<Fault>,
    pub wait_seconds: u64,
}

/// Writes `count` similar runs, started in one year: every attempt but the last is overloaded. Returns the id
/// of a run in the middle.
pub fn write_many(home: &Path, count: usize, attempts: u32) -> io::Result<String> {
    for number in 0..count as u64 {
        let kind = if number.is_multiple_of(10) { OutcomeKind::Failed } else { OutcomeKind::Done };
        let overloaded =
            AttemptFixture { work_seconds: 400, fault: Some(Fault::Overloaded), wait_seconds: 200 };
        let mut attempt_fixtures = vec![overloaded; attempts as usize];
        if let Some(last) = attempt_fixtures.last_mut() {
            last.fault = None;
        }
        let fixture = RunFixture {
            number,
            start_ms: FIRST_DAY_MS + number % DAYS * DAY_MS + number / DAYS * 60_000,
            task: format!("Prove lemma {number} of the paper, and list its assumptions."),
            attempts: attempt_fixtures,
            outcome: Outcome { kind, ..Outcome::DONE },
            calls: 0,
        };
        write(home, &fixture)?;
    }
    Ok(id(count as u64 / 2))
}

pub fn write(home: &Path, fixture: &RunFixture) -> io::Result<PathBuf> {
    let number = fixture.number;
    let dir = home.join("runs").join(&stamp(fixture.start_ms)[..10]).join(id(number));
    fs::create_dir_all(dir.join("attempts"))?;
    let cwd = format!("/home/me/projects/project-{}", number % 40);
    let mut spec = RunSpec::new("/usr/local/bin/claude", cwd, &fixture.task, Preset::Default.policy());
    spec.model = Some(model(number).to_owned());
    let mut plan = serde_json::to_value(spec)?;
    plan["longhaul_version"] = env!("CARGO_PKG_VERSION").into();
    plan["started_at"] = stamp(fixture.start_ms).into();
    plan["env"] = json!({ "set": [], "removed": [] });
    plan["marker"] = id(number).into();
    fs::write(dir.join("plan.json"), serde_json::to_vec(&plan)?)?;
    let mut journal = BufWriter::new(File::create(dir.join("journal.jsonl"))?);
    for (seq, (at, records)) in steps(fixture).iter().enumerate() {
        let mut line = json!({ "seq": seq + 1, "at": at, "records": records });
        if seq == 0 {
            line["format"] = 1.into();
        }
        serde_json::to_writer(&mut journal, &line)?;
        journal.write_all(b"\n")?;
    }
    journal.flush()?;
    for attempt in 1..=fixture.attempts.len() {
        let dir = dir.join("attempts").join(format!("{attempt:03}"));
        fs::create_dir(&dir)?;
        fs::write(dir.join("usage.json"), serde_json::to_vec(&model_usage(number))?)?;
    }
    if fixture.calls > 0 {
        let mut transcript = transcript(&dir)?;
        for attempt in 1..=fixture.attempts.len() as u32 {
            let start_ms = attempt_start_ms(fixture, attempt);
            for call in 0..u64::from(fixture.calls) {
                transcript_line(&mut transcript, attempt, call, start_ms + call * 3_000)?;
            }
        }
        transcript.flush()?;
    }
    Ok(dir)
}

pub fn transcript(dir: &Path) -> io::Result<BufWriter<File>> {
    fs::create_dir_all(dir.join("logs"))?;
    Ok(BufWriter::new(File::create(dir.join("logs/transcript.jsonl"))?))
}

/// Writes the messages of one tool call: the model's text, the call and its result. About three kilobytes.
pub fn transcript_line(out: &mut impl Write, attempt: u32, call: u64, at: u64) -> io::Result<()> {
    // The tools alternate. Bash, which agents call most, has two of five calls.
    let (tool, input) = match call % 5 {
        0 => ("Read", json!({ "file_path": format!("/home/me/projects/src/part_{call}.rs") })),
        1 | 2 => ("Bash", json!({ "command": format!("cargo test -p part_{call} 2>&1 | tail -40") })),
        3 => (
            "Edit",
            json!({ "file_path": "/home/me/projects/src/lib.rs", "old_string": "a", "new_string": "b" }),
        ),
        _ => ("Grep", json!({ "pattern": format!("fn step_{call}"), "path": "src" })),
    };
    let id = format!("toolu_{attempt}_{call}");
    let timestamp = Some(stamp(at));
    let text = TranscriptMessage {
        timestamp: timestamp.clone(),
        content: Some(format!("Next I look at part {call}; the test before it passes now.")),
        ..TranscriptMessage::new(EventKind::Text, MessageOrigin::Model, attempt)
    };
    let tool_call = TranscriptMessage {
        timestamp: timestamp.clone(),
        tool: Some(tool.to_owned()),
        tool_use_id: Some(id.clone()),
        input: Some(serde_json::value::to_raw_value(&input)?),
        ..TranscriptMessage::new(EventKind::ToolCall, MessageOrigin::Model, attempt)
    };
    let tool_result = TranscriptMessage {
        timestamp,
        content: Some("test parts::part_has_its_documented_size ... ok\n".repeat(50)),
        tool_use_id: Some(id),
        is_error: Some(call % 9 == 7),
        ..TranscriptMessage::new(EventKind::ToolResult, MessageOrigin::Tool, attempt)
    };
    for message in [text, tool_call, tool_result] {
        serde_json::to_writer(&mut *out, &message)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

pub fn stamp(ms: u64) -> String {
    let timestamp = Timestamp::from_millisecond(ms as i64).expect("the date is representable");
    format!("{timestamp:.3}")
}

pub fn id(number: u64) -> String {
    // A factor without common divisors with 19^6, so that neighbors do not start with the same letters.
    let mut rest = number.wrapping_mul(7_368_787) % 47_045_881;
    let letter = |_| {
        let letter = LETTERS[(rest % 19) as usize];
        rest /= 19;
        char::from(letter)
    };
    (0..6).map(letter).collect()
}

fn model(number: u64) -> &'static str {
    MODELS[(number % 3) as usize]
}

fn cost(number: u64) -> u64 {
    10_000 + number % 977 * 100
}

fn tokens() -> Tokens {
    Tokens { input: 120, output: 2_400, cache_read: 90_000, cache_write: 4_000 }
}

fn model_usage(number: u64) -> serde_json::Value {
    json!([{
        "model": model(number),
        "reported_cost_usd": cost(number) as f64 / 1e6,
        "estimated_cost_usd": 0.0,
        "unpriced": false,
        "tokens": tokens(),
        "truncated_tokens": Tokens::default(),
        "messages": 12,
    }])
}

fn attempt_start_ms(fixture: &RunFixture, attempt: u32) -> u64 {
    let earlier = &fixture.attempts[..attempt as usize - 1];
    // The run needs a second before its first attempt.
    let seconds: u64 = earlier.iter().map(|attempt| attempt.work_seconds + attempt.wait_seconds).sum();
    fixture.start_ms + (1 + seconds) * 1_000
}

fn steps(fixture: &RunFixture) -> Vec<(Moment, Vec<Record>)> {
    let session = format!("{:08x}-0000-4000-8000-000000000000", fixture.number);
    let plan = |attempt: u32, previous_fault: Option<Fault>| {
        let session = session.as_str().into();
        let plan = if attempt == 1 { SessionPlan::New(session) } else { SessionPlan::Resume(session) };
        AttemptPlan::new(attempt, plan, previous_fault.map_or(PromptKind::Task, PromptKind::Continue))
    };
    let mut steps = Vec::new();
    let mut previous_fault = None;
    for (attempt, attempt_fixture) in (1..).zip(&fixture.attempts) {
        let AttemptFixture { work_seconds, fault, wait_seconds } = *attempt_fixture;
        let at = |seconds: u64| Moment(attempt_start_ms(fixture, attempt) + seconds * 1_000);
        let ended = at(work_seconds);
        let started = Record::AttemptStarted { plan: plan(attempt, previous_fault) };
        let first = (attempt == 1).then_some(Record::RunStarted);
        steps.push((at(0), first.into_iter().chain([started]).collect()));
        let process = ProcessId { pid: 4_711, start_ticks: 123_456 };
        steps.push((at(0), vec![Record::AttemptSpawned { process }]));
        steps.push((at(1), vec![Record::SessionOpened { session: session.as_str().into() }]));
        if work_seconds >= 20 {
            steps.push((at(20), vec![Record::ProgressMade { resets_retries: true }]));
        }
        let is_last = attempt as usize == fixture.attempts.len();
        let next = if is_last {
            AfterAttempt::Finish(fixture.outcome)
        } else {
            let at = at(work_seconds + wait_seconds);
            AfterAttempt::Attempt { at, remedy: Remedy::WaitOut, plan: plan(attempt + 1, fault) }
        };
        let record = Record::AttemptEnded(AttemptEnd::new(
            fault,
            Usage {
                tokens: tokens(),
                messages: 12,
                turns: 12,
                reported_cost: Usd(cost(fixture.number)),
                ..Usage::default()
            },
            next,
        ));
        steps.push((ended, vec![record]));
        let swept = Record::Swept { stopped_processes: 0 };
        let finished = is_last.then_some(Record::RunFinished { outcome: fixture.outcome });
        steps.push((ended, [swept].into_iter().chain(finished).collect()));
        previous_fault = fault;
    }
    steps
}
