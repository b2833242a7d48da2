//! The activity of an unfinished run, from its files. It changes nothing and decides nothing.

use super::{Row, RowState};
use crate::commands::report::calls::{CallEnd, ToolCalls};
use crate::frozen_supervisor;
use crate::output::{phrases, time};
use longhaul_core::{DeadlineKind, Moment, PhaseKind};
use longhaul_store::RunDir;

// An open tool call is among the last lines of the transcript; one line may hold a whole file.
const TRANSCRIPT_BYTES_MAX: u64 = 256 << 10;
// As many tools as an agent runs at the same time.
const CALLS_MAX: usize = 16;

/// Returns what a run does or waits for, or `None` if it is finished or unreadable.
pub fn activity(row: &Row, now: Moment) -> Option<String> {
    let next = row.next.as_deref().unwrap_or_default();
    let is_supervised = matches!(row.state, RowState::Running | RowState::Waiting);
    if let Some(hint) = is_supervised.then(|| frozen_supervisor::hint(row.entry.run_dir().path())).flatten() {
        return Some(hint);
    }
    let (text, attempt) = match (row.state, row.entry.until.map(|until| until.0)) {
        (RowState::Finished | RowState::Unreadable, _) => return None,
        (RowState::Suspended, _) => return Some(format!("suspended: {next}")),
        (RowState::Orphaned, _) => return Some(format!("no supervisor: {next}")),
        (RowState::Waiting, until) => {
            let attempt = if waits_for_review(row) { 0 } else { row.entry.attempts + 1 };
            (waiting(row, until.filter(|until| *until > now)), attempt)
        }
        (RowState::Running, _) => (working(&row.entry.run_dir()), row.entry.attempts),
    };
    Some(if attempt > 1 { format!("{text} · attempt {attempt}") } else { text })
}

fn waits_for_review(row: &Row) -> bool {
    let status = row.entry.run_dir().status();
    status.is_ok_and(|status| status.deadline == Some(DeadlineKind::NextReview))
}

fn waiting(row: &Row, until: Option<Moment>) -> String {
    let cause = row.entry.fault.map(|fault| format!(": {}", fault.describe())).unwrap_or_default();
    match until {
        Some(until) => format!("waiting until {}{cause}", time::future_time(until)),
        None => format!("waiting{cause}"),
    }
}

pub fn working(dir: &RunDir) -> String {
    let status = dir.status().ok();
    match status.as_ref().map(|status| status.phase) {
        Some(PhaseKind::Running | PhaseKind::Waiting | PhaseKind::Finished) | None => {
            let calls = ToolCalls::read(&dir.transcript_path(), TRANSCRIPT_BYTES_MAX, CALLS_MAX);
            let has_background = status.is_some_and(|status| !status.background.is_empty());
            let waits_for =
                if calls.exchange_ended && has_background { "background work" } else { "the model" };
            open_tool(calls).unwrap_or_else(|| format!("waiting for {waits_for}"))
        }
        Some(phase) => phrases::phase_words(phase).to_owned(),
    }
}

/// Returns the newest tool call without a result.
fn open_tool(calls: ToolCalls) -> Option<String> {
    let open = calls.last.into_iter().rev().find(|call| call.result == CallEnd::Unknown)?;
    let text = phrases::one_line(&format!("{}: {}", open.tool, open.argument));
    Some(text.trim_end_matches(':').to_owned())
}
