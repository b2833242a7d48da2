//! Sends a planned response event by event, logs what was sent, and detects when the client disconnects.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use futures_core::Stream;
use tokio::sync::mpsc;
use tokio::time;

use super::listener::ClientConnection;
use super::scripted_message::{ScriptedMessage, SseEvent};
use super::send_plan::{READ_GRACE, SendStep};
use super::state::{ApiState, ParsedRequest};

/// The pause between two pings: that of the real API, scaled to a drill.
const PING_EVERY: Duration = Duration::from_millis(500);

type Piece = Result<Bytes, io::Error>;

/// The body of a streamed response.
struct BodyStream(mpsc::Receiver<Piece>);

impl Stream for BodyStream {
    type Item = Piece;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.0.poll_recv(context)
    }
}

/// The message to send, and its receiver.
pub(super) struct Sender {
    pub(super) state: Arc<ApiState>,
    pub(super) caller: ClientConnection,
    pub(super) requests: Arc<ParsedRequest>,
    pub(super) answer: ScriptedMessage,
}

/// Starts sending and returns the body that carries the response.
pub(super) fn start(sending: Sender, steps: Vec<SendStep>) -> Body {
    // The channel holds one event, so the log is at most one event ahead of the connection.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(play(sending, steps, sender));
    Body::from_stream(BodyStream(receiver))
}

async fn play(sending: Sender, steps: Vec<SendStep>, sender: mpsc::Sender<Piece>) {
    let Sender { state, caller, requests: request, answer } = sending;
    let turn = request.position.turn;
    let mut bill = None;
    let mut chars = 0;
    for step in steps {
        let alive = match step {
            SendStep::Send(event) => {
                let sent = sender.send(Ok(Bytes::from(event.wire()))).await.is_ok();
                if sent {
                    chars += event.chars;
                    if event.name == "message_start" {
                        bill = Some(state.bill(&request, &answer));
                    }
                    if let Some(bill) = bill {
                        state.sent(bill, answer.output_sent(chars), event.name == "message_delta");
                    }
                }
                sent
            }
            SendStep::Wait(lasting) => wait(&sender, lasting).await,
            SendStep::Ping(lasting) => ping(&sender, lasting).await,
            SendStep::Announce(point, signal) => {
                state.announce(turn, point, signal);
                true
            }
            SendStep::AnnounceLater(point, signal, after) => {
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    time::sleep(after).await;
                    state.announce(turn, point, signal);
                });
                true
            }
            SendStep::Drop => fail(&sender).await,
            SendStep::Reset => {
                caller.reset_on_close();
                fail(&sender).await
            }
        };
        if !alive {
            return;
        }
    }
}

/// Waits. Returns `false` if the client disconnects meanwhile.
async fn wait(sender: &mpsc::Sender<Piece>, lasting: Duration) -> bool {
    tokio::select! {
        () = sender.closed() => false,
        () = time::sleep(lasting) => true,
    }
}

async fn ping(sender: &mpsc::Sender<Piece>, lasting: Duration) -> bool {
    let end = Instant::now() + lasting;
    let wire = Bytes::from(SseEvent::ping().wire());
    while Instant::now() < end {
        if sender.send(Ok(wire.clone())).await.is_err() || !wait(sender, PING_EVERY).await {
            return false;
        }
    }
    true
}

/// Ends the connection without the last chunk. Always returns `false`, because nothing can follow.
async fn fail(sender: &mpsc::Sender<Piece>) -> bool {
    // An agent that receives the end together with the start drops both, and has no usage to account for.
    time::sleep(READ_GRACE).await;
    let _ = sender.send(Err(io::Error::from(io::ErrorKind::ConnectionAborted))).await;
    false
}
