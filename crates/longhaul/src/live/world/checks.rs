//! Has the work judged, between two attempts: the user's commands, one after the other, each in a shell, in the directory
//! where the agent works, with the run's mark. The first that fails decides.

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

// What a command said last is what it found: a screenful or two, which costs the model about two thousand tokens.
const TAIL_BYTES_MAX: u64 = 8 << 10;

/// A check under way.
pub(super) struct CheckRun {
    /// Which one of the run, from 1.
    number: u32,
    /// The command that runs, by its place.
    attempt_dir: usize,
    process: OneShotProcess,
}

impl CheckRun {
    /// How the present command ended, once that was seen.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.process.exit()
    }
}

impl LiveWorld<'_> {
    /// Begins to judge the work for the so manieth time.
    pub(super) fn check(&mut self, number: u32) -> Result<(), SuperviseError> {
        self.begin_check(number, 0)
    }

    fn begin_check(&mut self, number: u32, place: usize) -> Result<(), SuperviseError> {
        let Some(command) = self.setup.order.checks.get(place).cloned() else {
            self.events.push_back(Event::CheckEnded(CheckResult::Passed));
            return Ok(());
        };
        let mut output = self.setup.dir.create_check_output(number, place == 0)?;
        // For whoever reads it: which command said what.
        let _ = writeln!(output, "$ {command}");
        match self.start_check(&command, &output) {
            Ok(process) => {
                self.checking = Some(CheckRun { number, attempt_dir: place, process });
            }
            Err(error) => {
                let _ = writeln!(output, "longhaul could not start it: {error}");
                self.events.push_back(Event::CheckEnded(CheckResult::Failed));
            }
        }
        Ok(())
    }

    fn start_check(&self, command: &str, output: &File) -> io::Result<OneShotProcess> {
        let launch = self.in_shell(command, output)?;
        let (process, proc) = OneShotProcess::start(launch, Vec::new()).map_err(|(_, error)| error)?;
        failpoints::agent_is(proc.pid);
        Ok(process)
    }

    /// A command of the user's, in a shell, in the directory where the agent works, with the run's mark.
    pub(super) fn in_shell(&self, command: &str, output: &File) -> io::Result<LaunchSpec> {
        self.launch(("/bin/sh", vec!["-c".to_owned(), command.to_owned()]), output)
    }

    /// A program that the user chose, in the directory of the work.
    pub(super) fn launch(
        &self,
        (program, args): (&str, Vec<String>),
        output: &File,
    ) -> io::Result<LaunchSpec> {
        let invocation = Invocation {
            program: program.into(),
            args,
            cwd: self.setup.order.cwd.clone(),
            env_set: Vec::new(),
            env_remove: Vec::new(),
            stdin: Vec::new(),
            prompt: String::new(),
            input_outlives_supervisor: false,
        };
        let files = (output.try_clone()?, output.try_clone()?);
        Ok(LaunchSpec::new(&invocation, &self.setup.environment, &self.setup.marker, files))
    }

    /// A command is over, or is to end: whatever it left behind ends too, and the next one begins, or it is said what
    /// came of the check.
    pub(super) async fn end_check(&mut self, stopped: bool) -> Result<(), SuperviseError> {
        let Some(mut checking) = self.checking.take() else { return Ok(()) };
        let exit = checking.process.end(&self.setup.marker).await?;
        match exit {
            Exit::Code(0) if !stopped => self.begin_check(checking.number, checking.attempt_dir + 1)?,
            Exit::Code(_) | Exit::Signal(_) | Exit::Unobserved | Exit::NeverSpawned => {
                let result = if stopped { CheckResult::Stopped } else { CheckResult::Failed };
                if let (true, Ok(mut output)) =
                    (stopped, self.setup.dir.create_check_output(checking.number, false))
                {
                    let _ = writeln!(output, "longhaul stopped this check before it finished");
                }
                self.events.push_back(Event::CheckEnded(result));
            }
        }
        Ok(())
    }

    /// Whether a command of a check is over.
    pub(super) fn has_checked(&self) -> bool {
        self.checking.as_ref().is_some_and(|checking| checking.process.is_gone())
    }

    /// What the check said that this attempt is told of: its end.
    pub(super) fn check_output_for(&self, plan: &AttemptPlan) -> Option<String> {
        let PromptKind::CheckFailed(number) = plan.prompt else { return None };
        tail(&self.setup.dir.check_output_path(number), TAIL_BYTES_MAX).ok()
    }
}

/// Waits for the end of a check's command; for ever, if none runs.
pub(super) async fn over(checking: &mut Option<CheckRun>) -> io::Result<()> {
    match checking {
        Some(checking) => checking.process.gone().await.map(drop),
        None => future::pending().await,
    }
}
