//! Rejects agent arguments that would undo Longhaul's settings. Never changes an argument.

use crate::failure::Failure;

/// The agent uses only the last `--settings`; the other two turn off hooks and settings (2.1.330).
const CONFLICTING: [&str; 3] = ["--bare", "--safe-mode", "--settings"];

/// Rejects such arguments if `flag` is set, because `flag` depends on the settings that they replace.
///
/// # Errors
/// Returns a usage error that names the argument.
pub fn check(flag: &str, is_set: bool, agent_args: &[String]) -> Result<(), Failure> {
    let names = agent_args.iter().map(|arg| arg.split('=').next().unwrap_or_default());
    match names.into_iter().find(|name| is_set && CONFLICTING.contains(name)) {
        Some(name) => Err(Failure::usage(
            format!("`{name}` cannot be passed to the agent together with {flag}: it would undo {flag}"),
            "leave out one of them, or put the settings into the agent's own files",
        )),
        None => Ok(()),
    }
}
