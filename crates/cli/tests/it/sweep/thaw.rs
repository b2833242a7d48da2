//! Continues processes of a stage that SIGSTOP stopped, after a delay.

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
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A thread that continues stopped processes until it is dropped.
pub struct Thaw {
    is_finished: Arc<AtomicBool>,
    thread_handle: Option<JoinHandle<()>>,
}

impl Thaw {
    /// Starts the thread for the processes with this directory in their environment.
    pub fn new(folder: PathBuf) -> Thaw {
        let is_finished = Arc::new(AtomicBool::new(false));
        let stop_flag = Arc::clone(&is_finished);
        let thread_handle = thread::spawn(move || {
            let mut since = BTreeMap::<i32, Instant>::new();
            while !stop_flag.load(Ordering::Relaxed) {
                let stopped: Vec<Pid> = processes(&folder)
                    .into_iter()
                    .map(|(pid, _)| pid)
                    .filter(|pid| is_stopped(*pid))
                    .collect();
                for pid in stopped {
                    let started = since.entry(pid.as_raw_nonzero().get()).or_insert_with(Instant::now);
                    if started.elapsed() >= STOPPED_FOR {
                        // The process may have exited.
                        let _ = kill_process(pid, Signal::CONT);
                    }
                }
                thread::sleep(POLL_INTERVAL);
            }
        });
        Thaw { is_finished, thread_handle: Some(thread_handle) }
    }
}

impl Drop for Thaw {
    fn drop(&mut self) {
        self.is_finished.store(true, Ordering::Relaxed);
        if let Some(thread_handle) = self.thread_handle.take() {
            let _ = thread_handle.join();
        }
    }
}

fn is_stopped(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}
