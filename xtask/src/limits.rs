//! `cargo xtask limits`: the real agent works in a git repository until a limit ends its run. Writes the
//! results to `benches/RESILIENCE.md`: whether the work was saved, how far the run exceeded its limit, and
//! how much longer each tool call takes with limits.
//!
//! A missed bar is reported with its figure and is not an error. Linux only.

mod case;
mod hook_latency;
mod play;

use crate::bench::machine::{self, Ticks};
use crate::bench::section::{ResultRow, ResultSection};
use crate::faults::build;
use crate::real_agent;
use crate::resilience::{Part, save};
use case::{CASES, LimitCase, LimitUnit};
use play::{LimitRig, LimitRun};
use std::io;
use std::path::Path;

const HEAD: &str = "## Limits\n\n`cargo xtask limits` writes this part: the real Claude Code under `longhaul run` in a git repository, \
    against a loopback API. Its work is a hundred steps of a third of a second, one command of a minute, or one command that \
    takes 100 MiB more every tenth of a second. When it receives the wrap-up prompt, it commits and stops.\n\n\
    - wrap-up: the agent received the wrap-up prompt in its open session.\n\
    - saved: the commit exists.\n\
    - used: the amount by the API's own count, by a clock from the start of `longhaul` to its end, or by the peak resident \
    memory of the run's processes.\n\
    - beyond: the used amount beyond the limit.\n";
const TABLE: &str = "| limit | in the middle of | outcome | exit code | wrap-up | saved | attempts | used | beyond |\n\
    |---|---|---|---|---|---|---|---|---|\n";

/// A case and its observations.
struct CaseResult {
    case: &'static LimitCase,
    case_run: LimitRun,
}

/// Plays the cases, measures the tool calls, and writes the results.
pub fn limits(root: &Path, args: &[String]) -> io::Result<()> {
    if let Some(arg) = args.first() {
        return Err(io::Error::other(format!("unknown argument `{arg}`; see `cargo xtask`")));
    }
    let rig = LimitRig { longhaul: build(root)?, claude: real_agent::locate(root)? };
    let (machine, ticks) = (machine::describe(root, &rig.longhaul, &rig.claude), Ticks::now());
    let mut results = Vec::new();
    for case in CASES {
        eprintln!("▶ {}, in the middle of {}", case.flags.join(" "), case.work.label());
        let case_run = rig.play(&case.work.scenario(), case.flags)?;
        results.push(CaseResult { case, case_run });
        eprintln!("  {}", results.last().map(line).unwrap_or_default());
    }
    let mut rows = bars(&results);
    rows.extend(hook_latency::rows(&rig)?);
    let section = ResultSection {
        about: "Bars for all limits together, and the latency that limits add to each tool call. A missed bar is shown with its \
                figure.",
        rows,
        appendix: String::new(),
    };
    let missed = section.missed();
    let table: String = results.iter().flat_map(|result| [line(result), "\n".to_owned()]).collect();
    let conditions = format!("{machine} · {}", Ticks::stolen_since(ticks));
    let text = format!("{HEAD}\n{TABLE}{table}\n{}", section.markdown("Bars of the limits", &conditions));
    println!("{text}");
    save(root, Part::Limits, &text)?;
    eprintln!("{missed} bars missed");
    Ok(())
}

/// Renders one row of the table.
fn line(CaseResult { case, case_run }: &CaseResult) -> String {
    let yes = |holds: bool| if holds { "yes" } else { "no" }.to_owned();
    let excess = match case.excess(case_run) {
        excess if excess > 0.0 => case.unit.render(excess),
        _ => "–".to_owned(),
    };
    let faults = match case_run.faults().join(", ") {
        faults if faults.is_empty() => faults,
        faults => format!(" ({faults})"),
    };
    let cells = [
        format!("`{}`", case.flags.join(" ")),
        case.work.label().to_owned(),
        format!("`{}`{faults}", case_run.outcome()),
        case_run.code.map_or("–".to_owned(), |code| code.to_string()),
        yes(case_run.has_wrap_up()),
        yes(case_run.has_saved_work()),
        case_run.attempts().to_string(),
        case.unit.render(case.used(case_run)),
        excess,
    ];
    format!("| {} |", cells.join(" | "))
}

fn bars(results: &[CaseResult]) -> Vec<ResultRow> {
    let every = |label: &str, applies: &dyn Fn(&CaseResult) -> bool, holds: &dyn Fn(&CaseResult) -> bool| {
        let all = results.iter().filter(|result| applies(result)).count();
        let passed = results.iter().filter(|result| applies(result) && holds(result)).count();
        ResultRow::condition(
            label,
            format!("{all} of {all}"),
            format!("{passed} of {all}"),
            passed == all && all > 0,
        )
    };
    let most = |unit: LimitUnit, figure: &dyn Fn(&CaseResult) -> f64| {
        results.iter().filter(|result| result.case.unit == unit).map(figure).fold(0.0, f64::max)
    };
    let responses = |unit: LimitUnit| {
        most(unit, &|result| result.case.excess(&result.case_run) / result.case_run.largest_response(unit))
    };
    let excess = |unit: LimitUnit| most(unit, &|result| result.case.excess(&result.case_run));
    vec![
        every("exit code as expected", &|_| true, &|result| result.case_run.code == Some(result.case.code)),
        every("saved, if there is a wrap-up", &|result| result.case.has_wrap_up, &|result| {
            result.case_run.has_wrap_up() && result.case_run.has_saved_work()
        }),
        every("no leftover process", &|_| true, &|result| result.case_run.leftover_processes == 0),
        // The responses in flight when the limit is reached.
        ResultRow::at_most("cost beyond the limit, maximum", 1.0, "responses", responses(LimitUnit::Dollars)),
        ResultRow::at_most(
            "tokens beyond the limit, maximum",
            1.0,
            "responses",
            responses(LimitUnit::Tokens),
        ),
        ResultRow::at_most("turns beyond the limit, maximum", 1.0, "responses", responses(LimitUnit::Turns)),
        // A command has two seconds to react to a signal.
        ResultRow::at_most("time beyond the limit, maximum", 2.0, "s", excess(LimitUnit::Seconds)),
        ResultRow::without_bar("memory beyond the limit", "MiB", excess(LimitUnit::Mebibytes)),
    ]
}
