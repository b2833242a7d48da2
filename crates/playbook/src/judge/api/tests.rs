//! Tests the judge against the loopback API in simulated time, with every row of the retry table of the ACE
//! playbook hooks. The API itself counts the requests.

use super::{ApiJudge, Judge, JudgeError, RequestEvent, RetryAdvice};
use crate::JudgeSettings;
use crate::judge::test_fixtures::{ROLL, START, SimulatedClock, api, policy, settings};
use crate::settings::Credential;
use longhaul_agent::Prices;
use longhaul_core::{ApiCallPolicy, Fault, Moment, Span, draw};
use longhaul_drill::api::{DUMMY_KEY, DUMMY_TOKEN};
use std::sync::Mutex;

fn describe(at: Moment, event: RequestEvent<'_>) -> String {
    let text = match event {
        RequestEvent::Retrying { request, requests_max, error, wait } => {
            format!("{request}/{requests_max} {} {wait}", error.class())
        }
        RequestEvent::Answered { request } => format!("{request} answered"),
        RequestEvent::GivenUp { request, requests_max, error, reason } => {
            format!("{request}/{requests_max} {} {reason:?}", error.class())
        }
    };
    format!("{}: {text}", at.since(START))
}

struct AskResult {
    replied: Result<String, JudgeError>,
    requests: usize,
    slept: Vec<Span>,
    seen: Vec<String>,
}

async fn ask_by(policy: ApiCallPolicy, side: &str) -> AskResult {
    let api = api(side, "learned").await;
    let (clock, seen) = (SimulatedClock::new(), Mutex::new(Vec::new()));
    let judge = ApiJudge::new(&settings(&api), policy, Prices::default(), clock.clone())
        .expect("the settings are sound");
    let observer =
        |at, event: RequestEvent<'_>| seen.lock().expect("no test panics with it").push(describe(at, event));
    let replied = judge.ask("What is learned?", &observer).await.map(|reply| reply.text);
    let seen = seen.into_inner().expect("no test panics with it");
    AskResult { replied, requests: api.request_log().requests.len(), slept: clock.slept(), seen }
}

async fn ask(side: &str) -> AskResult {
    ask_by(policy(), side).await
}

/// Returns the delay after `failed` requests, by the schedule alone.
fn wait(failed: u32) -> Span {
    policy().backoff.delay(failed, None, draw(ROLL, failed.into(), u64::MAX))
}

/// Checks a fault that occurs once, which needs one retry, and one that always occurs, which allows three
/// requests.
async fn check_retried(policy: ApiCallPolicy, fault: &str, class: &str, kind: Fault) {
    let once = ask_by(policy, &format!("fault = {fault}\ntimes = 1")).await;
    assert_eq!(once.replied.as_deref(), Ok("learned"), "{fault}");
    assert_eq!((once.requests, once.slept.as_slice()), (2, [wait(0)].as_slice()), "{fault}");
    let (first, second) = (wait(0), wait(0) + wait(1));
    assert_eq!(once.seen, [format!("0s: 1/3 {class} {first}"), format!("{first}: 2 answered")]);
    let always = ask_by(policy, &format!("fault = {fault}")).await;
    let error = always.replied.expect_err("the fault never ends");
    assert_eq!((error.fault, error.retry, error.requests), (kind, RetryAdvice::Later(None), 3), "{error}");
    assert!(
        error.message.starts_with(class) && error.message.ends_with("; gave up after 3 requests"),
        "{error}"
    );
    assert_eq!((always.requests, always.slept), (3, vec![wait(0), wait(1)]), "{fault}");
    assert_eq!(
        always.seen,
        [
            format!("0s: 1/3 {class} {first}"),
            format!("{first}: 2/3 {class} {}", wait(1)),
            format!("{second}: 3/3 {class} RetriesExhausted"),
        ]
    );
}

/// Checks a fault that is never retried.
async fn check_not_retried(fault: &str, class: &str, kind: Fault, retry: RetryAdvice) {
    let outcome = ask(&format!("fault = {fault}\ntimes = 1")).await;
    let error = outcome.replied.expect_err("no other request is made");
    assert_eq!((error.fault, error.retry, error.requests), (kind, retry, 1), "{error}");
    assert_eq!((outcome.requests, outcome.slept.len()), (1, 0), "{fault}");
    assert_eq!(outcome.seen, [format!("0s: 1/3 {class} NotRetryable")]);
}

