//! Tests that the embedded scenarios are valid and that parse errors name the mistake.

use std::time::Duration;

use super::{FaultKind, Scenario, ScriptedFault, Signal, Times, When, all, find};

/// A scenario with one command.
pub(crate) const SMALL: &str = r#"
name = "small"
summary = "s"
prompt = "p"
[expect]
outcome = "done"
exit = 0
[[turn]]
text = "I run it."
[[turn.tools]]
bash = { command = "true" }
[[turn]]
text = "done"
"#;

fn problem(toml: &str) -> String {
    Scenario::parse("small", toml).map_or_else(
        |error| {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            format!("{error} {}", source.unwrap_or_default())
        },
        |_| "none".to_owned(),
    )
}

#[test]
fn every_embedded_scenario_parses_under_its_name() {
    let scenarios = all().unwrap_or_default();
    assert!(scenarios.len() >= 25);
    for scenario in scenarios {
        assert_eq!(find(&scenario.name).map(|scenario| scenario.summary).ok(), Some(scenario.summary));
        assert_eq!(scenario.expect.exit == 0, scenario.expect.outcome == "done", "{}", scenario.name);
        assert_eq!(scenario.expect.fault.is_none(), scenario.expect.outcome == "done", "{}", scenario.name);
    }
}

#[test]
fn fault_has_turns_and_times() {
    let toml = format!("{SMALL}\n[[fault]]\nturn = [1, 2]\ntimes = \"always\"\nstatus = {{ code = 529 }}\n");
    let faults = Scenario::parse("small", &toml).map(|scenario| scenario.faults).unwrap_or_default();
    let [fault] = faults.as_slice() else { unreachable!("one fault") };
    assert_eq!((&fault.when, fault.times), (&When::OneOf(vec![1, 2]), Times::Always));
    assert!(matches!(&fault.kind, FaultKind::Status(status) if status.code == 529));
}

#[test]
fn kill_has_signal_and_delay_range() {
    let toml = format!(
        "{SMALL}\n[[fault]]\noutage_s = 14\nkill = {{ at = \"mid-tool\", after_s = [0.5, 1.5], signal = \"STOP\" }}\n"
    );
    let faults = Scenario::parse("small", &toml).map(|scenario| scenario.faults).unwrap_or_default();
    let [ScriptedFault { times, kind: FaultKind::Kill { after, signal, .. }, .. }] = faults.as_slice() else {
        unreachable!("one fault, a kill")
    };
    assert_eq!((*times, *signal), (Times::Outage(Duration::from_secs(14)), Signal::Stop));
    assert_eq!(*after, Duration::from_millis(500)..=Duration::from_millis(1500));
}

#[test]
fn errors_name_the_mistake() {
    let problem_with = |rest: &str| problem(&format!("{SMALL}\n{rest}"));
    assert_eq!(problem_with(""), "none");
    assert!(problem_with("[[fault]]\ntims = 3\nempty = {}").contains("found [empty, tims]"));
    assert!(problem_with("[[fault]]\nturn = 3\nempty = {}").contains("turn 3, but there are 2 turns"));
    assert!(problem_with("[[fault]]\nexplode = {}").contains("explode"));
    assert!(problem_with("[[fault]]\ntimes = 2\noutage_s = 3\nempty = {}").contains("not both"));
    assert!(
        problem_with("[[fault]]\nkill = { at = \"mid-tool\", after_s = [2, 1] }")
            .contains("greater than the maximum")
    );
    assert!(problem_with("[[fault]]\nhold = { for_s = -1 }").contains("seconds between"));
    assert!(problem_with("[[turn]]\ntext = \"x\"").contains("turn 2 uses no tool"));
    assert!(
        problem(&SMALL.replace("bash = { command = \"true\" }", "read = { path = \"../x\" }"))
            .contains("leaves")
    );
    assert!(
        find("nope").is_err_and(|error| error.did_you_mean().is_none() && error.to_string().contains("nope"))
    );
    assert!(find("strom").is_err_and(|error| error.did_you_mean() == Some("storm")));
}
