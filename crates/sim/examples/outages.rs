//! Prints how soon the default policy continues after outages of 10 to 120 s.
//! `cargo xtask sim --outages` runs this example.
#![allow(clippy::print_stdout, reason = "an example is a program that prints for people")]

use longhaul_core::{Preset, Span};
use longhaul_sim::{Violation, simulate_outages};
use std::ops::Range;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let message = |violation: Violation| violation.to_string();
    show("30 seeds", 0..30).map_err(message)?;
    show("3 fresh seeds", 1_000_000..1_000_003).map_err(message)?;
    show("100,000 seeds", 0..100_000).map_err(message)?;
    Ok(())
}

fn show(title: &str, seeds: Range<u64>) -> Result<(), Violation> {
    let stats =
        simulate_outages(&Preset::Default.policy(), seeds, Span::from_secs(10), Span::from_secs(120))?;
    println!(
        "{title}: median lateness {} (at most 10s), p90 {}, {} % within 30 % of the outage or 10s (at least 90), \
         median {} failed requests (at most 30), maximum {}",
        stats.lateness.p50,
        stats.lateness.p90,
        stats.in_time_percent,
        stats.failed_requests.p50,
        stats.failed_requests.max,
    );
    if stats.runs.len() <= 30 {
        for run in &stats.runs {
            println!(
                "  seed {:>7}  outage {:>7}  late {:>6}  rejected {:>3}{}",
                run.seed,
                run.outage.to_string(),
                run.lateness.to_string(),
                run.failed_requests,
                if run.is_in_time() { "" } else { "  too late" },
            );
        }
    }
    Ok(())
}
