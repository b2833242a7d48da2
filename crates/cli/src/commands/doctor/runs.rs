//! What runs that were begun before tell: their index, those that nobody has any more, and the clock.

use super::finding::Finding;
use crate::commands::runs::{Row, RowState};
use crate::open_home;
use longhaul_core::{Moment, Span};
use longhaul_store::{Home, Ledger, LedgerError, LedgerRun, RunFilter, RunState, rfc3339};
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

const LEDGER: &str = "ledger";
const ORPHANED: &str = "orphaned_runs";
const CLOCK: &str = "clock";

// As long as a person waits without asking why.
const WAIT: Duration = Duration::from_secs(2);
// More are told by `longhaul status`.
const NAMED_MAX: usize = 5;
/// 2026-01-01T00:00:00Z: nothing of this was written before.
const WRITTEN_AFTER: Moment = Moment(1_767_225_600_000);
// Clocks are set by moments all the time, and file systems have clocks of their own.
const BEHIND_MAX: Span = Span(60_000);

/// Asks the ledger. Of a home that is not known somebody else complains.
pub fn check(now: Moment) -> Vec<Finding> {
    let Ok(home) = open_home::locate() else { return vec![clock(now, None)] };
    let (state, ledger) = ledger(&home);
    match ledger.and_then(RunHistory::by) {
        Ok(RunHistory { lost, last }) => vec![state, orphaned(&lost), clock(now, last)],
        Err(error) => {
            let remedy = error.hint().unwrap_or_else(|| "longhaul recover --list".to_owned());
            vec![state, Finding::warning(ORPHANED, format!("not known: {error}"), remedy), clock(now, None)]
        }
    }
}

/// What the ledger tells.
struct RunHistory {
    /// The runs that are not over, and that nobody supervises.
    lost: Vec<String>,
    /// When something was written of the newest run last.
    last: Option<Moment>,
}

impl RunHistory {
    fn by(mut ledger: Ledger) -> Result<RunHistory, LedgerError> {
        let states = vec![RunState::Running, RunState::Waiting];
        let going = ledger.runs(&RunFilter { states, ..RunFilter::default() })?;
        let newest = ledger.runs(&RunFilter { limit: Some(1), ..RunFilter::default() })?;
        let lost = going.into_iter().map(Row::new).filter(|row| row.state == RowState::Orphaned);
        Ok(RunHistory { lost: lost.map(|row| row.id).collect(), last: newest.first().and_then(last_sign) })
    }
}

/// The ledger as it is, brought up to date like by whoever reads it; where it cannot be used, one that is gone with us. One
/// that is not there is not made.
fn ledger(home: &Home) -> (Finding, Result<Ledger, LedgerError>) {
    let path = Ledger::path_in(home);
    if !path.exists() {
        let found = "there is none yet; the first run makes it";
        return (Finding::ok(LEDGER, found), Ledger::temporary(home).and_then(caught_up));
    }
    match Ledger::open(home, WAIT).and_then(caught_up) {
        Ok(ledger) => (Finding::ok(LEDGER, path.display().to_string()), Ok(ledger)),
        Err(error) => (unusable(&error), Ledger::temporary(home).and_then(caught_up)),
    }
}

fn caught_up(mut ledger: Ledger) -> Result<Ledger, LedgerError> {
    ledger.catch_up()?;
    Ok(ledger)
}

/// No run fails for it, and lists are as good without it, only slower; but where the runs cannot be read, nothing is.
fn unusable(error: &LedgerError) -> Finding {
    let remedy = error.hint().unwrap_or_else(|| "longhaul ledger rebuild".to_owned());
    match error {
        LedgerError::Runs(_) => Finding::problem(LEDGER, error.to_string(), remedy),
        LedgerError::Locked { .. }
        | LedgerError::Newer { .. }
        | LedgerError::Damaged { .. }
        | LedgerError::Refused { .. } => Finding::warning(LEDGER, error.to_string(), remedy),
    }
}

fn orphaned(lost: &[String]) -> Finding {
    let named = lost.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match lost {
        [] => Finding::ok(ORPHANED, "none"),
        [one] => Finding::warning(
            ORPHANED,
            format!("nobody supervises {one} any more"),
            format!("longhaul recover {one}"),
        ),
        _ => {
            let more = if lost.len() > NAMED_MAX { ", …" } else { "" };
            let found = format!("nobody supervises {} runs any more: {named}{more}", lost.len());
            Finding::warning(ORPHANED, found, "longhaul recover")
        }
    }
}

fn last_sign(run: &LedgerRun) -> Option<Moment> {
    let modified = fs::metadata(run.run_dir().journal_path()).and_then(|found| found.modified()).ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    Some(run.started_at.max(Moment(since.as_millis() as u64)))
}

/// Waits, limits and the order of runs are by the clock.
fn clock(now: Moment, last: Option<Moment>) -> Finding {
    let remedy = "set it, for example with: timedatectl set-ntp true";
    let time = rfc3339(now);
    if now < WRITTEN_AFTER {
        return Finding::problem(CLOCK, format!("{time} is before this program was written"), remedy);
    }
    match last.filter(|last| last.0 > now.0.saturating_add(BEHIND_MAX.0)) {
        Some(last) => {
            let behind = last.since(now);
            Finding::warning(CLOCK, format!("{time} is {behind} before the last word of a run"), remedy)
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
    fn clocks() {
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
    fn lost_runs_are_named() {
        let check = |count: usize, found: &str, remedy: Option<&str>| {
            let lost: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(str::to_owned)[..count].to_vec();
            let finding = orphaned(&lost);
            assert_eq!((finding.detail.as_str(), finding.remedy.as_deref()), (found, remedy));
        };
        check(0, "none", None);
        check(1, "nobody supervises a any more", Some("longhaul recover a"));
        check(2, "nobody supervises 2 runs any more: a, b", Some("longhaul recover"));
        check(6, "nobody supervises 6 runs any more: a, b, c, d, e, …", Some("longhaul recover"));
    }
}
