//! Checks existing runs: the ledger, orphaned runs and the clock.

use super::finding::Finding;
use crate::commands::runs::{Row, RowState};
use crate::commands::status::workflow_status;
use crate::hints::Hint;
use crate::open_home;
use longhaul_core::{Moment, RunId, Span};
use longhaul_store::{Home, Ledger, LedgerError, LedgerRun, RunFilter, RunState, rfc3339};
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

const LEDGER: &str = "ledger";
const ORPHANED: &str = "orphaned_runs";
const CLOCK: &str = "clock";

// A person waits this long without wondering why.
const WAIT: Duration = Duration::from_secs(2);
// `longhaul status` lists all of them.
const NAMED_MAX: usize = 5;
/// 2026-01-01T00:00:00Z. No record is older than this.
const WRITTEN_AFTER: Moment = Moment(1_767_225_600_000);
// Clocks are adjusted by small amounts all the time, and file systems have their own.
const LAG_MAX: Span = Span(60_000);

/// Checks the ledger, orphaned runs and the clock. An unknown home is reported by another check.
pub fn check(now: Moment) -> Vec<Finding> {
    let Ok(home) = open_home::locate() else { return vec![clock(now, None)] };
    let (state, ledger) = ledger(&home);
    match ledger.and_then(|ledger| read_runs(&home, ledger)) {
        Ok((orphans, last)) => vec![state, orphaned(&orphans), clock(now, last)],
        Err(error) => {
            let remedy = error.hint().unwrap_or_else(|| "longhaul recover --list".to_owned());
            vec![state, Finding::warning(ORPHANED, format!("unknown: {error}"), remedy), clock(now, None)]
        }
    }
}

/// Returns the ids of workflows without a supervisor, then of runs that belong to none of them, and the time of the
/// newest run's last record.
fn read_runs(home: &Home, mut ledger: Ledger) -> Result<(Vec<String>, Option<Moment>), LedgerError> {
    let states = vec![RunState::Running, RunState::Waiting];
    let unfinished = ledger.runs(&RunFilter { states, ..RunFilter::default() })?;
    let newest = ledger.runs(&RunFilter { limit: Some(1), ..RunFilter::default() })?;
    let dirs = home.workflows_newest_first()?;
    let workflows: Vec<RunId> = dirs
        .iter()
        .filter_map(|dir| workflow_status(home, dir))
        .filter(|status| status.status == RowState::Orphaned.as_str())
        .map(|status| status.workflow_id)
        .collect();
    let is_alone =
        |row: &Row| row.entry.workflow.as_ref().is_none_or(|position| !workflows.contains(&position.id));
    let runs = unfinished.into_iter().map(Row::new).filter(|row| row.state == RowState::Orphaned);
    let runs = runs.filter(|row| !row.entry.is_judge_run()).filter(is_alone).map(|row| row.entry.id);
    let orphans = workflows.iter().cloned().chain(runs).map(|id| id.to_string()).collect();
    Ok((orphans, newest.first().and_then(last_activity)))
}

/// Opens the ledger and brings it up to date. An unusable or missing ledger is replaced by a temporary one.
/// Never creates the ledger file.
fn ledger(home: &Home) -> (Finding, Result<Ledger, LedgerError>) {
    let path = Ledger::path_in(home);
    if !path.exists() {
        let found = "none yet; the first run creates it";
        return (Finding::ok(LEDGER, found), Ledger::temporary(home).and_then(catch_up));
    }
    match Ledger::open(home, WAIT).and_then(catch_up) {
        Ok(ledger) => (Finding::ok(LEDGER, path.display().to_string()), Ok(ledger)),
        Err(error) => (unusable(&error), Ledger::temporary(home).and_then(catch_up)),
    }
}

fn catch_up(mut ledger: Ledger) -> Result<Ledger, LedgerError> {
    ledger.catch_up()?;
    Ok(ledger)
}

/// An unusable ledger only makes lists slower. If the runs themselves cannot be read, nothing works.
fn unusable(error: &LedgerError) -> Finding {
    let remedy = error.hint().unwrap_or_else(|| "longhaul ledger rebuild".to_owned());
    match error {
        LedgerError::Runs(_) => Finding::problem(LEDGER, error.to_string(), remedy),
        LedgerError::Database(_) => Finding::warning(LEDGER, error.to_string(), remedy),
    }
}

fn orphaned(orphans: &[String]) -> Finding {
    let names = orphans.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match orphans {
        [] => Finding::ok(ORPHANED, "none"),
        [one] => {
            Finding::warning(ORPHANED, format!("{one} has no supervisor"), format!("longhaul recover {one}"))
        }
        _ => {
            let more = if orphans.len() > NAMED_MAX { ", …" } else { "" };
            let found = format!("{} have no supervisor: {names}{more}", orphans.len());
            Finding::warning(ORPHANED, found, "longhaul recover")
        }
    }
}

fn last_activity(run: &LedgerRun) -> Option<Moment> {
    let modified =
        fs::metadata(run.run_dir().journal_path()).and_then(|metadata| metadata.modified()).ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    Some(run.started_at.0.max(Moment(since.as_millis() as u64)))
}

/// Checks the clock, because waits, limits and the order of runs depend on it.
fn clock(now: Moment, last: Option<Moment>) -> Finding {
    let remedy = "set the clock, for example with: timedatectl set-ntp true";
    let time = rfc3339(now);
    if now < WRITTEN_AFTER {
        return Finding::problem(CLOCK, format!("{time} is before this program was written"), remedy);
    }
    match last.filter(|last| last.0 > now.0.saturating_add(LAG_MAX.0)) {
        Some(last) => {
            let behind = last.since(now);
            Finding::warning(CLOCK, format!("{time} is {behind} behind the newest record of a run"), remedy)
        }
        None => Finding::ok(CLOCK, time),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::{WRITTEN_AFTER, clock, orphaned};
    use longhaul_core::Moment;

    #[test]
    fn checks_clock() {
        let check = |now: u64, last: Option<u64>, expected: Severity| {
            assert_eq!(clock(Moment(now), last.map(Moment)).state, expected, "{now} {last:?}");
        };
        let written = WRITTEN_AFTER.0;
        check(0, None, Severity::Problem);
        check(written - 1, Some(written), Severity::Problem);
        check(written, None, Severity::Ok);
        check(written, Some(0), Severity::Ok);
        check(written, Some(written + 60_000), Severity::Ok);
        check(written, Some(written + 60_001), Severity::Warning);
        check(u64::MAX, Some(u64::MAX), Severity::Ok);
    }

    #[test]
    fn names_orphaned_runs() {
        let check = |count: usize, found: &str, remedy: Option<&str>| {
            let orphans: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(str::to_owned)[..count].to_vec();
            let finding = orphaned(&orphans);
            assert_eq!((finding.detail.as_str(), finding.remedy.as_deref()), (found, remedy));
        };
        check(0, "none", None);
        check(1, "a has no supervisor", Some("longhaul recover a"));
        check(2, "2 have no supervisor: a, b", Some("longhaul recover"));
        check(6, "6 have no supervisor: a, b, c, d, e, …", Some("longhaul recover"));
    }
}
