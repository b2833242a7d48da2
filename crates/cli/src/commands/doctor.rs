//! `longhaul doctor`: checks whether runs can start and finish here, and prints a remedy for each problem.
//!
//! Starts nothing except the agent's `--version`, and changes nothing except the ledger, which every
//! reader brings up to date.

mod agent;
mod agent_environment;
mod boot;
mod configuration;
mod finding;
mod home;
mod learning;
mod runs;
mod system;
mod writable_dir;

use crate::args::{DoctorArgs, GlobalArgs};
use crate::failure::{Failure, UNEXPECTED_ERROR};
use crate::output::color::Colors;
use crate::{output, telemetry};
use finding::{Finding, Severity};
use longhaul_agent::{default_dialect, default_environment};
use serde::Serialize;
use std::env;

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoctorOutput<'a> {
    /// Number of findings that keep runs from starting or finishing.
    problems: usize,
    /// Number of findings that may be unintended.
    warnings: usize,
    /// The finding of each check.
    findings: &'a [Finding],
}

pub fn doctor(global: &GlobalArgs, args: &DoctorArgs) -> Result<u8, Failure> {
    let findings = run_checks(global, args)?;
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let report = DoctorOutput {
        problems: count(Severity::Problem),
        warnings: count(Severity::Warning),
        findings: &findings,
    };
    output::print_output(global, &report, || finding::text(&findings, Colors::stdout()));
    Ok(if report.problems == 0 { 0 } else { UNEXPECTED_ERROR })
}

fn run_checks(global: &GlobalArgs, args: &DoctorArgs) -> Result<Vec<Finding>, Failure> {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut findings = vec![configuration::check(global)];
    findings.extend(agent::check(args.agent_path.as_deref())?);
    let environment = default_environment();
    let has_credentials = agent_environment::has_credentials(environment);
    findings.push(agent_environment::login(environment, is_set, has_credentials));
    findings.push(agent_environment::retries(environment, is_set));
    findings.push(agent_environment::api_timeout(environment, env::var_os(environment.api_timeout)));
    findings.extend(default_dialect().sessions().map(agent_environment::sessions));
    findings.extend(home::check());
    findings.extend(runs::check(output::now()));
    findings.extend(boot::check());
    findings.extend(learning::check());
    findings.extend(system::check());
    // Telemetry is off by default.
    findings.extend(telemetry::info().map(|info| match info {
        Ok(targets) => Finding::ok("telemetry", targets),
        Err(error) => Finding::warning("telemetry", error, "fix the OTEL_ variables"),
    }));
    Ok(findings)
}
