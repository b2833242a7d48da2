//! Reads a run directory of ResearchGym: its usage and the record of its work.

use super::RequestedTotals;
use crate::failure::{Failure, OrFailure};
use crate::guard_flags;
use crate::researchgym_dir::is_researchgym_dir;
use longhaul_agent::{Conversation, UrlPattern, researchgym};
use longhaul_core::{Span, Usd};
use longhaul_store::{if_exists, read_regular};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::{fs, io};

const DIR_HINT: &str = "name the directory of a run: `runs/<date>/<run id>`, with `logs` in it";

const RESTORE_HINT: &str = "restore the original file";

pub const TOTALS: &str =
    "raise --claude_hours or --budget_limit, which are totals that include earlier usage";

#[derive(Debug)]
pub struct ResearchGymRun {
    /// Run directory, absolute.
    pub dir: PathBuf,
    /// Workspace, absolute, with links resolved.
    pub workspace: PathBuf,
    /// Cost, including the runs it continued.
    pub cost: Usd,
    /// Time spent working, including the runs it continued.
    pub active: Span,
    /// Total time, including waits.
    pub wall: Span,
    /// Transcript. Empty if only `session.json` exists.
    pub transcript: Conversation,
    pub blocked: Vec<UrlPattern>,
}

/// Returns the directory if ResearchGym wrote it. `None` if it can only be a run of Longhaul.
pub fn directory(selector: &str) -> Result<Option<PathBuf>, Failure> {
    if !is_researchgym_dir(selector) {
        return Ok(None);
    }
    let dir = fs::canonicalize(selector).and_then(|dir| fs::read_dir(dir.join("logs")).map(|_| dir));
    let failure = |error: io::Error| {
        Failure::usage(format!("cannot resume {selector}: cannot read its `logs`: {error}"), DIR_HINT)
    };
    dir.map(Some).map_err(failure)
}

impl ResearchGymRun {
    /// Reads a run. Returns an error if it cannot be continued.
    pub fn read(dir: &Path) -> Result<ResearchGymRun, Failure> {
        let failure = |reason: String, hint: &str| {
            Failure::usage(format!("cannot resume {}: {reason}", dir.display()), hint)
        };
        let logs = dir.join("logs");
        let summary = json(&logs.join("cost_summary.json"))?.ok_or_else(|| {
            let reason = "there is no logs/cost_summary.json, so its usage is unknown";
            failure(reason.to_owned(), DIR_HINT)
        })?;
        let number = |value: &Value, name: &str| {
            let number = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
            number.ok_or_else(|| {
                failure(
                    format!("`{name}` of its cost_summary.json is not a number"),
                    "check that the file is complete",
                )
            })
        };
        let usd = |name: &str| {
            number(&summary[name], name).map(|usd| Usd::from_dollars(usd).unwrap_or(Usd(u64::MAX)))
        };
        let seconds =
            |name: &str| number(&summary["time"][name], name).map(|span| Span((span * 1000.0) as u64));
        // Estimated cost that was never reported counts as spent.
        let pending = usd("pending_estimated_cost_usd").unwrap_or_default();
        let active = seconds("active_seconds")?;
        let transcript = transcript(&logs)?;
        let session = json(&logs.join("session.json"))?;
        let has_session = session.is_some_and(|session| session["session_id"].is_string());
        if transcript.is_none() && !has_session {
            let reason = "there is neither logs/transcript.json nor logs/session.json";
            return Err(failure(reason.to_owned(), "start the task again with `longhaul research`"));
        }
        let input = dir.join("workspace").join(super::INPUT);
        let workspace = fs::canonicalize(&input).and_then(|input| fs::read_dir(&input).map(|_| input));
        let workspace = workspace.map_err(|error| {
            failure(
                format!("cannot read its workspace/input: {error}"),
                "put the workspace there, or a link to it",
            )
        })?;
        Ok(ResearchGymRun {
            dir: dir.to_owned(),
            workspace,
            cost: usd("total_cost_usd")? + pending,
            active,
            wall: seconds("wall_clock_seconds").unwrap_or(active),
            transcript: transcript.unwrap_or_default(),
            blocked: blocked(&logs)?,
        })
    }

    pub fn remaining(&self, totals: RequestedTotals) -> Result<RequestedTotals, Failure> {
        if totals.budget.is_some_and(|usd| usd <= self.cost) || totals.time <= self.active {
            return Err(exhausted(&self.dir, self.cost, self.active));
        }
        Ok(RequestedTotals {
            budget: totals.budget.map(|usd| usd.saturating_sub(self.cost)),
            time: totals.time - self.active,
        })
    }
}

pub fn exhausted(dir: &Path, cost: Usd, active: Span) -> Failure {
    Failure::usage(
        format!("cannot resume {}: a limit is exhausted: {cost} and {active} are used", dir.display()),
        TOTALS,
    )
}

fn transcript(logs: &Path) -> Result<Option<Conversation>, Failure> {
    let mut conversation: Option<Conversation> = None;
    for name in ["previous_transcript.json", "transcript.json"] {
        let path = logs.join(name);
        let Some(bytes) = bytes(&path)? else { continue };
        let later = researchgym::transcript(&bytes).or_usage(cannot_read(&path), RESTORE_HINT)?;
        conversation = Some(conversation.unwrap_or_default().then(later));
    }
    Ok(conversation)
}

fn blocked(logs: &Path) -> Result<Vec<UrlPattern>, Failure> {
    let path = logs.join("blocked_urls_input.json");
    let Some(bytes) = bytes(&path)? else { return Ok(Vec::new()) };
    guard_flags::url_list(&path.display().to_string(), &String::from_utf8_lossy(&bytes))
}

fn json(path: &Path) -> Result<Option<Value>, Failure> {
    let value = bytes(path)?.map(|bytes| serde_json::from_slice(&bytes));
    value.transpose().or_usage(cannot_read(path), RESTORE_HINT)
}

/// Reads a file. `None` if it does not exist.
fn bytes(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    if_exists(read_regular(path)).or_usage(cannot_read(path), RESTORE_HINT)
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}
