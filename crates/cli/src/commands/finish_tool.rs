//! `longhaul finish-tool`: serves the one tool by which an agent says that its work is finished; no person types it.
//!
//! It is started by the agent, ends with its input and keeps nothing: that the tool was called stands in the
//! agent's own stream, where whoever supervises the run reads it.

use crate::failure::Failure;
use crate::runtime;
use longhaul_agent::Program;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use std::env;
use std::fmt::Display;
use tokio::io::{AsyncRead, AsyncWrite};

/// The hidden subcommand.
const SUBCOMMAND: &str = "finish-tool";

const NAME: &str = "finish";
const DESCRIPTION: &str = "Call this when the whole task is done and checked; you will be asked once whether you stand \
    by it. Do not call it to report progress or to ask a question: as long as anything of the task is left, go on.";
const ANSWER: &str = "Noted. You will be asked once whether the work is really finished.";

// A call is a name and a few sentences. What is longer is no call, and is passed over.
const LINE_BYTES_MAX: usize = 1 << 20;

/// This program as who serves the tool; nothing where it does not know its own file.
pub fn program() -> Option<Program> {
    let path = env::current_exe().ok()?;
    Some(Program { path, leading_args: vec![SUBCOMMAND.to_owned()] })
}

/// Carries out the command and returns its exit code.
pub fn finish_tool() -> Result<u8, Failure> {
    let (stdin, stdout) = rmcp::transport::stdio();
    runtime::new()?.block_on(serve(stdin, stdout)).map(|()| 0)
}

/// Serves until the input ends.
async fn serve<R, W>(input: R, output: W) -> Result<(), Failure>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = AsyncRwTransport::new(input, output).with_max_line_length(LINE_BYTES_MAX);
    match FinishTool.serve(transport).await {
        Ok(serving) => serving.waiting().await.map(|_| ()).map_err(|error| refusal(&error)),
        // Whoever started it does not want it any more.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
            Err(refusal(&"the first message is none that MCP begins with"))
        }
        Err(error) => Err(refusal(&error)),
    }
}

/// Wrong usage, whatever it is: nothing but the protocol may be said on stdout.
fn refusal(error: &dyn Display) -> Failure {
    Failure::usage(format!("serve the tool {NAME}: {error}"), "longhaul has agents start this by themselves")
}

/// The server. It has nothing to remember.
struct FinishTool;

impl ServerHandler for FinishTool {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("longhaul", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![tool()]))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if call.name != NAME {
            return Err(ErrorData::invalid_params(
                format!("there is no tool `{}`, only `{NAME}`", call.name),
                None,
            ));
        }
        Ok(CallToolResult::success(vec![ContentBlock::text(ANSWER)]).into())
    }
}

fn tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "summary": { "type": "string", "description": "What was done and how it was checked, in a few sentences" },
        },
        "additionalProperties": false,
    });
    let Value::Object(schema) = schema else { unreachable!("it is written as an object") };
    // A tool that only reads may be called in every permission mode.
    Tool::new(NAME, DESCRIPTION, schema)
        .with_annotations(ToolAnnotations::new().read_only(true).idempotent(true).open_world(false))
}

#[cfg(test)]
mod tests;
