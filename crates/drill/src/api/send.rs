//! Sends a planned response event by event, logs what was sent, and detects when the client disconnects.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use tokio::sync::mpsc;
use tokio::time;
use tokio_stream::wrappers::ReceiverStream;

use super::listener::ClientConnection;
use super::scripted_message::{ScriptedMessage, SseEvent};
use super::send_plan::{READ_GRACE, SendStep};
use super::state::{ApiState, ParsedRequest};

/// The pause between two pings, scaled down from that of the real API.
const PING_EVERY: Duration = Duration::from_millis(500);

type Chunk = Result<Bytes, io::Error>;

/// The message to send, and the connection of its client.
pub(super) struct Sender {
    pub state: Arc<ApiState>,
    pub client: ClientConnection,
    pub request: Arc<ParsedRequest>,
    pub message: ScriptedMessage,
}

/// Starts sending and returns the body that carries the response.
pub(super) fn start(sender: Sender, steps: Vec<SendStep>) -> Body {
    // The channel holds one event, so the log is at most one event ahead of the connection.
    let (chunks, receiver) = mpsc::channel(1);
    tokio::spawn(send_steps(sender, steps, chunks));
    Body::from_stream(ReceiverStream::new(receiver))
}

async fn send_steps(sender: Sender, steps: Vec<SendStep>, chunks: mpsc::Sender<Chunk>) {
    let Sender { state, client, request, message } = sender;
    let mut bill = None;
    let mut chars = 0;
    for step in steps {
        let can_continue = match step {
            SendStep::Send(event) => {
                let is_sent = chunks.send(Ok(Bytes::from(event.wire()))).await.is_ok();
                if is_sent {
                    chars += event.chars;
                    if event.name() == "message_start" {
                        bill = Some(state.bill(&request, &message));
                    }
                    if let Some(bill) = bill {
                        state.record_sent(bill, message.output_sent(chars), event.name() == "message_delta");
                    }
                }
                is_sent
            }
            SendStep::Wait(duration) => wait(&chunks, duration).await,
            SendStep::Ping => ping(&chunks).await,
            SendStep::Announce(signal) => {
                state.announce(signal);
                true
            }
            SendStep::AnnounceLater(signal, after) => {
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    time::sleep(after).await;
                    state.announce(signal);
                });
                true
            }
            SendStep::Drop => end_connection(&chunks).await,
            SendStep::Reset => {
                client.reset_on_close();
                end_connection(&chunks).await
            }
        };
        if !can_continue {
            return;
        }
    }
}

/// Waits for this long. Returns `false` if the client disconnects meanwhile.
async fn wait(chunks: &mpsc::Sender<Chunk>, duration: Duration) -> bool {
    tokio::select! {
        () = chunks.closed() => false,
        () = time::sleep(duration) => true,
    }
}

/// Sends pings until the client disconnects. Always returns `false`, because nothing can follow.
async fn ping(chunks: &mpsc::Sender<Chunk>) -> bool {
    let wire = Bytes::from(SseEvent::ping().wire());
    while chunks.send(Ok(wire.clone())).await.is_ok() && wait(chunks, PING_EVERY).await {}
    false
}

/// Ends the connection without the last chunk. Always returns `false`, because nothing can follow.
async fn end_connection(chunks: &mpsc::Sender<Chunk>) -> bool {
    // An agent that receives the end together with the start discards both, and then reports no usage.
    time::sleep(READ_GRACE).await;
    let _ = chunks.send(Err(io::Error::from(io::ErrorKind::ConnectionAborted))).await;
    false
}
