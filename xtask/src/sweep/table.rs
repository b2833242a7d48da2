//! The table of a sweep, its bars, and its failed points.

use super::result::{PointResult, SweepMetrics};
use crate::results::{ResultSection, table_row};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const ABOUT: &str = "`cargo xtask sweep` writes this part. The work is four steps in three turns. A fault is injected at one named \
    point of the supervisor, or at one call of its store. The run then continues by itself or with `longhaul recover`. Points are \
    drawn from all points of an undisturbed run. A guarded agent asks before each tool call, and waits while there is no \
    supervisor. A workflow is ten such runs of one step in two iterations, up to three at a time.\n\n\
    - struck: points at which the fault reached a process.\n\
    - workspace: points after which the workspace has the hash of the undisturbed work.\n\
    - completed calls repeated: repeated calls whose result was in the session file before.\n\
    - unnamed: other repeated calls that neither the prompt nor a result in the session names.\n\
    - named: other repeated calls that the prompt or a result in the session names.\n\
    - wasted: turns that were requested again.\n\
    - tokens off, completed: difference to the API's own count for the complete messages of the agent's stream.\n\
    - in all: the same, including truncated messages. The differences of all points are added.";

const WASTED_BAR: f64 = 1.0;
/// One turn of each live run.
const WORKFLOW_WASTED_BAR: f64 = 3.0;
const IN_ALL_BAR: f64 = 2.0;
const KILLS_MIN: usize = 60;

const HEAD: &str = "| agent | strike | seeds | points / of | struck | workspace | leftover processes | sessions with branches \
                    | completed calls repeated | unnamed | named | wasted, maximum | tokens off, completed | in all |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

pub fn section(results: &[PointResult], seeds: &[u64], aborted: &[String], is_real: bool) -> ResultSection {
    let mut section = ResultSection::new(ABOUT);
    add_bars(&mut section, results, is_real);
    section.appendix = table(results, seeds) + &failed(results, aborted);
    section
}

fn table(results: &[PointResult], seeds_played: &[u64]) -> String {
    let rows: BTreeSet<(&str, &str)> =
        results.iter().map(|one| (one.agent.as_str(), one.victim.as_str())).collect();
    let mut out = HEAD.to_owned();
    for (agent, strike) in rows {
        let is_of_row = |one: &&PointResult| one.agent == agent && one.victim == strike;
        let points: Vec<&PointResult> = results.iter().filter(is_of_row).collect();
        let (all, total) = (points.len(), points.iter().map(|one| one.points).max().unwrap_or(0));
        let figures = figures(&points);
        let sum = |figure: &dyn Fn(&SweepMetrics) -> u64| figures.iter().map(|one| figure(one)).sum::<u64>();
        out += &table_row(&[
            agent.to_owned(),
            strike.to_owned(),
            seeds(seeds_played),
            format!("{all} / {total}"),
            sum(&|one| u64::from(one.struck)).to_string(),
            format!("{} of {all}", sum(&|one| u64::from(one.reached))),
            sum(&|one| one.leftover_processes).to_string(),
            sum(&|one| u64::from(one.branches > 0)).to_string(),
            sum(&|one| one.repeated.completed).to_string(),
            sum(&|one| one.repeated.unnamed).to_string(),
            sum(&|one| one.repeated.named).to_string(),
            wasted(&figures).to_string(),
            format!("{:.2} %", off_completed(&figures)),
            format!("{:.2} %", off_in_all(&figures)),
        ]);
    }
    let hashes = figures(&results.iter().filter(|one| !one.is_workflow()).collect::<Vec<_>>());
    if let Some(reached) = hashes.iter().find(|one| one.reached) {
        let _ = write!(out, "\nThe workspace's hash: `{}`\n", reached.workspace);
    }
    out
}

fn add_bars(section: &mut ResultSection, results: &[PointResult], is_real: bool) {
    let all: Vec<&PointResult> = results.iter().collect();
    let (alone, others): (Vec<&PointResult>, Vec<&PointResult>) =
        all.iter().partition(|one| one.victim.starts_with("SIGKILL of the supervisor"));
    let (of_workflows, others): (Vec<&PointResult>, Vec<&PointResult>) =
        others.iter().partition(|one| one.is_workflow());
    let all_figures = figures(&all);
    if is_real {
        let killed = all.iter().filter(|one| one.victim.starts_with("SIGKILL")).count();
        section.condition("points of SIGKILL", format!("≥ {KILLS_MIN}"), killed, killed >= KILLS_MIN);
    }
    let passed = all.iter().filter(|one| one.failed.is_empty()).count();
    section.every("points at which every expectation was met", passed, all.len());
    let reached = all_figures.iter().filter(|one| one.reached).count();
    section.every("runs that reached the expected workspace", reached, all.len());
    let mut none = |label: &str, figure: &dyn Fn(&SweepMetrics) -> u64| {
        section.equal(label, 0, all_figures.iter().map(|one| figure(one)).sum());
    };
    none("leftover processes", &|one| one.leftover_processes);
    none("sessions with two branches", &|one| u64::from(one.branches > 0));
    none("completed tool calls repeated", &|one| one.repeated.completed);
    none("other repeated calls", &|one| one.repeated.unnamed);
    section.figure("wasted turns, maximum", WASTED_BAR, "", wasted(&figures(&others)) as f64);
    if !of_workflows.is_empty() {
        let label = "wasted turns of a workflow, maximum";
        section.figure(label, WORKFLOW_WASTED_BAR, "", wasted(&figures(&of_workflows)) as f64);
    }
    let label = "wasted turns if only the supervisor was killed, maximum";
    section.figure(label, 0.0, "", wasted(&figures(&alone)) as f64);
    section.figure("tokens of completed messages off", 0.0, "%", off_completed(&all_figures));
    section.figure("tokens off, including truncated messages", IN_ALL_BAR, "%", off_in_all(&all_figures));
}

