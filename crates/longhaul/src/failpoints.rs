//! Failpoints: numbered points at which tests kill or signal the supervisor, its agent or both. Without the
//! feature `failpoints`, which only tests enable, none of this is compiled.
//!
//! `LONGHAUL_FAILPOINT=supervisor@12` kills the supervisor at the twelfth point, and `agent@12` the agent.
//! `both@12` kills the agent, then the supervisor. `all@12` kills every process that has this variable and the
//! same `LONGHAUL_HOME` in its environment: supervisor, agent, tools and watchdog. `agent:term@12` and
//! `agent:stop@12` send SIGTERM and SIGSTOP instead.
//!
//! With `LONGHAUL_FAILPOINT_LOG`, each passed point is appended to that file, and the line `struck` after
//! each signal. A test can thereby count the points and verify the signal.

/// A point in a supervisor's life, named after the last completed operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failpoint {
    /// An event arrived. No decision has been made.
    EventTaken,
    /// The decision is made, but not journaled.
    Stepped,
    /// The decision is journaled, but no action has run.
    Appended,
    /// The agent's process exists, but is not journaled.
    Spawned,
    /// One action was performed.
    Performed,
}

#[cfg(not(feature = "failpoints"))]
pub(crate) fn hit(_point: Failpoint) {}

#[cfg(not(feature = "failpoints"))]
pub(crate) fn agent_is(_pid: u32) {}

#[cfg(feature = "failpoints")]
pub(crate) use crashing::{agent_is, hit};

#[cfg(feature = "failpoints")]
mod crashing {
    use super::Failpoint;
    use rustix::process::{Pid, Signal, getpid, kill_process};
    use std::env;
    use std::fs::File;
    use std::io::Write;
    use std::sync::atomic::{AtomicU32, Ordering};

    static PASSED: AtomicU32 = AtomicU32::new(0);
    static AGENT: AtomicU32 = AtomicU32::new(0);

    pub(crate) fn agent_is(pid: u32) {
        AGENT.store(pid, Ordering::Relaxed);
    }

    pub(crate) fn hit(point: Failpoint) {
        let number = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
        log(&format!("{number} {point:?}"));
        let Ok(setting) = env::var("LONGHAUL_FAILPOINT") else { return };
        let Some((target, point_number)) = setting.split_once('@') else { return };
        if point_number.parse() != Ok(number) {
            return;
        }
        let (target, signal) = match target.split_once(':') {
            Some((name, "term")) => (name, Signal::TERM),
            Some((name, "stop")) => (name, Signal::STOP),
            Some(_) => return,
            None => (target, Signal::KILL),
        };
        let agent = Pid::from_raw(AGENT.load(Ordering::Relaxed).cast_signed());
        if let Some(agent) = agent.filter(|_| matches!(target, "agent" | "both"))
            && kill_process(agent, signal).is_ok()
        {
            log("struck");
        }
        if target == "all" {
            // The agent and its tools receive the signal first, so that the supervisor observes their exit
            // before its own signal arrives.
            for pid in other_processes(&setting) {
                let _ = kill_process(pid, signal);
            }
        }
        if matches!(target, "supervisor" | "both" | "all") {
            log("struck");
            let _ = kill_process(getpid(), signal);
        }
    }

    /// Returns the other processes with this setting and this home. A test that runs at the same time may have the
    /// same setting, but never the same home.
    fn other_processes(setting: &str) -> impl Iterator<Item = Pid> {
        let home = env::var("LONGHAUL_HOME").unwrap_or_default();
        let variables = [format!("LONGHAUL_FAILPOINT={setting}"), format!("LONGHAUL_HOME={home}")];
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        processes.filter_map(move |entry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let has = |variable: &String| {
                environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
            };
            (variables.iter().all(has) && pid != getpid()).then_some(pid)
        })
    }

    fn log(line: &str) {
        let Ok(log) = env::var("LONGHAUL_FAILPOINT_LOG") else { return };
        let log = File::options().append(true).create(true).open(log);
        let _ = log.and_then(|mut log| writeln!(log, "{line}"));
    }
}
