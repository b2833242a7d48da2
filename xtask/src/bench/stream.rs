//! Measures the cost of an event, and whether memory grows with the number of events.
//!
//! It measures two streams with lines of about 1.2 kB. Partial messages only show that the agent is alive.
//! Whole messages are a tool call and its result in turn, which are parsed, counted and stored. The scripted
//! agent writes both streams, and only the supervisor's own time and memory are counted.

use super::Bench;
use super::recording;
use crate::process::{ProcessUsage, measure_command};
use crate::results::ResultSection;
use crate::sandbox::Sandbox;
use longhaul_drill::scripted::{FLOOD, REPLAY};
use serde_json::Value;
use std::io;

const PARTIAL_CPU_BAR_US: f64 = 2.5;
const WHOLE_CPU_BAR_US: f64 = 5.0;
const PEAK_BAR_MB: f64 = 12.0;
// The growth allowed for a hundred times more events.
const GROWTH_BAR_MB: f64 = 1.0;
const EVENT_BYTES: usize = 1_200;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let mut section = ResultSection::new(
        "The supervisor's own user and system time, including the compaction of the stream file, and its own peak \
         memory. Peak memory includes pages of the program's file; proportional memory (PSS) divides shared pages \
         by the processes that share them, and private memory leaves them out. The agent's time and memory are \
         not included.",
    );
    let sizes: &[usize] = if bench.quick { &[1_000, 10_000] } else { &[10_000, 100_000, 1_000_000] };
    for (kind, name, cpu_bar) in [
        (Kind::Partial, "partial messages", PARTIAL_CPU_BAR_US),
        (Kind::Whole, "whole messages", WHOLE_CPU_BAR_US),
    ] {
        let mut peaks = Vec::new();
        for &events in sizes {
            let run = run(bench, kind, events, "json")?;
            let times = run.cpu.as_secs_f64() / run.children_cpu.as_secs_f64();
            let is_largest = Some(&events) == sizes.last();
            let label = |measure: &str| format!("{name}, {events} events: {measure}");
            section
                .figure(
                    label("CPU per event"),
                    is_largest.then_some(cpu_bar),
                    "µs",
                    us_per_event(&run, events),
                )
                .ratio(times, "the agent's own");
            section.figure(label("peak memory"), PEAK_BAR_MB, "MB", run.peak_mib());
            peaks.push(run.peak_mib());
            if is_largest {
                let share = run.memory_share;
                section.figure(label("proportional memory"), None, "MB", share.proportional as f64 / 1024.0);
                section.figure(label("private memory"), None, "MB", share.private as f64 / 1024.0);
            }
        }
        let growth = peaks.last().unwrap_or(&f64::NAN) - peaks.first().unwrap_or(&f64::NAN);
        let label = format!("{name}: growth of the peak, fewest to most events");
        section.figure(label, GROWTH_BAR_MB, "MB", growth);
    }
    let events = bench.count(100_000, 1_000);
    let run = run(bench, Kind::Partial, events, "stream-json")?;
    let label = format!("partial messages, {events} events, `--output-format stream-json`: CPU per event");
    section.figure(label, None, "µs", us_per_event(&run, events));
    Ok(section)
}

fn us_per_event(run: &ProcessUsage, events: usize) -> f64 {
    run.cpu.as_secs_f64() * 1e6 / events as f64
}

#[derive(Clone, Copy)]
enum Kind {
    Partial,
    Whole,
}

fn run(bench: &Bench, kind: Kind, events: usize, format: &str) -> io::Result<ProcessUsage> {
    let sandbox = Sandbox::new()?;
    let mut command = sandbox.scripted_run(&bench.programs.longhaul, format)?;
    match kind {
        Kind::Partial => command.env(FLOOD, format!("{events}:{EVENT_BYTES}")),
        Kind::Whole => {
            let file = sandbox.path().join("recording.jsonl");
            recording::write(&bench.root, &file, events, whole_message)?;
            command.env(REPLAY, file)
        }
    };
    measure_command(&mut command)
}

fn whole_message(index: usize, session: &Value) -> String {
    let call = index / 2;
    // The fields around the text take about 500 and 200 bytes.
    if index.is_multiple_of(2) {
        let text = "x".repeat(EVENT_BYTES - 500);
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"id\":\"msg_{call:08}\",\"type\":\"message\",\"role\":\"assistant\",\
             \"model\":\"claude-sonnet-4-5\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"toolu_{call:08}\",\
             \"name\":\"Bash\",\"input\":{{\"command\":\"{text}\"}}}}],\"stop_reason\":null,\"stop_sequence\":null,\
             \"usage\":{{\"input_tokens\":100,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\
             \"output_tokens\":50}}}},\"parent_tool_use_id\":null,\"session_id\":{session},\"uuid\":\"{index:08}\"}}"
        )
    } else {
        let text = "x".repeat(EVENT_BYTES - 250);
        format!(
            "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"toolu_{call:08}\",\
             \"type\":\"tool_result\",\"content\":\"{text}\",\"is_error\":false}}]}},\"parent_tool_use_id\":null,\
             \"session_id\":{session},\"uuid\":\"{index:08}\"}}"
        )
    }
}
