//! What a drill plays: a conversation, the faults that strike it, and how a run over it must end.
//!
//! ```toml
//! name = "small"
//! summary = "one line for the list"
//! auth = "key"                        # or "oauth"; the credentials are dummies
//! model = "claude-sonnet-4-5"
//! prompt = "what the agent is asked"
//!
//! [expect]
//! outcome = "done"                    # with `fault = "…"` if it is another
//! exit = 0
//! survives = ["overloaded"]           # faults the supervisor itself meets
//!
//! [run]                               # all optional, see `Overrides`
//! inner_retries = 1
//! time_scale = 4
//!
//! [[turn]]                            # every turn but the last uses tools: write, edit, read, bash, call
//! text = "I write the file."
//! [[turn.tools]]
//! write = { path = "a.txt", content = "a" }
//!
//! [[turn]]
//! text = "All done."
//!
//! [[fault]]                           # without `turn` it strikes any; a list lets the seed draw one
//! turn = [1, 2]
//! times = 3                           # 1 if absent, or "always"; or wall_s = 14 for 14 s from the first on
//! status = { code = 529 }             # or another kind, see `FaultKind`
//!
//! [side]                              # how requests without tools are answered that no reply is to: for titles, or summaries
//! text = "- Both steps are taken."
//! fault = { status = { code = 400 } } # what happens to each of them, if anything does
//! times = 2                           # or to the first so many alone
//!
//! [workspace.files]                   # what the workspace must hold in the end
//! "a.txt" = "a"
//!
//! [workspace]
//! effects = ["step-1"]                # lines of effects.log, each there once: what was done twice or never shows
//! ```

mod duration;
mod duration_range;
mod embedded;
mod fault;
mod script;
mod signal;
#[cfg(test)]
mod tests;

pub use duration_range::DurationRange;
pub use embedded::{all, find};
pub use fault::{CutPoint, Fault, FaultKind, KillAt, Status, Times, When};
pub use script::{Auth, Expect, Overrides, Scenario, ScenarioError, Side, Tool, Turn, Workspace};
pub use signal::Signal;
