//! A program that uses the library. It sets a check on a request and prints the check's result from the
//! report.

use longhaul::find_agent::find_claude;
use longhaul::{NoObserver, RunError, RunRequest, SuperviseError, supervise};
use longhaul_core::{Checks, KeepGoing, Preset, RunSpec, SpecError};
use longhaul_store::Home;
use std::env;
use std::error::Error;
use std::process::ExitCode;
use tokio::sync::mpsc;

/// Runs a request with this command as its check.
pub fn main(check: String) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run(check))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(check: String) -> Result<(), Box<dyn Error>> {
    let home = Home::open(None, |name| env::var_os(name))?;
    let policy = Preset::Default.policy();
    let mut spec = RunSpec::new(find_claude(None)?, env::current_dir()?, "Write hello.txt.", policy);
    spec.permission_mode = Some("acceptEdits".to_owned());
    let failures_max = if check == "false" { 1 } else { 10 };
    spec.policy.checks = Some(Checks { failures_max, ..Checks::new(vec![check]) });
    reject_contradiction(&home, &spec).await?;
    let request = RunRequest::new(home, spec);
    let (_cancel, cancels) = mpsc::channel(1);
    let report = supervise(request, &mut NoObserver, cancels).await?;
    println!("{}, verified by {:?}, {} errors", report.outcome.kind, report.verified, report.errors.len());
    for line in report.failed_check.iter().flat_map(|check| check.tail.lines()) {
        println!("{line}");
    }
    Ok(())
}

/// Fails unless a request that contradicts itself starts nothing.
async fn reject_contradiction(home: &Home, spec: &RunSpec) -> Result<(), Box<dyn Error>> {
    let spec = spec.clone().with(|spec| spec.policy.keep_going = Some(KeepGoing::DEFAULT));
    let (_cancel, cancels) = mpsc::channel(1);
    match supervise(RunRequest::new(home.clone(), spec), &mut NoObserver, cancels).await {
        Err(RunError::NotStarted(SuperviseError::Spec(SpecError::KeepGoingWithChecks))) => {}
        other => return Err(format!("keep-going with checks was not rejected: {other:?}").into()),
    }
    match home.runs_newest_first()?.count() {
        0 => Ok(()),
        count => Err(format!("the rejected request left {count} runs").into()),
    }
}