#[tokio::test]
async fn first_answer_ends_call() {
    let outcome = ask("").await;
    assert_eq!((outcome.replied.as_deref(), outcome.requests), (Ok("learned"), 1));
    assert_eq!((outcome.slept.len(), outcome.seen), (0, vec!["0s: 1 answered".to_owned()]));
}

#[tokio::test]
async fn retries_timeout() {
    let policy = ApiCallPolicy { request_timeout: Span(300), ..policy() };
    check_retried(policy, "{ hold = { for_s = 60 } }", "APITimeoutError", Fault::ServerError).await;
}

#[tokio::test]
async fn retries_connection_error() {
    // The connection ends without an answer, and later ones are refused, so the API counts only the first.
    let outcome = ask("fault = { refuse = { for_s = 60 } }").await;
    let error = outcome.replied.expect_err("no one listens");
    assert_eq!(
        (error.fault, error.retry, error.requests),
        (Fault::Network, RetryAdvice::Later(None), 3),
        "{error}"
    );
    assert_eq!((outcome.requests, outcome.slept), (1, vec![wait(0), wait(1)]));
    assert!(outcome.seen.iter().all(|seen| seen.contains("/3 APIConnectionError ")), "{:?}", outcome.seen);
}

#[tokio::test]
async fn retries_rate_limit() {
    check_retried(policy(), "{ status = { code = 429 } }", "RateLimitError", Fault::RateLimited).await;
}

#[tokio::test]
async fn retries_internal_error() {
    check_retried(policy(), "{ status = { code = 500 } }", "InternalServerError", Fault::ServerError).await;
}

#[tokio::test]
async fn retries_any_5xx() {
    for code in [501, 502, 503, 504, 520, 529, 599] {
        let fault = format!("{{ status = {{ code = {code} }} }}");
        let kind = if code == 529 { Fault::Overloaded } else { Fault::ServerError };
        let class = if code == 529 { "OverloadedError" } else { "InternalServerError" };
        check_retried(policy(), &fault, class, kind).await;
    }
}

#[tokio::test]
async fn never_retries_other_4xx() {
    for (code, class, kind, retry) in [
        (400, "BadRequestError", Fault::BadRequest, RetryAdvice::Never),
        (401, "AuthenticationError", Fault::Auth, RetryAdvice::NeedsPerson),
        (402, "APIStatusError", Fault::Billing, RetryAdvice::NeedsPerson),
        (403, "PermissionDeniedError", Fault::Auth, RetryAdvice::NeedsPerson),
        (404, "NotFoundError", Fault::ModelUnknown, RetryAdvice::NeedsPerson),
        (408, "APIStatusError", Fault::ServerError, RetryAdvice::Later(None)),
        (409, "ConflictError", Fault::ServerError, RetryAdvice::Later(None)),
        (413, "RequestTooLargeError", Fault::ContextFull, RetryAdvice::Never),
        (422, "UnprocessableEntityError", Fault::BadRequest, RetryAdvice::Never),
        (499, "APIStatusError", Fault::BadRequest, RetryAdvice::Never),
    ] {
        let fault = format!("{{ status = {{ code = {code}, headers = {{ x-should-retry = \"true\" }} }} }}");
        check_not_retried(&fault, class, kind, retry).await;
    }
}

#[tokio::test]
async fn never_retries_invalid_response() {
    check_not_retried(
        "{ html = {} }",
        "APIResponseValidationError",
        Fault::Network,
        RetryAdvice::Later(None),
    )
    .await;
}

#[tokio::test]
async fn never_retries_refusal_of_model() {
    let outcome = ask("fault = { refusal = {} }").await;
    let error = outcome.replied.expect_err("it refuses");
    let expected = (Fault::Refused, RetryAdvice::Never, 1);
    assert_eq!((error.fault, error.retry, outcome.requests), expected, "{error}");
}

#[tokio::test]
async fn succeeds_at_last_attempt() {
    let outcome = ask("fault = { status = { code = 529 } }\ntimes = 2").await;
    assert_eq!((outcome.replied.as_deref(), outcome.requests), (Ok("learned"), 3));
    assert_eq!(outcome.slept, [wait(0), wait(1)]);
    assert_eq!(outcome.seen.last(), Some(&format!("{}: 3 answered", wait(0) + wait(1))));
}

#[tokio::test]
async fn uses_delays_of_preset() {
    let outcome = ask("fault = { status = { code = 500 } }").await;
    let [first, second] = outcome.slept.as_slice() else { unreachable!("{:?}", outcome.slept) };
    assert!((Span(1_500)..=Span(2_500)).contains(first), "{first:?}");
    assert!((Span(3_000)..=Span(5_000)).contains(second), "{second:?}");
}

