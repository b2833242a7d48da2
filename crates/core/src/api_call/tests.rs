use super::{ANSWER_MIN, ApiCall, ApiCallError, ApiCallPolicy, CallDecision, GiveUpReason};
use crate::{Fault, Moment, Now, Preset, Remedy, Span, draw, remedy};
use proptest::prelude::*;

const START: Moment = Moment(1_795_390_200_000);
const BUDGET: Span = Span::from_secs(120);

fn keypoints() -> ApiCallPolicy {
    ApiCallPolicy::new(&Preset::Keypoints.policy(), BUDGET)
}

/// An error of every kind, and of every status.
fn errors() -> impl Iterator<Item = ApiCallError> {
    [ApiCallError::TimedOut, ApiCallError::Unreachable, ApiCallError::InvalidResponse]
        .into_iter()
        .chain((100..=999).map(ApiCallError::Status))
}

/// The result of a call whose requests all fail.
struct FailedCall {
    requests: Vec<Moment>,
    ended: Moment,
    reason: GiveUpReason,
    not_before: Option<Moment>,
}

/// Makes a call in simulated time. Each request takes `duration`, at most its timeout, and returns `failure`.
fn call_until_give_up(
    policy: &ApiCallPolicy,
    roll: u64,
    duration: impl Fn(u32) -> Span,
    failure: impl Fn(u32) -> (ApiCallError, Option<Span>),
) -> FailedCall {
    let mut call = ApiCall::start(START);
    let (mut now, mut requests) = (START, Vec::new());
    loop {
        let number = requests.len() as u32;
        requests.push(now);
        now = now + duration(number).at_most(call.timeout(policy, now));
        let (error, retry_after) = failure(number);
        let next = call.on_failure(
            policy,
            Now { at: now, roll: draw(roll, number.into(), u64::MAX) },
            error,
            retry_after,
        );
        assert_eq!(call.failed_requests() as usize, requests.len());
        match next {
            CallDecision::Retry { at } => {
                assert!(at > now, "a failed request is never retried immediately");
                now = at;
            }
            CallDecision::GiveUp { reason, not_before } => {
                return FailedCall { requests, ended: now, reason, not_before };
            }
        }
    }
}

fn immediate(_: u32) -> Span {
    Span::ZERO
}

fn overloaded(_: u32) -> (ApiCallError, Option<Span>) {
    (ApiCallError::Status(529), None)
}

#[test]
fn makes_at_most_three_requests() {
    let failed_call = call_until_give_up(&keypoints(), 7, immediate, overloaded);
    assert_eq!(
        (failed_call.requests.len(), failed_call.reason, failed_call.not_before),
        (3, GiveUpReason::RetriesExhausted, None)
    );
    assert_eq!(keypoints().requests_max(), 3);
}

#[test]
fn waits_2_s_and_4_s_with_jitter() {
    let (mut shortest, mut longest) = ([Span(u64::MAX); 2], [Span::ZERO; 2]);
    for roll in 0..200_000 {
        let failed_call = call_until_give_up(&keypoints(), roll, immediate, overloaded);
        // There is no wait after the last request.
        assert_eq!(failed_call.ended, failed_call.requests[2]);
        for (index, pair) in failed_call.requests.windows(2).enumerate() {
            let wait = pair[1].since(pair[0]);
            (shortest[index], longest[index]) = (shortest[index].min(wait), longest[index].max(wait));
        }
    }
    // The factors reach both ends of 0.75 to 1.25 and never exceed them.
    assert_eq!(shortest, [Span(1_500), Span(3_000)]);
    assert_eq!(longest, [Span(2_500), Span(5_000)]);
}

#[test]
fn worst_case_is_97_5_s_of_120_s() {
    let worst = (0..100_000)
        .map(|roll| {
            call_until_give_up(&keypoints(), roll, |_| Span(u64::MAX), |_| (ApiCallError::TimedOut, None))
                .ended
        })
        .max();
    let worst = worst.expect("the range is not empty").since(START);
    assert!((Span(97_400)..=Span(97_500)).contains(&worst), "{worst:?}");
}

