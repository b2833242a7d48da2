//! A program that uses the library. It sets a check on a request and prints the check's result from the
//! report.

use longhaul::find_agent::find_claude;
use longhaul::{Checks, KeepGoing, Preset, RunError, RunSpec, SpecError, SuperviseError, Supervisor};
use std::env;
use std::error::Error;

/// Runs a request with this command as its check.
pub async fn run(check: String) -> Result<(), Box<dyn Error>> {
    let supervisor = Supervisor::open(None)?;
    let policy = Preset::Default.policy();
    let mut spec = RunSpec::new(find_claude(None)?, env::current_dir()?, "Write hello.txt.", policy);
    spec.permission_mode = Some("acceptEdits".to_owned());
    let failures_max = if check == "false" { 1 } else { 10 };
    let checks = spec.policy.checks.insert(Checks::new(vec![check]));
    checks.failures_max = failures_max;
    reject_contradiction(&supervisor, &spec).await?;
    let handle = supervisor.run(spec)?;
    // The run continues without its supervisor.
    drop(supervisor);
    let report = handle.outcome().await?;
    println!("{}, verified by {:?}, {} errors", report.outcome.kind, report.verified, report.errors.len());
    for line in report.failed_check.iter().flat_map(|check| check.tail.lines()) {
        println!("{line}");
    }
    Ok(())
}

/// Fails unless a request that contradicts itself starts nothing.
async fn reject_contradiction(supervisor: &Supervisor, spec: &RunSpec) -> Result<(), Box<dyn Error>> {
    let spec = spec.clone().with(|spec| spec.policy.keep_going = Some(KeepGoing::DEFAULT));
    match supervisor.run(spec)?.outcome().await {
        Err(RunError::NotStarted(SuperviseError::Spec(SpecError::KeepGoingWithChecks))) => {}
        other => return Err(format!("keep-going with checks was not rejected: {other:?}").into()),
    }
    match supervisor.home().runs_newest_first()?.count() {
        0 => Ok(()),
        count => Err(format!("the rejected request left {count} runs").into()),
    }
}
