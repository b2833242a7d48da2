//! Sends HTTP requests on the runtime of this crate. The exporters run on threads without a runtime.

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use std::time::Duration;
use tokio::runtime::Handle;

/// An HTTP client that follows no redirect, because a request may carry a key for one host only.
#[derive(Debug)]
pub(crate) struct Client {
    client: reqwest::Client,
    runtime: Handle,
}

impl Client {
    /// Creates a client on `runtime` with this timeout for each request. The exporter limits only its
    /// retries.
    pub(crate) fn new(runtime: Handle, timeout: Duration) -> Result<Client, reqwest::Error> {
        // Of the two available providers, this one builds without C++ and an assembler. Installing it fails
        // if another provider is already installed, which is fine.
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
