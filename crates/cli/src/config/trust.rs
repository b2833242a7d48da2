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

/// The effects of the keys of `run` that were reviewed.
const KEYS: &[(&[&str], ProjectTrust)] = &[
    (
        &["model", "handoff_tokens", "handoff_summary", "keep_partial_messages", "diagnostic"],
        ProjectTrust::Any,
    ),
    (&["preset", "max_retries", "retry_base", "retry_cap", "retry_jitter"], ProjectTrust::Any),
    (&["attempt_timeout", "stall_timeout", "progress_timeout"], ProjectTrust::Any),
    (&["orphan_timeout", "max_reset_wait", "background_wait", "inner_retries"], ProjectTrust::Any),
    (&["on_terminate", "wrap_up_reserve", "no_wrap_up"], ProjectTrust::Any),
    // Without `check`, which needs trust, they have no effect.
    (&["max_failed_checks", "check_timeout"], ProjectTrust::Any),
    (
        &[
            "budget",
            "max_tokens",
            "time_limit",
            "wall_limit",
            "max_turns",
            "max_attempts",
            "memory_limit",
            "outage_limit",
        ],
        ProjectTrust::OnlyLower,
    ),
    (&["deny_tools", "block_url", "block_path"], ProjectTrust::OnlyAdd),
    (&["allow_tools", "block_urls_file", "effects_file"], ProjectTrust::OnlyIfUnset),
    // Without `review`, it has no effect.
    (&["review_timeout"], ProjectTrust::Any),
    (&["check"], ProjectTrust::Trusted("it runs a command")),
    (&["review"], ProjectTrust::Trusted("it decides what counts as done, and costs money")),
    (&["permission_mode"], ProjectTrust::Trusted("it grants the agent permissions")),
    (&["agent_path"], ProjectTrust::UserOnly("it names a program to run")),
    (&["agent_args"], ProjectTrust::UserOnly("arguments can give the agent permissions, programs and hooks")),
    (&["allow_denials"], ProjectTrust::UserOnly("it decides what counts as done")),
    // Longhaul passes sandbox settings to the agent, which replace those in the user's own settings.
    (
        &["network"],
        ProjectTrust::UserOnly("it replaces the sandbox that the agent's own settings may ask for"),
    ),
    (
        &["learn", "learn_judge", "learn_tokens"],
        ProjectTrust::UserOnly("it sends your conversation to a model, at your cost"),
    ),
    (&["prices_file"], ProjectTrust::UserOnly("it decides when the budget is exhausted")),
    (&["notify"], ProjectTrust::UserOnly("it runs a command")),
    (&["events"], ProjectTrust::UserOnly("it names a file to write")),
    (&["runs_dir"], ProjectTrust::UserOnly("it decides where your runs are stored")),
    (
        &["answer", "answers_file", "answer_defaults", "wrap_up_prompt"],
        ProjectTrust::UserOnly("it is sent to the agent as your own words"),
    ),
    (
        &["keep_going", "keep_improving", "done_when", "status_every", "max_idle_stops"],
        ProjectTrust::UserOnly("it makes the agent continue after it stops, at your cost"),
    ),
    (
        &["output_format", "quiet", "verbose", "no_pager"],
        ProjectTrust::UserOnly("the reader chooses the output format"),
    ),
];

/// Returns the effect of this key of `run` in a project's file.
pub fn for_key(key: &str) -> ProjectTrust {
    let found = KEYS.iter().find(|(keys, _)| keys.contains(&key));
    found.map_or(ProjectTrust::UserOnly("not reviewed for project files"), |(_, trust)| *trust)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use crate::config::keys::Keys;
    use clap::CommandFactory;

    #[test]
    fn each_listed_key_exists_once() {
        let root = Cli::command();
        let keys = Keys::for_command(&root);
        let listed: Vec<&str> = KEYS.iter().flat_map(|(keys, _)| keys.iter().copied()).collect();
        let plain: Vec<&str> = keys.plain().map(|key| key.name.as_str()).collect();
        for (index, name) in listed.iter().enumerate() {
            assert!(plain.contains(name), "there is no key `{name}`");
            assert!(!listed[..index].contains(name), "`{name}` is listed twice");
        }
    }
}
