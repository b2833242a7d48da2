//! `cargo xtask stories`: the real agent works in a git repository, a process is killed in the middle of a
//! command, and the commands that a person would then use are typed. Writes the commands, the envelope and the
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

const HEAD: &str = "## Stories\n\nWritten by `cargo xtask stories`: the real Claude Code under `longhaul run` in a git \
    repository, against a loopback API. The work is three steps, each of which looks whether it is committed, else adds \
    a line to a file and commits it; the second takes five seconds, and in the middle of it the next command is typed. `$longhaul` and \
    `$agent` are process numbers, `$session` is the session's id.\n";

/// A walkthrough: its title and the lines that are typed in the middle of the second step. The last line that
/// prints an envelope shows the end; if none does, the run itself does.
struct Walkthrough {
    title: &'static str,
    typed: &'static [&'static str],
    /// Directory of the work at the end, next to the one in which it started.
    ends_in: &'static str,
}

const STORIES: &[Walkthrough] = &[
    Walkthrough {
        title: "Longhaul is killed",
        typed: &["kill -9 $longhaul", "longhaul recover"],
        ends_in: "work",
    },
    Walkthrough { title: "The agent is killed", typed: &["kill -9 $agent"], ends_in: "work" },
    Walkthrough {
        title: "Both are killed, and the session file is lost",
        typed: &["kill -9 $longhaul $agent", "rm ~/.claude/projects/*/$session.jsonl", "longhaul recover"],
        ends_in: "work",
    },
    Walkthrough {
        title: "Longhaul is killed, and the run was resumed in another directory and another home",
        typed: &[
            "kill -9 $longhaul",
            "longhaul cancel @",
            "longhaul export @ --output ../run.longhaul",
            "LONGHAUL_HOME=~/other longhaul import ../run.longhaul --into ../elsewhere",
            "LONGHAUL_HOME=~/other longhaul resume @",
        ],
        ends_in: "elsewhere",
    },
];

/// Plays the walkthroughs and writes their results.
pub fn walkthroughs(root: &Path, args: &[String]) -> io::Result<()> {
    if let Some(arg) = args.first() {
        return Err(io::Error::other(format!("`{arg}` is not understood; see `cargo xtask`")));
    }
    let longhaul = build(root)?;
    let claude = real_agent::locate(root)?;
    let mut text = format!("{HEAD}\n{}\n", machine::describe(root, &longhaul, &claude));
    let mut failed = 0;
    for walkthrough in STORIES {
        eprintln!("▶ {}", walkthrough.title);
        let run = WalkthroughRig::new(&longhaul, &claude)?.play(walkthrough.typed, walkthrough.ends_in)?;
        failed += usize::from(!run.problems.is_empty());
        text += &render(walkthrough, &run);
    }
    println!("{text}");
    save(root, Part::Stories, &text)?;
    if failed > 0 {
        Err(io::Error::other(format!("{failed} stories did not end as they should")))
    } else {
        Ok(())
    }
}

fn render(walkthrough: &Walkthrough, run: &WalkthroughRun) -> String {
    let mut text = format!("\n### {}\n\n```sh\n{}\n", walkthrough.title, stage::RUN);
    for line in walkthrough.typed {
        let _ = writeln!(text, "{line}");
    }
    let _ = write!(text, "```\n\n```json\n{}\n```\n\n", run.envelope);
    let _ = writeln!(text, "`git log`: {} · `steps`: {}", run.commits.join(", "), run.steps.join(", "));
    let verdict = if run.problems.is_empty() {
        "each step once, nothing left running".to_owned()
    } else {
        format!("**{}**", run.problems.join("; "))
    };
    let _ = writeln!(text, "\n{verdict}");
    text
}
