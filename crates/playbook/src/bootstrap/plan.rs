//! Plans which past sessions to learn from, with a reason for each session that is skipped.

use super::estimate::{Estimate, Estimator};
use super::past_sessions::PastSession;
use super::state::BootstrapState;
use crate::database::{LearnResult, Queued, Slice, SliceState};
use crate::judging::Excerpt;
use crate::{LearningDb, UserError};
use longhaul_core::{Moment, Usd};
use longhaul_store::{DatabaseError, read_regular};
use rusqlite::{OptionalExtension, params};
use serde_json::json;
use std::path::Path;
use std::{fs, io};
use strum::IntoStaticStr;
use thiserror::Error;

/// Criteria for the sessions to learn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFilter {
    /// Maximum number of sessions.
    pub limit: Option<usize>,
    /// Whether the newest sessions come first.
    pub newest_first: bool,
    /// Earliest time of the last write.
    pub since: Option<Moment>,
    /// Whether sessions that the state file lists as processed are included.
    pub force: bool,
    /// Whether sub-agents' sessions are excluded.
    pub skip_sub_agents: bool,
    /// Maximum size of a transcript, in bytes.
    pub bytes_max: u64,
}

/// A session to learn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSession {
    /// The session.
    pub session: PastSession,
    /// Estimated cost.
    pub estimate: Estimate,
}

/// The sessions to learn from, and the skipped ones.
#[derive(Debug, Default)]
pub struct BootstrapPlan {
    /// Sessions to learn from, in order.
    pub included: Vec<PlannedSession>,
    /// Sessions that are skipped, with the reason.
    pub skipped: Vec<(PastSession, SkipReason)>,
    /// Estimated cost of the whole plan.
    pub estimate: Estimate,
}

/// Why a session is skipped. The text is for people; converted to `&str` it is a word for programs.
#[derive(Clone, Debug, PartialEq, Eq, Error, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SkipReason {
    /// The state file lists it as processed at this time.
    #[error("{}", learned(.0))]
    #[strum(serialize = "learned")]
    LearnedAt(String),
    /// It was judged completely.
    #[error("all of it was judged")]
    NothingNew,
    /// The judge failed on the rest of it.
    #[error("judging it failed")]
    JudgingFailed,
    /// It contains no messages.
    #[error("it contains no messages")]
    NoMessages,
    /// It belongs to a sub-agent.
    #[error("it belongs to a sub-agent")]
    SubAgent,
    /// It exceeds the size limit; its size in bytes.
    #[error("it is too large: {:.1} MB", *.0 as f64 / 1_048_576.0)]
    TooLarge(u64),
    /// It is older than requested.
    #[error("it is older than requested")]
    TooOld,
    /// The limit on the number of sessions was reached before it.
    #[error("it is beyond the limit")]
    BeyondLimit,
    /// It is not a transcript that can be judged.
    #[error("{0}")]
    Foreign(UserError),
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

fn learned(at: &str) -> String {
    if at.is_empty() { "it was learned".to_owned() } else { format!("it was learned at {at}") }
}

/// Returns how many bytes of a transcript were judged, and whether that failed for the last of them. Hooks queue the
/// transcript under the name that the agent gave it. A slice that was started but not finished does not count, because it
/// continues.
fn judged(learning: &LearningDb, path: &Path) -> Result<(u64, bool), DatabaseError> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut judged = (0, false);
    for name in [path, &real] {
        judged = judged.max(match learning.last_slice(name)? {
            None => (0, false),
            Some(Slice { state: SliceState::Finished(result), part, .. }) => {
                (part.end, result == LearnResult::Failed)
            }
            Some(Slice { part, .. }) => (part.start, false),
        });
    }
    Ok(judged)
}

/// Returns the result of learning from a transcript, or `None` if it is not finished. The queue decides whether
/// it is finished; the last slice decides the result. A transcript that cannot be read has no slice.
pub fn result_of(learning: &LearningDb, queued: &Queued) -> Result<Option<LearnResult>, DatabaseError> {
    let sql = "SELECT state FROM queue WHERE transcript = ? AND judge = ? AND destination = ?
               ORDER BY state = 'waiting' DESC, id DESC LIMIT 1";
    let Queued { transcript, judge, destination, .. } = queued;
    let item = params![transcript.to_string_lossy(), judge.as_str(), destination];
    let state: Option<String> =
        learning.database.query(|db| db.query_row(sql, item, |row| row.get(0)).optional())?;
    match state.as_deref() {
        Some("done") => {}
        Some("failed") => return Ok(Some(LearnResult::Failed)),
        Some(_) | None => return Ok(None),
    }
    Ok(match learning.last_slice(transcript)?.map(|slice| slice.state) {
        None => Some(LearnResult::Empty),
        Some(SliceState::Finished(result)) => Some(result),
        // The slice belongs to another item.
        Some(SliceState::Started | SliceState::Reflected | SliceState::Curated) => None,
    })
}

