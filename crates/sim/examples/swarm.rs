//! Flies a swarm and prints what it came to. `cargo xtask sim` runs this in release mode.
#![allow(clippy::print_stdout, reason = "an example is a program: what it finds is for people")]

use longhaul_sim::{SwarmStats, parse_failed, rerun, swarm, trace, with_failed};
use std::process::ExitCode;
use std::time::Instant;
use std::{fs, thread};

const USAGE: &str = "swarm [--runs N] [--start SEED] [--threads N] [--failed FILE] [--brief] | --seed SEED";
// Longer stories are read from the front to here, and from here to the end.
const STORY_LINES_MAX: usize = 120;

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
        Err(word) => {
            println!("`{word}` is not understood; usage: {USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(seed) = args.seed {
        println!("{}", trace(seed));
        return ExitCode::from(u8::from(!rerun(&[seed]).failures.is_empty()));
    }
    let kept = args.failed.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let mut figures = rerun(&parse_failed(&kept));
    let (began, cpu_began) = (Instant::now(), cpu_seconds());
    if figures.failures.is_empty() {
        figures = swarm(args.start..args.start + args.runs, args.threads);
    }
    let wall = began.elapsed().as_secs_f64();
    let cpu = cpu_seconds().zip(cpu_began).map_or(wall * args.threads as f64, |(end, begin)| end - begin);
    print(&figures, wall, cpu, args.brief);
    if figures.failures.is_empty() {
        return ExitCode::SUCCESS;
    }
    if let Some(file) = &args.failed
        && fs::write(file, with_failed(&kept, &figures.failures)).is_err()
    {
        println!("the failed seeds could not be kept in {file}");
    }
    ExitCode::FAILURE
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let mut args = Args { runs: 500_000, start: 0, threads, failed: None, brief: false, seed: None };
    while let Some(word) = words.next() {
        if word == "--brief" {
            args.brief = true;
            continue;
        }
        let value = words.next().ok_or_else(|| word.clone())?;
        let number = || value.replace('_', "").parse::<u64>().map_err(|_| value.clone());
        match word.as_str() {
            "--runs" => args.runs = number()?,
            "--start" => args.start = number()?,
            "--threads" => args.threads = (number()? as usize).max(1),
            "--seed" => args.seed = Some(number()?),
            "--failed" => args.failed = Some(value),
            _ => return Err(word),
        }
    }
    Ok(args)
}

fn print(figures: &SwarmStats, wall: f64, cpu: f64, brief: bool) {
    if !brief {
        println!("{}", figures.coverage);
        match figures.coverage.missing().as_slice() {
            [] => println!("everything is reached"),
            missing => println!("not reached: {}", missing.join(", ")),
        }
    }
    let runs = figures.runs.max(1) as f64;
    println!(
        "{} runs, {} steps: {:.1} steps and {:.2} attempts a run; {wall:.1} s, {:.2} million steps a second and core",
        figures.runs,
        figures.steps,
        figures.steps as f64 / runs,
        figures.attempts as f64 / runs,
        figures.steps as f64 / cpu.max(1e-9) / 1e6,
    );
    for failure in &figures.failures {
        println!("seed {}: {}", failure.seed, failure.objection);
        println!("    cargo xtask sim --seed {}", failure.seed);
    }
    if let (Some(failure), false) = (figures.failures.first(), brief) {
        let story = trace(failure.seed);
        let lines: Vec<&str> = story.lines().collect();
        let (front, back) = lines.split_at(lines.len().saturating_sub(STORY_LINES_MAX));
        println!("{}{}", if front.is_empty() { "" } else { "...\n" }, back.join("\n"));
    }
}

/// Processor time this process has used; nothing where the system does not tell.
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name in parentheses: state is the first field, user and system ticks the 12th and 13th.
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    // A tick is 10 ms on every Linux that reports them.
    Some((ticks()? + ticks()?) / 100.0)
}
