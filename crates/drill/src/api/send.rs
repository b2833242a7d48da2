//! Sends a planned answer: one event after the other, keeping the account of what went out, and noticing when the
//! client leaves.

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

/// The pause between two pings: as long as the API's own, scaled to a drill.
const PING_EVERY: Duration = Duration::from_millis(500);

type Piece = Result<Bytes, io::Error>;

/// The body of a streamed answer.
struct BodyStream(mpsc::Receiver<Piece>);

impl Stream for BodyStream {
    type Item = Piece;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.0.poll_recv(context)
    }
}

/// Which message is being sent, and for whom.
pub(super) struct Sender {
    pub(super) stage: Arc<ApiState>,
    pub(super) caller: ClientConnection,
    pub(super) requests: Arc<ParsedRequest>,
    pub(super) answer: ScriptedMessage,
}

/// Starts sending and returns the body to send from.
pub(super) fn start(playing: Sender, steps: Vec<SendStep>) -> Body {
    // A channel of one: what has left it is what the connection took, give or take one event.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(play(playing, steps, sender));
    Body::from_stream(BodyStream(receiver))
}

async fn play(playing: Sender, steps: Vec<SendStep>, sender: mpsc::Sender<Piece>) {
    let Sender { stage, caller, requests: asked, answer } = playing;
    let turn = asked.position.turn;
    let mut bill = None;
    let mut chars = 0;
    for step in steps {
        let alive = match step {
            SendStep::Send(event) => {
                let sent = sender.send(Ok(Bytes::from(event.wire()))).await.is_ok();
                if sent {
                    chars += event.chars;
                    if event.name == "message_start" {
                        bill = Some(stage.bill(&asked, &answer));
                    }
                    if let Some(bill) = bill {
                        stage.sent(bill, answer.output_sent(chars), event.name == "message_delta");
                    }
                }
                sent
            }
            SendStep::Wait(lasting) => wait(&sender, lasting).await,
            SendStep::Ping(lasting) => ping(&sender, lasting).await,
            SendStep::Announce(at, signal) => {
                stage.announce(turn, at, signal);
                true
            }
            SendStep::AnnounceLater(at, signal, after) => {
                let stage = Arc::clone(&stage);
                tokio::spawn(async move {
                    time::sleep(after).await;
                    stage.announce(turn, at, signal);
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

/// Waits; false if the client left meanwhile.
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

/// Makes the connection end without the last chunk. Always false: nothing can follow.
async fn fail(sender: &mpsc::Sender<Piece>) -> bool {
    // An agent that learns of the end together with the beginning drops both, and has nothing to account for.
    time::sleep(READ_GRACE).await;
    let _ = sender.send(Err(io::Error::from(io::ErrorKind::ConnectionAborted))).await;
    false
}
