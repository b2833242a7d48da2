//! Checks the environment of the agent: credentials, its own retries, its timeout and its session directory.
//!
//! Never reads a secret: only its existence is reported, and no credentials file is opened.

use super::finding::Finding;
use super::writable_dir::WritableDir;
use longhaul::find_agent::claude_config_dir;
use longhaul_agent::{AgentEnvironment, SessionLayout};
use std::ffi::OsString;

const LOGIN: &str = "login";
const RETRIES: &str = "inner_retries";
const TIMEOUT: &str = "api_timeout";
const SESSIONS: &str = "sessions";

pub fn has_credentials(environment: &AgentEnvironment) -> bool {
    claude_config_dir().is_some_and(|folder| folder.join(environment.credentials_file).is_file())
}

pub fn login(
    environment: &AgentEnvironment,
    is_set: impl Fn(&str) -> bool,
    has_credentials: bool,
) -> Finding {
    let AgentEnvironment { login_variables, cloud_variables, .. } = *environment;
    let variables = login_variables.into_iter().chain(cloud_variables).filter(|name| is_set(name));
    let file = has_credentials.then_some("the agent's own login");
    let found: Vec<&str> = variables.chain(file).collect();
    if found.is_empty() {
        let [key, _, token] = login_variables;
        let found = "neither a variable nor the agent's own login was found";
        return Finding::warning(LOGIN, found, format!("claude auth login, or set {key} or {token}"));
    }
    Finding::ok(LOGIN, found.join(", "))
}

/// Reports variables that would make the agent retry on its own. A run retries instead and does not pass them
/// on.
pub fn retries(environment: &AgentEnvironment, is_set: impl Fn(&str) -> bool) -> Finding {
    let variables = [
        (environment.max_retries, "each run sets it from --inner-retries"),
        (environment.retry_watchdog, "no run passes it on"),
    ];
    let found: Vec<String> = variables
        .into_iter()
        .filter(|(name, _)| is_set(name))
        .map(|(name, effect)| format!("{name} is set, but has no effect: {effect}"))
        .collect();
    Finding::ok(RETRIES, if found.is_empty() { "set by each run".to_owned() } else { found.join("; ") })
}

/// Checks how long the agent waits for a response to start. The variable is passed on unchanged.
pub fn api_timeout(environment: &AgentEnvironment, value: Option<OsString>) -> Finding {
    let AgentEnvironment { api_timeout, api_timeout_seconds, .. } = *environment;
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Finding::ok(TIMEOUT, format!("{api_timeout_seconds} s, the agent's own"));
    };
    let seconds = value.to_str().and_then(|value| value.parse::<u64>().ok()).map(|value| value / 1_000);
    let remedy = format!("unset {api_timeout}");
    match seconds {
        Some(seconds) if seconds == api_timeout_seconds => Finding::ok(TIMEOUT, format!("{seconds} s")),
        Some(seconds) if seconds < api_timeout_seconds => {
            let found = format!(
                "{api_timeout} is set to {seconds} s: the agent retries a request if its response takes longer to start"
            );
            Finding::warning(TIMEOUT, found, remedy)
        }
        Some(seconds) => {
            let found = format!(
                "{api_timeout} is set to {seconds} s: a dead connection may stay open for that long, or until a run's \
                 --stall-timeout"
            );
            Finding::warning(TIMEOUT, found, remedy)
        }
        None => Finding::warning(TIMEOUT, format!("{api_timeout} is set, but is not a whole number"), remedy),
    }
}

/// Checks the directory of the agent's sessions. Without it no session can be resumed.
pub fn sessions(layout: &SessionLayout) -> Finding {
    let Some(folder) = claude_config_dir() else {
        let found = "neither HOME nor CLAUDE_CONFIG_DIR is set: the agent has no directory for its sessions";
        return Finding::problem(SESSIONS, found, "set HOME");
    };
    let dir = WritableDir::probe(&folder.join(layout.projects_dir()));
    let path = dir.path.display();
    match dir.problem() {
        Some((found, remedy)) => Finding::problem(SESSIONS, found, remedy),
        None if dir.exists() => Finding::ok(SESSIONS, path.to_string()),
        None => Finding::ok(SESSIONS, format!("{path}, created by the agent's first session")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::{api_timeout, login, retries};
    use longhaul_agent::default_environment;

    #[test]
    fn finds_credentials() {
        let check = |set: &[&str], has_credentials: bool, state: Severity, found: &str| {
            let finding = login(default_environment(), |name| set.contains(&name), has_credentials);
            assert_eq!((finding.state, finding.detail.as_str()), (state, found), "{set:?}");
        };
        let none = "neither a variable nor the agent's own login was found";
        check(&[], false, Severity::Warning, none);
        check(&["OPENAI_API_KEY"], false, Severity::Warning, none);
        check(&[], true, Severity::Ok, "the agent's own login");
        check(&["ANTHROPIC_API_KEY"], true, Severity::Ok, "ANTHROPIC_API_KEY, the agent's own login");
        check(&["CLAUDE_CODE_OAUTH_TOKEN"], false, Severity::Ok, "CLAUDE_CODE_OAUTH_TOKEN");
        check(&["CLAUDE_CODE_USE_BEDROCK"], false, Severity::Ok, "CLAUDE_CODE_USE_BEDROCK");
    }

    #[test]
    fn reports_ignored_retry_variables() {
        let check = |set: &[&str], expected: &str| {
            assert_eq!(retries(default_environment(), |name| set.contains(&name)).detail, expected);
        };
        check(&[], "set by each run");
        check(
            &["CLAUDE_CODE_RETRY_WATCHDOG", "CLAUDE_CODE_MAX_RETRIES"],
            "CLAUDE_CODE_MAX_RETRIES is set, but has no effect: each run sets it from --inner-retries; \
             CLAUDE_CODE_RETRY_WATCHDOG is set, but has no effect: no run passes it on",
        );
    }

    #[test]
    fn checks_api_timeout() {
        let check = |value: Option<&str>, state: Severity, prefix: &str| {
            let finding = api_timeout(default_environment(), value.map(Into::into));
            assert_eq!(finding.state, state, "{value:?}");
            assert!(finding.detail.starts_with(prefix), "{value:?}: {}", finding.detail);
        };
        check(None, Severity::Ok, "360 s");
        check(Some(""), Severity::Ok, "360 s");
        check(Some("360000"), Severity::Ok, "360 s");
        check(Some("5000"), Severity::Warning, "API_TIMEOUT_MS is set to 5 s: the agent retries");
        check(Some("7200000"), Severity::Warning, "API_TIMEOUT_MS is set to 7200 s: a dead connection");
        check(Some("soon"), Severity::Warning, "API_TIMEOUT_MS is set, but is not a whole number");
    }
}