/// Returns the cost of all questions about these transcripts since this moment, as far as the database knows it.
pub fn spent_since<'a>(
    learning: &LearningDb,
    at: Moment,
    transcripts: impl IntoIterator<Item = &'a Path>,
) -> Result<Usd, DatabaseError> {
    let names: Vec<_> = transcripts.into_iter().map(Path::to_string_lossy).collect();
    let sql = "SELECT coalesce(sum(cost), 0) FROM judge_requests JOIN slices ON slices.id = slice
               WHERE at >= ? AND transcript IN (SELECT value FROM json_each(?))";
    let selected = params![at.0.cast_signed(), json!(names).to_string()];
    let spent: i64 = learning.database.query(|db| db.query_row(sql, selected, |row| row.get(0)))?;
    Ok(Usd(spent.max(0).cast_unsigned()))
}

/// Plans what to do with the given sessions, which are sorted oldest first. Writes nothing.
pub fn plan(
    mut past_sessions: Vec<PastSession>,
    filter: &SessionFilter,
    state: &BootstrapState,
    learning: Option<&LearningDb>,
    estimator: &Estimator<'_>,
) -> Result<BootstrapPlan, DatabaseError> {
    if filter.newest_first {
        past_sessions.reverse();
    }
    // An empty plan costs zero, even if the model has no price.
    let mut plan = BootstrapPlan {
        estimate: Estimate { cost: Some(Usd::ZERO), ..Estimate::default() },
        ..BootstrapPlan::default()
    };
    for session in past_sessions {
        match estimate(&session, filter, state, learning, estimator)? {
            Ok(_) if filter.limit.is_some_and(|limit| plan.included.len() >= limit) => {
                plan.skipped.push((session, SkipReason::BeyondLimit));
            }
            Ok(estimate) => {
                plan.estimate += estimate;
                plan.included.push(PlannedSession { session, estimate });
            }
            Err(reason) => plan.skipped.push((session, reason)),
        }
    }
    Ok(plan)
}

fn estimate(
    session: &PastSession,
    filter: &SessionFilter,
    state: &BootstrapState,
    learning: Option<&LearningDb>,
    estimator: &Estimator<'_>,
) -> Result<Result<Estimate, SkipReason>, DatabaseError> {
    let learned_at = state.learned_at(&session.path).filter(|_| !filter.force);
    if filter.skip_sub_agents && session.is_subagent {
        return Ok(Err(SkipReason::SubAgent));
    } else if let Some(at) = learned_at {
        return Ok(Err(SkipReason::LearnedAt(at.to_owned())));
    } else if filter.since.is_some_and(|since| session.at != Moment(0) && session.at < since) {
        return Ok(Err(SkipReason::TooOld));
    } else if session.bytes > filter.bytes_max {
        return Ok(Err(SkipReason::TooLarge(session.bytes)));
    }
    let (judged_bytes, has_failed) = match learning {
        Some(learning) => judged(learning, &session.path)?,
        None => (0, false),
    };
    let bytes = match read(&session.path) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(Err(SkipReason::Unreadable(error.to_string()))),
    };
    // A file shorter than the judged part was replaced. The worker knows which of its rows were judged.
    let unjudged = bytes.get(judged_bytes as usize..).unwrap_or(&bytes);
    Ok(match Excerpt::new(unjudged, |_| false) {
        Err(error) => Err(SkipReason::Foreign(error)),
        Ok(slice) if slice.is_empty() && has_failed => Err(SkipReason::JudgingFailed),
        Ok(slice) if slice.is_empty() && judged_bytes > 0 => Err(SkipReason::NothingNew),
        Ok(slice) if slice.is_empty() => Err(SkipReason::NoMessages),
        Ok(slice) => Ok(estimator.estimate(&slice)),
    })
}

/// Reads a transcript that can be queued. The queue stores paths as text.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if fs::canonicalize(path)?.to_str().is_none() {
        return Err(io::Error::other("its path is not valid UTF-8"));
    }
    read_regular(path)
}
