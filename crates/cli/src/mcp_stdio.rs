//! Serves MCP on stdin and stdout, until stdin ends. Stdout is reserved for the protocol.

use crate::failure::Failure;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ServerHandler, ServiceExt};
use std::fmt::Display;
use tokio::io::{AsyncRead, AsyncWrite};

/// A server that a client starts.
pub struct McpService<H> {
    pub handler: H,
    /// Description in an error message, such as "the tools of runs".
    pub name: &'static str,
    /// Advice for a person who started the command.
    pub hint: &'static str,
    /// Longer messages are skipped, in bytes.
    pub line_bytes_max: usize,
}

impl<H: ServerHandler> McpService<H> {
    /// Serves one client. It is wrong usage if the first message is no handshake.
    pub async fn serve<R, W>(self, input: R, output: W) -> Result<(), Failure>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let McpService { handler, name, hint, line_bytes_max } = self;
        let failure =
            |error: &dyn Display| Err(Failure::usage(format!("cannot serve {name}: {error}"), hint));
        let transport = AsyncRwTransport::new(input, output).with_max_line_length(line_bytes_max);
        match handler.serve(transport).await {
            Ok(serving) => serving.waiting().await.map(|_| ()).or_else(|error| failure(&error)),
            // The client closed the connection before it used a tool.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
                failure(&"the first message is not an MCP handshake")
            }
            Err(error) => failure(&error),
        }
    }
}
