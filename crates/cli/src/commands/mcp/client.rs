//! Notices that the client has closed its end of the connection. The protocol library cancels the open requests then, as
//! if the client had cancelled each of them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// The client of a server.
pub struct Client {
    has_disconnected: watch::Receiver<bool>,
}

impl Client {
    /// Returns the client that writes this input, and the input to serve.
    pub fn new<R>(input: R) -> (Client, ClientInput<R>) {
        let (sender, has_disconnected) = watch::channel(false);
        (Client { has_disconnected }, ClientInput { input, has_disconnected: sender })
    }

    pub async fn disconnected(&self) {
        // An error means that the input is gone, too.
        let _ = self.has_disconnected.clone().wait_for(|has_disconnected| *has_disconnected).await;
    }
}

/// The input from a client.
pub struct ClientInput<R> {
    input: R,
    has_disconnected: watch::Sender<bool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for ClientInput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.input).poll_read(context, buffer);
        if matches!(&result, Poll::Ready(read) if read.is_err() || buffer.filled().len() == before) {
            self.has_disconnected.send_replace(true);
        }
        result
    }
}
