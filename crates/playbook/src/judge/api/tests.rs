//! The judge against the loopback API, in simulated time: every row of the table of the ACE playbook hooks by its name. What
//! is asked how often, the API itself counts.

use super::{ApiJudge, Judge, JudgeError, RequestEvent, RequestObserver, RetryAdvice};
use crate::JudgeSettings;
use crate::judge::testing::{BEGUN, ROLL, SimulatedClock, api, policy, settings};
use crate::settings::Credential;
use longhaul_agent::Prices;
use longhaul_core::{ApiCallPolicy, Fault, Moment, Span, Tokens, draw};
use longhaul_drill::api::{DUMMY_KEY, DUMMY_TOKEN};
use std::sync::{Arc, Mutex};

/// Everything that happened, in words.
#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl RequestObserver for Seen {
    fn on_request(&self, at: Moment, asking: &RequestEvent<'_>) {
        let said = match asking {
            RequestEvent::Retrying { request, of, error, wait } => {
                format!("{request}/{of} {} {wait}", error.class())
            }
            RequestEvent::Answered { request } => format!("{request} answered"),
            RequestEvent::GivenUp { request, of, error, reason: why } => {
                format!("{request}/{of} {} {why:?}", error.class())
            }
        };
        let said = format!("{}: {said}", at.since(BEGUN));
        self.0.lock().expect("nobody panics with it").push(said);
    }
}

/// What came of one question, and all that is known of how.
struct Asked {
    replied: Result<String, JudgeError>,
    requests: usize,
    slept: Vec<Span>,
    seen: Vec<String>,
}

async fn ask_by(policy: ApiCallPolicy, side: &str) -> Asked {
    let api = api(side, "learnt").await;
    let (clock, seen) = (SimulatedClock::new(), Arc::new(Seen::default()));
    let judge = ApiJudge::new(&settings(&api), policy, Prices::default(), clock.clone())
        .expect("the settings are sound")
        .with_observer(seen.clone());
    let replied = judge.ask("What is learnt?").await.map(|reply| reply.text);
    let seen = seen.0.lock().expect("nobody panics with it").clone();
    Asked { replied, requests: api.account().requests.len(), slept: clock.slept(), seen }
}

async fn ask(side: &str) -> Asked {
    ask_by(policy(), side).await
}

/// What is waited after `failed` requests, by the schedule alone.
fn wait(failed: u32) -> Span {
    policy().backoff.delay(failed, None, draw(ROLL, failed.into(), u64::MAX))
}

/// A fault that strikes once and that strikes always: another request is made after the one, three are made under the other.
async fn is_retried(policy: ApiCallPolicy, fault: &str, class: &str, kind: Fault) {
    let once = ask_by(policy, &format!("fault = {fault}\ntimes = 1")).await;
    assert_eq!(once.replied.as_deref(), Ok("learnt"), "{fault}");
    assert_eq!((once.requests, once.slept.as_slice()), (2, [wait(0)].as_slice()), "{fault}");
    let (first, second) = (wait(0), wait(0) + wait(1));
    assert_eq!(once.seen, [format!("0s: 1/3 {class} {first}"), format!("{first}: 2 answered")]);
    let always = ask_by(policy, &format!("fault = {fault}")).await;
    let error = always.replied.expect_err("it never ends");
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
            format!("{second}: 3/3 {class} Exhausted"),
        ]
    );
}

/// A fault after which no other request is made.
async fn is_not_retried(fault: &str, class: &str, kind: Fault, then: RetryAdvice) {
    let asked = ask(&format!("fault = {fault}\ntimes = 1")).await;
    let error = asked.replied.expect_err("no other request is made");
    assert_eq!((error.fault, error.retry, error.requests), (kind, then, 1), "{error}");
    assert_eq!((asked.requests, asked.slept.len()), (1, 0), "{fault}");
    assert_eq!(asked.seen, [format!("0s: 1/3 {class} Pointless")]);
}

#[tokio::test]
async fn the_first_answer_is_not_retried() {
    let asked = ask("").await;
    assert_eq!((asked.replied.as_deref(), asked.requests), (Ok("learnt"), 1));
    assert_eq!((asked.slept.len(), asked.seen), (0, vec!["0s: 1 answered".to_owned()]));
}

#[tokio::test]
async fn a_timeout_is_retried() {
    let policy = ApiCallPolicy { request_timeout: Span(300), ..policy() };
    is_retried(policy, "{ hold = { for_s = 60 } }", "APITimeoutError", Fault::ServerError).await;
}

#[tokio::test]
async fn a_connection_error_is_retried() {
    // The connection ends without an answer, and further ones are refused: the API counts the first alone.
    let asked = ask("fault = { refuse = { for_s = 60 } }").await;
    let error = asked.replied.expect_err("nobody listens");
    assert_eq!(
        (error.fault, error.retry, error.requests),
        (Fault::Network, RetryAdvice::Later(None), 3),
        "{error}"
    );
    assert_eq!((asked.requests, asked.slept), (1, vec![wait(0), wait(1)]));
    assert!(asked.seen.iter().all(|seen| seen.contains("/3 APIConnectionError ")), "{:?}", asked.seen);
}

#[tokio::test]
async fn a_rate_limit_is_retried() {
    is_retried(policy(), "{ status = { code = 429 } }", "RateLimitError", Fault::RateLimited).await;
}

#[tokio::test]
async fn an_internal_error_is_retried() {
    is_retried(policy(), "{ status = { code = 500 } }", "InternalServerError", Fault::ServerError).await;
}

