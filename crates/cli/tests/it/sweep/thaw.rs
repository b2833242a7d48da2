//! Lets go on, after a while, whoever of a stage was stopped by SIGSTOP.

use crate::tidy::processes;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const STOPPED_FOR: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Looks until dropped.
pub struct Thaw {
    is_over: Arc<AtomicBool>,
    looking: Option<JoinHandle<()>>,
}

impl Thaw {
    /// Whoever names this folder in its environment.
    pub fn of(folder: PathBuf) -> Thaw {
        let is_over = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&is_over);
        let looking = thread::spawn(move || {
            let mut since = BTreeMap::<i32, Instant>::new();
            while !asked.load(Ordering::Relaxed) {
                let stopped: Vec<Pid> = processes(&folder)
                    .into_iter()
                    .map(|(pid, _)| pid)
                    .filter(|pid| is_stopped(*pid))
                    .collect();
                for pid in stopped {
                    let started = since.entry(pid.as_raw_nonzero().get()).or_insert_with(Instant::now);
                    if started.elapsed() >= STOPPED_FOR {
                        // One that has ended meanwhile needs no more.
                        let _ = kill_process(pid, Signal::CONT);
                    }
                }
                thread::sleep(LOOK_EVERY);
            }
        });
        Thaw { is_over, looking: Some(looking) }
    }
}

impl Drop for Thaw {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(looking) = self.looking.take() {
            let _ = looking.join();
        }
    }
}

fn is_stopped(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}
