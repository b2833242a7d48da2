//! Runs the checks between two attempts: the user's commands in order, each in a shell, in the agent's
//! working directory, with the run marker. The first failure decides.

use super::agent_process::LaunchSpec;
use super::one_shot::OneShotProcess;
use super::world_config::WorldConfig;
use crate::file_end::tail;
use crate::{SuperviseError, failpoints};
use longhaul_core::{AttemptPlan, CheckResult, Exit, Outcome, PromptKind};
use longhaul_store::StoreError;
use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;

// The end of a command's output contains its findings. This is a screenful or two, about 2,000 tokens.
const TAIL_BYTES_MAX: u64 = 8 << 10;

pub(crate) struct CheckRun {
    /// Number of the check in the run, starting at 1.
    number: u32,
    command_index: usize,
    pub(super) process: OneShotProcess,
}

impl CheckRun {
    /// Starts check number `number` of the run. Returns its result if none of its commands could be started.
    pub(crate) fn start(
        config: &WorldConfig<'_>,
        number: u32,
    ) -> Result<ControlFlow<CheckResult, CheckRun>, StoreError> {
        CheckRun::start_command(config, number, 0)
    }

    fn start_command(
        config: &WorldConfig<'_>,
        number: u32,
        index: usize,
    ) -> Result<ControlFlow<CheckResult, CheckRun>, StoreError> {
        let checks = config.spec().policy.checks.as_ref();
        let Some(command) = checks.and_then(|checks| checks.commands.get(index)) else {
            return Ok(ControlFlow::Break(CheckResult::Passed));
        };
        let mut output = config.dir.create_check_output(number, index == 0)?;
        // Shows readers which command wrote which output.
        let _ = writeln!(output, "$ {command}");
        Ok(match start_in_shell(config, command, &output) {
            Ok(process) => ControlFlow::Continue(CheckRun { number, command_index: index, process }),
            Err(error) => {
                let _ = writeln!(output, "longhaul could not start the command: {error}");
                ControlFlow::Break(CheckResult::Failed)
            }
        })
    }

    /// Ends the current command with its leftover processes. Then starts the next command, or returns the
    /// result of the check.
    pub(crate) async fn end(
        mut self,
        config: &WorldConfig<'_>,
        stopped: bool,
    ) -> Result<ControlFlow<CheckResult, CheckRun>, SuperviseError> {
        match self.process.stop(&config.marker).await? {
            Exit::Code(0) if !stopped => {
                Ok(CheckRun::start_command(config, self.number, self.command_index + 1)?)
            }
            Exit::Code(_) | Exit::Signal(_) | Exit::Unobserved | Exit::NeverSpawned if stopped => {
                if let Ok(mut output) = config.dir.create_check_output(self.number, false) {
                    let _ = writeln!(output, "longhaul stopped this check before it finished");
                }
                Ok(ControlFlow::Break(CheckResult::Stopped))
            }
            Exit::Code(code) if code == i32::from(Outcome::NEEDS_PERSON.exit_code()) => {
                Ok(ControlFlow::Break(CheckResult::NeedsPerson))
            }
            Exit::Code(_) | Exit::Signal(_) | Exit::Unobserved | Exit::NeverSpawned => {
                Ok(ControlFlow::Break(CheckResult::Failed))
            }
        }
    }
}

fn start_in_shell(config: &WorldConfig<'_>, command: &str, output: &File) -> io::Result<OneShotProcess> {
    let (cwd, stdout, stderr) = (&config.spec().cwd, output.try_clone()?, output.try_clone()?);
    let launch = LaunchSpec::command("/bin/sh", &["-c", command], cwd, &config.environment, stdout, stderr);
    let launch = launch.with_marker(&config.marker);
    let (process, process_id) = OneShotProcess::start(launch, Vec::new()).map_err(|(_, error)| error)?;
    failpoints::agent_is(process_id.pid);
    Ok(process)
}

/// Returns the end of the failed check's output, for the prompt of this attempt.
pub(crate) fn check_output_for(config: &WorldConfig<'_>, plan: &AttemptPlan) -> Option<String> {
    let PromptKind::CheckFailed(number) = plan.prompt else { return None };
    tail(&config.dir.check_output_path(number), TAIL_BYTES_MAX).ok()
}
