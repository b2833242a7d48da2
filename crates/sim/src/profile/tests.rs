use super::{Observed, Profile, Rate};
use crate::sim_run::{START, SimRun, Trace};
use crate::world::World;
use crate::{Coverage, seed_plan};
use longhaul_core::Fault;

#[test]
fn built_in_profiles_are_sound() {
    for name in Profile::names() {
        let profile = Profile::named(name).expect("a built-in profile parses");
        let text = toml::to_string(&profile).expect("a profile serialises");
        assert_eq!(Profile::parse(&text), Ok(profile));
    }
    let error = Profile::named("hell").expect_err("no such profile").to_string();
    assert_eq!(error, "`hell` is not a profile; the profiles are calm, flaky, storm, quota");
}

#[test]
fn nonsense_is_refused_by_name() {
    let calm = include_str!("../../profiles/calm.toml");
    let refused = |text: String| Profile::parse(&text).expect_err("nonsense").to_string();
    assert!(refused(calm.replace("[2, 40]", "[40, 2]")).contains("request_seconds"));
    assert!(refused(calm.replace("0.03", "-1")).contains("request_usd"));
    assert!(refused(format!("{calm}\n[faults]\noverloaded = {{ each = 2 }}")).contains("overloaded"));
    assert!(refused(format!("{calm}\n[faults]\noverload = {{ each = 1 }}")).contains("overload"));
    assert!(refused(format!("{calm}\nspeed = 1")).contains("speed"));
}

#[test]
fn rates_an_hour_become_chances_a_request() {
    let mut profile = Profile::named("calm").expect("built in");
    profile.request_seconds = [30.0, 30.0];
    profile.tool_seconds = [6.0, 6.0];
    profile.faults.insert(Fault::Overloaded, Rate { per_hour: 1.0, each: 0.0 });
    profile.faults.insert(Fault::Permission, Rate { per_hour: 0.0, each: 0.25 });
    let mix = profile.mix();
    // A hundred requests an hour: one in a hundred meets it.
    assert_eq!(mix.odds_of(Fault::Overloaded), 10_000);
    assert_eq!(mix.odds_of(Fault::Permission), 250_000);
}

#[test]
fn past_runs_tell_their_faults() {
    let mut flight = SimRun::new();
    let mut runs = Vec::new();
    let mut coverage = Coverage::new();
    for seed in 0..300 {
        let plan = seed_plan::plan(seed);
        let mut world = World::new(seed, plan.mix.clone(), &plan.policy, START);
        flight.run(&plan, &mut world, &mut coverage, &mut Trace::off()).expect("a sound run");
        runs.push(flight.journal.clone());
    }
    let mut seen = Observed::default();
    runs.iter().for_each(|records| seen.take(records));
    let struck: u64 = seen.faults.values().sum();
    assert_eq!(struck, coverage.faults.iter().sum::<u64>());
    let profile = Profile::observed(&runs).expect("they worked");
    assert!(profile.check().is_ok());
    assert!(profile.faults[&Fault::Crashed].per_hour > 0.0);
    assert_eq!(Profile::observed(&[]), None);
}
