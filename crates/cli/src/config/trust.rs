//! What a project's file may decide. Such a file comes with a repository, and a repository may be a stranger's: what it says
//! holds without anybody having read it. So it may say how the work is done, hold the run to less, and guard it more. It may
//! not run anything, give rights, speak for the user, or spend more than the user's own file allows. A new key may not be
//! set by it until somebody has thought about that here.

/// What a key may do in a project's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectTrust {
    /// It may set it.
    Any,
    /// A limit: where the user's file has one, too, the lower one holds.
    OnlyLower,
    /// A list of what is forbidden: it is added to what the user's file forbids.
    OnlyAdd,
    /// A guard that cannot be added to: where the user's file has it, that holds.
    OnlyIfUnset,
    /// Only after `longhaul config trust`, for this reason; then it goes before the user's value.
    Trusted(&'static str),
    /// It may not: only the user's own file may, for this reason.
    UserOnly(&'static str),
}

const FREE: &[&str] = &[
    "model",
    "seed_tokens",
    "handoff_summary",
    "keep_stream",
    "diagnostic",
    "preset",
    "max_retries",
    "max_attempts",
    "retry_base",
    "retry_cap",
    "retry_jitter",
    "outage_limit",
    "attempt_timeout",
    "stall_timeout",
    "progress_timeout",
    "orphan_timeout",
    "max_wait",
    "background_wait",
    "inner_retries",
    "on_terminate",
    // Without `check` they do nothing, and that is the user's.
    "check_attempts",
    "check_timeout",
    "wrap_up_time",
    "no_wrap_up",
];

const LIMITS: &[&str] = &["budget", "max_tokens", "time_limit", "wall_limit", "max_turns", "memory_limit"];

const FORBIDDEN: &[&str] = &["deny_tools", "block_url", "block_path"];

const GUARDS: &[&str] = &["allow_tools", "block_urls_file", "effects"];

const SPEAKS: &str = "it is said to the agent as your own word";
const LEARNS: &str = "it hands what you and the agent said to a model, at your cost";
const GOES_ON: &str = "it has the agent work on when it would stop, at your cost";
const PRINTS: &str = "how things are printed is a matter of who reads them";

const TRUSTED: &[(&str, &str)] =
    &[("check", "it is a command that is run"), ("permission_mode", "it gives the agent rights")];

const REASONS: &[(&str, &str)] = &[
    ("agent_path", "it names a program that is run"),
    ("agent_args", "an agent can be given rights, programs and hooks by its arguments"),
    ("allow_denials", "it decides what counts as done"),
    // Longhaul hands the agent settings of a sandbox, which replace those in the user's own settings.
    ("network", "it replaces the sandbox that the agent's own settings may ask for"),
    ("learn", LEARNS),
    ("learn_judge", LEARNS),
    ("learn_tokens", LEARNS),
    ("prices", "they decide when a budget is used up"),
    ("notify", "it is a command that is run"),
    ("events", "it names a file that is written"),
    ("runs_dir", "it decides where the record of your work is written"),
    ("answer", SPEAKS),
    ("answers", SPEAKS),
    ("answer_defaults", SPEAKS),
    ("wrap_up_prompt", SPEAKS),
    ("keep_going", GOES_ON),
    ("extended", GOES_ON),
    ("done_when", GOES_ON),
    ("status_every", GOES_ON),
    ("idle_stops", GOES_ON),
    ("output_format", PRINTS),
    ("quiet", PRINTS),
    ("verbose", PRINTS),
    ("no_pager", PRINTS),
];

const UNKNOWN: &str = "nobody has decided yet that a project may";

/// What a project's file may do with this key of `run`.
pub fn of(key: &str) -> ProjectTrust {
    if FREE.contains(&key) {
        ProjectTrust::Any
    } else if LIMITS.contains(&key) {
        ProjectTrust::OnlyLower
    } else if FORBIDDEN.contains(&key) {
        ProjectTrust::OnlyAdd
    } else if GUARDS.contains(&key) {
        ProjectTrust::OnlyIfUnset
    } else if let Some((_, reason)) = TRUSTED.iter().find(|(name, _)| *name == key) {
        ProjectTrust::Trusted(reason)
    } else {
        let found = REASONS.iter().find(|(name, _)| *name == key);
        ProjectTrust::UserOnly(found.map_or(UNKNOWN, |(_, reason)| reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use crate::config::keys::Keys;
    use clap::CommandFactory;

    #[test]
    fn each_key_was_thought_about_once() {
        let keys = Keys::for_command(&Cli::command());
        let named = FREE.iter().chain(LIMITS).chain(FORBIDDEN).chain(GUARDS).copied();
        let named: Vec<&str> = named.chain(TRUSTED.iter().chain(REASONS).map(|(key, _)| *key)).collect();
        let plain: Vec<&str> = keys.plain().map(|key| key.name.as_str()).collect();
        for key in &plain {
            assert_eq!(named.iter().filter(|name| *name == key).count(), 1, "{key}");
        }
        for name in named {
            assert!(plain.contains(&name), "there is no key `{name}`");
        }
    }
}