#[tokio::test]
async fn any_5xx_is_retried() {
    for code in [501, 502, 503, 504, 520, 529, 599] {
        let fault = format!("{{ status = {{ code = {code} }} }}");
        let kind = if code == 529 { Fault::Overloaded } else { Fault::ServerError };
        let class = if code == 529 { "OverloadedError" } else { "InternalServerError" };
        is_retried(policy(), &fault, class, kind).await;
    }
}

#[tokio::test]
async fn any_other_4xx_is_not_retried() {
    for (code, class, kind, then) in [
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
        let fault = format!("{{ status = {{ code = {code}, should_retry = true }} }}");
        is_not_retried(&fault, class, kind, then).await;
    }
}

#[tokio::test]
async fn an_invalid_response_is_not_retried() {
    is_not_retried("{ html = {} }", "APIResponseValidationError", Fault::Network, RetryAdvice::Later(None))
        .await;
}

#[tokio::test]
async fn a_refusal_of_the_model_is_an_answer_and_not_retried() {
    let asked = ask("fault = { refusal = {} }").await;
    let error = asked.replied.expect_err("it refuses");
    assert_eq!(
        (error.fault, error.retry, asked.requests),
        (Fault::Refused, RetryAdvice::Never, 1),
        "{error}"
    );
}

#[tokio::test]
async fn success_at_the_last_attempt() {
    let asked = ask("fault = { status = { code = 529 } }\ntimes = 2").await;
    assert_eq!((asked.replied.as_deref(), asked.requests), (Ok("learnt"), 3));
    assert_eq!(asked.slept, [wait(0), wait(1)]);
    assert_eq!(asked.seen.last(), Some(&format!("{}: 3 answered", wait(0) + wait(1))));
}

#[tokio::test]
async fn waits_are_those_of_the_preset_and_none_follows_the_last() {
    let asked = ask("fault = { status = { code = 500 } }").await;
    let [first, second] = asked.slept.as_slice() else { unreachable!("{:?}", asked.slept) };
    assert!((Span(1_500)..=Span(2_500)).contains(first), "{first:?}");
    assert!((Span(3_000)..=Span(5_000)).contains(second), "{second:?}");
}

#[tokio::test]
async fn retry_after_is_a_floor() {
    let asked = ask("fault = { status = { code = 429, retry_after = 9 } }\ntimes = 1").await;
    assert_eq!((asked.replied.as_deref(), asked.requests), (Ok("learnt"), 2));
    let [waited] = asked.slept.as_slice() else { unreachable!("{:?}", asked.slept) };
    assert!((Span::from_secs(9)..=Span::from_secs(11)).contains(waited), "{waited:?}");
    // In milliseconds as well, which the vendor's client goes by first.
    let asked =
        ask("fault = { status = { code = 529, headers = { retry-after-ms = \"20500\" } } }\ntimes = 1").await;
    assert!((Span(20_500)..=Span(22_500)).contains(&asked.slept[0]), "{:?}", asked.slept);
}

#[tokio::test]
async fn a_hint_past_the_budget_is_not_waited_for() {
    let asked = ask("fault = { status = { code = 429, retry_after = 3600 } }").await;
    let error = asked.replied.expect_err("it is not waited for");
    assert_eq!((asked.requests, asked.slept.len(), error.requests), (1, 0, 1));
    let RetryAdvice::Later(Some(at)) = error.retry else { unreachable!("{error:?}") };
    assert!((Span::from_secs(3_600)..=Span::from_secs(3_602)).contains(&at.since(BEGUN)), "{at:?}");
    assert_eq!(asked.seen, ["0s: 1/3 RateLimitError OutOfTime"]);
}

#[tokio::test]
async fn a_usage_limit_is_known_by_its_reset() {
    let asked = ask("fault = { usage_limit = { reset_s = 7200 } }").await;
    let Err(JudgeError { retry: RetryAdvice::Later(Some(at)), .. }) = asked.replied else {
        unreachable!("it is refused")
    };
    assert!(at.since(BEGUN) >= Span::from_secs(7_200) && asked.requests == 1, "{at:?}");
}

#[tokio::test]
async fn no_key_is_no_request() {
    let api = api("", "learnt").await;
    let settings = JudgeSettings { credential: None, ..settings(&api) };
    let error =
        ApiJudge::new(&settings, policy(), Prices::default(), SimulatedClock::new()).expect_err("no key");
    assert_eq!((error.fault, error.retry, error.requests), (Fault::Auth, RetryAdvice::NeedsPerson, 0));
    assert!(error.message.contains("ANTHROPIC_API_KEY"), "{error}");
    assert!(api.account().requests.is_empty());
}

#[tokio::test]
async fn a_token_is_as_good_as_a_key() {
    let api = api("", "learnt").await;
    let settings =
        JudgeSettings { credential: Some(Credential::Token(DUMMY_TOKEN.to_owned())), ..settings(&api) };
    let judge =
        ApiJudge::new(&settings, policy(), Prices::default(), SimulatedClock::new()).expect("it is sound");
    assert_eq!(judge.ask("p").await.map(|reply| reply.text).as_deref(), Ok("learnt"));
}

#[tokio::test]
async fn an_answer_has_its_price() {
    let api = api("", "learnt").await;
    let judge = ApiJudge::new(&settings(&api), policy(), Prices::bundled().clone(), SimulatedClock::new())
        .expect("it is sound");
    let reply = judge.ask("What is learnt?").await.expect("it is answered");
    let account = api.account();
    let billed = &account.side[0];
    let tokens = billed.tokens;
    assert_eq!(
        reply.tokens,
        Tokens {
            input: tokens.input,
            output: tokens.output,
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_creation
        }
    );
    let reported = billed.cost().expect("the model has a price").dollars();
    assert!((reply.cost.expect("the model has a price").as_dollars() - reported).abs() < 1e-6, "{reply:?}");
}

#[test]
fn how_long_a_prompt_may_be() {
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
