//! Simulates a swarm and prints its results. `cargo xtask sim` runs this example in release mode.
#![allow(clippy::print_stdout, reason = "an example is a program that prints for people")]

use longhaul_sim::{SwarmStats, parse_failed, rerun, swarm, trace, with_failed};
use std::process::ExitCode;
use std::time::Instant;
use std::{fs, thread};

const USAGE: &str = "swarm [--runs N] [--start SEED] [--threads N] [--failed FILE] [--brief] | --seed SEED";
// Only this many of the last lines of a trace are printed.
const TRACE_LINES_MAX: usize = 120;

struct Args {
    runs: u64,
    start: u64,
    threads: usize,
    failed: Option<String>,
    brief: bool,
    seed: Option<u64>,
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(argument) => {
            println!("unknown argument or missing value: `{argument}`; usage: {USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(seed) = args.seed {
        println!("{}", trace(seed));
        return ExitCode::from(u8::from(!rerun(&[seed]).failures.is_empty()));
    }
    let failed_text = args.failed.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let mut stats = rerun(&parse_failed(&failed_text));
    let (started, cpu_at_start) = (Instant::now(), cpu_seconds());
    if stats.failures.is_empty() {
        stats = swarm(args.start..args.start + args.runs, args.threads);
    }
    let wall = started.elapsed().as_secs_f64();
    let cpu = cpu_seconds().zip(cpu_at_start).map_or(wall * args.threads as f64, |(end, start)| end - start);
    print(&stats, wall, cpu, args.brief);
    if stats.failures.is_empty() {
        return ExitCode::SUCCESS;
    }
    if let Some(file) = &args.failed
        && fs::write(file, with_failed(&failed_text, &stats.failures)).is_err()
    {
        println!("cannot write the failed seeds to {file}");
    }
    ExitCode::FAILURE
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Args, String> {
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let mut args = Args { runs: 500_000, start: 0, threads, failed: None, brief: false, seed: None };
    while let Some(argument) = arguments.next() {
        if argument == "--brief" {
            args.brief = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| argument.clone())?;
        let number = || value.replace('_', "").parse::<u64>().map_err(|_| value.clone());
        match argument.as_str() {
            "--runs" => args.runs = number()?,
            "--start" => args.start = number()?,
            "--threads" => args.threads = (number()? as usize).max(1),
            "--seed" => args.seed = Some(number()?),
            "--failed" => args.failed = Some(value),
            _ => return Err(argument),
        }
    }
    Ok(args)
}

fn print(stats: &SwarmStats, wall: f64, cpu: f64, brief: bool) {
    if !brief {
        println!("{}", stats.coverage);
        match stats.coverage.missing().as_slice() {
            [] => println!("every item is reached"),
            missing => println!("not reached: {}", missing.join(", ")),
        }
    }
    let runs = stats.runs.max(1) as f64;
    println!(
        "{} runs, {} steps: {:.1} steps and {:.2} attempts per run; {wall:.1} s, {:.2} million steps per second and core",
        stats.runs,
        stats.steps,
        stats.steps as f64 / runs,
        stats.attempts as f64 / runs,
        stats.steps as f64 / cpu.max(1e-9) / 1e6,
    );
    for failure in &stats.failures {
        println!("seed {}: {}", failure.seed, failure.violation);
        println!("    cargo xtask sim --seed {}", failure.seed);
    }
    if let (Some(failure), false) = (stats.failures.first(), brief) {
        let trace_text = trace(failure.seed);
        let lines: Vec<&str> = trace_text.lines().collect();
        let (omitted, shown) = lines.split_at(lines.len().saturating_sub(TRACE_LINES_MAX));
        println!("{}{}", if omitted.is_empty() { "" } else { "...\n" }, shown.join("\n"));
    }
}

/// Returns the CPU time of this process in seconds, or `None` if the system does not report it.
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // After the name in parentheses: state is the first field, user and system ticks are the 12th and 13th.
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    // A tick is 10 ms on every Linux that reports ticks.
    Some((ticks()? + ticks()?) / 100.0)
}
