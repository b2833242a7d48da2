//! Runs the checks between two attempts: the user's commands in order, each in a shell, in the agent's
//! working directory, with the run marker. The first failure decides.

use super::agent_process::LaunchSpec;
use super::one_shot::{OneShotEnd, OneShotProcess};
use super::world_config::WorldConfig;
use crate::file_end::tail;
use crate::{SuperviseError, failpoints};
use longhaul_core::{AttemptPlan, CheckResult, Exit, Outcome, PromptKind};
use longhaul_store::StoreError;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;

// The end of a command's output contains its findings. This is a screenful or two, about 2,000 tokens.
const TAIL_BYTES_MAX: u64 = 8 << 10;
// Of a longer output of a command, this many bytes of its start and of its end are kept. A build log is shorter.
const PART_BYTES_MAX: u64 = 512 << 10;
// A command that never stops printing must not fill the disk until its timeout.
const RUNNING_BYTES_MAX: u64 = 64 << 20;

pub(crate) struct CheckRun {
    /// Number of the check in the run, starting at 1.
    number: u32,
    command_index: usize,
    output: File,
    /// Offset of the command's own output in it.
    output_start: u64,
    /// Number of bytes that were omitted from it.
    omitted: u64,
    pub(super) process: OneShotProcess,
}

impl CheckRun {
    /// Starts the command with this index of check number `number` of the run. Returns the result of the
    /// check if there is no such command, or if it could not be started.
    pub(crate) fn start(
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
        let output_start = output.metadata().map_or(0, |metadata| metadata.len());
        Ok(match start_in_shell(config, command, &output) {
            Ok(process) => ControlFlow::Continue(CheckRun {
                number,
                command_index: index,
                output,
                output_start,
                omitted: 0,
                process,
            }),
            Err(error) => {
                let _ = writeln!(output, "longhaul could not start the command: {error}");
                ControlFlow::Break(CheckResult::Failed)
            }
        })
    }

    pub(crate) fn limit_output(&mut self) {
        if self.output.metadata().is_ok_and(|metadata| metadata.len() > RUNNING_BYTES_MAX) {
            self.omit_middle();
        }
    }

    // For people. The result does not need it.
    fn omit_middle(&mut self) {
        let _ = omit_middle(&mut self.output, self.output_start, PART_BYTES_MAX, &mut self.omitted);
    }

    /// Ends the current command with its leftover processes. Then starts the next command, or returns the
    /// result of the check.
    pub(crate) async fn end(
        mut self,
        config: &WorldConfig<'_>,
        end: OneShotEnd,
    ) -> Result<ControlFlow<CheckResult, CheckRun>, SuperviseError> {
        let exit = self.process.stop(&config.marker).await?;
        self.omit_middle();
        let timeout = config.spec().policy.checks.as_ref().and_then(|checks| checks.timeout);
        let reason = match (end, timeout) {
            (OneShotEnd::Exited, _) => None,
            (OneShotEnd::TimedOut, Some(timeout)) => Some(format!("it took longer than {timeout}")),
            (OneShotEnd::TimedOut | OneShotEnd::Stopped, _) => Some("it had not finished".to_owned()),
        };
        if let Some(reason) = reason {
            let _ = writeln!(self.output, "longhaul stopped this check: {reason}");
            return Ok(ControlFlow::Break(CheckResult::Stopped));
        }
        Ok(match exit {
            Exit::Code(0) => CheckRun::start(config, self.number, self.command_index + 1)?,
            Exit::Code(code) if code == i32::from(Outcome::NEEDS_PERSON.exit_code()) => {
                ControlFlow::Break(CheckResult::NeedsPerson)
            }
            Exit::Code(_) | Exit::Signal(_) | Exit::Unobserved | Exit::NeverSpawned => {
                ControlFlow::Break(CheckResult::Failed)
            }
        })
    }
}

/// Replaces the middle of a long output from `start` with a note. Both remaining parts have `part_bytes`. `omitted` counts
/// the bytes, including those of earlier calls.
fn omit_middle(file: &mut File, start: u64, part_bytes: u64, omitted: &mut u64) -> io::Result<()> {
    let note =
        |omitted: u64| if omitted > 0 { format!("\n[{omitted} bytes omitted]\n") } else { String::new() };
    let kept = start + 2 * part_bytes + note(*omitted).len() as u64;
    let excess = file.metadata()?.len().saturating_sub(kept);
    if excess > 0 {
        let mut end = Vec::new();
        file.seek(SeekFrom::End(-(part_bytes as i64)))?;
        file.take(part_bytes).read_to_end(&mut end)?;
        file.set_len(start + part_bytes)?;
        *omitted += excess;
        file.write_all(note(*omitted).as_bytes())?;
        file.write_all(&end)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::omit_middle;
    use std::fs::File;
    use std::io::{Seek, Write, read_to_string};

    #[test]
    fn long_output_loses_its_middle() {
        let check = |outputs: &[&str], expected: &str| {
            let path = tempfile::NamedTempFile::new().expect("a file").into_temp_path();
            let mut file = File::options().read(true).append(true).open(&path).expect("it exists");
            write!(file, "earlier ").expect("it is written");
            let mut omitted = 0;
            for output in outputs {
                write!(file, "{output}").expect("it is written");
                omit_middle(&mut file, 8, 3, &mut omitted).expect("it is an ordinary file");
            }
            file.rewind().expect("it is an ordinary file");
            assert_eq!(read_to_string(file).expect("text"), format!("earlier {expected}"));
        };
        check(&[""], "");
        check(&["abcdef"], "abcdef");
        check(&["abcdefg"], "abc\n[1 bytes omitted]\nefg");
        check(&["abcdefg", "", "hi", "jklm"], "abc\n[7 bytes omitted]\nklm");
    }
}
