//! `cargo xtask limits`: the real agent works in a git repository until a limit ends its run. Writes the
//! results to `benches/RESILIENCE.md`: whether the work was saved, how far the run exceeded its limit, and
//! how much longer each tool call takes with limits. Linux only.

mod case;
mod hook_latency;
mod play;

use crate::programs::{Programs, debug_build};
use crate::results::{LIMITS, RESILIENCE, ResultSection, table_row};
use crate::{journal, machine, real_agent};
use case::{CASES, LimitCase, LimitUnit};
use play::{LimitRun, play};
use std::io;
use std::path::Path;

const ABOUT: &str = "`cargo xtask limits` writes this part: the real Claude Code under `longhaul run` in a git repository, \
    against a loopback API. Its work is a hundred steps of a third of a second, one command of a minute, or one command that \
    takes 100 MiB more every tenth of a second. When it receives the wrap-up prompt, it commits and stops.\n\n\
    - wrap-up: the agent received the wrap-up prompt in its open session.\n\
    - saved: the commit exists.\n\
    - used: the amount by the API's own count, by a clock from the start of `longhaul` to its end, or by the peak resident \
    memory of the run's processes.\n\
    - beyond: the used amount beyond the limit.";
const TABLE: &str = "| limit | in the middle of | outcome | exit code | wrap-up | saved | attempts | used | beyond |\n\
    |---|---|---|---|---|---|---|---|---|\n";

struct CaseResult {
    case: &'static LimitCase,
    case_run: LimitRun,
}

pub fn limits(root: &Path) -> io::Result<()> {
    let programs = Programs { longhaul: debug_build(root)?, claude: real_agent::locate(root)? };
    let markdown = machine::measure(root, &programs, LIMITS, || {
        let mut section = ResultSection::new(ABOUT);
        section.appendix = TABLE.to_owned();
        let mut results = Vec::new();
        for case in CASES {
            eprintln!("▶ {}, in the middle of {}", case.flags.join(" "), case.work.label());
            let case_run = play(&programs, &case.work.scenario()?, case.flags)?;
            let result = CaseResult { case, case_run };
            let line = line(&result);
            eprint!("  {line}");
            section.appendix += &line;
            results.push(result);
        }
        add_bars(&mut section, &results);
        hook_latency::add_rows(&mut section, &programs)?;
        Ok(section)
    })?;
    RESILIENCE.save(root, LIMITS, &markdown)
}

fn line(CaseResult { case, case_run }: &CaseResult) -> String {
    let yes = |holds: bool| if holds { "yes" } else { "no" }.to_owned();
    let excess = match case_run.excess(case) {
        excess if excess > 0.0 => case.unit.render(excess),
        _ => "–".to_owned(),
    };
    let faults = match journal::survived(&case_run.records).join(", ") {
        faults if faults.is_empty() => faults,
        faults => format!(" ({faults})"),
    };
    let run = &case_run.envelope["run"];
    table_row(&[
        format!("`{}`", case.flags.join(" ")),
        case.work.label().to_owned(),
        format!("`{}`{faults}", run["outcome"].as_str().unwrap_or("none")),
        case_run.code.map_or("–".to_owned(), |code| code.to_string()),
        yes(case_run.has_wrap_up()),
        yes(case_run.has_saved_work),
        run["attempts"].as_u64().unwrap_or(0).to_string(),
        case.unit.render(case_run.used(case.unit)),
        excess,
    ])
}

fn add_bars(section: &mut ResultSection, results: &[CaseResult]) {
    let count = |holds: &dyn Fn(&CaseResult) -> bool| results.iter().filter(|result| holds(result)).count();
    let all = results.len();
    section.every(
        "exit code as expected",
        count(&|result| result.case_run.code == Some(result.case.code)),
        all,
    );
    let saved = count(&|result| {
        result.case.has_wrap_up && result.case_run.has_wrap_up() && result.case_run.has_saved_work
    });
    section.every("saved, if there is a wrap-up", saved, count(&|result| result.case.has_wrap_up));
    section.every("no leftover process", count(&|result| result.case_run.leftover_processes == 0), all);
    let mut most = |label: &str, bar: Option<f64>, unit: &str, limited: LimitUnit| {
        // For a count of the API, the responses in flight when the limit is reached.
        let figure = |result: &CaseResult| {
            result.case_run.excess(result.case) / result.case_run.largest_response(limited)
        };
        let results = results.iter().filter(|result| result.case.unit == limited);
        section.figure(label, bar, unit, results.map(figure).fold(0.0, f64::max));
    };
    most("cost beyond the limit, maximum", Some(1.0), "responses", LimitUnit::Dollars);
    most("tokens beyond the limit, maximum", Some(1.0), "responses", LimitUnit::Tokens);
    most("turns beyond the limit, maximum", Some(1.0), "responses", LimitUnit::Turns);
    // A command has two seconds to react to a signal.
    most("time beyond the limit, maximum", Some(2.0), "s", LimitUnit::Seconds);
    most("memory beyond the limit", None, "MiB", LimitUnit::Mebibytes);
}
