//! Which of the sessions there are will be learnt from, and why the others will not.

use super::estimate::{Estimate, Estimator};
use super::past_sessions::PastSession;
use super::state::BootstrapState;
use crate::LearningDb;
use crate::database::{LearningError, Queued, SliceState};
use crate::judging::{Excerpt, ExcerptError};
use longhaul_core::{Moment, Usd};
use rusqlite::{OptionalExtension, params};
use std::fmt;
use std::fs;
use std::path::Path;

/// Which sessions are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFilter {
    /// At most so many.
    pub limit: Option<usize>,
    /// Whether the newest come first.
    pub newest_first: bool,
    /// None that was last written to before.
    pub since: Option<Moment>,
    /// Whether those are looked at again that the state file says are done.
    pub force: bool,
    /// Whether sub-agents' own are left out.
    pub skip_sub_agents: bool,
    /// None that is larger.
    pub bytes_max: u64,
}

/// A session that will be learnt from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSession {
    /// The session.
    pub session: PastSession,
    /// About what that costs.
    pub estimate: Estimate,
}

/// What will be done.
#[derive(Debug, Default)]
pub struct BootstrapPlan {
    /// What will be learnt from, in this order.
    pub included: Vec<PlannedSession>,
    /// What will not be.
    pub skipped: Vec<(PastSession, SkipReason)>,
    /// About what all of it costs.
    pub estimate: Estimate,
}

/// Why a session is not learnt from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// It was, at this time by the state file.
    LearnedAt(String),
    /// All of it was judged.
    NothingNew,
    /// Nobody said anything in it.
    NothingSaid,
    /// It is a sub-agent's.
    SubAgent,
    /// It is larger than is wanted, in bytes.
    TooLarge(u64),
    /// It is older than is wanted.
    TooOld,
    /// There are as many before it as are wanted.
    BeyondLimit,
    /// It is no transcript that can be judged.
    Foreign(ExcerptError),
    /// It cannot be read.
    Unreadable(String),
}

impl SkipReason {
    /// The word for it, for programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            SkipReason::LearnedAt(_) => "learnt",
            SkipReason::NothingNew => "nothing_new",
            SkipReason::NothingSaid => "nothing_said",
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
            SkipReason::LearnedAt(at) if at.is_empty() => out.write_str("it was learnt from"),
            SkipReason::LearnedAt(at) => write!(out, "it was learnt from at {at}"),
            SkipReason::NothingNew => out.write_str("all of it was judged"),
            SkipReason::NothingSaid => out.write_str("nothing was said in it"),
            SkipReason::SubAgent => out.write_str("it is a sub-agent's"),
            SkipReason::TooLarge(bytes) => {
                write!(out, "it is too large: {:.1} MB", *bytes as f64 / 1_048_576.0)
            }
            SkipReason::TooOld => out.write_str("it is older than was asked for"),
            SkipReason::BeyondLimit => out.write_str("it is beyond the limit"),
            SkipReason::Foreign(error) => write!(out, "{error}"),
            SkipReason::Unreadable(cause) => write!(out, "read it: {cause}"),
        }
    }
}

/// How much of a transcript is judged. Hooks queue it by the name that the agent gave it. What was begun and has not come to
/// its end is gone on with.
fn judged_to(learning: &LearningDb, path: &Path) -> Result<u64, LearningError> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut judged_to = 0;
    for name in [path, &real] {
        judged_to = judged_to.max(match learning.last_slice(name)? {
            None => 0,
            Some(slice) => match slice.state {
                SliceState::Learned | SliceState::Empty | SliceState::Failed => slice.part.ends,
                SliceState::Started | SliceState::Reflected | SliceState::Curated => slice.part.begins,
            },
        });
    }
    Ok(judged_to)
}

/// How far the learning from a transcript has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionResult {
    /// It has not come to its end.
    Open,
    /// The playbook says it.
    Learned,
    /// There was nothing to learn.
    Empty,
    /// Nothing will come of it.
    Failed,
}

