//! Tests of probing a few processes.

use super::probe;
use crate::live::system::StartNote;
use crate::live::{RunMarker, start_ticks};
use longhaul_core::{ProcessActivity, ProcessId, ProcessState};
use std::fs::File;
use std::process::{Child, Command, Stdio};

/// A process of the run that is killed at the end of the test.
struct MarkedProcess(Child);

impl MarkedProcess {
    fn sh(marker: &RunMarker, script: &str) -> MarkedProcess {
        let mut command = Command::new("sh");
        command.args(["-c", script]).envs(marker.variables()).stdin(Stdio::piped());
        let process = MarkedProcess(command.spawn().expect("there is a shell"));
        let output = File::open("/dev/null").expect("every system has it");
        StartNote::new(Some(marker), &output).write(process.id());
        process
    }

    fn id(&self) -> ProcessId {
        ProcessId { pid: self.0.id(), start_ticks: start_ticks(self.0.id()).expect("the process is running") }
    }
}

impl Drop for MarkedProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn probe_now(marker: &RunMarker, agent: ProcessId) -> Option<ProcessActivity> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(probe(marker, agent))
}

/// Starts an agent that runs a script. Returns the directory and the marker of its run, too.
fn start_agent(script: &str) -> (tempfile::TempDir, RunMarker, MarkedProcess) {
    let dir = tempfile::tempdir().expect("a directory");
    let marker = RunMarker::in_dir(dir.path());
    let agent = MarkedProcess::sh(&marker, script);
    (dir, marker, agent)
}

fn without_children(agent: ProcessState) -> ProcessActivity {
    ProcessActivity { agent, connections: 0, children: 0, busy_children: 0 }
}

// A shell that waits for input forever, and one that loops.
const IDLE: &str = "read line";
const BUSY: &str = "while :; do :; done";
/// Works in child processes, each of which ends before it can be sampled.
const SHORT_LIVED_CHILDREN: &str =
    "while :; do sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'; done";

#[test]
fn distinguishes_an_idle_agent_from_its_busy_child() {
    let (_dir, marker, agent) = start_agent(IDLE);
    let activity = without_children(ProcessState::Idle);
    assert_eq!(probe_now(&marker, agent.id()), Some(activity));

    let _idle = MarkedProcess::sh(&marker, IDLE);
    let _busy = MarkedProcess::sh(&marker, BUSY);
    assert_eq!(
        probe_now(&marker, agent.id()),
        Some(ProcessActivity { children: 2, busy_children: 1, ..activity })
    );
}

#[test]
fn short_lived_children_count_as_work() {
    let (_dir, marker, agent) = start_agent(IDLE);
    let _busy = MarkedProcess::sh(&marker, SHORT_LIVED_CHILDREN);
    let activity = probe_now(&marker, agent.id()).expect("the agent is running");
    assert_eq!(activity.agent, ProcessState::Idle);
    assert!(activity.busy_children >= 1, "{activity:?}");
}

#[test]
fn a_busy_agent_does_not_count_as_a_busy_child() {
    let (_dir, marker, agent) = start_agent(BUSY);
    let activity = without_children(ProcessState::Busy);
    assert_eq!(probe_now(&marker, agent.id()), Some(activity));
}

#[test]
fn does_not_probe_an_exited_agent() {
    let (_dir, marker, agent) = start_agent(IDLE);
    let ProcessId { pid, start_ticks } = agent.id();
    assert_eq!(probe_now(&marker, ProcessId { pid, start_ticks: start_ticks + 1 }), None);
}
