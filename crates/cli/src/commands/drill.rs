//! `longhaul drill`: practice runs under injected faults, each with a scorecard.

mod play;
mod scorecard;
mod text;

pub use play::AGENT_SUBCOMMAND;
pub use scorecard::Scorecard;

use crate::args::{DrillAgentKind, DrillArgs, GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::next_commands::quoted;
use crate::output;
use crate::output::color::Colors;
use crate::output::wrap::wrap;
use longhaul::find_agent::find_claude;
use longhaul_agent::Program;
use longhaul_drill::Scenario;
use longhaul_drill::scenario::{all, find};
use std::env;
use std::path::Path;

// The Agent Client Protocol has no sign of a paused turn.
const NOT_OVER_ACP: &str = "pause-turn";

/// Runs the scenarios and returns the exit code: 0 only if every scorecard passes.
pub fn drill(global: &GlobalArgs, args: &DrillArgs) -> Result<u8, Failure> {
    let format = output::format(global);
    if args.list {
        let for_people = output::out::stdout_is_terminal();
        output::print_text(&text::list(&all().map_err(unexpected)?, for_people));
        return Ok(0);
    }
    let scenarios = selected_scenarios(args)?;
    let program = program(args)?;
    let seed = args.seed;
    let mut cards = Vec::new();
    for scenario in &scenarios {
        let mut text = format!("drill {} (seed {seed}): ", scenario.name);
        wrap(&mut text, &scenario.summary, 4);
        output::print_status(text.trim_end());
        let (result, kept_dir) = play::play(global, args, scenario, &program)?;
        let card = Scorecard::new(scenario, seed, args.agent, result);
        if format == OutputFormat::Text {
            output::print_text(&text::card(&card, Colors::stdout()));
        }
        match kept_dir {
            Some(kept_dir) => output::print_status(&inspect_hint(&kept_dir, &card.run)),
            None if format == OutputFormat::Text && scenarios.len() == 1 => {
                output::print_status("the run was deleted; pass --keep to inspect it");
            }
            None => {}
        }
        cards.push(card);
    }
    match format {
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(format, &cards),
        OutputFormat::Text if cards.len() > 1 => output::print_text(&text::summary(&cards)),
        OutputFormat::Text => {}
    }
    // A failed drill is a failure of Longhaul, whatever the scenario expects.
    Ok(if cards.iter().all(|card| card.passed) { 0 } else { 20 })
}

fn inspect_hint(kept_dir: &Path, run: &str) -> String {
    let home = quoted(&kept_dir.join(play::HOME).display().to_string());
    format!(
        "kept {}\n  export LONGHAUL_HOME={home}\n  longhaul why {run}     # what happened; also: show, logs, cost, report",
        kept_dir.display()
    )
}

fn selected_scenarios(args: &DrillArgs) -> Result<Vec<Scenario>, Failure> {
    let names: Vec<&str> = args.scenarios.iter().map(String::as_str).collect();
    let unknown = |error: longhaul_drill::ScenarioError| {
        let suggestion =
            error.did_you_mean().map(|name| format!("did you mean {name}? ")).unwrap_or_default();
        Failure::usage(error.to_string(), format!("{suggestion}`longhaul drill --list` lists the scenarios"))
    };
    match names.as_slice() {
        [] => find("storm").map(|storm| vec![storm]).map_err(unknown),
        ["all"] => {
            let mut scenarios = all().map_err(unknown)?;
            if args.agent == DrillAgentKind::Acp {
                scenarios.retain(|scenario| scenario.name != NOT_OVER_ACP);
            }
            Ok(scenarios)
        }
        names => names.iter().map(|name| find(name).map_err(unknown)).collect(),
    }
}

fn program(args: &DrillArgs) -> Result<Program, Failure> {
    let flags: &[&str] = match args.agent {
        DrillAgentKind::Scripted => &[AGENT_SUBCOMMAND],
        DrillAgentKind::Acp => &[AGENT_SUBCOMMAND, "--acp"],
        DrillAgentKind::Claude => {
            return Ok(Program { path: find_claude(args.agent_path.as_deref())?, leading_args: Vec::new() });
        }
    };
    let path = env::current_exe().map_err(unexpected)?;
    Ok(Program { path, leading_args: flags.iter().map(ToString::to_string).collect() })
}

fn unexpected(error: impl std::fmt::Display) -> Failure {
    Failure::unexpected(error.to_string())
}
