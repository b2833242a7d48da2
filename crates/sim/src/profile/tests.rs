use super::{Profile, Rate, count_faults};
use crate::sim_run::{SimRun, Trace};
use crate::{Coverage, seed_plan};
use longhaul_core::{Fault, RunHistory};

#[test]
fn built_in_profiles_are_valid() {
    for name in Profile::names() {
        let profile = Profile::built_in(name).expect("a built-in profile parses");
        let text = toml::to_string(&profile).expect("a profile serializes");
        assert_eq!(Profile::parse(&text), Ok(profile));
    }
    let error = Profile::built_in("unknown").expect_err("no such profile").to_string();
    assert_eq!(error, "`unknown` is not a fault set; the fault sets are calm, flaky, storm, quota");
}

#[test]
fn errors_name_the_invalid_field() {
    let calm = include_str!("../../profiles/calm.toml");
    let error_of = |text: String| Profile::parse(&text).expect_err("an invalid profile").to_string();
    assert!(error_of(calm.replace("[2, 40]", "[40, 2]")).contains("request_seconds"));
    assert!(error_of(calm.replace("0.03", "-1")).contains("request_usd"));
    assert!(error_of(format!("{calm}\n[faults]\noverloaded = {{ each = 2 }}")).contains("overloaded"));
    assert!(error_of(format!("{calm}\n[faults]\noverload = {{ each = 1 }}")).contains("overload"));
    assert!(error_of(format!("{calm}\nspeed = 1")).contains("speed"));
}

#[test]
fn hourly_rates_become_chances_per_request() {
    let mut profile = Profile::built_in("calm").expect("built in");
    profile.request_seconds = [30.0, 30.0];
    profile.tool_seconds = [6.0, 6.0];
    profile.faults.insert(Fault::Overloaded, Rate { per_hour: 1.0, each: 0.0 });
    profile.faults.insert(Fault::Permission, Rate { per_hour: 0.0, each: 0.25 });
    let mix = profile.mix();
    // A hundred requests per hour, so one in a hundred.
    assert_eq!(mix.fault_odds(Fault::Overloaded), 10_000);
    assert_eq!(mix.fault_odds(Fault::Permission), 250_000);
}

#[test]
fn profile_counts_faults_of_past_runs() {
    let mut runs = Vec::new();
    let mut coverage = Coverage::default();
    for seed in 0..300 {
        let plan = seed_plan::plan(seed);
        let mut trace = Trace::off();
        let mut sim_run = SimRun::new(seed, &plan, &mut coverage, &mut trace);
        sim_run.run().expect("no oracle is violated");
        runs.push(RunHistory::new(sim_run.journal.iter().map(|(at, record)| (*at, record))));
    }
    let fault_count: u64 = count_faults(&runs).values().sum();
    assert_eq!(fault_count, Fault::ALL.iter().map(|fault| coverage.attempts_with(*fault)).sum::<u64>());
    let profile = Profile::from_runs(&runs).expect("the runs contain work");
    assert!(profile.check().is_ok());
    assert!(profile.faults[&Fault::Crashed].per_hour > 0.0);
    assert_eq!(Profile::from_runs(&[]), None);
}
