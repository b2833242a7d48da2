//! How HTTP requests are made: on the runtime of this crate, whoever waits for them. The exporters wait on threads of their own,
//! which have none.

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use std::time::Duration;
use tokio::runtime::Handle;

/// Makes requests, and follows no redirect: what is sent may carry a key that is for one host alone.
#[derive(Debug)]
pub(crate) struct Client {
    client: reqwest::Client,
    runtime: Handle,
}

impl Client {
    /// One that works on `runtime`, and gives each request so long: the exporter bounds only its retries.
    ///
    /// # Errors
    /// What the library says if there is no use of TLS here.
    pub(crate) fn new(runtime: Handle, timeout: Duration) -> Result<Client, reqwest::Error> {
        // Of the two that are to be had, the one that needs no C++ and no assembler to be built. Another may be there already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(timeout).redirect(reqwest::redirect::Policy::none());
        Ok(Client { client: client.build()?, runtime })
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        self.runtime.spawn(async move { client.send_bytes(request).await }).await?
    }
}
