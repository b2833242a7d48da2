//! Runs the checks between two attempts: the user's commands in order, each in a shell, in the agent's
//! working directory, with the run marker. The first failure decides.

use super::LiveWorld;
use crate::SuperviseError;
use crate::failpoints;
use crate::live::agent_process::LaunchSpec;
use crate::live::one_shot::OneShotProcess;
use crate::live::stream_replay::tail;
use longhaul_agent::Invocation;
use longhaul_core::{AttemptPlan, CheckResult, Event, Exit, PromptKind};
use std::fs::File;
use std::future;
use std::io::{self, Write};

// The end of a command's output contains its findings. This is a screenful or two, about 2,000 tokens.
const TAIL_BYTES_MAX: u64 = 8 << 10;

/// A running check.
pub(super) struct CheckRun {
    /// Number of the check in the run, starting at 1.
    number: u32,
    /// Index of the running command.
    command_index: usize,
    process: OneShotProcess,
}

impl CheckRun {
    /// Returns the exit of the current command, or `None` while it runs.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.process.exit()
    }
}

impl LiveWorld<'_> {
    /// Starts check number `n`.
    pub(super) fn start_check(&mut self, n: u32) -> Result<(), SuperviseError> {
        self.start_command(n, 0)
    }

    fn start_command(&mut self, number: u32, index: usize) -> Result<(), SuperviseError> {
        let checks = self.spec().policy.checks.as_ref();
        let Some(command) = checks.and_then(|checks| checks.commands.get(index)).cloned() else {
            self.events.push_back(Event::CheckEnded(CheckResult::Passed));
            return Ok(());
        };
        let mut output = self.setup.dir.create_check_output(number, index == 0)?;
        // Shows readers which command wrote which output.
        let _ = writeln!(output, "$ {command}");
        match self.start_in_shell(&command, &output) {
            Ok(process) => {
                self.check_run = Some(CheckRun { number, command_index: index, process });
            }
            Err(error) => {
                let _ = writeln!(output, "longhaul could not start the command: {error}");
                self.events.push_back(Event::CheckEnded(CheckResult::Failed));
            }
        }
        Ok(())
    }

    fn start_in_shell(&self, command: &str, output: &File) -> io::Result<OneShotProcess> {
        let launch = self.in_shell(command, output)?;
        let (process, process_id) = OneShotProcess::start(launch, Vec::new()).map_err(|(_, error)| error)?;
        failpoints::agent_is(process_id.pid);
        Ok(process)
    }

    /// Prepares a user's command to run in a shell, in the agent's working directory, with the run marker.
    pub(super) fn in_shell(&self, command: &str, output: &File) -> io::Result<LaunchSpec> {
        self.launch("/bin/sh", vec!["-c".to_owned(), command.to_owned()], output)
    }

    /// Prepares a program that the user chose, in the agent's working directory.
    pub(super) fn launch(&self, program: &str, args: Vec<String>, output: &File) -> io::Result<LaunchSpec> {
        let invocation = Invocation {
            program: program.into(),
            args,
            cwd: self.spec().cwd.clone(),
            env_set: Vec::new(),
            env_remove: Vec::new(),
            stdin: Vec::new(),
            prompt: String::new(),
            input_outlives_supervisor: false,
        };
        let (stdout, stderr) = (output.try_clone()?, output.try_clone()?);
        Ok(LaunchSpec::new(&invocation, &self.setup.environment, &self.setup.marker, stdout, stderr))
    }

    /// Ends the current command with its leftover processes. Then starts the next command, or reports the
    /// result of the check.
    pub(super) async fn end_check(&mut self, stopped: bool) -> Result<(), SuperviseError> {
        let Some(mut check) = self.check_run.take() else { return Ok(()) };
        let exit = check.process.stop(&self.setup.marker).await?;
        match exit {
            Exit::Code(0) if !stopped => self.start_command(check.number, check.command_index + 1)?,
            Exit::Code(_) | Exit::Signal(_) | Exit::Unobserved | Exit::NeverSpawned => {
                let result = if stopped { CheckResult::Stopped } else { CheckResult::Failed };
                if let (true, Ok(mut output)) =
                    (stopped, self.setup.dir.create_check_output(check.number, false))
                {
                    let _ = writeln!(output, "longhaul stopped this check before it finished");
                }
                self.events.push_back(Event::CheckEnded(result));
            }
        }
        Ok(())
    }

    /// Returns `true` if the current command of a check has exited.
    pub(super) fn has_check_exited(&self) -> bool {
        self.check_run.as_ref().is_some_and(|check| check.process.has_exited())
    }

    /// Returns the end of the failed check's output, for the prompt of this attempt.
    pub(super) fn check_output_for(&self, plan: &AttemptPlan) -> Option<String> {
        let PromptKind::CheckFailed(number) = plan.prompt else { return None };
        tail(&self.setup.dir.check_output_path(number), TAIL_BYTES_MAX).ok()
    }
}

/// Waits until a check's command exits. Waits forever if none is running.
pub(super) async fn wait_for_command_exit(check_run: &mut Option<CheckRun>) -> io::Result<()> {
    match check_run {
        Some(check) => check.process.wait_for_exit().await.map(drop),
        None => future::pending().await,
    }
}
