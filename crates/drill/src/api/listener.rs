//! Provides the listening socket. It can close for a while, so that connections are refused, and then reopen
//! on the same port. Single connections can be reset. It never inspects requests.

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

/// Pause before retrying a port that is temporarily unavailable, or after a failed accept.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
pub(super) struct ClientConnection(Arc<Socket>);

impl ClientConnection {
    /// Makes closing the connection send a reset (RST) and discard unsent data.
    pub(super) fn reset_on_close(&self) {
        // A closed connection needs no reset.
        let _ = rustix::net::sockopt::set_socket_linger(&*self.0, Some(Duration::ZERO));
    }
}

impl Connected<IncomingStream<'_, FaultyListener>> for ClientConnection {
    fn connect_info(stream: IncomingStream<'_, FaultyListener>) -> Self {
        stream.remote_addr().clone()
    }
}

#[derive(Debug)]
pub(super) struct FaultyListener {
    listener: Option<TcpListener>,
    address: SocketAddr,
    closures: mpsc::UnboundedReceiver<Duration>,
    clients: Vec<Weak<Socket>>,
}

impl FaultyListener {
    /// Binds a free port of 127.0.0.1. Each duration that is sent closes the listener for so long and ends every
    /// open connection.
    pub(super) async fn open() -> io::Result<(Self, mpsc::UnboundedSender<Duration>)> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (sender, closures) = mpsc::unbounded_channel();
        Ok((Self { listener: Some(listener), address, closures, clients: Vec::new() }, sender))
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    async fn close_for(&mut self, duration: Duration) {
        self.listener = None;
        self.end_connections();
        time::sleep(duration).await;
        while self.listener.is_none() {
            match TcpListener::bind(self.address).await {
                Ok(listener) => self.listener = Some(listener),
                Err(_) => time::sleep(RETRY_PAUSE).await,
            }
        }
    }

    fn end_connections(&mut self) {
        for socket in self.clients.drain(..).filter_map(|client| client.upgrade()) {
            // The client may have closed it a moment ago.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn register(&mut self, stream: TcpStream) -> io::Result<(TcpStream, ClientConnection)> {
        stream.set_nodelay(true)?;
        let socket = Arc::new(Socket::from(stream.as_fd().try_clone_to_owned()?));
        self.clients.retain(|client| client.strong_count() > 0);
        self.clients.push(Arc::downgrade(&socket));
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
            let accept = async {
                match &self.listener {
                    Some(listener) => listener.accept().await,
                    None => future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(duration) = self.closures.recv() => self.close_for(duration).await,
                result = accept => {
                    if let Ok((stream, _)) = result && let Ok(connection) = self.register(stream) {
                        return connection;
                    }
                    time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<ClientConnection> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}
