//! Describes background tasks that ended with their agent: the commands and the last lines of their output.
//! It never starts or stops a task.

use crate::file_end::tail_of;
use longhaul_core::BackgroundTask;
use longhaul_store::AttemptDir;
use std::fs;
use std::path::Path;

// Enough for the end of a stack trace or the last steps of a training run, and short in a prompt.
const LINES_MAX: usize = 10;
const LINE_CHARS_MAX: usize = 200;

/// Returns the tasks that ended with the agent of this attempt, with the last lines of their output. Also
/// stores them for people.
pub(crate) fn record_stopped_tasks(dir: &AttemptDir, tasks: &[BackgroundTask]) -> Vec<BackgroundTask> {
    if tasks.is_empty() {
        return Vec::new();
    }
    // An earlier supervisor may have read output that no longer exists. Stored tasks lack the id of their call, by which
    // the next prompt lists each command once.
    let stored: Vec<BackgroundTask> = dir.read_or_default();
    let last_lines = |task: &BackgroundTask| {
        let earlier = stored.iter().find(|earlier| earlier.output_file == task.output_file)?;
        earlier.last_lines.clone()
    };
    let describe = |task: &BackgroundTask| {
        let lines = last_lines(task).or_else(|| last_lines_of(Path::new(task.output_file.as_ref()?)));
        BackgroundTask { last_lines: lines, ..task.clone() }
    };
    let tasks: Vec<BackgroundTask> = tasks.iter().map(describe).collect();
    // A failed write does not fail the run.
    let _ = dir.write(&tasks);
    tasks
}

fn last_lines_of(path: &Path) -> Option<String> {
    // Opening anything else, such as a FIFO, could block.
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file.then(|| plain(&tail_of(path))).filter(|lines| !lines.is_empty())
}

/// The agent's last line in the output of a command that it stopped (Claude Code 2.1.330).
const STOPPED_MARKER: &str = "[killed]";

/// Returns the last non-empty lines, without characters that move a terminal's cursor.
fn plain(text: &str) -> String {
    let line = |line: &str| {
        // A progress bar overwrites its line.
        let shown = line.trim_end().rsplit('\r').next().unwrap_or_default();
        let chars = shown.chars().filter(|c| !c.is_control() || *c == '\t');
        chars.take(LINE_CHARS_MAX).collect::<String>()
    };
    let is_output = |line: &String| !line.trim().is_empty() && line != STOPPED_MARKER;
    let lines: Vec<String> = text.lines().map(line).filter(is_output).collect();
    lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::{last_lines_of, plain};
    use std::path::Path;

    #[test]
    fn keeps_few_plain_last_lines() {
        assert_eq!(plain("1%\r50%\r100%\r\n\n\x1b[31mdone\x1b[0m\n\n[killed]\n"), "100%\n[31mdone[0m");
        let many: String = (0..30).map(|number| format!("step {number}\n")).collect();
        assert_eq!(plain(&many).lines().count(), 10);
        assert!(plain(&many).ends_with("step 29"));
        assert_eq!(plain(&"x".repeat(1_000)).len(), 200);
    }

    #[test]
    fn reads_only_files() {
        assert_eq!(last_lines_of(Path::new("/dev/zero")), None);
        assert_eq!(last_lines_of(Path::new("/nowhere")), None);
    }
}
