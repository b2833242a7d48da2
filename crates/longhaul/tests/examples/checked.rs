//! A program that uses the library. It sets a check on a request and prints the check's result from the
//! report.

use longhaul::find_agent::find_claude;
use longhaul::{NoObserver, RunRequest, supervise};
use longhaul_core::{CheckPolicy, Preset};
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
    let mut request =
        RunRequest::new(home, find_claude(None)?, env::current_dir()?, "Write hello.txt.", policy);
    request.agent.permission_mode = Some("acceptEdits".to_owned());
    if check == "false" {
        request.policy.check = Some(CheckPolicy { failures_max: 1, ..CheckPolicy::DEFAULT });
    }
    request.agent.checks = vec![check];
    let (_cancel, cancels) = mpsc::channel(1);
    let report = supervise(request, &mut NoObserver, cancels).await?;
    println!("{}, verified by {:?}, {} errors", report.outcome.kind, report.verified, report.errors.len());
    for line in report.failed_check.iter().flat_map(|check| check.tail.lines()) {
        println!("{line}");
    }
    Ok(())
}
