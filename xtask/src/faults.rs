//! `cargo xtask faults`: runs a small task under every fault that a run can survive, against a loopback API,
//! and writes the results to `benches/RESILIENCE.md`.
//!
//! Only a full table of the real agent, or over the Agent Client Protocol, is written. Any other table is
//! printed only. Linux only.

mod case;
mod figures;
mod play;
mod sessions;
mod table;
mod targets;

use crate::programs::{AgentChoice, Programs, SeedOptions, debug_build};
use crate::results::{FAULTS_ACP, FAULTS_CLAUDE, RESILIENCE, ResultSection};
use crate::{machine, real_agent};
use case::Case;
use clap::Args;
use play::{CaseRun, TestRig, play};
use std::io;
use std::path::{Path, PathBuf, absolute};

const ABOUT: &str = "`cargo xtask faults` writes this part. In each scenario, the agent does a small task of ten turns \
    under `longhaul run` and its default policy, against a loopback API. The API's model continues from the \
    conversation that it receives. If the conversation shows or names an earlier call of a command, the model runs the \
    command only after a check shows that it has not run. Six commands each append a line to a file of effects.\n\n\
    - completed: the workspace has the expected files.\n\
    - clean: every effect occurred exactly once, no process of the run remains, and there is one session file without \
    branches.\n\
    - honest: success was reported if and only if the work is complete.\n\
    - ideal: the same work without faults, in the same call of this command.\n\
    - tokens and billed cost: the API's own counts.\n\
    - ledger: the reported tokens of completed messages equal the billed ones.\n\
    - late: time from the end of an outage to the first served request.\n\
    - hung: time from the last activity to the end of the attempt.";

#[derive(Args)]
pub struct FaultOptions {
    #[command(flatten)]
    rig: SeedOptions,
    /// Play only these scenarios
    #[arg(long, num_args = 1.., value_name = "NAME")]
    only: Vec<String>,
    /// Skip scenarios with long waits
    #[arg(long)]
    quick: bool,
    /// Keep the sandboxes
    #[arg(long)]
    keep: bool,
    /// Run this binary instead of a fresh build
    #[arg(long, value_name = "FILE", value_parser = |file: &str| absolute(file))]
    longhaul: Option<PathBuf>,
}

pub fn faults(root: &Path, options: FaultOptions) -> io::Result<()> {
    let cases = selected_cases(&options)?;
    let is_scripted = options.rig.is_scripted();
    let longhaul = options.longhaul.map_or_else(|| debug_build(root), Ok)?;
    let claude = if is_scripted { longhaul.clone() } else { real_agent::install(root)? };
    let rig =
        TestRig { programs: Programs { longhaul, claude }, agent: options.rig.agent, keep: options.keep };
    let name = match rig.agent {
        AgentChoice::Scripted => "Faults with the scripted agent",
        AgentChoice::Acp => FAULTS_ACP,
        AgentChoice::Claude => FAULTS_CLAUDE,
    };
    let markdown = machine::measure(root, &rig.programs, name, || {
        let (mut ideals, mut rows) = (Vec::<CaseRun>::new(), Vec::new());
        for seed in options.rig.seeds(1) {
            for case in &cases {
                let ideal = case.ideal();
                if !ideals.iter().any(|row| row.seed == seed && row.case.name == ideal.name) {
                    ideals.push(run_case(&rig, &ideal, seed)?);
                }
                rows.push(run_case(&rig, case, seed)?);
            }
        }
        for row in &mut rows {
            let name = row.case.ideal().name;
            let ideal = ideals.iter().find(|ideal| ideal.seed == row.seed && ideal.case.name == name);
            row.ideal = ideal.map(|ideal| (ideal.request_log.tokens().total(), ideal.wall.as_secs_f64()));
        }
        let mut section = ResultSection::new(ABOUT);
        targets::add_bars(&mut section, &rows);
        ideals.append(&mut rows);
        section.appendix = table::table(&ideals);
        Ok(section)
    })?;
    if options.only.is_empty() && !options.quick && rig.agent != AgentChoice::Scripted {
        RESILIENCE.save(root, name, &markdown)?;
    }
    Ok(())
}

fn run_case(rig: &TestRig, case: &Case, seed: u64) -> io::Result<CaseRun> {
    eprintln!("▶ {} (seed {seed}): {}", case.name, case.description);
    let case_run = play(rig, case, seed)?;
    eprint!("  {}", table::line(&case_run));
    if let Some(path) = &case_run.kept {
        eprintln!("  kept {}", path.display());
    }
    Ok(case_run)
}

fn selected_cases(options: &FaultOptions) -> io::Result<Vec<Case>> {
    let cases = case::all()?;
    if let Some(name) = options.only.iter().find(|name| !cases.iter().any(|case| case.name == **name)) {
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        let names = names.join(", ");
        return Err(io::Error::other(format!("no scenario `{name}`; the scenarios are: {names}")));
    }
    let is_acp = options.rig.agent == AgentChoice::Acp;
    let is_selected = |case: &Case| {
        options.only.contains(&case.name) || (options.only.is_empty() && !(is_acp && case.claude_only))
    };
    Ok(cases.into_iter().filter(|case| is_selected(case) && !(options.quick && case.slow)).collect())
}
