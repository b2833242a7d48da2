//! What an agent may not do in a run, whatever it is permitted otherwise, and what its questions are answered. A verdict is a matter of the call
//! alone, so that whoever reads the agent's stream again comes to the same one.

mod call;
mod code;
mod host;
mod list_file;
mod paths;
mod reach;
mod shell;
mod texts;
mod unescape;
mod url_pattern;
mod urls;

use crate::glance::beginning;
use crate::pattern::Pattern;
use crate::{Answers, AnswersError, NetworkError};
pub use call::Call;
pub use list_file::{UrlListError, url_patterns};
pub use paths::{BlockedPathError, BlockedPaths};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;
pub use url_pattern::{UrlPattern, UrlPatternError};

// An answer must fit into one write to a pipe, whatever the model called for.
const NAME_BYTES_MAX: usize = 200;

/// The guards of a run; those of most runs allow everything, and let the agent ask nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// The tools that may be used; empty for all.
    pub allow_tools: Vec<ToolPattern>,
    /// The tools that may not be used, also if they are among the former.
    pub deny_tools: Vec<ToolPattern>,
    /// How its questions are answered; nothing if it may ask none.
    pub answers: Option<Answers>,
    /// The URLs that no call may name.
    pub block_urls: Vec<UrlPattern>,
    /// The paths that no call may touch.
    pub block_paths: BlockedPaths,
}

/// What a guard says to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: the agent's own permissions decide.
    Pass,
    /// The call is not made. The agent is told why.
    Deny(String),
    /// The call is made with this input instead of the model's, and needs no other permission.
    Amend(Value),
}

/// A tool's name as the agent writes it, with `*` for anything: `Bash`, `mcp__*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern {
    text: String,
    pattern: Pattern,
}

/// Guards that cannot be meant: a pattern that fits nothing, or too much.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// It is empty, or an alternative of it is.
    #[error("an empty name fits no tool")]
    Empty,
    /// It is written like a permission rule, which also names arguments.
    #[error("`{0}` names arguments; a tool is named alone, as in `Bash` or `mcp__*`")]
    Arguments(String),
    /// Answers that do not go together.
    #[error(transparent)]
    Answers(#[from] AnswersError),
    /// What is no host.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A URL that is to be blocked is none.
    #[error(transparent)]
    Url(#[from] UrlPatternError),
    /// A path cannot be blocked.
    #[error(transparent)]
    Path(#[from] BlockedPathError),
}

impl Guards {
    /// Whether there is anything to guard.
    pub fn are_set(&self) -> bool {
        *self != Guards::default()
    }

    /// What they say to a call.
    pub fn verdict(&self, call: &Call<'_>) -> Verdict {
        let tool = call.tool;
        let fits = |patterns: &[ToolPattern]| patterns.iter().any(|tools| tools.pattern.fits(tool));
        let allowed = self.allow_tools.is_empty() || fits(&self.allow_tools);
        if !allowed || fits(&self.deny_tools) || tool.is_empty() {
            let tool = beginning(tool, NAME_BYTES_MAX);
            return Verdict::Deny(format!(
                "The tool {tool} is not allowed in this run, and nobody is there to allow it. Go on without it."
            ));
        }
        match self.block_paths.verdict(call) {
            Verdict::Pass => reach::verdict(self, call),
            verdict @ (Verdict::Deny(_) | Verdict::Amend(_)) => verdict,
        }
    }
}

impl FromStr for ToolPattern {
    type Err = GuardError;

    fn from_str(text: &str) -> Result<ToolPattern, GuardError> {
        let text = text.trim();
        if text.contains('(') {
            return Err(GuardError::Arguments(text.to_owned()));
        }
        let pattern = Pattern::new(text).ok_or(GuardError::Empty)?;
        Ok(ToolPattern { text: text.to_owned(), pattern })
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, GuardError, Guards, ToolPattern, Verdict};

    fn tools(patterns: &[&str]) -> Vec<ToolPattern> {
        patterns.iter().map(|text| text.parse().expect("a pattern")).collect()
    }

    #[test]
    fn tools_are_allowed_and_denied_by_name() {
        let check = |allow: &[&str], deny: &[&str], tool: &str, passes: bool| {
            let guards = Guards { allow_tools: tools(allow), deny_tools: tools(deny), ..Guards::default() };
            let verdict = guards.verdict(&Call::new(tool, "{}"));
            assert_eq!(verdict == Verdict::Pass, passes, "{guards:?} {tool}");
        };
        check(&[], &[], "Bash", true);
        check(&[], &["WebFetch"], "Bash", true);
        check(&[], &["WebFetch", "Web*"], "WebSearch", false);
        check(&[], &["mcp__*"], "mcp__github__create_issue", false);
        check(&["Read", "Grep|Glob"], &[], "Glob", true);
        check(&["Read"], &[], "Bash", false);
        check(&["*"], &["Bash"], "Bash", false);
        // Names are compared as the agent writes them: another spelling is another tool.
        check(&[], &["bash"], "Bash", true);
        // A call without a name could be any.
        check(&[], &["WebFetch"], "", false);
    }

    #[test]
    fn a_pattern_is_a_name() {
        let check = |text: &str, expected: Result<&str, GuardError>| {
            assert_eq!(
                text.parse::<ToolPattern>().map(|tools| tools.to_string()),
                expected.map(str::to_owned),
                "{text}"
            );
        };
        check(" Bash ", Ok("Bash"));
        check("", Err(GuardError::Empty));
        check("Bash|", Err(GuardError::Empty));
        check("Bash(git push:*)", Err(GuardError::Arguments("Bash(git push:*)".to_owned())));
    }
}
