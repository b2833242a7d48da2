//! `longhaul doctor`: looks whether runs can be begun here and be carried to their end, and says what to type where they
//! cannot. It starts nothing but the agent's `--version`, and changes nothing, but that the ledger is brought up to date as by
//! whoever reads it.

mod agent;
mod agent_environment;
mod boot;
mod configuration;
mod finding;
mod home;
mod runs;
mod system;
mod telemetry;
mod writable_dir;

use crate::args::{DoctorArgs, GlobalArgs, OutputFormat};
use crate::failure::{Failure, UNEXPECTED_ERROR};
use crate::output;
use crate::output::color::Colors;
use finding::{Finding, Severity};
use longhaul_agent::claude::environment::API_TIMEOUT;
use serde::Serialize;
use std::env;

/// What is printed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoctorOutput<'a> {
    /// How many checks found what keeps runs from being begun, or from their end.
    problems: usize,
    /// How many found what may not be as it is meant.
    warnings: usize,
    /// What each check found.
    findings: &'a [Finding],
}

/// Carries out the command and returns its exit code.
pub fn doctor(global: &GlobalArgs, args: &DoctorArgs) -> Result<u8, Failure> {
    let findings = examine(global, args)?;
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let examined = DoctorOutput {
        problems: count(Severity::Problem),
        warnings: count(Severity::Warning),
        findings: &findings,
    };
    match output::format(global) {
        OutputFormat::Text => output::print_text(&finding::text(&findings, Colors::stdout())),
        OutputFormat::Json | OutputFormat::StreamJson => output::print_json(&examined),
    }
    Ok(if examined.problems == 0 { 0 } else { UNEXPECTED_ERROR })
}

/// Every check, in the order in which a person would mend what they find.
fn examine(global: &GlobalArgs, args: &DoctorArgs) -> Result<Vec<Finding>, Failure> {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut findings = vec![configuration::check(global)];
    findings.extend(agent::check(args.agent_path.as_deref())?);
    findings.push(agent_environment::login(is_set, agent_environment::has_credentials()));
    findings.push(agent_environment::retries(is_set));
    findings.push(agent_environment::api_timeout(env::var_os(API_TIMEOUT)));
    findings.push(agent_environment::sessions());
    findings.extend(home::check());
    findings.extend(runs::check(output::now()));
    findings.extend(boot::check());
    findings.extend(system::check());
    findings.extend(telemetry::check());
    Ok(findings)
}
