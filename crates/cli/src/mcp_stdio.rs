//! Serves MCP on stdin and stdout, until stdin ends. Stdout is reserved for the protocol.

use crate::failure::{Failure, OrFailure};
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ServerHandler, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves one client. It is wrong usage if the first message is no handshake. Longer lines are skipped. An error message
/// names the server, such as "the tools of runs", and gives a hint to a person who started the command.
pub async fn serve(
    handler: impl ServerHandler,
    (input, output): (impl AsyncRead + Send + Unpin + 'static, impl AsyncWrite + Send + Unpin + 'static),
    line_bytes_max: usize,
    name: &str,
    hint: &str,
) -> Result<(), Failure> {
    let transport = AsyncRwTransport::new(input, output).with_max_line_length(line_bytes_max);
    let action = format!("cannot serve {name}");
    match handler.serve(transport).await {
        Ok(serving) => serving.waiting().await.map(drop).or_usage(action, hint),
        // The client closed the connection before it used a tool.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
            Err("the first message is not an MCP handshake").or_usage(action, hint)
        }
        Err(error) => Err(error).or_usage(action, hint),
    }
}
