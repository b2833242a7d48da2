//! Decides which keys a project's file may set. Such a file comes with a repository, which may be
//! untrusted, and applies even if the user has not read it.
//!
//! It may choose how the work is done, lower limits and add guards. It may not run commands, grant
//! permissions, speak for the user or spend more than the user's own file allows. A new key is for the user
//! only until it is reviewed here.

/// The effect of a key in a project's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectTrust {
    /// The project's value overrides the user's.
    Any,
    /// A limit: the lower of the project's and the user's value applies.
    OnlyLower,
    /// A list of prohibitions: the project's entries are added to the user's.
    OnlyAdd,
    /// A guard that cannot be combined: the user's value applies if there is one.
    OnlyIfUnset,
    /// Allowed only after `longhaul config trust`, for this reason. The value then overrides the user's.
    Trusted(&'static str),
    /// Rejected for this reason: only the user's own file may set the key.
    UserOnly(&'static str),
}

const ANY: &[&str] = &[
    "model",
    "handoff_tokens",
    "handoff_summary",
    "keep_partial_messages",
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
    "max_reset_wait",
    "background_wait",
    "inner_retries",
    "on_terminate",
    // Without `check`, which needs trust, they have no effect.
    "max_failed_checks",
    "check_timeout",
    "wrap_up_reserve",
    "no_wrap_up",
];

const LIMITS: &[&str] = &["budget", "max_tokens", "time_limit", "wall_limit", "max_turns", "memory_limit"];

const FORBIDDEN: &[&str] = &["deny_tools", "block_url", "block_path"];

const GUARDS: &[&str] = &["allow_tools", "block_urls_file", "effects_file"];

const SENT_AS_USER: &str = "it is sent to the agent as your own words";
const LEARNS: &str = "it sends your conversation to a model, at your cost";
const CONTINUES: &str = "it makes the agent continue after it stops, at your cost";
const PRINTS: &str = "the reader chooses the output format";

const TRUSTED: &[(&str, &str)] =
    &[("check", "it runs a command"), ("permission_mode", "it grants the agent permissions")];

const REASONS: &[(&str, &str)] = &[
    ("agent_path", "it names a program to run"),
    ("agent_args", "arguments can give the agent permissions, programs and hooks"),
    ("allow_denials", "it decides what counts as done"),
    // Longhaul passes sandbox settings to the agent, which replace those in the user's own settings.
    ("network", "it replaces the sandbox that the agent's own settings may ask for"),
    ("learn", LEARNS),
    ("learn_judge", LEARNS),
    ("learn_tokens", LEARNS),
    ("prices_file", "it decides when the budget is exhausted"),
    ("notify", "it runs a command"),
    ("events", "it names a file to write"),
    ("runs_dir", "it decides where your runs are stored"),
    ("answer", SENT_AS_USER),
    ("answers_file", SENT_AS_USER),
    ("answer_defaults", SENT_AS_USER),
    ("wrap_up_prompt", SENT_AS_USER),
    ("keep_going", CONTINUES),
    ("keep_improving", CONTINUES),
    ("done_when", CONTINUES),
    ("status_every", CONTINUES),
    ("max_idle_stops", CONTINUES),
    ("output_format", PRINTS),
    ("quiet", PRINTS),
    ("verbose", PRINTS),
    ("no_pager", PRINTS),
];

const UNKNOWN: &str = "not reviewed for project files";

/// Returns the effect of this key of `run` in a project's file.
pub fn for_key(key: &str) -> ProjectTrust {
    if ANY.contains(&key) {
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
    fn each_key_is_listed_once() {
        let keys = Keys::for_command(&Cli::command());
        let listed = ANY.iter().chain(LIMITS).chain(FORBIDDEN).chain(GUARDS).copied();
        let listed: Vec<&str> = listed.chain(TRUSTED.iter().chain(REASONS).map(|(key, _)| *key)).collect();
        let plain: Vec<&str> = keys.plain().map(|key| key.name.as_str()).collect();
        for key in &plain {
            assert_eq!(listed.iter().filter(|name| *name == key).count(), 1, "{key}");
        }
        for name in listed {
            assert!(plain.contains(&name), "there is no key `{name}`");
        }
    }
}