#[test]
fn request_timeout_is_30_s_or_remaining_budget() {
    let call = ApiCall::start(START);
    let check = |after: Span, expected: Span| {
        assert_eq!(call.timeout(&keypoints(), START + after), expected, "{after} later");
    };
    check(Span::ZERO, Span::from_secs(30));
    check(Span::from_secs(90), Span::from_secs(30));
    check(Span::from_secs(110), Span::from_secs(10));
    check(Span::from_secs(121), Span::ZERO);
    // The clock was set back.
    assert_eq!(call.timeout(&keypoints(), Moment(0)), Span::from_secs(30));
}

#[test]
fn retries_only_transient_errors() {
    let check = |error: ApiCallError, fault: Fault, is_transient: bool| {
        assert_eq!((error.fault(), error.is_transient()), (fault, is_transient), "{error:?}");
        let failed_call = call_until_give_up(&keypoints(), 7, immediate, |_| (error, None));
        let expected =
            if is_transient { (3, GiveUpReason::RetriesExhausted) } else { (1, GiveUpReason::NotRetryable) };
        assert_eq!((failed_call.requests.len(), failed_call.reason), expected, "{error:?}");
    };
    check(ApiCallError::TimedOut, Fault::ServerError, true);
    check(ApiCallError::Unreachable, Fault::Network, true);
    check(ApiCallError::Status(429), Fault::RateLimited, true);
    check(ApiCallError::Status(500), Fault::ServerError, true);
    check(ApiCallError::Status(502), Fault::ServerError, true);
    check(ApiCallError::Status(503), Fault::ServerError, true);
    check(ApiCallError::Status(504), Fault::ServerError, true);
    check(ApiCallError::Status(529), Fault::Overloaded, true);
    check(ApiCallError::Status(400), Fault::BadRequest, false);
    check(ApiCallError::Status(401), Fault::Auth, false);
    check(ApiCallError::Status(402), Fault::Billing, false);
    check(ApiCallError::Status(403), Fault::Auth, false);
    check(ApiCallError::Status(404), Fault::ModelUnknown, false);
    check(ApiCallError::Status(408), Fault::ServerError, false);
    check(ApiCallError::Status(409), Fault::ServerError, false);
    check(ApiCallError::Status(413), Fault::ContextFull, false);
    check(ApiCallError::Status(422), Fault::BadRequest, false);
    check(ApiCallError::Status(499), Fault::BadRequest, false);
    check(ApiCallError::Status(302), Fault::Network, false);
    check(ApiCallError::InvalidResponse, Fault::Network, false);
}

#[test]
fn runs_wait_out_transient_errors_too() {
    let is_waited_out = |error: &ApiCallError| remedy(error.fault()) == Remedy::WaitOut;
    let is_api_error = |error: &ApiCallError| !matches!(error, ApiCallError::Status(100..400 | 600..));
    assert!(
        errors().filter(is_api_error).filter(|error| error.is_transient()).all(|error| is_waited_out(&error))
    );
    // A run may wait for hours for faults that last longer than a few seconds.
    let only_waited_out_by_runs: Vec<ApiCallError> =
        errors().filter(is_api_error).filter(|error| is_waited_out(error) && !error.is_transient()).collect();
    assert_eq!(
        only_waited_out_by_runs,
        [ApiCallError::InvalidResponse, ApiCallError::Status(408), ApiCallError::Status(409)]
    );
}

#[test]
fn server_hint_is_a_floor() {
    let rate_limited = |seconds| move |_| (ApiCallError::Status(429), Some(Span::from_secs(seconds)));
    // A hint below our own wait changes nothing.
    let without_hint = call_until_give_up(&keypoints(), 7, immediate, overloaded);
    assert_eq!(
        call_until_give_up(&keypoints(), 7, immediate, rate_limited(1)).requests,
        without_hint.requests
    );
    for roll in 0..10_000 {
        let failed_call = call_until_give_up(&keypoints(), roll, immediate, rate_limited(20));
        assert_eq!((failed_call.requests.len(), failed_call.reason), (3, GiveUpReason::RetriesExhausted));
        // The wait is at least the hint and at most 2 s more, so that clients do not return at the same
        // moment.
        for pair in failed_call.requests.windows(2) {
            let wait = pair[1].since(pair[0]);
            assert!((Span::from_secs(20)..=Span::from_secs(22)).contains(&wait), "{wait:?}");
        }
        // A new call should respect the last hint of the server.
        assert_eq!(failed_call.not_before, Some(failed_call.ended + Span::from_secs(20)));
    }
}

