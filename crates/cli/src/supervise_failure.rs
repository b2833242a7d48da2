//! Explains why a run did not start, continue or finish, and what the user can type.

use crate::failure::Failure;
use crate::hints::agent_hint;
use crate::next_commands::{attach_or_cancel, commands_of, quoted, recover_or_cancel};
use crate::open_home;
use longhaul::find_agent::AgentError;
use longhaul::{RunError, SuperviseError};
use longhaul_core::Fault;

impl From<SuperviseError> for Failure {
    fn from(error: SuperviseError) -> Failure {
        Failure { hint: hint(&error), ..Failure::not_started(error.to_string(), "") }
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Failure {
        let fault = match &error {
            AgentError::NotFound { .. } | AgentError::NotInPath(_) | AgentError::Missing(_) => {
                Fault::AgentMissing
            }
            AgentError::NotExecutable(_) => Fault::AgentUnusable,
        };
        Failure { fault: Some(fault), ..Failure::not_started(error.to_string(), agent_hint(&error)) }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error {
            RunError::NotStarted(source) => source.into(),
            RunError::Aborted { ref run, ref source } => {
                let remedy = if source.is_disk_full() { "free disk space" } else { "fix the cause" };
                let hint = format!("{remedy}, and continue it with `longhaul recover {run}`");
                Failure::aborted(run.clone(), error.to_string(), hint)
            }
            RunError::ThreadEnded => Failure::unexpected(error.to_string()),
        }
    }
}

fn hint(error: &SuperviseError) -> Option<String> {
    let hint = match error {
        SuperviseError::Store(error) => return open_home::hint(error),
        SuperviseError::UnknownAgent(_) | SuperviseError::Tables(_) | SuperviseError::Guard(_) => {
            "use the version of longhaul that started the run".to_owned()
        }
        SuperviseError::Spec(_) => "correct the description of the run".to_owned(),
        SuperviseError::Workspace { .. } => {
            "move it back, or pass its new path with `--cwd` to `longhaul run` or `longhaul resume`".to_owned()
        }
        SuperviseError::RunningElsewhere { dir, .. } => attach_or_cancel(quoted(&dir.to_string_lossy())),
        SuperviseError::MissingVariables { run, .. } => format!(
            "set the variables and type `longhaul recover {run}`, or continue without them with `longhaul resume {run}`; \
             the service that `longhaul recover --install` writes reads variables from a file"
        ),
        SuperviseError::AlreadyFinished { run, dir, .. } => match commands_of(dir).first() {
            Some(command) => format!("continue it with `{command}`"),
            None => format!(
                "`longhaul resume {run} --repeat-task` repeats the task; a prompt in place of `--repeat-task` asks for more"
            ),
        },
        SuperviseError::NoSession(run) => format!("`longhaul resume {run}` starts one"),
        SuperviseError::NotFinished(run) | SuperviseError::Orphaned(run) => recover_or_cancel(run),
        SuperviseError::SettingsInUse(run) => {
            format!("stop it with `longhaul cancel {run}`, then resume it with the change")
        }
        SuperviseError::Io(_) => {
            "fix the cause, and type the command again; a process that cannot be stopped waits for a disk, a file \
             server or a debugger"
                .to_owned()
        }
    };
    Some(hint)
}

#[cfg(test)]
mod tests {
    use super::{Failure, SuperviseError};
    use std::io;

    #[test]
    fn failed_sweep_has_a_next_step() {
        let error = io::Error::other("processes of run kmzxqp cannot be stopped: 12, 34");
        let failure = Failure::from(SuperviseError::Io(error));
        assert!(failure.hint.is_some_and(|hint| hint.contains("type the command again")));
    }
}
