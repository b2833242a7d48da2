//! A scenario: a conversation, the faults injected into it, and the expected outcome of a run.
//!
//! ```toml
//! name = "small"
//! summary = "one line for the list"
//! auth = "key"                        # or "oauth"; the credentials are dummies
//! model = "claude-sonnet-4-5"
//! prompt = "the task of the agent"
//!
//! [expect]
//! outcome = "done"                    # with `fault = "…"` for another outcome
//! exit = 0
//! survives = ["overloaded"]           # faults that the supervisor must recover from
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
//! [[fault]]                           # without `turn` it strikes any turn; the seed draws one of a list
//! turn = [1, 2]
//! times = 3                           # default 1; or "always"; or outage_s = 14 from the first strike on
//! status = { code = 529 }             # or another kind, see `FaultKind`
//!
//! [side]                              # answers requests without tools, if no reply matches
//! text = "- Both steps are taken."
//! fault = { status = { code = 400 } } # optional fault of each such request
//! times = 2                           # or only of the first two
//!
//! [workspace.files]                   # expected files of the workspace at the end
//! "a.txt" = "a"
//!
//! [workspace]
//! effects = ["step-1"]                # lines of effects.log: every step writes one, once
//! ```

mod duration;
mod embedded;
mod fault;
mod script;
#[cfg(test)]
pub(crate) mod tests;

pub use embedded::{all, find};
pub use fault::Signal;
pub(crate) use fault::{CutPoint, FaultKind, KillAt, ScriptedFault, StatusFault, Times, When};
pub use script::{Auth, Scenario, ScenarioError};
pub(crate) use script::{Side, Tool, Turn};
