//! The reports of runs and workflows as MCP resources.

use super::arguments::CommandCall;
use super::call;
use super::ceilings::Ceilings;
use super::client::Client;
use super::shorten::shorten_text;
use crate::failure::Failure;
use crate::open_home::{self, RunOrWorkflow};
use crate::open_ledger;
use longhaul_store::RunFilter;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use rmcp::service::{RequestContext, RoleServer};
use std::path::Path;

const PREFIX: &str = "longhaul://runs/";
const SUFFIX: &str = "/report";
const MIME_TYPE: &str = "text/plain";
/// The newest runs are listed; a client can read the report of every other run by its address.
const LISTED_MAX: usize = 20;
/// Runs that are looked at for them.
const CANDIDATES_MAX: u64 = 200;

pub fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{PREFIX}{{run}}{SUFFIX}"), "report")
        .with_description("What happened in a run or a workflow, and what it cost")
        .with_mime_type(MIME_TYPE)
}

pub fn list(ceilings: &Ceilings) -> Result<Vec<Resource>, ErrorData> {
    let newest = || -> Result<_, Failure> {
        let mut ledger = open_ledger::open(&open_home::locate()?)?;
        Ok(ledger.runs(&RunFilter { limit: Some(CANDIDATES_MAX), ..RunFilter::default() })?)
    };
    let runs = newest().map_err(|failure| ErrorData::internal_error(failure.text(), None))?;
    let runs = runs.into_iter().filter(|run| ceilings.permit_directory(Path::new(&run.project)));
    let resources = runs.take(LISTED_MAX).map(|run| {
        Resource::new(format!("{PREFIX}{}{SUFFIX}", run.id), run.name.unwrap_or_else(|| run.id.to_string()))
            .with_description(run.task)
            .with_mime_type(MIME_TYPE)
    });
    Ok(resources.collect())
}

fn find(ceilings: &Ceilings, uri: &str) -> Result<RunOrWorkflow, ErrorData> {
    let selector = uri.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    let Some(selector) = selector.filter(|selector| !selector.is_empty() && !selector.contains('/')) else {
        let error = format!("no resource `{uri}`; reports are {PREFIX}RUN{SUFFIX}");
        return Err(ErrorData::resource_not_found(error, None));
    };
    ceilings.find(selector).map_err(|failure| ErrorData::resource_not_found(failure.text(), None))
}

pub async fn read(
    ceilings: &Ceilings,
    uri: &str,
    client: &Client,
    context: &RequestContext<RoleServer>,
) -> Result<ReadResourceResult, ErrorData> {
    let target = find(ceilings, uri)?;
    let id = target.id();
    let words = ["report", id.as_str(), "--format=text", "--output=-"].map(str::to_owned).to_vec();
    let finished = call::run(CommandCall { words, stdin: None }, true, client, context).await;
    match finished {
        Ok(Some(finished)) if finished.is_success => {
            let text = match shorten_text(&finished.stdout, false) {
                Some(start) => format!(
                    "{start}\n\nshortened; `longhaul report {id} --format text --output -` prints all of it\n"
                ),
                None => finished.stdout,
            };
            let contents = ResourceContents::text(text, uri).with_mime_type(MIME_TYPE);
            Ok(ReadResourceResult::new(vec![contents]))
        }
        Ok(Some(finished)) => Err(ErrorData::internal_error(finished.messages.join("\n"), None)),
        Ok(None) => Err(ErrorData::internal_error("cancelled", None)),
        Err(error) => Err(ErrorData::internal_error(format!("cannot start longhaul: {error}"), None)),
    }
}
