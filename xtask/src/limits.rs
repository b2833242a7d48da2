//! `cargo xtask limits`: the real agent works in a git repository until a limit ends its run. Writes what that came to
//! to `benches/RESILIENCE.md`: whether the work was saved, how far the run went beyond its limit, and what each call of
//! a tool costs more because somebody counts.
//!
//! A missed bar is reported with its figure and is no error. Linux only.

mod case;
mod hook_latency;
mod play;

use crate::bench::machine::{self, Ticks};
use crate::bench::section::{Row, Section};
use crate::faults::build;
use crate::real_agent;
use crate::resilience::{Part, save};
use case::{LimitCase, STORIES, Unit};
use play::{CaseRun, TestRig};
use std::io;
use std::path::Path;

const HEAD: &str = "## Limits\n\nWritten by `cargo xtask limits`: the real Claude Code under `longhaul run` in a git \
    repository, against a loopback API. Its work is a hundred steps of a third of a second, or one command of a minute, or one \
    that takes 100 MiB more every tenth of a second; when it is told that the run is about to end, it commits and stops.\n\n\
    wrap-up: it was told so, in the conversation that it had open · saved: the commit is there · used: by the API's own \
    account, by a clock from the start of `longhaul` to its end, or by the pages that the run's processes had resident \
    at most · beyond: how much of that is more than the limit.\n";
const TABLE: &str = "| limit | in the middle of | outcome | exit code | wrap-up | saved | attempts | used | beyond |\n\
    |---|---|---|---|---|---|---|---|---|\n";

/// A story, and what became of it.
struct CaseResult {
    case: &'static LimitCase,
    played: CaseRun,
}

/// Plays the stories, measures the calls, and writes both down.
pub fn limits(root: &Path, args: &[String]) -> io::Result<()> {
    if let Some(arg) = args.first() {
        return Err(io::Error::other(format!("`{arg}` is not understood; see `cargo xtask`")));
    }
    let rig = TestRig { longhaul: build(root)?, claude: real_agent::found(root)? };
    let (machine, ticks) = (machine::described(root, &rig.longhaul, &rig.claude), Ticks::now());
    let mut told = Vec::new();
    for story in STORIES {
        eprintln!("▶ {}, in the middle of {}", story.flags.join(" "), story.work.says());
        let played = rig.play(&story.work.scenario(), story.flags)?;
        told.push(CaseResult { case: story, played });
        eprintln!("  {}", told.last().map(line).unwrap_or_default());
    }
    let mut rows = bars(&told);
    rows.extend(hook_latency::rows(&rig)?);
    let section = Section {
        about: "What is promised of them together, and what an agent that is counted is slower by. A bar that was missed is \
                shown with its figure.",
        rows,
        appendix: String::new(),
    };
    let missed = section.missed();
    let table: String = told.iter().flat_map(|told| [line(told), "\n".to_owned()]).collect();
    let taken = format!("{machine} · {}", Ticks::stolen_since(ticks));
    let text = format!("{HEAD}\n{TABLE}{table}\n{}", section.markdown("Bars of the limits", &taken));
    println!("{text}");
    save(root, Part::Limits, &text)?;
    eprintln!("{missed} bars missed");
    Ok(())
}

/// One row of the table.
fn line(CaseResult { case: story, played }: &CaseResult) -> String {
    let yes = |holds: bool| if holds { "yes" } else { "no" }.to_owned();
    let beyond = match story.beyond(played) {
        beyond if beyond > 0.0 => story.unit.shown(beyond),
        _ => "–".to_owned(),
    };
    let faults = match played.faults().join(", ") {
        faults if faults.is_empty() => faults,
        faults => format!(" ({faults})"),
    };
    let cells = [
        format!("`{}`", story.flags.join(" ")),
        story.work.says().to_owned(),
        format!("`{}`{faults}", played.outcome()),
        played.code.map_or("–".to_owned(), |code| code.to_string()),
        yes(played.wrapped_up()),
        yes(played.saved()),
        played.attempts().to_string(),
        story.unit.shown(story.used(played)),
        beyond,
    ];
    format!("| {} |", cells.join(" | "))
}

fn bars(told: &[CaseResult]) -> Vec<Row> {
    let every = |what: &str, of: &dyn Fn(&CaseResult) -> bool, holds: &dyn Fn(&CaseResult) -> bool| {
        let all = told.iter().filter(|told| of(told)).count();
        let held = told.iter().filter(|told| of(told) && holds(told)).count();
        Row::must(what, format!("{all} of {all}"), format!("{held} of {all}"), held == all && all > 0)
    };
    let most = |unit: Unit, figure: &dyn Fn(&CaseResult) -> f64| {
        told.iter().filter(|told| told.case.unit == unit).map(figure).fold(0.0, f64::max)
    };
    let answers = |unit: Unit| most(unit, &|told| told.case.beyond(&told.played) / told.played.answer(unit));
    let beyond = |unit: Unit| most(unit, &|told| told.case.beyond(&told.played));
    vec![
        every("ended as promised", &|_| true, &|told| told.played.code == Some(told.case.code)),
        every("saved, where there is a wrap-up", &|told| told.case.saves, &|told| {
            told.played.wrapped_up() && told.played.saved()
        }),
        every("no process left", &|_| true, &|told| told.played.leftover_processes == 0),
        // What is under way when the limit is reached.
        Row::at_most("money beyond the limit, most", 1.0, "answers", answers(Unit::Dollars)),
        Row::at_most("tokens beyond the limit, most", 1.0, "answers", answers(Unit::Tokens)),
        Row::at_most("turns beyond the limit, most", 1.0, "answers", answers(Unit::Turns)),
        // A command has two seconds to heed a signal.
        Row::at_most("time beyond the limit, most", 2.0, "s", beyond(Unit::Seconds)),
        Row::render("memory beyond the limit", "MiB", beyond(Unit::Mebibytes)),
    ]
}
