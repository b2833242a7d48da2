//! Sends a single request about a transcript to a judge and interprets the answer or failure.

use super::source::Source;
use crate::api_judge::{self, SystemClock};
use crate::args::playbook::ExtractArgs;
use crate::commands::playbook::templates;
use crate::failure::{Failure, OrFailure};
use crate::output::time::TimeFormat;
use crate::{open_home, output, runtime};
use jiff::tz::TimeZone;
use longhaul_agent::estimated_tokens;
use longhaul_core::{Fault, OutcomeKind};
use longhaul_playbook::database::{JudgeKind, JudgeRequest};
use longhaul_playbook::diagnostics::Diagnostics;
use longhaul_playbook::judge::{Judge, RequestEvent, RetryAdvice};
use longhaul_playbook::judging::JudgeQuestion;
use longhaul_playbook::keypoints::{self, Extraction, ExtractionResult};
use longhaul_playbook::{JudgeError, JudgeSettings, LearningDb, LearningPaths, Playbook, PlaybookFile};
use longhaul_store::{DatabaseError, read_regular_to_string};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// Returns the lessons of the transcript, or why they are unavailable.
pub fn ask(
    args: &ExtractArgs,
    source: &Source,
    project: &Path,
    settings: &JudgeSettings,
) -> Result<Extraction, Failure> {
    let playbook = playbook(args, project)?;
    if source.slice.is_empty() {
        output::print_status("this transcript contains no messages");
        return Ok(Extraction::default());
    }
    let clock = Arc::new(SystemClock::new());
    let judge = api_judge::judge(settings, args.time_budget, Arc::clone(&clock)).map_err(judge_failure)?;
    let prompt = keypoints::prompt(&templates(), &source.slice, &playbook)?;
    check_length(&prompt, &judge)?;
    let diagnostics = Diagnostics::in_project(project, TimeZone::system());
    let observer = |_, event: RequestEvent<'_>| print_retry(event);
    let name = &args.diagnostic_name;
    let request = keypoints::extract(&judge, &prompt, &*clock, &diagnostics, name, &observer);
    let extracted = runtime::new()?.block_on(request);
    if let Err(error) = record_request(&extracted, project, judge.model()) {
        output::print_warning(&format!("cannot record the cost: {error}"), Some(error.hint()));
    }
    extracted.failure.map_or(Ok(extracted.extraction), |error| Err(judge_failure(error)))
}

fn record_request(extracted: &ExtractionResult, project: &Path, model: &str) -> Result<(), DatabaseError> {
    let result = match (&extracted.reply, &extracted.failure) {
        (Some(reply), _) => Ok(reply),
        (None, Some(error)) => Err(error),
        (None, None) => return Ok(()),
    };
    let Ok(home) = open_home::open() else { return Ok(()) };
    let request = JudgeRequest {
        at: output::now(),
        project,
        slice: None,
        question: JudgeQuestion::Keypoints,
        judge: JudgeKind::Api,
        model,
        // A request without a slice is never looked up, so it needs no hash.
        prompt: 0,
        result,
    };
    LearningDb::replace_if_damaged(&LearningPaths::in_home(home.path()))?.record_request(&request)
}

/// Returns the playbook to evaluate. A project may have none.
fn playbook(args: &ExtractArgs, project: &Path) -> Result<Playbook, Failure> {
    let project_playbook = PlaybookFile::in_project(project);
    let path = args.playbook.as_deref().unwrap_or(project_playbook.path());
    let text = match read_regular_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && args.playbook.is_none() => {
            return Ok(Playbook::default());
        }
        Err(error) => {
            let error = format!("cannot read the playbook {}: {error}", path.display());
            return Err(Failure::usage(error, "check --playbook"));
        }
    };
    let (playbook, _) = Playbook::read(&text).or_not_started(
        format!("cannot read the playbook {}", path.display()),
        "`longhaul playbook check` shows details",
    )?;
    Ok(playbook)
}

fn check_length(prompt: &str, judge: &dyn Judge) -> Result<(), Failure> {
    let (tokens, tokens_max) = (estimated_tokens(prompt), judge.prompt_tokens_max());
    if tokens <= tokens_max {
        return Ok(());
    }
    let error = format!(
        "cannot ask {}: the transcript has about {tokens} tokens, and one question has room for {tokens_max}",
        judge.model()
    );
    let hint = "`longhaul playbook learn` judges it in parts; a model whose name ends in [1m] has more room";
    Err(Failure { fault: Some(Fault::ContextFull), ..Failure::not_started(error, hint) })
}

fn print_retry(event: RequestEvent<'_>) {
    if let RequestEvent::Retrying { request, requests_max, error, wait } = event {
        output::print_status(&format!("{error}; asking again in {wait} ({request} of {requests_max})"));
    }
}

fn judge_failure(error: JudgeError) -> Failure {
    let outcome = match error.retry {
        RetryAdvice::Later(_) => OutcomeKind::RetryLater,
        RetryAdvice::NeedsPerson => OutcomeKind::NeedsPerson,
        RetryAdvice::Never => OutcomeKind::Failed,
    };
    let hint = hint(&error);
    Failure { hint, fault: Some(error.fault), ..Failure::new(outcome, error.message, "") }
}

/// Returns a hint, unless the message contains one.
fn hint(error: &JudgeError) -> Option<String> {
    let hint = match (error.retry, error.fault) {
        (RetryAdvice::Later(Some(at)), _) => {
            let at = TimeFormat::here().future_time(at, output::now());
            return Some(format!("try again at {at}; a longer --time-budget waits for it"));
        }
        (RetryAdvice::Later(None), _) => "try again later",
        (RetryAdvice::NeedsPerson, Fault::Billing) => "check the credit of this key's account",
        (RetryAdvice::NeedsPerson, Fault::ModelUnknown) => {
            "check AGENTIC_CONTEXT_MODEL and ANTHROPIC_MODEL, and ANTHROPIC_BASE_URL"
        }
        (RetryAdvice::NeedsPerson, _) if error.requests == 0 => return None,
        (RetryAdvice::NeedsPerson, _) => {
            "check AGENTIC_CONTEXT_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_API_KEY"
        }
        (RetryAdvice::Never, Fault::ContextFull) => "`longhaul playbook learn` judges it in parts",
        (RetryAdvice::Never, Fault::Unfinished | Fault::Refused) => {
            "try another model: set AGENTIC_CONTEXT_MODEL"
        }
        (RetryAdvice::Never, _) => return None,
    };
    Some(hint.to_owned())
}
