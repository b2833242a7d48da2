//! The bars for all scenarios together, and the measured figures. A missed bar is shown with its figure.

use super::figures::CaseMetrics;
use crate::bench::section::ResultRow;
use longhaul_core::Preset;

const OVER_IDLE_BAR_S: f64 = 8.0;
const LATENESS_BAR_S: f64 = 10.0;
// For long outages, the bar is proportional to the length of the outage.
const LATENESS_BAR_SHARE: f64 = 0.3;
const OVER_RESET_BAR_S: f64 = 2.0;
const COST_BAR: std::ops::RangeInclusive<f64> = 0.98..=1.02;
const TOKENS_BAR: f64 = 1.05;
const TOKENS_BAR_KILLED: f64 = 1.3;

/// Returns every bar for these rows. `ideal` returns the ideal tokens and seconds of a row.
pub fn bars(rows: &[CaseMetrics], ideal: &dyn Fn(&CaseMetrics) -> Option<(u64, f64)>) -> Vec<ResultRow> {
    let all = rows.len();
    let count = |holds: &dyn Fn(&CaseMetrics) -> bool| rows.iter().filter(|row| holds(row)).count();
    let every = |label: &str, holds: &dyn Fn(&CaseMetrics) -> bool| {
        let passed = count(holds);
        ResultRow::condition(
            label,
            format!("{all} of {all}"),
            format!("{passed} of {all}"),
            passed == all && all > 0,
        )
    };
    let false_successes = count(&|row| row.success && !row.is_completed());
    let none = |label: &str, found: usize| ResultRow::condition(label, "0", found.to_string(), found == 0);
    let mut bars = vec![
        every("injected faults", &|row| row.struck),
        every("finished as done, with complete work", &|row| row.success && row.is_completed()),
        every("clean", &CaseMetrics::is_clean),
        none("false successes", false_successes),
        every("honest", &CaseMetrics::is_honest),
        every("tokens of completed messages reported as billed", &|row| row.ledger == Some(true)),
    ];
    bars.extend(cost(rows));
    let tokens = |row: &CaseMetrics| ideal(row).map(|(tokens, _)| row.tokens as f64 / tokens as f64);
    let measured = [
        worst("tokens against ideal, nothing killed", TOKENS_BAR, "", rows, |row| {
            tokens(row).filter(|_| !row.case.killed)
        }),
        worst("the same, without billed but unusable responses", TOKENS_BAR, "", rows, |row| {
            tokens(row).filter(|_| !row.case.killed && !row.case.unrecoverable)
        }),
        worst("tokens against ideal, something killed", TOKENS_BAR_KILLED, "", rows, |row| {
            tokens(row).filter(|_| row.case.killed)
        }),
        worst("end of a hang after the idle time", OVER_IDLE_BAR_S, "s", rows, |row| {
            // An attempt that never ended misses the bar.
            row.case
                .idle_s
                .map(|idle_s| row.hung_s.map_or(f64::INFINITY, |hung_s| hung_s - f64::from(idle_s)))
        }),
        usage_limit(rows),
        lateness(rows, "outage-14", 14.0),
        lateness(rows, "outage-43", 43.0),
    ];
    // A bar without rows in this table is omitted.
    bars.extend(measured.into_iter().flatten());
    bars
}

fn cost(rows: &[CaseMetrics]) -> Option<ResultRow> {
    let shares = || rows.iter().filter_map(|row| Some((row.cost?, row.case.name.as_str())));
    let (least, least_name) = shares().min_by(|left, right| left.0.total_cmp(&right.0))?;
    let (most, most_name) = shares().max_by(|left, right| left.0.total_cmp(&right.0))?;
    Some(ResultRow::condition(
        format!("reported cost by billed cost, minimum ({least_name}) and maximum ({most_name})"),
        format!("{:.2} to {:.2}", COST_BAR.start(), COST_BAR.end()),
        format!("{least:.3} to {most:.3}"),
        COST_BAR.contains(&least) && COST_BAR.contains(&most),
    ))
}

fn lateness(rows: &[CaseMetrics], name: &str, outage_s: f64) -> Option<ResultRow> {
    let bar = LATENESS_BAR_S.max(LATENESS_BAR_SHARE * outage_s);
    worst(&format!("lateness after an outage of {outage_s} s"), bar, "s", rows, |row| {
        (row.case.name == name).then(|| row.late_s.unwrap_or(f64::INFINITY))
    })
}

fn usage_limit(rows: &[CaseMetrics]) -> Option<ResultRow> {
    let jitter_s = Preset::Default.policy().reset_jitter.to_std().as_secs_f64();
    let label = "resumed after the reset of a usage limit";
    let row = worst(label, OVER_RESET_BAR_S + jitter_s, "s", rows, |row| {
        (row.case.name == "usage-limit").then(|| row.late_s.unwrap_or(f64::INFINITY))
    })?;
    Some(row.with_origin(&format!("{OVER_RESET_BAR_S} s and a jitter of at most {jitter_s} s")))
}

/// Returns the highest figure, with the name of its scenario, or `None` if there is none.
fn worst(
    label: &str,
    bar: f64,
    unit: &str,
    rows: &[CaseMetrics],
    figure: impl Fn(&CaseMetrics) -> Option<f64>,
) -> Option<ResultRow> {
    let figures = rows.iter().filter_map(|row| Some((figure(row)?, row.case.name.as_str())));
    let (figure, name) = figures.max_by(|left, right| left.0.total_cmp(&right.0))?;
    Some(ResultRow::at_most(format!("{label}, worst: {name}"), bar, unit, figure))
}
