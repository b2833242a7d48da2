//! What is read of the kernel's tables, and what is seen of a few processes.

use super::{CpuTimes, established, parse, probe};
use crate::live::{RunMarker, start_ticks};
use longhaul_core::{ProcessActivity, ProcessId, ProcessState};
use std::process::{Child, Command, Stdio};

#[test]
fn a_name_may_hold_anything() {
    let stat =
        "7 (a) R 1 (b) S 1 7 7 0 -1 4194304 90 0 0 0 11 22 33 44 20 0 1 0 555 1000 10 18446744073709551615";
    let times = CpuTimes { state: 'S', own: 33, ended: 77 };
    assert_eq!(parse(7, stat), Some((ProcessId { pid: 7, start_ticks: 555 }, times)));
    assert_eq!(parse(7, "7 (cut) S 1 2"), None);
    assert_eq!(parse(7, ""), None);
}

#[test]
fn a_connection_has_two_ends() {
    let line = |state: &str| {
        format!("   1: 0100007F:9C40 0100007F:1F90 {state} 00000000:00000000 00:00000000 00000000 0 0 4242 1")
    };
    assert_eq!(established(&line("01")), Some(4242));
    assert_eq!(established(&line("0A")), None, "it listens");
    let heading =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
    assert_eq!(established(heading), None);
    assert_eq!(established(""), None);
}

/// A process of the run that does not outlive its test.
struct Marked(Child);

impl Marked {
    fn sh(marker: &RunMarker, script: &str) -> Marked {
        let mut command = Command::new("sh");
        command.args(["-c", script]).envs(marker.variables()).stdin(Stdio::piped());
        Marked(command.spawn().expect("there is a shell"))
    }

    fn proc(&self) -> ProcessId {
        ProcessId { pid: self.0.id(), start_ticks: start_ticks(self.0.id()).expect("it lives") }
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn seen(marker: &RunMarker, agent: ProcessId) -> Option<ProcessActivity> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(probe(marker, agent))
}

// A shell that waits for input which never comes, and one that turns in circles.
const IDLE: &str = "read line";
const BUSY: &str = "while :; do :; done";
/// Works in pieces: each is a process of its own that has ended before anybody looks.
const PIECES: &str = "while :; do sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'; done";

#[test]
fn an_idle_agent_is_told_from_its_busy_child() {
    let marker = RunMarker::unowned();
    let agent = Marked::sh(&marker, IDLE);
    let signs = ProcessActivity { agent: ProcessState::Idle, connections: 0, children: 0, busy_children: 0 };
    assert_eq!(seen(&marker, agent.proc()), Some(signs));

    let _idle = Marked::sh(&marker, IDLE);
    let _busy = Marked::sh(&marker, BUSY);
    assert_eq!(seen(&marker, agent.proc()), Some(ProcessActivity { children: 2, busy_children: 1, ..signs }));
}

#[test]
fn work_in_pieces_is_work() {
    let marker = RunMarker::unowned();
    let agent = Marked::sh(&marker, IDLE);
    let _busy = Marked::sh(&marker, PIECES);
    let signs = seen(&marker, agent.proc()).expect("it lives");
    assert_eq!(signs.agent, ProcessState::Idle);
    assert!(signs.busy_children >= 1, "{signs:?}");
}

#[test]
fn a_busy_agent_is_no_busy_child() {
    let marker = RunMarker::unowned();
    let agent = Marked::sh(&marker, BUSY);
    let signs = ProcessActivity { agent: ProcessState::Busy, connections: 0, children: 0, busy_children: 0 };
    assert_eq!(seen(&marker, agent.proc()), Some(signs));
}

#[test]
fn who_is_gone_is_not_seen() {
    let marker = RunMarker::unowned();
    let agent = Marked::sh(&marker, IDLE);
    let ProcessId { pid, start_ticks } = agent.proc();
    assert_eq!(seen(&marker, ProcessId { pid, start_ticks: start_ticks + 1 }), None);
}
