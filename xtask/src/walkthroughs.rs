//! `cargo xtask walkthroughs`: the real agent works in a git repository, a process is killed in the middle of
//! a command, and a shell runs the commands that a user would type. Writes the commands, the envelope and the
//! repository to `benches/RESILIENCE.md`.
//!
//! A walkthrough with an unexpected end is written too, and the command fails. Linux only.

mod stage;

use crate::bench::machine;
use crate::faults::build;
use crate::real_agent;
use crate::resilience::{Part, save};
use stage::{WalkthroughRig, WalkthroughRun};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

const HEAD: &str = "## Walkthroughs\n\n`cargo xtask walkthroughs` writes this part: the real Claude Code under `longhaul run` in a git \
    repository, against a loopback API. The work is three steps. Each step checks whether it is committed; if not, it adds a \
    line to a file and commits it. The second step takes five seconds, and in the middle of it the next command is typed. \
    `$longhaul` and `$agent` are process ids, and `$session` is the id of the session.\n";

/// A walkthrough: its title and the lines that are typed in the middle of the second step. The last envelope
/// that a line prints is the result. If no line prints one, the run's own envelope is the result.
struct Walkthrough {
    title: &'static str,
    lines: &'static [&'static str],
    /// Directory of the work at the end, a sibling of the first one.
    final_dir: &'static str,
}

const WALKTHROUGHS: &[Walkthrough] = &[
    Walkthrough {
        title: "Longhaul is killed",
        lines: &["kill -9 $longhaul", "longhaul recover"],
        final_dir: "work",
    },
    Walkthrough { title: "The agent is killed", lines: &["kill -9 $agent"], final_dir: "work" },
    Walkthrough {
        title: "Both are killed, and the session file is lost",
        lines: &["kill -9 $longhaul $agent", "rm ~/.claude/projects/*/$session.jsonl", "longhaul recover"],
        final_dir: "work",
    },
    Walkthrough {
        title: "Longhaul is killed, and the run was resumed in another directory and another home",
        lines: &[
            "kill -9 $longhaul",
            "longhaul cancel @",
            "longhaul export @ --output ../run.longhaul",
            "LONGHAUL_HOME=~/other longhaul import ../run.longhaul --into ../elsewhere",
            "LONGHAUL_HOME=~/other longhaul resume @",
        ],
        final_dir: "elsewhere",
    },
];

/// Plays the walkthroughs and writes their results.
pub fn walkthroughs(root: &Path, args: &[String]) -> io::Result<()> {
    if let Some(arg) = args.first() {
        return Err(io::Error::other(format!("unknown argument `{arg}`; see `cargo xtask`")));
    }
    let longhaul = build(root)?;
    let claude = real_agent::locate(root)?;
    let mut text = format!("{HEAD}\n{}\n", machine::describe(root, &longhaul, &claude));
    let mut failed = 0;
    for walkthrough in WALKTHROUGHS {
        eprintln!("▶ {}", walkthrough.title);
        let run = WalkthroughRig::new(&longhaul, &claude)?.play(walkthrough.lines, walkthrough.final_dir)?;
        failed += usize::from(!run.problems.is_empty());
        text += &render(walkthrough, &run);
    }
    println!("{text}");
    save(root, Part::Walkthroughs, &text)?;
    if failed > 0 {
        Err(io::Error::other(format!("{failed} walkthroughs have unexpected results")))
    } else {
        Ok(())
    }
}

fn render(walkthrough: &Walkthrough, run: &WalkthroughRun) -> String {
    let mut text = format!("\n### {}\n\n```sh\n{}\n", walkthrough.title, stage::RUN);
    for line in walkthrough.lines {
        let _ = writeln!(text, "{line}");
    }
    let _ = write!(text, "```\n\n```json\n{}\n```\n\n", run.envelope);
    let _ = writeln!(text, "`git log`: {} · `steps`: {}", run.commits.join(", "), run.steps.join(", "));
    let verdict = if run.problems.is_empty() {
        "each step was done once, and no process remains".to_owned()
    } else {
        format!("**{}**", run.problems.join("; "))
    };
    let _ = writeln!(text, "\n{verdict}");
    text
}
