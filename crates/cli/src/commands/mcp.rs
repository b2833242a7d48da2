//! `longhaul mcp`: offers the commands of this program to an agent as MCP tools. A tool call is a call of this program,
//! so that a tool and its command never differ.
//!
//! The server keeps no state of runs. A client that disconnects leaves its runs to their supervisors.

mod arguments;
mod call;
mod ceilings;
mod client;
mod install;
mod reports;
mod served;
mod server;
mod shorten;
mod tools;

#[cfg(test)]
pub use install::McpInstallOutput;

use crate::args::{CeilingArgs, GlobalArgs, McpArgs, McpCommand};
use crate::failure::Failure;
use crate::{mcp_stdio, runtime};
use ceilings::Ceilings;
use client::Client;
use server::Server;

// A call may contain a long prompt.
const LINE_BYTES_MAX: usize = 16 << 20;

pub fn mcp(global: &GlobalArgs, args: &McpArgs) -> Result<u8, Failure> {
    match &args.command {
        Some(McpCommand::Install(args)) => install::install(global, args),
        None => serve(&args.ceilings),
    }
}

fn serve(args: &CeilingArgs) -> Result<u8, Failure> {
    let (stdin, stdout) = rmcp::transport::stdio();
    let (client, stdin) = Client::new(stdin);
    let server = Server::new(Ceilings::new(args)?, client);
    let hint = "agents start this command: `longhaul mcp install --client claude-code` prints how";
    let runtime = runtime::new()?;
    let served = runtime.block_on(mcp_stdio::serve(server, (stdin, stdout), LINE_BYTES_MAX, "runs", hint));
    // Reading stdin blocks a thread of the runtime until the next message.
    runtime.shutdown_background();
    served.map(|()| 0)
}
