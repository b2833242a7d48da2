//! `longhaul simulate`: forecasts the behavior of a policy under faults.

use crate::args::{GlobalArgs, SimulateArgs};
use crate::failure::{Failure, OrFailure};
use crate::output::envelope_text::grouped;
use crate::output::phrases::counted;
use crate::{open_home, output};
use longhaul_core::{Policy, RunHistory, Span, Usd};
use longhaul_sim::{Forecast, Profile, Quantiles, forecast};
use longhaul_store::{Journal, read_regular_to_string};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

// Enough for a representative profile. Reading more takes longer and changes little.
const HISTORY_RUNS_MAX: usize = 1_000;

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SimulateOutput<'a> {
    /// Preset of the policy.
    preset: &'static str,
    /// Effective policy.
    policy: &'a Policy,
    /// Origins of the settings that flags or the configuration changed.
    changed: &'a BTreeMap<String, String>,
    /// Fault set of the simulation.
    profile: &'a Profile,
    /// Seed of the simulation.
    seed: u64,
    /// Outcomes, durations and costs. Times are in milliseconds, cost is in millionths of a US dollar.
    forecast: &'a Forecast,
}

pub fn simulate(global: &GlobalArgs, args: &SimulateArgs) -> Result<u8, Failure> {
    let (preset, policy) = (args.policy.preset(), args.policy.policy(false));
    let origins = global.configured.values.origins(preset);
    let profile = profile(&args.faults)?;
    let forecast = forecast(&policy, &profile, args.runs.get().into(), args.seed);
    let simulated = SimulateOutput {
        preset: preset.as_str(),
        policy: &policy,
        changed: &origins,
        profile: &profile,
        seed: args.seed,
        forecast: &forecast,
    };
    output::print_output(global, &simulated, || text(args, &simulated));
    match forecast.first_violation {
        None => Ok(0),
        // The simulator also checks the policy. A broken invariant is a bug in Longhaul.
        Some(first) => Err(Failure::unexpected(format!(
            "{} violated an invariant; {first}",
            counted(forecast.violations, "run")
        ))),
    }
}

fn profile(name: &str) -> Result<Profile, Failure> {
    if name == "history" {
        return history();
    }
    let hint = format!("name a built-in fault set ({}), a TOML file, or `history`", built_in());
    if Path::new(name).is_file() {
        let text = read_regular_to_string(Path::new(name))
            .or_usage(format!("cannot read the fault set {name}"), hint.clone())?;
        return Profile::parse(&text).or_usage(format!("cannot read the fault set {name}"), hint);
    }
    Profile::built_in(name).map_err(|error| Failure::usage(error.to_string(), hint))
}

fn built_in() -> String {
    Profile::names().collect::<Vec<_>>().join(", ")
}

/// Returns the faults of the user's past runs. Unreadable journals are ignored.
fn history() -> Result<Profile, Failure> {
    let home = open_home::locate()?;
    let runs: Vec<RunHistory> = home
        .runs_newest_first()
        .map(|runs| {
            runs.take(HISTORY_RUNS_MAX)
                .filter_map(|run| Journal::load(&run.journal_path()).ok())
                .map(|journal| journal.history())
                .collect()
        })
        .unwrap_or_default();
    Profile::from_runs(&runs).ok_or_else(|| {
        let error = format!("there are no past runs in {} to learn from", home.path().display());
        Failure::usage(error, format!("choose a built-in fault set with --faults: {}", built_in()))
    })
}

fn text(args: &SimulateArgs, simulated: &SimulateOutput<'_>) -> String {
    let SimulateOutput { preset, changed, profile, forecast, .. } = simulated;
    let mut out = format!(
        "Policy:   {preset}{}\nFaults:   {} ({})\nRuns:     {} from seed {}\n\nOutcome\n",
        describe_changed(changed),
        args.faults,
        profile.about,
        grouped(forecast.runs),
        args.seed
    );
    let share = |word: &dyn Display, count: u64| {
        format!("  {word:<14}{:>6.2}%\n", 100.0 * count as f64 / forecast.runs.max(1) as f64)
    };
    out.extend(forecast.outcomes.iter().map(|(outcome, count)| share(outcome, *count)));
    if !forecast.decided_by.is_empty() {
        out += "\nDecided by\n";
        out.extend(forecast.decided_by.iter().map(|(fault, count)| share(fault, *count)));
    }
    out += &format!("\n{:<18}{:>12}{:>12}{:>12}{:>12}\n", "", "p10", "p50", "p90", "max");
    let counts = |counts: &Quantiles<u64>| cells(counts, |count| grouped(*count));
    let rows = [
        ("attempts", cells(&forecast.attempts, |count| grouped((*count).into()))),
        ("wall time", cells(&forecast.wall, Span::to_string)),
        ("waits", cells(&forecast.waiting, Span::to_string)),
        ("requests", counts(&forecast.requests)),
        ("failed requests", counts(&forecast.failed_requests)),
        ("cost", cells(&forecast.cost, Usd::to_string)),
    ];
    out.extend(rows.map(|(name, cells)| format!("{name:<18}{cells}\n")));
    out
}

fn cells<T>(quantiles: &Quantiles<T>, show: impl Fn(&T) -> String) -> String {
    [&quantiles.p10, &quantiles.p50, &quantiles.p90, &quantiles.max]
        .map(|value| format!("{:>12}", show(value)))
        .concat()
}

fn describe_changed(changed: &BTreeMap<String, String>) -> String {
    let origins = || changed.iter().filter(|(name, _)| *name != "preset");
    let (flags, configured): (Vec<_>, Vec<_>) = origins().partition(|(_, origin)| *origin == "flag");
    let flags: Vec<&str> = flags.into_iter().map(|(name, _)| name.as_str()).collect();
    let by_flag = (!flags.is_empty()).then(|| format!("{} by flag", flags.join(", ")));
    let by_file = configured.into_iter().map(|(name, origin)| format!("{name} by {origin}"));
    let all: Vec<String> = by_flag.into_iter().chain(by_file).collect();
    if all.is_empty() { String::new() } else { format!(", with {}", all.join(", ")) }
}
