//! A run directory that ResearchGym itself wrote: what that run has used, and what is on record of its work.

use super::RequestedTotals;
use crate::failure::Failure;
use crate::guard_flags;
use longhaul_agent::{Conversation, UrlPattern, researchgym};
use longhaul_core::{Span, Usd};
use longhaul_store::read_regular;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::{fs, io};

const DIR_HINT: &str = "name the directory of a run: `runs/<date>/<run id>`, with `logs` in it";

pub const TOTALS: &str =
    "want more: --claude_hours and --budget_limit are totals, what was used before included";

/// What a run has left.
#[derive(Debug)]
pub struct ResearchGymRun {
    /// Its directory, absolute.
    pub dir: PathBuf,
    /// What it worked on, absolute, links resolved.
    pub workspace: PathBuf,
    /// What it cost, and those before it.
    pub cost: Usd,
    /// How long it worked, and those before it.
    pub active: Span,
    /// The same with waits.
    pub wall: Span,
    /// Empty if only `session.json` is there.
    pub transcript: Conversation,
    pub blocked: Vec<UrlPattern>,
}

/// The directory that was named, if it is one that ResearchGym wrote; nothing if it can only be one of ours.
pub fn directory(asked: &str) -> Result<Option<PathBuf>, Failure> {
    let named = Path::new(asked);
    if named.join("journal.jsonl").exists() || !(asked.contains('/') || named.join("logs").is_dir()) {
        return Ok(None);
    }
    let dir = fs::canonicalize(named).and_then(|dir| fs::read_dir(dir.join("logs")).map(|_| dir));
    let refused =
        |error: io::Error| Failure::usage(format!("go on with {asked}: its `logs`: {error}"), DIR_HINT);
    dir.map(Some).map_err(refused)
}

impl ResearchGymRun {
    /// Reads it, and refuses one that nobody could go on with.
    pub fn read(dir: &Path) -> Result<ResearchGymRun, Failure> {
        let refused =
            |why: String, hint: &str| Failure::usage(format!("go on with {}: {why}", dir.display()), hint);
        let logs = dir.join("logs");
        let summary = json(&logs.join("cost_summary.json"))?.ok_or_else(|| {
            let why = "there is no logs/cost_summary.json, so that nobody knows what it has used";
            refused(why.to_owned(), DIR_HINT)
        })?;
        let number = |value: &Value, name: &str| {
            let number = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
            number.ok_or_else(|| {
                refused(
                    format!("`{name}` of its cost_summary.json is no number"),
                    "see whether the file is whole",
                )
            })
        };
        let usd = |name: &str| {
            number(&summary[name], name).map(|usd| Usd::from_dollars(usd).unwrap_or(Usd(u64::MAX)))
        };
        let seconds =
            |name: &str| number(&summary["time"][name], name).map(|span| Span((span * 1000.0) as u64));
        // What was estimated and never stated counts as spent.
        let pending = usd("pending_estimated_cost_usd").unwrap_or_default();
        let active = seconds("active_seconds")?;
        let transcript = transcript(&logs)?;
        let session = json(&logs.join("session.json"))?;
        let has_session = session.is_some_and(|session| session["session_id"].is_string());
        if transcript.is_none() && !has_session {
            let why = "there is neither logs/transcript.json nor logs/session.json";
            return Err(refused(why.to_owned(), "begin the task anew: longhaul research TASK_DIR"));
        }
        let input = dir.join("workspace").join(super::INPUT);
        let workspace = fs::canonicalize(&input).and_then(|input| fs::read_dir(&input).map(|_| input));
        let workspace = workspace.map_err(|error| {
            refused(format!("its workspace/input: {error}"), "put what it worked on there, or a link to it")
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

    /// What is left of the totals that are wanted.
    pub fn left(&self, wanted: RequestedTotals) -> Result<RequestedTotals, Failure> {
        if wanted.budget.is_some_and(|usd| usd <= self.cost) || wanted.time <= self.active {
            return Err(nothing_left(&self.dir, (self.cost, self.active)));
        }
        Ok(RequestedTotals {
            budget: wanted.budget.map(|usd| usd.saturating_sub(self.cost)),
            time: wanted.time - self.active,
        })
    }
}

/// That a run has used what is wanted in total.
pub fn nothing_left(dir: &Path, (cost, active): (Usd, Span)) -> Failure {
    Failure::usage(
        format!(
            "go on with {}: nothing is left of what is wanted: {cost} and {active} are used",
            dir.display()
        ),
        TOTALS,
    )
}

/// What was said and done in it, and in what it had gone on with.
fn transcript(logs: &Path) -> Result<Option<Conversation>, Failure> {
    let mut told: Option<Conversation> = None;
    for name in ["previous_transcript.json", "transcript.json"] {
        let path = logs.join(name);
        let Some(bytes) = bytes(&path)? else { continue };
        let later = researchgym::transcript(&bytes).map_err(|error| wrong(&path, &error.to_string()))?;
        told = Some(told.unwrap_or_default().then(later));
    }
    Ok(told)
}

/// What the agent was not to look at.
fn blocked(logs: &Path) -> Result<Vec<UrlPattern>, Failure> {
    let path = logs.join("blocked_urls_input.json");
    let Some(bytes) = bytes(&path)? else { return Ok(Vec::new()) };
    guard_flags::url_list(&path.display().to_string(), &String::from_utf8_lossy(&bytes))
}

fn json(path: &Path) -> Result<Option<Value>, Failure> {
    let read = bytes(path)?.map(|bytes| serde_json::from_slice(&bytes));
    read.transpose().map_err(|error| wrong(path, &error.to_string()))
}

/// Nothing if there is no such file.
fn bytes(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match read_regular(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(wrong(path, &error.to_string())),
    }
}

fn wrong(path: &Path, why: &str) -> Failure {
    Failure::usage(format!("read {}: {why}", path.display()), "put the file back as it was written")
}
