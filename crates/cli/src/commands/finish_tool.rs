//! `longhaul finish-tool`: an MCP server with a single tool, by which an agent claims that its work is done.
//! Not for people.
//!
//! The agent starts it. It exits when its input ends, and stores nothing: the call appears in the agent's
//! stream, where the supervisor reads it.

use crate::failure::Failure;
use crate::{mcp_stdio, runtime};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};

pub const SUBCOMMAND: &str = "finish-tool";

const NAME: &str = "finish";
const DESCRIPTION: &str = "Call this when the whole task is done and verified. You will be asked once to confirm. Do not call it to report progress or ask a question; while work remains, continue.";
const ANSWER: &str = "Recorded. You will be asked once to confirm that the work is done.";

// A call has a name and a few sentences. Longer lines are skipped.
const LINE_BYTES_MAX: usize = 1 << 20;

pub fn finish_tool() -> Result<u8, Failure> {
    let hint = "agents start this command; there is no need to run it";
    let (stdio, name) = (rmcp::transport::stdio(), "the tool finish");
    runtime::new()?.block_on(mcp_stdio::serve(FinishTool, stdio, LINE_BYTES_MAX, name, hint)).map(|()| 0)
}

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
    // A read-only tool may be called in every permission mode.
    Tool::new(NAME, DESCRIPTION, schema)
        .with_annotations(ToolAnnotations::new().read_only(true).idempotent(true).open_world(false))
}

#[cfg(test)]
mod tests;
