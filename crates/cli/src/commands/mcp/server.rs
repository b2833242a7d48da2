//! The MCP server: lists the tools and reports, and answers calls.

use super::arguments::{CommandCall, ServedTool, command_call};
use super::call::{self, Finished};
use super::ceilings::Ceilings;
use super::client::Client;
use super::reports;
use super::served::{describe, served};
use super::shorten::{BYTES_MAX, JSON_BYTES_MAX, shorten_json, shorten_text};
use super::tools::{DETACHED, Effect};
use crate::args::{Cli, Command};
use crate::commands::status;
use crate::failure::Failure;
use crate::next_commands::quoted;
use crate::output;
use clap::Parser;
use longhaul::enclosing_run;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use serde_json::Value;
use std::iter;

const INSTRUCTIONS: &str = "Longhaul runs coding agents unattended, through rate limits, outages and crashes, within a \
                            budget. `run` starts one, `attach` waits for its end, `why` explains what happened and what to \
                            do next. Only the outcome `done` means that the work is done. Commands in results, such as \
                            `longhaul resume ID`, correspond to the tools with these names.";

/// The server of one client.
pub struct Server {
    ceilings: Ceilings,
    client: Client,
    tools: Vec<ServedTool>,
    listed: Vec<Tool>,
    /// Whether a call that drives a run returns at once. A run that is started inside another run would end with it.
    is_detached: bool,
}

impl Server {
    pub fn new(ceilings: Ceilings, client: Client) -> Server {
        let tools = served(&ceilings);
        let is_detached = enclosing_run().is_none();
        let listed = tools.iter().map(|tool| describe(tool, is_detached)).collect();
        Server { ceilings, client, tools, listed, is_detached }
    }

    async fn call(
        &self,
        call: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == call.name) else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            return error(&format!("there is no tool `{}`; this server has {}", call.name, names.join(", ")));
        };
        let prepared = self.prepare(tool, call.arguments.unwrap_or_default());
        let command_call = match prepared {
            Ok(command_call) => command_call,
            Err(failure) => return error(&failure),
        };
        if tool.definition.command == ["status"]
            && let Some(finished) = status_here(&command_call)
        {
            return finished
                .map_or_else(|failure| error(&failure.text()), |finished| result(tool, "status", &finished));
        }
        let command = command_call.words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let ends_with_client = matches!(tool.definition.effect, Effect::Inspects | Effect::Follows);
        match call::run(command_call, ends_with_client, &self.client, context).await {
            Ok(Some(finished)) => result(tool, &command, &finished),
            // The client does not read the answer to a cancelled request.
            Ok(None) => error("cancelled"),
            Err(cause) => error(&format!("cannot start longhaul: {cause}")),
        }
    }

    fn prepare(&self, tool: &ServedTool, mut arguments: JsonObject) -> Result<CommandCall, String> {
        let is_detached = match arguments.remove(DETACHED) {
            None | Some(Value::Null) => self.is_detached,
            Some(Value::Bool(is_detached)) => is_detached,
            Some(value) => return Err(format!("{DETACHED}: expected true or false, not {value}")),
        };
        // Before the ceilings supply what is missing: a wrong `run` must never stand for the latest one.
        arguments.retain(|_, value| !value.is_null());
        command_call(tool, &arguments)?;
        self.ceilings.apply(tool, &mut arguments).map_err(|failure| failure.text())?;
        let mut call = command_call(tool, &arguments)?;
        if tool.definition.effect == Effect::Drives && is_detached {
            call.words.insert(tool.definition.command.len(), "--detach".to_owned());
        }
        Ok(call)
    }
}

/// Answers `longhaul status` in this process: clients call it often, and starting a program takes longer than the answer.
/// Returns `None` for other commands.
fn status_here(command_call: &CommandCall) -> Option<Result<Finished, Failure>> {
    let words = iter::once("longhaul").chain(command_call.words.iter().map(String::as_str));
    match Cli::try_parse_from(words) {
        Ok(Cli { command: Command::Status(args), .. }) => Some(status::read(&args).map(|status| Finished {
            is_success: true,
            is_killed: false,
            stdout: output::pretty(&status),
            messages: Vec::new(),
        })),
        Ok(_) | Err(_) => None,
    }
}

