//! The bars for all scenarios together, and the measured figures. A missed bar is shown with its figure.

use super::play::CaseRun;
use crate::results::ResultSection;
use longhaul_core::Preset;

const OVER_IDLE_BAR_S: f64 = 8.0;
const LATENESS_BAR_S: f64 = 10.0;
// For long outages, the bar is proportional to the length of the outage.
const LATENESS_BAR_SHARE: f64 = 0.3;
const OVER_RESET_BAR_S: f64 = 2.0;
const COST_BAR: std::ops::RangeInclusive<f64> = 0.98..=1.02;
const TOKENS_BAR: f64 = 1.05;
const TOKENS_BAR_KILLED: f64 = 1.3;

pub fn add_bars(section: &mut ResultSection, rows: &[CaseRun]) {
    let count = |holds: &dyn Fn(&CaseRun) -> bool| rows.iter().filter(|row| holds(row)).count();
    let mut every = |label: &str, holds: &dyn Fn(&CaseRun) -> bool| {
        section.every(label, count(holds), rows.len());
    };
    every("injected faults", &|row| row.is_struck());
    every("finished as done, with complete work", &|row| row.is_success() && row.is_completed());
    every("clean", &|row| row.unclean().is_empty());
    every("honest", &CaseRun::is_honest);
    every("tokens of completed messages reported as billed", &|row| row.is_ledger_equal() == Some(true));
    section.equal("false successes", 0, count(&|row| row.is_success() && !row.is_completed()));
    add_cost(section, rows);
    let mut worst = |label: &str, bar: f64, unit: &str, figure: &dyn Fn(&CaseRun) -> Option<f64>| {
        let figures = rows.iter().filter_map(|row| Some((figure(row)?, row.case.name.as_str())));
        // A bar without rows in this table is omitted.
        if let Some((figure, name)) = figures.max_by(|left, right| left.0.total_cmp(&right.0)) {
            section.figure(format!("{label}, worst: {name}"), bar, unit, figure);
        }
    };
    worst("tokens against ideal, nothing killed", TOKENS_BAR, "", &|row| {
        row.tokens_by_ideal().filter(|_| !row.case.killed)
    });
    worst("the same, without billed but unusable responses", TOKENS_BAR, "", &|row| {
        row.tokens_by_ideal().filter(|_| !row.case.killed && !row.case.unrecoverable)
    });
    worst("tokens against ideal, something killed", TOKENS_BAR_KILLED, "", &|row| {
        row.tokens_by_ideal().filter(|_| row.case.killed)
    });
    // A time that was never measured misses its bar.
    worst("end of a hang after the idle time", OVER_IDLE_BAR_S, "s", &|row| {
        Some(row.hung_s().unwrap_or(f64::INFINITY) - f64::from(row.case.idle_s?))
    });
    let late_s = |name: &'static str| {
        move |row: &CaseRun| (row.case.name == name).then(|| row.late_s().unwrap_or(f64::INFINITY))
    };
    let jitter_s = Preset::Default.policy().reset_jitter.to_std().as_secs_f64();
    let label = format!(
        "resumed after the reset of a usage limit ({OVER_RESET_BAR_S} s and a jitter of at most {jitter_s} s)"
    );
    worst(&label, OVER_RESET_BAR_S + jitter_s, "s", &late_s("usage-limit"));
    for (name, outage_s) in [("outage-14", 14.0), ("outage-43", 43.0)] {
        let bar = LATENESS_BAR_S.max(LATENESS_BAR_SHARE * outage_s);
        worst(&format!("lateness after an outage of {outage_s} s"), bar, "s", &late_s(name));
    }
}

fn add_cost(section: &mut ResultSection, rows: &[CaseRun]) {
    let mut shares: Vec<(f64, &str)> =
        rows.iter().filter_map(|row| Some((row.cost()?, row.case.name.as_str()))).collect();
    shares.sort_by(|left, right| left.0.total_cmp(&right.0));
    if let (Some((least, least_name)), Some((most, most_name))) = (shares.first(), shares.last()) {
        section.condition(
            format!("reported cost by billed cost, minimum ({least_name}) and maximum ({most_name})"),
            format!("{:.2} to {:.2}", COST_BAR.start(), COST_BAR.end()),
            format!("{least:.3} to {most:.3}"),
            COST_BAR.contains(least) && COST_BAR.contains(most),
        );
    }
}
