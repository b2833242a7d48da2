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

use super::answer::{Answer, SseEvent};
use super::doorway::Caller;
use super::plan::{Step, TAKE_IN};
use super::stage::{Asked, Stage};

/// The pause between two pings: as long as the API's own, scaled to a drill.
const PING_EVERY: Duration = Duration::from_millis(500);

type Piece = Result<Bytes, io::Error>;

/// The body of a streamed answer.
struct Pieces(mpsc::Receiver<Piece>);

impl Stream for Pieces {
    type Item = Piece;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.0.poll_recv(context)
    }
}

/// Which message is being sent, and for whom.
pub(super) struct Playing {
    pub(super) stage: Arc<Stage>,
    pub(super) caller: Caller,
    pub(super) asked: Arc<Asked>,
    pub(super) answer: Answer,
}

/// Starts sending and returns the body to send from.
pub(super) fn start(playing: Playing, steps: Vec<Step>) -> Body {
    // A channel of one: what has left it is what the connection took, give or take one event.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(play(playing, steps, sender));
    Body::from_stream(Pieces(receiver))
}

async fn play(playing: Playing, steps: Vec<Step>, sender: mpsc::Sender<Piece>) {
    let Playing { stage, caller, asked, answer } = playing;
    let turn = asked.place.turn;
    let mut bill = None;
    let mut chars = 0;
    for step in steps {
        let alive = match step {
            Step::Send(event) => {
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
            Step::Wait(lasting) => wait(&sender, lasting).await,
            Step::Ping(lasting) => ping(&sender, lasting).await,
            Step::Announce(at, signal) => {
                stage.announce(turn, at, signal);
                true
            }
            Step::AnnounceLater(at, signal, after) => {
                let stage = Arc::clone(&stage);
                tokio::spawn(async move {
                    time::sleep(after).await;
                    stage.announce(turn, at, signal);
                });
                true
            }
            Step::Drop => fail(&sender).await,
            Step::Reset => {
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
    time::sleep(TAKE_IN).await;
    let _ = sender.send(Err(io::Error::from(io::ErrorKind::ConnectionAborted))).await;
    false
}