fn error(text: &str) -> CallToolResult {
    // It may repeat a long argument.
    let text = shorten_text(text, false).unwrap_or(text);
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// Returns the result of a call. A run that is not done is an error, as it is for the exit code of the command.
fn result(tool: &ServedTool, command: &str, finished: &Finished) -> CallToolResult {
    let definition = tool.definition;
    if definition.output.is_empty() {
        if !finished.is_success {
            return error(&without_result(definition.effect, finished));
        }
        let text = finished.stdout.as_str();
        let mut content = vec![ContentBlock::text(shorten_text(text, definition.keeps_end).unwrap_or(text))];
        if text.len() > BYTES_MAX {
            let command = reading_command(definition.effect, command, &Value::Null);
            content.push(ContentBlock::text(shortened(command.as_deref())));
        }
        return CallToolResult::success(content);
    }
    let Ok(value) = serde_json::from_str::<Value>(&finished.stdout) else {
        return error(&without_result(definition.effect, finished));
    };
    let command = reading_command(definition.effect, command, &value);
    let shorter = shorten_json(&value, definition.keeps_end);
    let is_shorter = shorter.is_some();
    let value = shorter.unwrap_or(value);
    if value.to_string().len() > JSON_BYTES_MAX {
        let hint = command.map(|command| format!("; `{command}` prints it")).unwrap_or_default();
        return error(&format!("the result is too long, even with short texts and lists{hint}"));
    }
    let mut result = if finished.is_success {
        let mut result = CallToolResult::structured(value);
        if definition.effect == Effect::Drives {
            result.content.extend(warnings(&finished.messages).map(ContentBlock::text));
        }
        result
    } else {
        let mut result = CallToolResult::structured_error(value);
        result.content.extend(advice(&finished.messages).map(ContentBlock::text));
        result
    };
    if is_shorter {
        result.content.push(ContentBlock::text(shortened(command.as_deref())));
    }
    result
}

/// Returns a command that prints the whole result of a call and changes nothing. The call itself could start paid work
/// again. `None` if it started no run.
fn reading_command(effect: Effect, command: &str, result: &Value) -> Option<String> {
    match effect {
        Effect::Inspects | Effect::Follows => Some(format!("longhaul {command}")),
        // Of a finished run or workflow, this prints the same at once.
        Effect::Drives | Effect::Stops => {
            let id = ["run", "workflow"].into_iter().find_map(|key| result[key]["id"].as_str())?;
            Some(format!("longhaul attach {} --json", quoted(id)))
        }
    }
}

fn shortened(command: Option<&str>) -> String {
    let hint = command.map(|command| format!("; `{command}` prints all of it")).unwrap_or_default();
    format!("shortened{hint}")
}

/// Returns the last error or warning of a command, with its hint: it says what to do.
fn advice(messages: &[String]) -> Option<String> {
    let starts = |line: &String| line.starts_with("error:") || line.starts_with("warning:");
    let start = messages.iter().rposition(starts)?;
    Some(last(&messages[start..]))
}

/// Returns the warnings of a command that succeeded, with their hints.
fn warnings(messages: &[String]) -> Option<String> {
    let mut is_warning = false;
    let lines = messages.iter().map(String::as_str).filter(|line| {
        is_warning = line.starts_with("warning:") || is_warning && line.trim_start().starts_with("hint:");
        is_warning
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some(text)
}

/// Returns the messages of a command that printed no result. A command that was killed has printed no error either.
fn without_result(effect: Effect, finished: &Finished) -> String {
    let messages = last(&finished.messages);
    if !finished.is_killed {
        return messages;
    }
    let cause = match effect {
        Effect::Drives => {
            "longhaul was killed before the run finished; the run may be orphaned: call `status`, then `recover`"
        }
        Effect::Inspects | Effect::Follows | Effect::Stops => "longhaul was killed; repeat the call",
    };
    format!("{cause}\n{messages}").trim_end().to_owned()
}

fn last(messages: &[String]) -> String {
    let text = messages.join("\n");
    shorten_text(&text, true).map(str::to_owned).unwrap_or(text)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("longhaul", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.listed.clone()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(self.call(call, &context).await.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(reports::list(&self.ceilings)?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![reports::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(reports::read(&self.ceilings, &request.uri, &self.client, &context).await?.into())
    }
}

#[cfg(test)]
mod tests;
