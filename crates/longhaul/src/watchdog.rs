//! The watchdog of a run: a process that waits for its supervisor's death, and ends an agent that nobody comes
//! back for. It costs nothing while it waits, decides nothing about the run and writes nothing to its journal:
//! whoever recovers the run reads how the attempt ended.

mod ending;
mod silence;

use crate::live::{Adopted, Mark, Watch, marked, start_ticks};
use crate::recover::{DYING_LOOK_EVERY, DYING_LOOKS, is_told};
use crate::{Environment, SuperviseError};
use ending::end;
use longhaul_agent::Program;
use longhaul_core::{Policy, Proc, Span};
use longhaul_store::{Journal, RunDir, StoreError};
use rustix::process::Pid;
use silence::{Heard, Silence};
use std::io;
use std::process::{self, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

// So many looks to a timeout: an agent is ended at most an eighth late.
const LOOKS: u32 = 8;
const LOOK_EVERY_MIN: Duration = Duration::from_millis(50);
// A supervisor that takes over is seen at once, by what it writes; this is for a system without file events.
const LOOK_EVERY_MAX: Duration = Duration::from_secs(10);

/// Why a watchdog left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// The run's policy wants none.
    NotWanted,
    /// The run is over, and its outcome was told.
    Told,
    /// Another supervisor has the run.
    Supervised,
    /// No process of the run is left.
    Deserted,
    /// Nobody came back: so many processes were ended. The run can be recovered all the same.
    Ended(u32),
}

/// Waits until `supervisor` is dead, and then until its run is over, has another supervisor or no process any
/// more. A run that is silent for as long as its policy lets an orphan be has its processes ended. It is for a
/// process of its own that does not carry the run's mark: a supervisor starts it by [`Environment::watchdog`].
///
/// # Errors
///
/// If the run's files cannot be read, or if a process of it cannot be ended.
pub async fn watch(dir: &RunDir, supervisor: Proc) -> Result<Parting, SuperviseError> {
    let plan = dir.trusted_plan()?;
    let (mark, policy) = (Mark::new(dir.id(), &plan), plan.policy);
    let Some(patience) = policy.orphan_timeout else { return Ok(Parting::NotWanted) };
    death_of(supervisor).await?;
    keep(dir, &mark, patience, policy.stop_grace).await
}

/// Watches a run whose supervisor is dead.
async fn keep(dir: &RunDir, mark: &Mark, patience: Span, grace: Span) -> Result<Parting, SuperviseError> {
    let mut watch = Watch::new();
    // Whoever takes over writes to the one and renames into the other.
    watch.file(&dir.journal_path());
    watch.dir(dir.path());
    let look_every = (patience.to_std() / LOOKS).clamp(LOOK_EVERY_MIN, LOOK_EVERY_MAX);
    let mut silence = Silence::begin(Heard::of(dir));
    let mut witness = None;
    loop {
        if is_told(dir) {
            return Ok(Parting::Told);
        }
        if is_supervised(dir).await? {
            return Ok(Parting::Supervised);
        }
        let mut living = match witness.take() {
            Some(living) => living,
            None => match find_witness(mark).await? {
                Some(living) => living,
                None => return Ok(Parting::Deserted),
            },
        };
        let begun = Instant::now();
        tokio::select! {
            () = tokio::time::sleep(look_every) => witness = Some(living),
            changed = watch.changed() => {
                changed?;
                witness = Some(living);
            }
            gone = living.gone() => gone?,
        }
        silence.pass(begun.elapsed(), look_every, Heard::of(dir));
        if silence.lasted() >= patience
            && let Some(ended) = end((dir, mark), &silence, grace).await?
        {
            return Ok(Parting::Ended(ended));
        }
    }
}

/// Returns when the process is dead, be it that it died before we came and another has its number.
async fn death_of(supervisor: Proc) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(supervisor.pid.cast_signed()) else { return Ok(()) };
    // Should it live nevertheless, the journal's lock tells.
    let Ok(mut process) = Adopted::new(pid) else { return Ok(()) };
    // Asked when the handle is open: from here on the number means one process.
    if start_ticks(supervisor.pid) != Some(supervisor.start_ticks) {
        return Ok(());
    }
    process.gone().await
}

/// Whether another supervisor has the run. One that dies has the lock for a moment longer, and whoever only
/// looks at the run has it for a moment too.
async fn is_supervised(dir: &RunDir) -> Result<bool, StoreError> {
    for _ in 0..DYING_LOOKS {
        if !Journal::is_held(&dir.journal_path())? {
            return Ok(false);
        }
        tokio::time::sleep(DYING_LOOK_EVERY).await;
    }
    Ok(true)
}

/// A process of the run, the oldest if numbers tell: as long as it lives, nobody needs to look for others.
async fn find_witness(mark: &Mark) -> io::Result<Option<Adopted>> {
    let oldest = || marked(mark).into_iter().next();
    let mut found = oldest();
    if found.is_none() {
        // One that was just being started carries its mark a moment later.
        tokio::time::sleep(DYING_LOOK_EVERY * DYING_LOOKS).await;
        found = oldest();
    }
    found.map(|(_, process)| Adopted::of(process)).transpose()
}

/// The program that is to be the run's watchdog; nothing if there is none, or if the policy wants none.
pub(crate) fn wanted(environment: &Environment, policy: &Policy) -> Option<Program> {
    environment.watchdog.clone().filter(|_| policy.orphan_timeout.is_some())
}

/// A watchdog that waits for our death.
pub(crate) struct Watchdog(Child);

impl Watchdog {
    /// Starts the program as the watchdog of this run and this process. Its environment is ours, which has the
    /// marks of the runs around this one, and not this one's own: its sweep spares the watchdog.
    pub(crate) fn start(program: &Program, dir: &RunDir) -> io::Result<Watchdog> {
        let pid = process::id();
        let started = start_ticks(pid).unwrap_or_default();
        Command::new(&program.path)
            .args(&program.leading_args)
            .arg(dir.path())
            .args([pid.to_string(), started.to_string()])
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(Watchdog)
    }

    /// Ends it: its run is over, and we may live on.
    pub(crate) async fn dismiss(mut self) {
        // One that is gone already needs no more.
        let _ = self.0.kill().await;
    }
}

#[cfg(test)]
mod tests;