#[test]
fn gives_up_if_wait_exceeds_budget() {
    let rate_limited = |seconds| move |_| (ApiCallError::Status(429), Some(Span::from_secs(seconds)));
    for roll in 0..1_000 {
        let failed_call = call_until_give_up(&keypoints(), roll, immediate, rate_limited(300));
        assert_eq!(
            (failed_call.requests.len(), failed_call.ended, failed_call.reason),
            (1, START, GiveUpReason::OutOfTime)
        );
        let not_before = failed_call.not_before.expect("the server sent a hint").since(START);
        assert!((Span::from_secs(300)..=Span::from_secs(302)).contains(&not_before), "{not_before:?}");
        // Two of these fit, three do not.
        let failed_call = call_until_give_up(&keypoints(), roll, immediate, rate_limited(70));
        assert_eq!((failed_call.requests.len(), failed_call.reason), (2, GiveUpReason::OutOfTime));
    }
    // A time budget of zero allows one request.
    let policy = ApiCallPolicy { time_budget: Span::ZERO, ..keypoints() };
    let failed_call = call_until_give_up(&policy, 7, immediate, overloaded);
    assert_eq!(
        (failed_call.requests.len(), failed_call.reason, failed_call.not_before),
        (1, GiveUpReason::OutOfTime, None)
    );
}

fn any_error() -> impl Strategy<Value = ApiCallError> {
    prop_oneof![
        Just(ApiCallError::TimedOut),
        Just(ApiCallError::Unreachable),
        Just(ApiCallError::InvalidResponse),
        (400..600_u16).prop_map(ApiCallError::Status),
        // Most of them are transient, so that calls have several requests.
        prop_oneof![Just(429), Just(500), Just(503), Just(529)].prop_map(ApiCallError::Status),
    ]
}

fn failures() -> impl Strategy<Value = Vec<(u64, ApiCallError, Option<u64>)>> {
    prop::collection::vec((0..40_000_u64, any_error(), prop::option::of(0..200_000_u64)), 8)
}

proptest! {
    /// Holds for all failures, budgets and numbers of retries.
    #[test]
    fn every_call_ends_within_its_bounds(
        failures in failures(), roll: u64, retries_max in 0..6_u32, budget in 0..300_000_u64,
    ) {
        let policy = ApiCallPolicy { retries_max, time_budget: Span(budget), ..keypoints() };
        let failure = |number: u32| failures[number as usize];
        let failed_call = call_until_give_up(
            &policy,
            roll,
            |number| Span(failure(number).0),
            |number| (failure(number).1, failure(number).2.map(Span)),
        );
        prop_assert!(failed_call.requests.len() as u32 <= policy.requests_max());
        prop_assert!(failed_call.ended.since(START) <= policy.time_budget);
        for (number, pair) in failed_call.requests.windows(2).enumerate() {
            let (duration, error, retry_after) = failure(number as u32);
            prop_assert!(error.is_transient());
            prop_assert!(pair[1] + ANSWER_MIN <= START + policy.time_budget);
            let wait = pair[1].since(pair[0]);
            let waited = wait - Span(duration).at_most(Span::from_secs(30));
            prop_assert!(waited >= retry_after.map_or(Span::ZERO, Span));
            prop_assert!(waited >= Span(1_500));
        }
        let (_, last_error, retry_after) = failure(failed_call.requests.len() as u32 - 1);
        match failed_call.reason {
            GiveUpReason::NotRetryable => prop_assert!(!last_error.is_transient()),
            GiveUpReason::RetriesExhausted => prop_assert_eq!(failed_call.requests.len() as u32, policy.requests_max()),
            GiveUpReason::OutOfTime => {
                let exceeds_budget = |at: Moment| at + ANSWER_MIN > START + policy.time_budget;
                prop_assert!(failed_call.not_before.is_none_or(exceeds_budget));
            }
        }
        // A new call should respect the last hint of the server.
        prop_assert_eq!(failed_call.not_before.is_some(), retry_after.is_some());
        prop_assert!(retry_after.is_none_or(|hint| failed_call.not_before >= Some(failed_call.ended + Span(hint))));
    }
}
