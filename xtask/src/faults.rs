//! `cargo xtask faults`: runs a small task under every fault that a run can survive, with the real agent
//! against a loopback API, and writes the results to `benches/RESILIENCE.md`.
//!
//! A missed bar is reported with its figure and is not an error. `--seed` repeats a random run, `--quick`
//! skips scenarios with long waits, `--keep` keeps the sandboxes and `--longhaul` runs an existing binary.
//! Only a full table with the real agent is written. Any other table is printed only. Linux only.

mod case;
mod figures;
pub mod journal;
mod play;
pub mod processes;
mod sessions;
mod table;
mod targets;

use crate::bench::machine::{self, Ticks};
use crate::bench::section::ResultSection;
use crate::resilience::{Part, save};
use crate::{cargo, real_agent};
use case::Case;
use figures::CaseMetrics;
use longhaul_core::draw;
use play::{TestRig, play};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, io};

const HEAD: &str = "## Faults\n\n`cargo xtask faults` writes this part. In each scenario, the real Claude Code does a small task of ten \
    turns under `longhaul run` and its default policy, against a loopback API. The API's model continues from the \
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
    - hung: time from the last activity to the end of the attempt.\n";

/// Options of the command line.
#[derive(Default)]
struct Options {
    /// The agent is the scripted one.
    scripted: bool,
    /// The scripted agent speaks the Agent Client Protocol.
    acp: bool,
    only: Vec<String>,
    seeds: Vec<u64>,
    quick: bool,
    keep: bool,
    /// Binary to run instead of a fresh build.
    longhaul: Option<PathBuf>,
}

/// Plays the cases and prints the table. Writes it if it is complete.
pub fn faults(root: &Path, args: &[String]) -> io::Result<()> {
    let options = options(args)?;
    let cases = selected_cases(&options)?;
    let rig = TestRig {
        longhaul: match &options.longhaul {
            Some(file) => file.clone(),
            None => build(root)?,
        },
        claude: if options.scripted { None } else { Some(real_agent::install(root)?) },
        acp: options.acp,
        keep: options.keep,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let agent = rig.claude.as_ref().unwrap_or(&rig.longhaul);
    let (machine, ticks) = (machine::describe(root, &rig.longhaul, agent), Ticks::now());
    let (mut ideals, mut rows) = (Vec::<CaseMetrics>::new(), Vec::new());
    for seed in &options.seeds {
        for case in &cases {
            let ideal = case.ideal();
            if !ideals.iter().any(|row| row.seed == *seed && row.case.name == ideal.name) {
                ideals.push(runtime.block_on(run_case(&rig, &ideal, *seed))?);
            }
            rows.push(runtime.block_on(run_case(&rig, case, *seed))?);
        }
    }
    let ideal_of = |row: &CaseMetrics| {
        let name = row.case.ideal().name;
        let same = |ideal: &&CaseMetrics| ideal.seed == row.seed && ideal.case.name == name;
        ideals.iter().find(same).map(|ideal| (ideal.tokens, ideal.seconds))
    };
    let bars = ResultSection {
        about: "Bars for all scenarios together. A missed bar is shown with its figure.",
        rows: targets::bars(&rows, &ideal_of),
        appendix: String::new(),
    };
    let missed = bars.missed();
    let conditions = format!("{machine} · {}", Ticks::stolen_since(ticks));
    let table = table::table(&[&ideals[..], &rows[..]], &ideal_of);
    let markdown = format!("{HEAD}\n{table}\n{}", bars.markdown("Bars of the faults", &conditions));
    println!("{markdown}");
    if options.only.is_empty() && !options.quick && !options.scripted {
        save(root, Part::Faults, &markdown)?;
    }
    eprintln!("{missed} bars missed");
    Ok(())
}

/// Makes a debug build, because the supervisor's own speed does not matter here.
pub fn build(root: &Path) -> io::Result<PathBuf> {
    let status =
        cargo().args(["build", "--quiet", "--package", "longhaul-cli"]).current_dir(root).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("build longhaul: {status}")));
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("debug/longhaul"))
}

async fn run_case(rig: &TestRig, case: &Case, seed: u64) -> io::Result<CaseMetrics> {
    let scenario = case.scenario()?;
    eprintln!("▶ {} (seed {seed}): {}", case.name, case.description);
    let case_run = play(rig, case, &scenario, seed).await?;
    let figures = CaseMetrics::new(case, &scenario, seed, &case_run);
    eprintln!("  {}", table::line(&figures, None));
    if let Some(path) = &case_run.kept {
        eprintln!("  kept {}", path.display());
    }
    Ok(figures)
}

fn selected_cases(options: &Options) -> io::Result<Vec<Case>> {
    let cases = case::all()?;
    if let Some(name) = options.only.iter().find(|name| !cases.iter().any(|case| case.name == **name)) {
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        return Err(io::Error::other(format!(
            "no scenario `{name}`; the scenarios are: {}",
            names.join(", ")
        )));
    }
    let is_selected = |case: &Case| options.only.is_empty() || options.only.contains(&case.name);
    Ok(cases.into_iter().filter(|case| is_selected(case) && !(options.quick && case.slow)).collect())
}

fn options(args: &[String]) -> io::Result<Options> {
    let mut options = Options::default();
    let mut count = 1;
    let mut args = args.iter().peekable();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => options.quick = true,
            "--keep" => options.keep = true,
            "--seeds" => count = number(arg, args.next())?,
            "--seed" => options.seeds.push(number(arg, args.next())?),
            "--longhaul" => {
                let file = args.next().ok_or_else(|| io::Error::other("--longhaul needs a file"))?;
                options.longhaul = Some(std::path::absolute(file)?);
            }
            "--agent" => match args.next().map(String::as_str) {
                Some("scripted") => (options.scripted, options.acp) = (true, false),
                Some("acp") => (options.scripted, options.acp) = (true, true),
                Some("claude") => (options.scripted, options.acp) = (false, false),
                _ => return Err(io::Error::other("--agent is scripted, acp or claude")),
            },
            "--only" => {
                while let Some(name) = args.next_if(|name| !name.starts_with("--")) {
                    options.only.push(name.clone());
                }
            }
            other => return Err(io::Error::other(format!("unknown argument `{other}`; see `cargo xtask`"))),
        }
    }
    if options.seeds.is_empty() {
        options.seeds = fresh_seeds(count);
    }
    Ok(options)
}

/// Parses the number after a flag.
pub fn number(flag: &str, value: Option<&String>) -> io::Result<u64> {
    value
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| io::Error::other(format!("{flag} needs a number")))
}

/// Returns seeds that are short enough to type.
pub fn fresh_seeds(count: u64) -> Vec<u64> {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    (0..count).map(|salt| draw(nanos, salt, 999_999)).collect()
}
