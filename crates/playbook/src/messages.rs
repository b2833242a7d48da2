//! A client of the Messages API: one question, one answer, without streaming. It never retries a request; its
//! caller decides with [`longhaul_core::ApiCall`].

mod error;
mod retry_after;
mod wire;

pub use error::MessagesError;

use crate::settings::Credential;
use longhaul_core::{Moment, Span, Tokens};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Client, Response, StatusCode, Url, redirect, retry};
use std::error::Error;
use std::fmt;
use tokio::time;

const VERSION: &str = "2023-06-01";
/// Maximum length of an answer, in tokens. It is that of the ACE playbook hooks; a longer answer would not
/// describe a small playbook.
pub const ANSWER_TOKENS_MAX: u64 = 4_096;
/// Suffix that Claude Code adds to the name of a model for its longer context. The API knows no such model
/// and expects this header value instead.
pub const LONG_CONTEXT: &str = "[1m]";
const LONG_CONTEXT_BETA: &str = "context-1m-2025-08-07";
// An answer of the maximum length has about 20 kB. A server that sends more than this is not the API.
const ANSWER_BYTES_MAX: usize = 4 << 20;
// The API's error messages are one line.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// A client of one API.
#[derive(Clone)]
pub struct MessagesClient {
    client: Client,
    url: Url,
    headers: HeaderMap,
    /// Credential, which is removed from all texts.
    secret: String,
}

/// An answer of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    pub model: String,
    pub tokens: Tokens,
    /// Whether the model refused to answer.
    pub is_refused: bool,
}

impl MessagesClient {
    /// Creates a client of the API at this address. It uses the same proxy variables as `curl`.
    ///
    /// # Errors
    /// Returns why no request can be made, and what the user can do about it.
    pub fn new(base_url: &str, credential: &Credential) -> Result<MessagesClient, String> {
        let url = Url::parse(base_url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let mut url = url.ok_or(
            "cannot use the address of the API: it is not a URL that begins with https:// or http://: check AGENTIC_CONTEXT_BASE_URL and ANTHROPIC_BASE_URL",
        )?;
        url.set_path(&format!("{}/v1/messages", url.path().trim_end_matches('/')));
        let (name, value, secret) = match credential {
            Credential::Key(key) => (HeaderName::from_static("x-api-key"), key.clone(), key),
            Credential::Token(token) => (AUTHORIZATION, format!("Bearer {token}"), token),
        };
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            "cannot use the API key: it contains characters that no key has: check AGENTIC_CONTEXT_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_API_KEY for line breaks"
        })?;
        value.set_sensitive(true);
        let headers = HeaderMap::from_iter([
            (name, value),
            (HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION)),
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (USER_AGENT, HeaderValue::from_static(concat!("longhaul/", env!("CARGO_PKG_VERSION")))),
        ]);
        // Of the two providers, this one needs no C++ compiler and no assembler. The call fails if a provider
        // is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            // A redirect could send the key to another host.
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            // A reused connection may have been closed in the meantime, and the client would then repeat the
            // request.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| {
                let cause = cause_of(&error);
                format!("cannot set up TLS: {cause}: check that the certificates of this system are installed (`ca-certificates`)")
            })?;
        Ok(MessagesClient { client, url, headers, secret: secret.clone() })
    }

    /// Sends one question. `timeout` covers everything up to the last byte of the answer. `now` is the base
    /// for dates in the response.
    ///
    /// # Errors
    /// Returns [`MessagesError`] if there is no answer. It never contains the credential.
    pub async fn ask(
        &self,
        model: &str,
        prompt: &str,
        timeout: Span,
        now: Moment,
    ) -> Result<Answer, MessagesError> {
        match time::timeout(timeout.to_std(), self.exchange(model, prompt, now)).await {
            Ok(answered) => answered.map_err(|error| error.redacted(&self.secret)),
            Err(_) => Err(MessagesError::timeout(timeout)),
        }
    }

    async fn exchange(&self, model: &str, prompt: &str, now: Moment) -> Result<Answer, MessagesError> {
        let (name, beta) = match model.strip_suffix(LONG_CONTEXT) {
            Some(name) => (name, Some(LONG_CONTEXT_BETA)),
            None => (model, None),
        };
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let request = beta.iter().fold(request, |request, beta| request.header("anthropic-beta", *beta));
        let sent = request.body(wire::request(name, prompt)).send().await;
        let response = sent.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status != StatusCode::OK {
            let retry_after = retry_after::retry_after(response.headers(), now);
            // The status is enough if the body fails.
            let body = self.body(response, REFUSAL_BYTES_MAX).await.unwrap_or_default();
            return Err(MessagesError::status(status.as_u16(), &body, retry_after));
        }
        let body = self.body(response, ANSWER_BYTES_MAX).await?;
        wire::answer(&body).map_err(|cause| MessagesError::invalid_response(&cause))
    }

    /// Returns the start of the body, and one byte more than the limit if the body is longer.
    async fn body(&self, mut response: Response, bytes_max: usize) -> Result<Vec<u8>, MessagesError> {
        let mut body = Vec::new();
        while body.len() <= bytes_max {
            let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? else {
                break;
            };
            body.extend_from_slice(&chunk[..chunk.len().min(bytes_max + 1 - body.len())]);
        }
        Ok(body)
    }

    /// Creates a connection error that names only the host, because the address may contain a password.
    fn unreachable(&self, error: &reqwest::Error) -> MessagesError {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        MessagesError::connection(&format!("{host}{port}"), &cause_of(error))
    }
}

/// Returns the root cause of an error. The outer errors repeat the address.
fn cause_of(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if cause.is::<reqwest::Error>() { "the request could not be sent".to_owned() } else { cause.to_string() }
}

impl fmt::Debug for MessagesClient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Messages").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
