//! Guards: rules that are evaluated before each tool call. They match the names of tools, hosts and paths,
//! and never run a program. A verdict depends on the call alone, so replaying a stream gives the same
//! verdicts.

mod decodings;
mod edit_paths;
mod guarded_call;
mod host;
mod paths;
mod tool_names;
mod url_list;
mod url_pattern;
mod urls;

use crate::pattern::{Pattern, matches};
use crate::snapshot::truncate_to_bytes;
use crate::{Answers, AnswersError, NetworkError};
use decodings::decodings;
pub use edit_paths::EditPaths;
use edit_paths::denial_of_settings;
pub use guarded_call::GuardedCall;
use longhaul_core::GuardRules;
pub use paths::{BlockedPathError, BlockedPaths};
use serde_json::Value;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use tool_names::{names, starts_commands};
pub use url_list::url_patterns;
pub use url_pattern::{UrlPattern, UrlPatternError};
use urls::Urls;

// A reply must fit into one write to a pipe, however long the name is.
const NAME_BYTES_MAX: usize = 200;
/// The tool with which an agent returns its result. It has no other effect, and a denial would keep the agent
/// from finishing.
const RESULT_TOOL: &str = "StructuredOutput";
const SEARCH_TOOL: &str = "WebSearch";
const EXCLUDED_HOSTS: &str = "blocked_domains";
/// Fields that hold a command or a program.
const COMMAND_FIELDS: [&str; 6] = ["args", "cmd", "code", "command", "expression", "script"];

/// The guards of a run. The default allows every call and no questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// The allowed tools. Empty allows all.
    pub allow_tools: Vec<ToolPattern>,
    /// The denied tools. They take precedence over the allowed ones.
    pub deny_tools: Vec<ToolPattern>,
    /// The answers to the agent's questions, or `None` if it may not ask any.
    pub answers: Option<Answers>,
    /// The URLs that no call may name.
    pub block_urls: Vec<UrlPattern>,
    /// The paths that no call may touch.
    pub block_paths: BlockedPaths,
    /// The only paths that editing tools may change.
    pub edit_paths: EditPaths,
}

/// The verdict of the guards on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The guards do not object: the agent's own permissions decide.
    Allow,
    /// The call is not made. The agent receives the reason.
    Deny(String),
    /// The call is made with this input instead of the model's, and needs no other permission.
    Modify(Value),
}

/// A pattern for tool names as the agent writes them, with `*` for any text: `Bash`, `mcp__*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern(Pattern);

