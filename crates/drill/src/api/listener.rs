//! The listening socket: it can be closed for a while, so that connections are refused, and opened again on the same
//! port; and single connections can be reset. It knows nothing of requests.

use std::net::{Shutdown, SocketAddr, TcpStream as Socket};
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};
use std::time::Duration;
use std::{future, io};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time;

/// Pause before another try at a port that is momentarily not to be had, or after a failed accept.
const AGAIN: Duration = Duration::from_millis(20);

/// The client's end of one connection, to end it roughly.
#[derive(Debug, Clone)]
pub(super) struct ClientConnection(Arc<Socket>);

impl ClientConnection {
    /// From now on closing the connection sends a reset (RST) and discards what is unsent.
    pub(super) fn reset_on_close(&self) {
        // A connection that is gone already needs no reset.
        let _ = rustix::net::sockopt::set_socket_linger(&*self.0, Some(Duration::ZERO));
    }
}

impl Connected<IncomingStream<'_, FaultyListener>> for ClientConnection {
    fn connect_info(stream: IncomingStream<'_, FaultyListener>) -> Self {
        stream.remote_addr().clone()
    }
}

/// Tells a doorway to refuse connections for a while.
#[derive(Debug, Clone)]
pub(super) struct ListenerControl(mpsc::UnboundedSender<Duration>);

impl ListenerControl {
    /// Closes the door and ends every open connection.
    pub(super) fn close_for(&self, lasting: Duration) {
        // The doorway is gone only when the API is, and then every connection is refused anyway.
        let _ = self.0.send(lasting);
    }
}

/// The listening socket.
#[derive(Debug)]
pub(super) struct FaultyListener {
    listener: Option<TcpListener>,
    address: SocketAddr,
    orders: mpsc::UnboundedReceiver<Duration>,
    callers: Vec<Weak<Socket>>,
}

impl FaultyListener {
    /// Binds a free port of 127.0.0.1.
    pub(super) async fn open() -> io::Result<(Self, ListenerControl)> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (sender, orders) = mpsc::unbounded_channel();
        Ok((Self { listener: Some(listener), address, orders, callers: Vec::new() }, ListenerControl(sender)))
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    async fn close_for(&mut self, lasting: Duration) {
        self.listener = None;
        self.end_connections();
        time::sleep(lasting).await;
        while self.listener.is_none() {
            match TcpListener::bind(self.address).await {
                Ok(listener) => self.listener = Some(listener),
                Err(_) => time::sleep(AGAIN).await,
            }
        }
    }

    fn end_connections(&mut self) {
        for socket in self.callers.drain(..).filter_map(|caller| caller.upgrade()) {
            // It may have been ended by the client a moment ago.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn admit(&mut self, stream: TcpStream) -> io::Result<(TcpStream, ClientConnection)> {
        stream.set_nodelay(true)?;
        let socket = Arc::new(Socket::from(stream.as_fd().try_clone_to_owned()?));
        self.callers.retain(|caller| caller.strong_count() > 0);
        self.callers.push(Arc::downgrade(&socket));
        Ok((stream, ClientConnection(socket)))
    }
}

impl Drop for FaultyListener {
    fn drop(&mut self) {
        self.end_connections();
    }
}

impl Listener for FaultyListener {
    type Io = TcpStream;
    type Addr = ClientConnection;

    async fn accept(&mut self) -> (TcpStream, ClientConnection) {
        loop {
            let accepted = async {
                match &self.listener {
                    Some(listener) => listener.accept().await,
                    None => future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(lasting) = self.orders.recv() => self.close_for(lasting).await,
                accepted = accepted => {
                    if let Ok((stream, _)) = accepted && let Ok(admitted) = self.admit(stream) {
                        return admitted;
                    }
                    time::sleep(AGAIN).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<ClientConnection> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}
