use super::{ANSWER_MIN, ApiCall, ApiCallError, ApiCallPolicy, CallDecision, GiveUpReason};
use crate::{Fault, Moment, Now, Preset, Remedy, Span, draw, remedy};
use proptest::prelude::*;

const BEGUN: Moment = Moment(1_795_390_200_000);
const BUDGET: Span = Span::from_secs(120);

fn keypoints() -> ApiCallPolicy {
    Preset::Keypoints.policy().api_call_policy(BUDGET)
}

/// An error of every kind, and of every status.
fn errors() -> impl Iterator<Item = ApiCallError> {
    [ApiCallError::TimedOut, ApiCallError::Unreachable, ApiCallError::InvalidResponse]
        .into_iter()
        .chain((100..=999).map(ApiCallError::Status))
}

/// What becomes of a question all of whose requests fail: the moments at which they were made, and what came at last.
struct Told {
    requests: Vec<Moment>,
    ended: Moment,
    why: GiveUpReason,
    not_before: Option<Moment>,
}

/// Asks in simulated time. Each request takes `takes`, at most its time limit, and fails with what `fails` says.
fn ask(
    policy: &ApiCallPolicy,
    roll: u64,
    takes: impl Fn(u32) -> Span,
    fails: impl Fn(u32) -> (ApiCallError, Option<Span>),
) -> Told {
    let mut call = ApiCall::start(BEGUN);
    let (mut now, mut requests) = (BEGUN, Vec::new());
    loop {
        let number = requests.len() as u32;
        requests.push(now);
        now = now + takes(number).at_most(call.timeout(policy, now));
        let (error, retry_after) = fails(number);
        let next = call.on_failure(
            policy,
            Now { at: now, roll: draw(roll, number.into(), u64::MAX) },
            error,
            retry_after,
        );
        assert_eq!(call.failed_requests() as usize, requests.len());
        match next {
            CallDecision::Retry { at } => {
                assert!(at > now, "a request that failed is never made again at once");
                now = at;
            }
            CallDecision::GiveUp { reason: why, not_before } => {
                return Told { requests, ended: now, why, not_before };
            }
        }
    }
}

fn at_once(_: u32) -> Span {
    Span::ZERO
}

fn overloaded(_: u32) -> (ApiCallError, Option<Span>) {
    (ApiCallError::Status(529), None)
}

#[test]
fn three_attempts_and_no_more() {
    let told = ask(&keypoints(), 7, at_once, overloaded);
    assert_eq!((told.requests.len(), told.why, told.not_before), (3, GiveUpReason::RetriesExhausted, None));
    assert_eq!(keypoints().requests_max(), 3);
}

#[test]
fn waits_of_2_s_and_4_s_times_the_drawn_jitter() {
    let (mut shortest, mut longest) = ([Span(u64::MAX); 2], [Span::ZERO; 2]);
    for roll in 0..200_000 {
        let told = ask(&keypoints(), roll, at_once, overloaded);
        // Nothing is waited for after the last request.
        assert_eq!(told.ended, told.requests[2]);
        for (place, pair) in told.requests.windows(2).enumerate() {
            let wait = pair[1].since(pair[0]);
            (shortest[place], longest[place]) = (shortest[place].min(wait), longest[place].max(wait));
        }
    }
    // Both ends of 0.75 to 1.25, and nothing beyond.
    assert_eq!(shortest, [Span(1_500), Span(3_000)]);
    assert_eq!(longest, [Span(2_500), Span(5_000)]);
}

#[test]
fn the_worst_case_is_97_5_s_within_120() {
    assert_eq!(keypoints().max_duration(), Span(97_500));
    let worst = (0..100_000)
        .map(|roll| ask(&keypoints(), roll, |_| Span(u64::MAX), |_| (ApiCallError::TimedOut, None)).ended)
        .max();
    let worst = worst.expect("there were some").since(BEGUN);
    assert!((Span(97_400)..=Span(97_500)).contains(&worst), "{worst:?}");
}

#[test]
fn each_request_has_30_s_and_at_most_what_is_left() {
    let call = ApiCall::start(BEGUN);
    let check = |after: Span, expected: Span| {
        assert_eq!(call.timeout(&keypoints(), BEGUN + after), expected, "{after} later");
    };
    check(Span::ZERO, Span::from_secs(30));
    check(Span::from_secs(90), Span::from_secs(30));
    check(Span::from_secs(110), Span::from_secs(10));
    check(Span::from_secs(121), Span::ZERO);
    // Somebody set the calendar clock back.
    assert_eq!(call.timeout(&keypoints(), Moment(0)), Span::from_secs(30));
}