/// How far the learning from a transcript has come: whether it is at its end by the queue, and what came of it by its last
/// slice. One that cannot be read has none.
///
/// # Errors
/// [`LearningError`].
pub fn result_of(learning: &LearningDb, queued: &Queued) -> Result<SessionResult, LearningError> {
    let sql = "SELECT state FROM queue WHERE transcript = ? AND judge = ? AND destination = ? AND event = ?
               ORDER BY id DESC LIMIT 1";
    let Queued { transcript, judge, destination, event, .. } = queued;
    let item = params![transcript.to_string_lossy(), judge.as_str(), destination, event.as_str()];
    let state: Option<String> = learning.known(|db| db.query_row(sql, item, |row| row.get(0)).optional())?;
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
        // Another item's.
        Some(SliceState::Started | SliceState::Reflected | SliceState::Curated) => SessionResult::Open,
    })
}

/// What was spent on questions since then, as far as it is known here.
///
/// # Errors
/// [`LearningError`].
pub fn spent_since(learning: &LearningDb, at: Moment) -> Result<Usd, LearningError> {
    let sql = "SELECT coalesce(sum(cost), 0) FROM asked WHERE at >= ?";
    let spent: i64 = learning.known(|db| db.query_row(sql, [at.0.cast_signed()], |row| row.get(0)))?;
    Ok(Usd(spent.max(0).cast_unsigned()))
}

/// What will be done of the sessions there are, the oldest first. Nothing is written.
///
/// # Errors
/// If it cannot be looked up what was judged.
pub fn plan(
    mut found: Vec<PastSession>,
    wanted: &SessionFilter,
    state: &BootstrapState,
    learning: Option<&LearningDb>,
    estimating: &Estimator<'_>,
) -> Result<BootstrapPlan, LearningError> {
    if wanted.newest_first {
        found.reverse();
    }
    // Money in nothing is nothing, whatever has a price.
    let mut plan = BootstrapPlan {
        estimate: Estimate { cost: Some(Usd::ZERO), ..Estimate::default() },
        ..BootstrapPlan::default()
    };
    for session in found {
        match estimate(&session, wanted, state, learning, estimating)? {
            Ok(_) if wanted.limit.is_some_and(|limit| plan.included.len() >= limit) => {
                plan.skipped.push((session, SkipReason::BeyondLimit));
            }
            Ok(estimate) => {
                plan.estimate += estimate;
                plan.included.push(PlannedSession { session, estimate });
            }
            Err(passed) => plan.skipped.push((session, passed)),
        }
    }
    Ok(plan)
}

/// About what a session costs, or why it is not learnt from.
fn estimate(
    session: &PastSession,
    wanted: &SessionFilter,
    state: &BootstrapState,
    learning: Option<&LearningDb>,
    estimating: &Estimator<'_>,
) -> Result<Result<Estimate, SkipReason>, LearningError> {
    let known = state.learned_at(&session.path).filter(|_| !wanted.force);
    if wanted.skip_sub_agents && session.is_subagent {
        return Ok(Err(SkipReason::SubAgent));
    } else if let Some(at) = known {
        return Ok(Err(SkipReason::LearnedAt(at.to_owned())));
    } else if wanted.since.is_some_and(|since| session.at < since) {
        return Ok(Err(SkipReason::TooOld));
    } else if session.bytes > wanted.bytes_max {
        return Ok(Err(SkipReason::TooLarge(session.bytes)));
    }
    let judged_to = match learning {
        Some(learning) => judged_to(learning, &session.path)?,
        None => 0,
    };
    let bytes = match fs::read(&session.path) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(Err(SkipReason::Unreadable(error.to_string()))),
    };
    // A file that is shorter than what was judged of it was replaced; what of it was judged, the worker knows.
    let fresh = bytes.get(judged_to as usize..).unwrap_or(&bytes);
    Ok(match Excerpt::new(fresh, |_| false) {
        Err(error) => Err(SkipReason::Foreign(error)),
        Ok(slice) if slice.is_empty() && judged_to > 0 => Err(SkipReason::NothingNew),
        Ok(slice) if slice.is_empty() => Err(SkipReason::NothingSaid),
        Ok(slice) => Ok(estimating.new(&slice)),
    })
}
