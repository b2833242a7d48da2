use super::lineage::{is_needed, members};
use super::*;
use std::process::{Child, Command, Stdio};

fn process(pid: u32, start_ticks: u64) -> ProcessId {
    ProcessId { pid, start_ticks }
}

/// Returns a process by its PID, parent, group, session and start.
fn stat([pid, parent, group, session]: [u32; 4], start_ticks: u64) -> ProcessStat {
    ProcessStat { pid, parent, group, session, start_ticks, state: 'S', own_ticks: 0, child_ticks: 0 }
}

#[test]
fn a_run_consists_of_the_descendants_groups_and_sessions_of_its_processes() {
    let remembered = BTreeSet::from([process(10, 100)]);
    // The agent started process 20, which started 21.
    let check = |table: &[ProcessStat], expected: &[u32]| {
        let found = members(&remembered, table, |process| process.pid == 20);
        let found: Vec<u32> = found.iter().map(|stat| stat.pid).collect();
        assert_eq!(found, expected, "{table:?}");
    };
    let agent = stat([10, 2, 10, 2], 100);
    let shell = stat([1, 0, 1, 1], 1);
    check(&[shell, stat([2, 1, 2, 2], 2), agent], &[10]);
    // A tool in its own session, and its child, which comes first.
    check(&[agent, stat([9, 11, 9, 9], 103), stat([11, 10, 11, 11], 102)], &[10, 9, 11]);
    // The agent has exited. Its group has another process, and so has a session that it led.
    check(&[stat([11, 1, 10, 2], 102), stat([12, 1, 12, 10], 102)], &[11, 12]);
    // The agent has exited before a search saw what it started.
    check(&[stat([20, 1, 20, 20], 102), stat([21, 20, 21, 21], 102)], &[20, 21]);
    // Nothing connects this process with the agent any more.
    check(&[stat([21, 1, 21, 21], 102)], &[]);
    // Another process has the PID of the agent.
    check(&[stat([10, 1, 10, 10], 555), stat([11, 10, 10, 10], 556)], &[]);
    // A process that has exited, but still has its PID.
    check(&[ProcessStat { state: 'Z', ..agent }, stat([11, 1, 10, 2], 102)], &[11]);
    // Processes outside of the PID namespace have the group 0.
    check(&[stat([5, 0, 0, 0], 1)], &[]);
}

#[test]
fn a_process_is_remembered_as_long_as_others_depend_on_it() {
    let check = |table: &[ProcessStat], expected: bool| {
        assert_eq!(is_needed(process(10, 100), table), expected, "{table:?}");
    };
    check(&[stat([10, 1, 10, 2], 100)], true);
    check(&[stat([11, 1, 10, 2], 101)], true);
    check(&[stat([11, 1, 11, 10], 101)], true);
    check(&[stat([10, 1, 10, 10], 555)], false);
    check(&[stat([11, 1, 11, 11], 101)], false);
    // It has exited, but still has its PID.
    let exited = ProcessStat { state: 'Z', ..stat([10, 1, 10, 10], 100) };
    check(&[exited], false);
    check(&[exited, stat([11, 1, 11, 10], 101)], true);
}

/// A shell in its own process group, killed at the end of the test.
struct Shell(Child);

impl Shell {
    /// Starts a shell that carries the marker, and waits for its first line.
    fn start(script: &str, marker: &RunMarker) -> Shell {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new("sh");
        command.args(["-c", script]).envs(marker.variables());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut shell = Shell(command.spawn().expect("there is a shell"));
        let mut line = [0];
        io::Read::read_exact(shell.0.stdout.as_mut().expect("it is piped"), &mut line)
            .expect("the shell writes a line");
        shell
    }

    fn id(&self) -> ProcessId {
        ProcessStat::read(self.0.id()).expect("the process is running").id()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pids(marker: &RunMarker) -> Vec<u32> {
    let processes = processes_of(marker).expect("it never fails");
    processes.iter().map(|process| raw(process.pid())).collect()
}

#[test]
fn finds_a_tool_in_its_own_session_after_the_agent_died() {
    // Whether a search saw the tool while the agent was running.
    for seen in [true, false] {
        let dir = tempfile::tempdir().expect("a directory");
        let marker = RunMarker::in_dir(dir.path());
        assert_eq!(pids(&marker), [] as [u32; 0]);
        // The tool writes the line, after it has its session.
        let agent = Shell::start("setsid sh -c 'echo; exec sleep 100' & read line", &marker);
        Memory::of(&marker).expect("a directory").remember(agent.id(), None);
        if seen {
            assert_eq!(pids(&marker).len(), 2);
        }
        drop(agent);
        let mut found = processes_of(&marker).expect("it never fails");
        let tool = found.pop().expect("the tool is found");
        assert!(found.is_empty());
        tool.signal(rustix::process::Signal::KILL);
        let gone = std::iter::repeat_with(|| {
            std::thread::sleep(Duration::from_millis(10));
            pids(&marker).is_empty()
        });
        assert!(gone.take(1000).any(|gone| gone));
        assert!(!dir.path().join("processes").exists(), "nothing is left to remember");
    }
}