#[test]
fn what_is_passing_and_what_is_not() {
    let check = |error: ApiCallError, fault: Fault, passing: bool| {
        assert_eq!((error.fault(), error.is_transient()), (fault, passing), "{error:?}");
        let told = ask(&keypoints(), 7, at_once, |_| (error, None));
        let expected =
            if passing { (3, GiveUpReason::RetriesExhausted) } else { (1, GiveUpReason::NotRetryable) };
        assert_eq!((told.requests.len(), told.why), expected, "{error:?}");
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
fn what_is_passing_is_waited_out_by_runs_too() {
    let waited_out = |error: &ApiCallError| remedy(error.fault()) == Remedy::WaitOut;
    let of_the_api = |error: &ApiCallError| !matches!(error, ApiCallError::Status(100..400 | 600..));
    assert!(errors().filter(of_the_api).filter(|error| error.is_transient()).all(|error| waited_out(&error)));
    // A run has hours for what takes longer than a few seconds to pass.
    let runs_alone: Vec<ApiCallError> =
        errors().filter(of_the_api).filter(|error| waited_out(error) && !error.is_transient()).collect();
    assert_eq!(
        runs_alone,
        [ApiCallError::InvalidResponse, ApiCallError::Status(408), ApiCallError::Status(409)]
    );
}

#[test]
fn what_the_server_says_is_a_floor() {
    let said = |seconds| move |_| (ApiCallError::Status(429), Some(Span::from_secs(seconds)));
    // Less than we wait anyway changes nothing.
    let unsaid = ask(&keypoints(), 7, at_once, overloaded);
    assert_eq!(ask(&keypoints(), 7, at_once, said(1)).requests, unsaid.requests);
    for roll in 0..10_000 {
        let told = ask(&keypoints(), roll, at_once, said(20));
        assert_eq!((told.requests.len(), told.why), (3, GiveUpReason::RetriesExhausted));
        // At least as long as was asked for, and at most 2 s later, so that not all come at once.
        for pair in told.requests.windows(2) {
            let wait = pair[1].since(pair[0]);
            assert!((Span::from_secs(20)..=Span::from_secs(22)).contains(&wait), "{wait:?}");
        }
        // Whoever asks anew is told what the server said last.
        assert_eq!(told.not_before, Some(told.ended + Span::from_secs(20)));
    }
}

#[test]
fn a_wait_past_the_budget_is_not_begun() {
    let said = |seconds| move |_| (ApiCallError::Status(429), Some(Span::from_secs(seconds)));
    for roll in 0..1_000 {
        let told = ask(&keypoints(), roll, at_once, said(300));
        assert_eq!((told.requests.len(), told.ended, told.why), (1, BEGUN, GiveUpReason::OutOfTime));
        let not_before = told.not_before.expect("it is known").since(BEGUN);
        assert!((Span::from_secs(300)..=Span::from_secs(302)).contains(&not_before), "{not_before:?}");
        // Two of these fit, three do not.
        let told = ask(&keypoints(), roll, at_once, said(70));
        assert_eq!((told.requests.len(), told.why), (2, GiveUpReason::OutOfTime));
    }
    // A budget of nothing is one request.
    let policy = ApiCallPolicy { time_budget: Span::ZERO, ..keypoints() };
    let told = ask(&policy, 7, at_once, overloaded);
    assert_eq!((told.requests.len(), told.why, told.not_before), (1, GiveUpReason::OutOfTime, None));
}

fn any_error() -> impl Strategy<Value = ApiCallError> {
    prop_oneof![
        Just(ApiCallError::TimedOut),
        Just(ApiCallError::Unreachable),
        Just(ApiCallError::InvalidResponse),
        (400..600_u16).prop_map(ApiCallError::Status),
        // Most of them pass, or there would be little to see.
        prop_oneof![Just(429), Just(500), Just(503), Just(529)].prop_map(ApiCallError::Status),
    ]
}

fn requests() -> impl Strategy<Value = Vec<(u64, ApiCallError, Option<u64>)>> {
    prop::collection::vec((0..40_000_u64, any_error(), prop::option::of(0..200_000_u64)), 8)
}

proptest! {
    /// Whatever an API does, and for whatever budget and number of retries.
    #[test]
    fn every_question_comes_to_its_end(
        failures in requests(), roll: u64, retries_max in 0..6_u32, budget in 0..300_000_u64,
    ) {
        let policy = ApiCallPolicy { retries_max, time_budget: Span(budget), ..keypoints() };
        let failure = |number: u32| failures[number as usize];
        let told = ask(
            &policy,
            roll,
            |number| Span(failure(number).0),
            |number| (failure(number).1, failure(number).2.map(Span)),
        );
        prop_assert!(told.requests.len() as u32 <= policy.requests_max());
        prop_assert!(told.ended.since(BEGUN) <= policy.time_budget);
        for (number, pair) in told.requests.windows(2).enumerate() {
            let (duration, error, said) = failure(number as u32);
            prop_assert!(error.is_transient());
            prop_assert!(pair[1] + ANSWER_MIN <= BEGUN + policy.time_budget);
            let wait = pair[1].since(pair[0]);
            let waited = wait - Span(duration).at_most(Span::from_secs(30));
            prop_assert!(waited >= said.map_or(Span::ZERO, Span));
            prop_assert!(waited >= Span(1_500));
        }
        let (_, last, said) = failure(told.requests.len() as u32 - 1);
        match told.why {
            GiveUpReason::NotRetryable => prop_assert!(!last.is_transient()),
            GiveUpReason::RetriesExhausted => prop_assert_eq!(told.requests.len() as u32, policy.requests_max()),
            GiveUpReason::OutOfTime => {
                let past = |at: Moment| at + ANSWER_MIN > BEGUN + policy.time_budget;
                prop_assert!(told.not_before.is_none_or(past));
            }
        }
        // What the server said last is what whoever asks anew is told.
        prop_assert_eq!(told.not_before.is_some(), said.is_some());
        prop_assert!(said.is_none_or(|said| told.not_before >= Some(told.ended + Span(said))));
    }
}
