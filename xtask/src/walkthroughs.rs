//! `cargo xtask walkthroughs`: the real agent works in a git repository, a process is killed in the middle of
//! a command, and a shell runs the commands that a user would type. Writes the commands, the envelope and the
//! repository to `benches/RESILIENCE.md`.
//!
//! A walkthrough with an unexpected end is written too, and the command fails. Linux only.

mod stage;

use crate::programs::{Programs, debug_build};
use crate::results::{RESILIENCE, ResultSection, WALKTHROUGHS};
use crate::{machine, real_agent};
use stage::{WalkthroughRig, WalkthroughRun};
use std::io;
use std::path::Path;

const ABOUT: &str = "`cargo xtask walkthroughs` writes this part: the real Claude Code under `longhaul run` in a git \
    repository, against a loopback API. The work is three steps. Each step checks whether it is committed; if not, it adds a \
    line to a file and commits it. The second step takes five seconds, and in the middle of it the next command is typed. \
    `$longhaul` and `$agent` are process ids, and `$session` is the id of the session.";

/// A walkthrough: its title and the lines that are typed in the middle of the second step. The last envelope
/// that a line prints is the result. If no line prints one, the run's own envelope is the result.
struct Walkthrough {
    title: &'static str,
    lines: &'static [&'static str],
    /// Directory of the work at the end, a sibling of the first one.
    final_dir: &'static str,
}

const SCRIPTS: &[Walkthrough] = &[
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

pub fn walkthroughs(root: &Path) -> io::Result<()> {
    let programs = Programs { longhaul: debug_build(root)?, claude: real_agent::locate(root)? };
    let mut problems = Vec::new();
    let markdown = machine::measure(root, &programs, WALKTHROUGHS, || {
        let mut section = ResultSection::new(ABOUT);
        for walkthrough in SCRIPTS {
            eprintln!("▶ {}", walkthrough.title);
            let run = WalkthroughRig::new(&programs)?.play(walkthrough.lines, walkthrough.final_dir)?;
            section.appendix += &render(walkthrough, &run);
            problems.extend(run.problems);
        }
        Ok(section)
    })?;
    RESILIENCE.save(root, WALKTHROUGHS, &markdown)?;
    if problems.is_empty() { Ok(()) } else { Err(io::Error::other(problems.join("; "))) }
}

fn render(walkthrough: &Walkthrough, run: &WalkthroughRun) -> String {
    let verdict = if run.problems.is_empty() {
        "each step was done once, and no process remains".to_owned()
    } else {
        format!("**{}**", run.problems.join("; "))
    };
    let lines = walkthrough.lines.join("\n");
    format!(
        "### {}\n\n```sh\n{}\n{lines}\n```\n\n```json\n{}\n```\n\n`git log`: {} · `steps`: {}\n\n{verdict}\n\n",
        walkthrough.title,
        stage::RUN,
        run.envelope,
        run.commits.join(", "),
        run.steps.join(", "),
    )
}