fn failed(results: &[PointResult], aborted: &[String]) -> String {
    let mut out = String::new();
    for one in results.iter().filter(|one| !one.failed.is_empty()) {
        // A reason may be a whole report. Its first line is enough.
        let reasons: Vec<&str> = one.failed.iter().filter_map(|reason| reason.lines().next()).collect();
        let PointResult { victim, point, seed, .. } = one;
        let _ = writeln!(out, "- **{victim} at point {point}** (seed {seed}): {}", reasons.join("; "));
    }
    for reason in aborted {
        let _ = writeln!(out, "- **{}**", reason.lines().next().unwrap_or_default());
    }
    if out.is_empty() { out } else { format!("\nPoints that failed:\n\n{out}") }
}

pub fn seeds(seeds: &[u64]) -> String {
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn figures<'a>(points: &[&'a PointResult]) -> Vec<&'a SweepMetrics> {
    points.iter().filter_map(|one| one.figures.as_ref()).collect()
}

fn wasted(figures: &[&SweepMetrics]) -> u64 {
    figures.iter().map(|one| one.wasted).max().unwrap_or(0)
}

fn off_completed(figures: &[&SweepMetrics]) -> f64 {
    percent_off(figures.iter().map(|one| (one.reported, one.billed)))
}

fn off_in_all(figures: &[&SweepMetrics]) -> f64 {
    percent_off(figures.iter().map(|one| (one.reported_in_all, one.billed_in_all)))
}

/// Returns the sum of the absolute differences between reported and billed tokens, in percent of the billed
/// ones.
fn percent_off(pairs: impl Iterator<Item = (u64, u64)>) -> f64 {
    let (mut difference, mut billed_total) = (0, 0);
    for (reported, billed) in pairs {
        difference += reported.abs_diff(billed);
        billed_total += billed;
    }
    // Without measurements this is NaN, which meets no bar.
    100.0 * difference as f64 / billed_total as f64
}

#[cfg(test)]
mod tests {
    use super::super::result;
    use super::*;

    fn line(strike: &str, wasted: u64, reported: u64, failed: &str) -> String {
        format!(
            "{{\"agent\":\"claude\",\"seed\":1,\"victim\":\"{strike}\",\"point\":3,\"points\":9,\"failed\":[{failed}],\
             \"figures\":{{\"struck\":true,\"workspace\":\"ab\",\"reached\":true,\"leftover_processes\":0,\"branches\":0,\"repeated\":\
             {{\"completed\":0,\"named\":1,\"unnamed\":0}},\"wasted\":{wasted},\"reported\":{reported},\"billed\":100,\
             \"reported_in_all\":{reported},\"billed_in_all\":100}}}}\n"
        )
    }

    #[test]
    fn reports_missed_bars_and_failed_points() {
        let check = |lines: &[String], missed: usize| {
            let results = result::read(&lines.concat()).expect("lines of JSON");
            let section = section(&results, &[1], &[], false);
            assert_eq!(section.missed(), missed, "{}", section.markdown("x", "y"));
            section.appendix
        };
        let (agent, alone) = ("SIGKILL of the agent", "SIGKILL of the supervisor");
        check(&[line(agent, 1, 100, ""), line(alone, 0, 100, "")], 0);
        check(&[line(agent, 2, 100, ""), line(alone, 0, 100, "")], 1);
        check(&[line(agent, 1, 100, ""), line(alone, 1, 100, "")], 1);
        check(&[line(agent, 1, 99, ""), line(alone, 0, 100, "")], 1);
        check(&[line(agent, 1, 90, ""), line(alone, 0, 100, "")], 2);
        let text = check(&[line(agent, 1, 100, ""), line(alone, 0, 100, "\"why\\nand how\"")], 1);
        assert!(text.contains("at point 3** (seed 1): why\n"), "{text}");
        assert!(text.contains("| claude | SIGKILL of the agent | 1 | 1 / 9 |"), "{text}");
    }
}
