//! Simulates a swarm and prints its results. `cargo xtask sim` runs this example in release mode.
#![allow(clippy::print_stdout, reason = "an example is a program that prints for people")]

use longhaul_sim::{Subject, SwarmStats, parse_failed, rerun, swarm, trace, with_failed};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use std::{fs, thread};

const USAGE: &str = "swarm [--runs N] [--workflows N] [--start SEED] [--threads N] [--failed DIR] [--brief] | --seed SEED | --workflow-seed SEED";
// Counts of a swarm without `--runs` and `--workflows`. With one of them, the other is zero.
const COUNTS: [(Subject, u64); 2] = [(Subject::Run, 500_000), (Subject::Workflow, 500_000)];
// Only this many of the last lines of a trace are printed.
const TRACE_LINES_MAX: usize = 120;

struct Args {
    counts: Vec<(Subject, u64)>,
    start: u64,
    threads: usize,
    failed: Option<PathBuf>,
    brief: bool,
    seed: Option<(Subject, u64)>,
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(argument) => {
            println!("unknown argument or missing value: `{argument}`; usage: {USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some((subject, seed)) = args.seed {
        println!("{}", trace(subject, seed));
        return ExitCode::from(u8::from(!rerun(subject, &[seed]).failures.is_empty()));
    }
    let counts = if args.counts.is_empty() { &COUNTS[..] } else { &args.counts };
    let is_clean = counts.iter().all(|(subject, count)| simulate(&args, *subject, *count));
    ExitCode::from(u8::from(!is_clean))
}

/// Simulates the seeds that failed before, then a swarm. Returns whether no oracle was violated.
fn simulate(args: &Args, subject: Subject, count: u64) -> bool {
    let failed_file = args.failed.as_ref().map(|dir| dir.join(failed_file(subject)));
    let failed_text = failed_file.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let mut stats = rerun(subject, &parse_failed(&failed_text));
    let started = Instant::now();
    if stats.failures.is_empty() {
        stats = swarm(subject, args.start..args.start + count, args.threads);
    }
    let wall = started.elapsed().as_secs_f64();
    print(subject, &stats, wall, args.threads, args.brief);
    if let Some(file) = failed_file.filter(|_| !stats.failures.is_empty())
        && fs::write(&file, with_failed(&failed_text, &stats.failures)).is_err()
    {
        println!("cannot write the failed seeds to {}", file.display());
    }
    stats.failures.is_empty()
}

fn failed_file(subject: Subject) -> &'static str {
    match subject {
        Subject::Run => "failed.txt",
        Subject::Workflow => "failed-workflows.txt",
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Args, String> {
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let mut args = Args { counts: Vec::new(), start: 0, threads, failed: None, brief: false, seed: None };
    while let Some(argument) = arguments.next() {
        if argument == "--brief" {
            args.brief = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| argument.clone())?;
        let number = || value.replace('_', "").parse::<u64>().map_err(|_| value.clone());
        match argument.as_str() {
            "--runs" => args.counts.push((Subject::Run, number()?)),
            "--workflows" => args.counts.push((Subject::Workflow, number()?)),
            "--start" => args.start = number()?,
            "--threads" => args.threads = (number()? as usize).max(1),
            "--seed" => args.seed = Some((Subject::Run, number()?)),
            "--workflow-seed" => args.seed = Some((Subject::Workflow, number()?)),
            "--failed" => args.failed = Some(PathBuf::from(value)),
            _ => return Err(argument),
        }
    }
    Ok(args)
}

fn print(subject: Subject, stats: &SwarmStats, wall: f64, threads: usize, brief: bool) {
    if !brief {
        println!("{}", stats.coverage);
        match stats.coverage.missing(subject).as_slice() {
            [] => println!("every item is reached"),
            missing => println!("not reached: {}", missing.join(", ")),
        }
    }
    let seeds = stats.seeds.max(1) as f64;
    let (name, part, flag) = match subject {
        Subject::Run => ("run", "attempts", "--seed"),
        Subject::Workflow => ("workflow", "runs", "--workflow-seed"),
    };
    println!(
        "{} {name}s, {} steps: {:.1} steps and {:.2} {part} per {name}; {wall:.1} s, {:.2} million steps per second and core",
        stats.seeds,
        stats.steps,
        stats.steps as f64 / seeds,
        stats.starts as f64 / seeds,
        stats.steps as f64 / (wall * threads as f64).max(1e-9) / 1e6,
    );
    for failure in &stats.failures {
        println!("seed {}: {}", failure.seed, failure.violation);
        println!("    cargo xtask sim {flag} {}", failure.seed);
    }
    if let (Some(failure), false) = (stats.failures.first(), brief) {
        let trace_text = trace(subject, failure.seed);
        let lines: Vec<&str> = trace_text.lines().collect();
        let (omitted, shown) = lines.split_at(lines.len().saturating_sub(TRACE_LINES_MAX));
        println!("{}{}", if omitted.is_empty() { "" } else { "...\n" }, shown.join("\n"));
    }
}