#[tokio::test]
async fn retry_after_is_a_floor() {
    let outcome = ask("fault = { status = { code = 429, retry_after = 9 } }\ntimes = 1").await;
    assert_eq!((outcome.replied.as_deref(), outcome.requests), (Ok("learned"), 2));
    let [waited] = outcome.slept.as_slice() else { unreachable!("{:?}", outcome.slept) };
    assert!((Span::from_secs(9)..=Span::from_secs(11)).contains(waited), "{waited:?}");
    // The same in milliseconds, which the vendor's client prefers.
    let outcome =
        ask("fault = { status = { code = 529, headers = { retry-after-ms = \"20500\" } } }\ntimes = 1").await;
    assert!((Span(20_500)..=Span(22_500)).contains(&outcome.slept[0]), "{:?}", outcome.slept);
}

#[tokio::test]
async fn gives_up_if_retry_after_exceeds_budget() {
    let outcome = ask("fault = { status = { code = 429, retry_after = 3600 } }").await;
    let error = outcome.replied.expect_err("it is not waited for");
    assert_eq!((outcome.requests, outcome.slept.len(), error.requests), (1, 0, 1));
    let RetryAdvice::Later(Some(at)) = error.retry else { unreachable!("{error:?}") };
    assert!((Span::from_secs(3_600)..=Span::from_secs(3_602)).contains(&at.since(START)), "{at:?}");
    assert_eq!(outcome.seen, ["0s: 1/3 RateLimitError OutOfTime"]);
}

#[tokio::test]
async fn usage_limit_reports_reset() {
    let outcome = ask("fault = { usage_limit = { reset_s = 7200 } }").await;
    let Err(JudgeError { retry: RetryAdvice::Later(Some(at)), .. }) = outcome.replied else {
        unreachable!("it is refused")
    };
    assert!(at.since(START) >= Span::from_secs(7_200) && outcome.requests == 1, "{at:?}");
}

#[tokio::test]
async fn sends_no_request_without_key() {
    let api = api("", "learned").await;
    let settings = JudgeSettings { credential: None, ..settings(&api) };
    let error =
        ApiJudge::new(&settings, policy(), Prices::default(), SimulatedClock::new()).err().expect("no key");
    assert_eq!((error.fault, error.retry, error.requests), (Fault::Auth, RetryAdvice::NeedsPerson, 0));
    assert!(error.message.contains("ANTHROPIC_API_KEY"), "{error}");
    assert!(api.request_log().requests.is_empty());
}

#[tokio::test]
async fn accepts_token() {
    let api = api("", "learned").await;
    let settings =
        JudgeSettings { credential: Some(Credential::Token(DUMMY_TOKEN.to_owned())), ..settings(&api) };
    let judge =
        ApiJudge::new(&settings, policy(), Prices::default(), SimulatedClock::new()).expect("it is sound");
    assert_eq!(judge.ask("p", &|_, _| {}).await.map(|reply| reply.text).as_deref(), Ok("learned"));
}

#[tokio::test]
async fn answer_has_cost() {
    let api = api("", "learned").await;
    let judge = ApiJudge::new(&settings(&api), policy(), Prices::bundled().clone(), SimulatedClock::new())
        .expect("it is sound");
    let reply = judge.ask("What is learned?", &|_, _| {}).await.expect("it is answered");
    let account = api.request_log();
    let billed = &account.side[0];
    assert_eq!(reply.tokens, billed.tokens);
    let reported = billed.cost().expect("the model has a price").dollars();
    assert!((reply.cost.expect("the model has a price").as_dollars() - reported).abs() < 1e-6, "{reply:?}");
}

#[test]
fn prompt_limit_depends_on_model() {
    let check = |model: &str, expected: u64| {
        let settings = JudgeSettings {
            cloud: None,
            base_url: "http://127.0.0.1:9".to_owned(),
            model: model.to_owned(),
            credential: Some(Credential::Key(DUMMY_KEY.to_owned())),
        };
        let judge = ApiJudge::new(&settings, policy(), Prices::default(), SimulatedClock::new())
            .expect("it is sound");
        assert_eq!((judge.model(), judge.prompt_tokens_max()), (model, expected));
    };
    check("claude-sonnet-4-5", 175_904);
    check("claude-sonnet-4-5[1m]", 895_904);
}
