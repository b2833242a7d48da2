//! Points at which tests let the supervisor, its agent or both die by SIGKILL, or send them another
//! signal. Without the feature `crash-points`, which only tests switch on, nothing of this is compiled.
//!
//! `LONGHAUL_CRASH=supervisor@12` dies when the twelfth point is passed; `agent@12` kills the agent
//! there, `both@12` the one and then the other, `all@12` every process that has this variable in its environment:
//! supervisor, agent, tools, watchdog. `agent:term@12` and `agent:stop@12` send SIGTERM and SIGSTOP instead. With `LONGHAUL_CRASH_LOG` each point that is passed is appended to that file, and
//! `struck` where somebody is hit, so that a test can count the ones and believe in the other.

/// A point in a supervisor's life, by what was done last.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failpoint {
    /// Something happened, and nothing is decided about it.
    EventTaken,
    /// It is decided, and not written down.
    Stepped,
    /// It is written down, and nothing is done about it.
    Appended,
    /// The agent's process is there, and nobody knows.
    Spawned,
    /// One order is carried out.
    Performed,
}

#[cfg(not(feature = "crash-points"))]
pub(crate) fn hit(_point: Failpoint) {}

#[cfg(not(feature = "crash-points"))]
pub(crate) fn agent_is(_pid: u32) {}

#[cfg(feature = "crash-points")]
pub(crate) use crashing::{agent_is, hit};

#[cfg(feature = "crash-points")]
mod crashing {
    use super::Failpoint;
    use rustix::process::{Pid, Signal, getpid, kill_process};
    use std::env;
    use std::fs::File;
    use std::io::Write;
    use std::sync::atomic::{AtomicU32, Ordering};

    static PASSED: AtomicU32 = AtomicU32::new(0);
    static AGENT: AtomicU32 = AtomicU32::new(0);

    /// Remembers whom to kill.
    pub(crate) fn agent_is(pid: u32) {
        AGENT.store(pid, Ordering::Relaxed);
    }

    /// Passes a point, or dies at it.
    pub(crate) fn hit(point: Failpoint) {
        let number = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
        log(&format!("{number} {point:?}"));
        let Ok(order) = env::var("LONGHAUL_CRASH") else { return };
        let Some((whom, at)) = order.split_once('@') else { return };
        if at.parse() != Ok(number) {
            return;
        }
        let (who, signal) = match whom.split_once(':') {
            Some((who, "term")) => (who, Signal::TERM),
            Some((who, "stop")) => (who, Signal::STOP),
            Some(_) => return,
            None => (whom, Signal::KILL),
        };
        let agent = Pid::from_raw(AGENT.load(Ordering::Relaxed).cast_signed());
        if let Some(agent) = agent.filter(|_| matches!(who, "agent" | "both"))
            && kill_process(agent, signal).is_ok()
        {
            log("struck");
        }
        if who == "all" {
            // The agent and its tools first: the supervisor sees them end before its own signal arrives.
            for pid in others(&order) {
                let _ = kill_process(pid, signal);
            }
        }
        if matches!(who, "supervisor" | "both" | "all") {
            log("struck");
            let _ = kill_process(getpid(), signal);
        }
    }

    /// The other processes with this order in their environment.
    fn others(order: &str) -> impl Iterator<Item = Pid> {
        let variable = format!("LONGHAUL_CRASH={order}").into_bytes();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        processes.filter_map(move |entry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let is_ours = environment.split(|byte| *byte == 0).any(|found| found == variable);
            (is_ours && pid != getpid()).then_some(pid)
        })
    }

    fn log(line: &str) {
        let Ok(log) = env::var("LONGHAUL_CRASH_LOG") else { return };
        let log = File::options().append(true).create(true).open(log);
        let _ = log.and_then(|mut log| writeln!(log, "{line}"));
    }
}
