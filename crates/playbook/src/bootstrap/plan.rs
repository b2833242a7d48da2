//! Plans which past sessions to learn from, with a reason for each session that is skipped.

use super::estimate::{Estimate, Estimator};
use super::past_sessions::PastSession;
use super::state::BootstrapState;
use crate::LearningDb;
use crate::database::{Queued, SliceState};
use crate::judging::{Excerpt, ExcerptError};
use longhaul_core::{Moment, Usd};
use longhaul_store::DatabaseError;
use rusqlite::{OptionalExtension, params};
use std::fmt;
use std::fs;
use std::path::Path;

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

/// Why a session is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// The state file lists it as processed at this time.
    LearnedAt(String),
    /// It was judged completely.
    NothingNew,
    /// It contains no messages.
    NoMessages,
    /// It belongs to a sub-agent.
    SubAgent,
    /// It exceeds the size limit; its size in bytes.
    TooLarge(u64),
    /// It is older than requested.
    TooOld,
    /// The limit on the number of sessions was reached before it.
    BeyondLimit,
    /// It is not a transcript that can be judged.
    Foreign(ExcerptError),
    /// It cannot be read.
    Unreadable(String),
}

impl SkipReason {
    /// Returns the word for machine-readable output.
    pub fn as_str(&self) -> &'static str {
        match self {
            SkipReason::LearnedAt(_) => "learned",
            SkipReason::NothingNew => "nothing_new",
            SkipReason::NoMessages => "no_messages",
            SkipReason::SubAgent => "sub_agent",
            SkipReason::TooLarge(_) => "too_large",
            SkipReason::TooOld => "too_old",
            SkipReason::BeyondLimit => "beyond_limit",
            SkipReason::Foreign(_) => "foreign",
            SkipReason::Unreadable(_) => "unreadable",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::LearnedAt(at) if at.is_empty() => out.write_str("it was learned"),
            SkipReason::LearnedAt(at) => write!(out, "it was learned at {at}"),
            SkipReason::NothingNew => out.write_str("all of it was judged"),
            SkipReason::NoMessages => out.write_str("it contains no messages"),
            SkipReason::SubAgent => out.write_str("it belongs to a sub-agent"),
            SkipReason::TooLarge(bytes) => {
                write!(out, "it is too large: {:.1} MB", *bytes as f64 / 1_048_576.0)
            }
            SkipReason::TooOld => out.write_str("it is older than --since"),
            SkipReason::BeyondLimit => out.write_str("it is beyond the limit"),
            SkipReason::Foreign(error) => write!(out, "{error}"),
            SkipReason::Unreadable(cause) => write!(out, "it cannot be read: {cause}"),
        }
    }
}

/// Returns how many bytes of a transcript were judged. Hooks queue the transcript under the name that the
/// agent gave it. A slice that was started but not finished does not count, because it continues.
fn judged_bytes(learning: &LearningDb, path: &Path) -> Result<u64, DatabaseError> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut judged_bytes = 0;
    for name in [path, &real] {
        judged_bytes = judged_bytes.max(match learning.last_slice(name)? {
            None => 0,
            Some(slice) => match slice.state {
                SliceState::Learned | SliceState::Empty | SliceState::Failed => slice.part.end,
                SliceState::Started | SliceState::Reflected | SliceState::Curated => slice.part.start,
            },
        });
    }
    Ok(judged_bytes)
}

/// The result of learning from a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionResult {
    /// Learning is not finished.
    Open,
    /// The playbook was updated.
    Learned,
    /// There was nothing to learn.
    Empty,
    /// Learning failed.
    Failed,
}

/// Returns the result of learning from a transcript. The queue decides whether it is finished; the last slice
/// decides the result. A transcript that cannot be read has no slice.
///
/// # Errors
/// Returns [`DatabaseError`] if the database cannot be read.
pub fn result_of(learning: &LearningDb, queued: &Queued) -> Result<SessionResult, DatabaseError> {
    let sql = "SELECT state FROM queue WHERE transcript = ? AND judge = ? AND destination = ? AND event = ?
               ORDER BY id DESC LIMIT 1";
    let Queued { transcript, judge, destination, event, .. } = queued;
    let item = params![transcript.to_string_lossy(), judge.as_str(), destination, event.as_str()];
    let state: Option<String> =
        learning.database.query(|db| db.query_row(sql, item, |row| row.get(0)).optional())?;
    match state.as_deref() {
        Some("done") => {}
        Some("failed") => return Ok(SessionResult::Failed),
        Some(_) | None => return Ok(SessionResult::Open),
    }
    let slice = learning.last_slice(transcript)?;
    Ok(match slice.map(|slice| slice.state) {
        Some(SliceState::Learned) => SessionResult::Learned,
        Some(SliceState::Failed) => SessionResult::Failed,
        Some(SliceState::Empty) | None => SessionResult::Empty,
        // The slice belongs to another item.
        Some(SliceState::Started | SliceState::Reflected | SliceState::Curated) => SessionResult::Open,
    })
}

/// Returns the cost of all questions since this moment, as far as the database knows it.
///
/// # Errors
/// Returns [`DatabaseError`] if the database cannot be read.
pub fn spent_since(learning: &LearningDb, at: Moment) -> Result<Usd, DatabaseError> {
    let sql = "SELECT coalesce(sum(cost), 0) FROM judge_requests WHERE at >= ?";
    let spent: i64 =
        learning.database.query(|db| db.query_row(sql, [at.0.cast_signed()], |row| row.get(0)))?;
    Ok(Usd(spent.max(0).cast_unsigned()))
}

/// Plans what to do with the given sessions, which are sorted oldest first. Writes nothing.
///
/// # Errors
/// Returns [`DatabaseError`] if the database cannot be read.
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

/// Estimates the cost of a session, or returns why it is skipped.
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
    } else if filter.since.is_some_and(|since| session.at < since) {
        return Ok(Err(SkipReason::TooOld));
    } else if session.bytes > filter.bytes_max {
        return Ok(Err(SkipReason::TooLarge(session.bytes)));
    }
    let judged_bytes = match learning {
        Some(learning) => judged_bytes(learning, &session.path)?,
        None => 0,
    };
    let bytes = match fs::read(&session.path) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(Err(SkipReason::Unreadable(error.to_string()))),
    };
    // A file shorter than the judged part was replaced. The worker knows which of its rows were judged.
    let unjudged = bytes.get(judged_bytes as usize..).unwrap_or(&bytes);
    Ok(match Excerpt::new(unjudged, |_| false) {
        Err(error) => Err(SkipReason::Foreign(error)),
        Ok(slice) if slice.is_empty() && judged_bytes > 0 => Err(SkipReason::NothingNew),
        Ok(slice) if slice.is_empty() => Err(SkipReason::NoMessages),
        Ok(slice) => Ok(estimator.estimate(&slice)),
    })
}