/// An invalid guard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// The pattern or an alternative of it is empty.
    #[error("an empty name matches no tool")]
    Empty,
    /// The pattern looks like a permission rule, which also names arguments.
    #[error("`{0}` names arguments; name only the tool, as in `Bash` or `mcp__*`")]
    Arguments(String),
    /// The answers are invalid.
    #[error(transparent)]
    Answers(#[from] AnswersError),
    /// The entry is not a host.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The URL pattern is invalid.
    #[error(transparent)]
    Url(#[from] UrlPatternError),
    /// The path cannot be blocked.
    #[error(transparent)]
    Path(#[from] BlockedPathError),
}

impl Guards {
    /// Compiles the guards of an agent that works in `cwd`.
    ///
    /// # Errors
    /// Returns the first invalid rule, because a run must not continue without it.
    pub fn compile(rules: &GuardRules, cwd: &Path) -> Result<Guards, GuardError> {
        let tools =
            |texts: &[String]| texts.iter().map(|text| text.parse()).collect::<Result<_, GuardError>>();
        let urls = rules.block_urls.iter().map(|text| text.parse()).collect::<Result<_, UrlPatternError>>();
        let home = rules.home.as_deref().unwrap_or_default();
        Ok(Guards {
            allow_tools: tools(&rules.allow_tools)?,
            deny_tools: tools(&rules.deny_tools)?,
            block_urls: urls?,
            answers: rules.answers.clone().map(Answers::new).transpose()?,
            block_paths: BlockedPaths::new(&rules.block_paths, &cwd.to_string_lossy(), home)?,
            edit_paths: EditPaths::new(&rules.edit_paths, cwd),
        })
    }

    /// Returns whether there is nothing to guard.
    pub fn is_empty(&self) -> bool {
        *self == Guards::default()
    }

    /// Returns the verdict on a call.
    pub fn verdict(&self, call: &GuardedCall<'_>) -> Verdict {
        let tool = call.tool;
        if self.denies_tool(tool) {
            return deny(format!(
                "The tool {} is not allowed in this run",
                truncate_to_bytes(tool, NAME_BYTES_MAX)
            ));
        }
        let settings = if self.must_disable_skill_commands() { denial_of_settings(call) } else { None };
        if let Some(reason) = self.edit_paths.denial(call).or(settings) {
            return deny(reason);
        }
        if tool == RESULT_TOOL || (self.block_urls.is_empty() && self.block_paths.is_empty()) {
            return Verdict::Allow;
        }
        let Some(input) = call.input() else {
            return deny("The input of this call cannot be read, so it cannot be checked against the guards of this run".to_owned());
        };
        let texts = texts(call.tool, input);
        let path = if self.block_paths.is_empty() { None } else { self.blocked_path(call, &texts) };
        let blocked = path.map(|path| format!("The path {path}")).or_else(|| self.blocked_url(call, &texts));
        match blocked {
            Some(blocked) => {
                let blocked = truncate_to_bytes(&blocked, NAME_BYTES_MAX);
                deny(format!("{blocked} is blocked in this run"))
            }
            None if call.tool == SEARCH_TOOL && call.bypasses_permissions => {
                exclude_hosts(&self.block_urls, input)
            }
            None => Verdict::Allow,
        }
    }

    /// Returns whether commands inside skills must be disabled. The agent itself runs them, without a tool
    /// call, so they could bypass the guards.
    pub fn must_disable_skill_commands(&self) -> bool {
        self.denies_tool("Bash") || !self.block_urls.is_empty() || !self.block_paths.is_empty()
    }

    /// Returns the patterns that match none of the agent's tools. Patterns for tools of MCP servers are
    /// omitted, because the agent lists these tools later than others.
    pub(crate) fn unmatched<'a>(&'a self, tools: &'a [&str]) -> impl Iterator<Item = &'a str> {
        let alternatives =
            self.allow_tools.iter().chain(&self.deny_tools).flat_map(|tools| tools.0.alternatives());
        alternatives.filter(|pattern| {
            let is_used = |tool: &&str| names(tool).any(|name| matches(pattern, name));
            !pattern.starts_with("mcp__") && !tools.iter().any(is_used)
        })
    }

    pub(crate) fn denies_tool(&self, tool: &str) -> bool {
        let matches = |patterns: &[ToolPattern], tool: &str| {
            patterns.iter().any(|tools| names(tool).any(|name| tools.0.matches(name)))
        };
        let is_allowed =
            tool == RESULT_TOOL || self.allow_tools.is_empty() || matches(&self.allow_tools, tool);
        let is_denied =
            matches(&self.deny_tools, tool) || (starts_commands(tool) && matches(&self.deny_tools, "Bash"));
        tool.is_empty() || !is_allowed || is_denied
    }

    pub(crate) fn find_blocked_url(&self, call: &GuardedCall<'_>) -> Option<String> {
        self.blocked_url(call, &texts(call.tool, call.input()?))
    }

    fn blocked_path(&self, call: &GuardedCall<'_>, texts: &[CallText]) -> Option<&str> {
        let mut dirs = vec![self.block_paths.dir(call.cwd).to_owned()];
        for text in texts {
            text.decodings.iter().for_each(|text| self.block_paths.find_dirs(text, &mut dirs));
        }
        texts.iter().find_map(|text| {
            text.decodings.iter().find_map(|decoded| self.block_paths.find(decoded, text.is_command, &dirs))
        })
    }

    fn blocked_url(&self, call: &GuardedCall<'_>, texts: &[CallText]) -> Option<String> {
        let urls = Urls::new(&self.block_urls);
        let found = texts.iter().find_map(|text| {
            let found = text.decodings.iter().find_map(|decoded| urls.find(decoded, text.is_command));
            found.or_else(|| {
                if call.tool == SEARCH_TOOL { urls.find_search(text.decodings.first()?) } else { None }
            })
        });
        found.map(UrlPattern::to_string)
    }
}

struct CallText {
    decodings: Vec<String>,
    /// Whether the tool runs it as a command. Then every word of it can be a path or a host.
    is_command: bool,
}

/// Returns every string of an input, including the names of fields.
fn texts(tool: &str, input: &Value) -> Vec<CallText> {
    let mut texts = Vec::new();
    let mut rest = vec![("", input)];
    while let Some((field, value)) = rest.pop() {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::Array(values) => rest.extend(values.iter().map(|value| (field, value))),
            Value::Object(fields) => {
                // A search excludes these hosts.
                let is_searched = |field: &str| tool != SEARCH_TOOL || field != EXCLUDED_HOSTS;
                for (field, value) in fields.iter().filter(|(field, _)| is_searched(field)) {
                    texts.push(CallText { decodings: decodings(field), is_command: false });
                    rest.push((field, value));
                }
            }
            Value::String(text) => {
                let is_command = COMMAND_FIELDS.contains(&field);
                let mut decodings = decodings(text);
                // Browsers ignore these in a URL.
                if field == "url" && text.contains(['\t', '\n', '\r']) {
                    decodings.push(text.replace(['\t', '\n', '\r'], ""));
                }
                texts.push(CallText { decodings, is_command });
            }
        }
    }
    texts
}

/// Returns a verdict that adds blocked hosts to the exclusions of a search. A search that is limited to
/// allowed hosts accepts no exclusions.
fn exclude_hosts(patterns: &[UrlPattern], input: &Value) -> Verdict {
    let hosts_of = |field: &str| input.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let has_allowed_hosts = !hosts_of("allowed_domains").is_empty();
    let mut hosts = hosts_of(EXCLUDED_HOSTS);
    let before = hosts.len();
    for host in patterns.iter().filter_map(UrlPattern::as_whole_host).map(Value::from) {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    match input {
        Value::Object(fields) if !has_allowed_hosts && hosts.len() > before => {
            let mut fields = fields.clone();
            fields.insert(EXCLUDED_HOSTS.to_owned(), hosts.into());
            Verdict::Modify(fields.into())
        }
        _ => Verdict::Allow,
    }
}

fn deny(reason: String) -> Verdict {
    Verdict::Deny(format!("{reason}. Continue without it: no one is available to allow it."))
}

impl FromStr for ToolPattern {
    type Err = GuardError;

    fn from_str(text: &str) -> Result<ToolPattern, GuardError> {
        let text = text.trim();
        if text.contains('(') {
            return Err(GuardError::Arguments(text.to_owned()));
        }
        Pattern::new(text).map(ToolPattern).ok_or(GuardError::Empty)
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::{GuardError, GuardedCall, Guards, ToolPattern, Verdict};

    fn tools(patterns: &[&str]) -> Vec<ToolPattern> {
        patterns.iter().map(|text| text.parse().expect("a pattern")).collect()
    }

    #[test]
    fn allows_and_denies_tools_by_name() {
        let check = |allow: &[&str], deny: &[&str], tool: &str, passes: bool| {
            let guards = Guards { allow_tools: tools(allow), deny_tools: tools(deny), ..Guards::default() };
            let verdict = guards.verdict(&GuardedCall::new(tool, "{}"));
            assert_eq!(verdict == Verdict::Allow, passes, "{guards:?} {tool}");
        };
        check(&[], &[], "Bash", true);
        check(&[], &["WebFetch"], "Bash", true);
        check(&[], &["WebFetch", "Web*"], "WebSearch", false);
        check(&[], &["mcp__*"], "mcp__github__create_issue", false);
        check(&["Read", "Grep|Glob"], &[], "Glob", true);
        check(&["Read"], &[], "Bash", false);
        check(&["*"], &["Bash"], "Bash", false);
        // A tool may have several names.
        check(&[], &["Task"], "Agent", false);
        check(&[], &["Agent"], "Task", false);
        check(&["Task"], &[], "Agent", true);
        check(&[], &["KillShell"], "KillBash", false);
        // Other tools can start commands, too.
        check(&[], &["Bash"], "Monitor", false);
        check(&["Read", "Monitor"], &[], "Monitor", true);
        // Names are case-sensitive: another spelling is another tool.
        check(&[], &["bash"], "Bash", true);
        // The agent returns its result with this tool.
        check(&["Read"], &[], "StructuredOutput", true);
        check(&["Read"], &["StructuredOutput"], "StructuredOutput", false);
        // A call without a name could be any tool.
        check(&[], &["WebFetch"], "", false);
    }

    #[test]
    fn parses_tool_patterns() {
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
