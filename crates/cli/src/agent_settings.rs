//! Rejects agent arguments that would undo Longhaul's settings. Never changes an argument.

use crate::failure::Failure;

/// The agent uses only the last `--settings`; the other two turn off hooks and settings (2.1.330).
const UNDOING: [&str; 3] = ["--bare", "--safe-mode", "--settings"];

/// Rejects such arguments if `flag` is set, because it depends on these settings.
///
/// # Errors
/// Returns a usage error that names the argument.
pub fn check(flag: &str, is_set: bool, agent_args: &[String]) -> Result<(), Failure> {
    let names = agent_args.iter().map(|arg| arg.split('=').next().unwrap_or_default());
    match names.into_iter().find(|name| is_set && UNDOING.contains(name)) {
        Some(name) => Err(Failure::usage(
            format!("`{name}` cannot be passed to the agent together with {flag}: it would undo it"),
            "leave out one of them; settings can be put into the agent's own files",
        )),
        None => Ok(()),
    }
}
