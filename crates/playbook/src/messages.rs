//! The Messages API: one question, one answer, nothing streamed. A request is made once; whether it is made again is for
//! others to decide ([`longhaul_core::Call`]), and nothing below repeats one either.

mod error;
mod retry_after;
mod wire;

pub use error::{MessagesError, SetupError};

use crate::settings::Credential;
use longhaul_core::{Moment, Span, Tokens};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Client, Response, StatusCode, Url, redirect, retry};
use std::error::Error;
use std::fmt;
use tokio::time;

/// The version of the API that is spoken.
const VERSION: &str = "2023-06-01";
/// How long an answer may be, in tokens. That of the ACE playbook hooks; a longer one is no small playbook.
pub const ANSWER_TOKENS_MAX: u64 = 4_096;
/// What Claude Code writes behind the name of a model for its longer context. No such model is known to the API, which is
/// told by a header of this value.
const LONG_CONTEXT: &str = "[1m]";
const LONG_CONTEXT_BETA: &str = "context-1m-2025-08-07";
// An answer of so many tokens has some 20 kB. Whoever sends more is not the API.
const ANSWER_BYTES_MAX: usize = 4 << 20;
// What the API says about an error is a line.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// A client of one API.
#[derive(Clone)]
pub struct MessagesClient {
    client: Client,
    url: Url,
    headers: HeaderMap,
    /// What no text may hold.
    secret: String,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// All text of it.
    pub text: String,
    /// The model that gave it, by its own name for itself.
    pub model: String,
    /// What it used.
    pub tokens: Tokens,
    /// Why it ends.
    pub end: AnswerStop,
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStop {
    /// The model had said all.
    Whole,
    /// It had as many tokens as it may have.
    Truncated,
    /// The model will not answer this.
    Refused,
}

impl MessagesClient {
    /// A client of the API at this address. The variables for proxies that `curl` has are heeded.
    ///
    /// # Errors
    /// [`SetupError`]: then no request can be made.
    pub fn new(base_url: &str, credential: &Credential) -> Result<MessagesClient, SetupError> {
        let url = Url::parse(base_url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let mut url = url.ok_or(SetupError::Address)?;
        url.set_path(&format!("{}/v1/messages", url.path().trim_end_matches('/')));
        let (name, value, secret) = match credential {
            Credential::Key(key) => (HeaderName::from_static("x-api-key"), key.clone(), key),
            Credential::Token(token) => (AUTHORIZATION, format!("Bearer {token}"), token),
        };
        let mut value = HeaderValue::try_from(value).map_err(|_| SetupError::Credential)?;
        value.set_sensitive(true);
        let headers = HeaderMap::from_iter([
            (name, value),
            (HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION)),
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (USER_AGENT, HeaderValue::from_static(concat!("longhaul/", env!("CARGO_PKG_VERSION")))),
        ]);
        // Of the two that are to be had, the one that needs no C++ and no assembler to be built. Another may be there already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            // A key is for one host alone.
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            // A connection that was kept may have been closed meanwhile: who finds it so sends the request again.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| SetupError::Tls(cause_of(&error)))?;
        Ok(MessagesClient { client, url, headers, secret: secret.clone() })
    }

    /// Asks once. `timeout` is for all of it, to the last byte of the answer; `now` is what dates in the answer are after.
    ///
    /// # Errors
    /// [`MessagesError`]; it never says what the credential is.
    pub async fn ask(
        &self,
        model: &str,
        prompt: &str,
        timeout: Span,
        now: Moment,
    ) -> Result<Answer, MessagesError> {
        match time::timeout(timeout.to_std(), self.exchange(model, prompt, now)).await {
            Ok(answered) => answered.map_err(|error| error.redacted(&self.secret)),
            Err(_) => Err(MessagesError::Timeout { timeout }),
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
            // The status says enough if the rest does not come.
            let body = self.body(response, REFUSAL_BYTES_MAX).await.unwrap_or_default();
            return Err(error::refused(status.as_u16(), &body, retry_after));
        }
        let body = self.body(response, ANSWER_BYTES_MAX).await?;
        wire::answer(&body).map_err(|cause| MessagesError::Validation { cause })
    }

    /// The beginning of what was answered; one byte more than may be, if there is more.
    async fn body(&self, mut response: Response, bytes_max: usize) -> Result<Vec<u8>, MessagesError> {
        let mut body = Vec::new();
        while body.len() <= bytes_max {
            let Some(piece) = response.chunk().await.map_err(|error| self.unreachable(&error))? else {
                break;
            };
            body.extend_from_slice(&piece[..piece.len().min(bytes_max + 1 - body.len())]);
        }
        Ok(body)
    }

    /// A failure of the connection, which names the host and nothing else of the address: that may hold a password.
    fn unreachable(&self, error: &reqwest::Error) -> MessagesError {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        MessagesError::Connection { to: format!("{host}{port}"), cause: cause_of(error) }
    }
}

/// What is at the root of an error: what stands around it repeats the address.
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
