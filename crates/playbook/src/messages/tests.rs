//! Tests the client against a scripted API, byte by byte, and counts connections.

use super::{Answer, MessagesClient, MessagesError};
use crate::judge::RetryAdvice;
use crate::settings::Credential;
use expect_test::{Expect, expect};
use longhaul_core::{Fault, Moment, Span, Tokens};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const KEY: &str = "sk-ant-dummy-0123";
const PATIENCE: Span = Span::from_secs(20);

/// How the API treats a request.
#[derive(Clone)]
enum Response {
    /// Sends these bytes and closes the connection.
    Answer(Vec<u8>),
    /// Sends these bytes and leaves the connection open.
    Begin(Vec<u8>),
}

/// Starts an API that treats each connection the same. Returns its address and the requests that it receives.
async fn serve(response: Response) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback can be bound");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let request = read(&mut stream).await;
            seen.lock().expect("no test panics with it").push(request);
            let (Response::Answer(bytes) | Response::Begin(bytes)) = &response;
            // The client may have disconnected.
            let _ = stream.write_all(bytes).await;
            if let Response::Begin(_) = &response {
                open.push(stream);
            }
        }
    });
    (url, requests)
}

/// The first byte of TLS.
const HANDSHAKE: u8 = 0x16;

/// Reads a whole request by its declared length, or the start of invalid data.
async fn read(stream: &mut TcpStream) -> String {
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; 65_536]);
    loop {
        let count = stream.read(&mut chunk).await.unwrap_or(0);
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let length = |head: &str| -> Option<usize> {
            head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
        };
        let is_whole =
            text.split_once("\r\n\r\n").is_some_and(|(head, body)| length(head) == Some(body.len()));
        if is_whole || count == 0 || bytes.first() == Some(&HANDSHAKE) {
            return text.into_owned();
        }
    }
}

fn http(head: &str, body: &str) -> Response {
    Response::Answer(format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes())
}

fn message(content: &str, stop_reason: &str) -> Response {
    let usage = r#"{"input_tokens":12,"output_tokens":3,"cache_read_input_tokens":4,"cache_creation_input_tokens":null}"#;
    let body = format!(
        r#"{{"id":"m","type":"message","role":"assistant","model":"claude-x-1","content":[{content}],"stop_reason":{stop_reason},"usage":{usage}}}"#
    );
    http("200 OK\r\ncontent-type: application/json", &body)
}

async fn ask_as(url: &str, model: &str, credential: Credential) -> Result<Answer, MessagesError> {
    let messages = MessagesClient::new(url, &credential).expect("the address and the key are sound");
    messages.ask(model, "What is \"to be\" learned?\nä", PATIENCE, Moment(0)).await
}

async fn ask(url: &str) -> Result<Answer, MessagesError> {
    ask_as(url, "claude-sonnet-4-5", Credential::Key(KEY.to_owned())).await
}

#[tokio::test]
async fn sends_expected_request() {
    let check = async |model: &str, credential: Credential, expected: Expect| {
        let (url, requests) = serve(message("", "null")).await;
        ask_as(&url, model, credential).await.expect("it is answered");
        let requests = requests.lock().expect("no test panics with it");
        let [request] = requests.as_slice() else { unreachable!("{requests:?}") };
        let host = url.trim_start_matches("http://");
        let request = request.replace(host, "HOST").replace(env!("CARGO_PKG_VERSION"), "VERSION");
        expected.assert_eq(&request.replace('\r', ""));
    };
    check(
        "claude-sonnet-4-5",
        Credential::Key(KEY.to_owned()),
        expect![[r#"
            POST /v1/messages HTTP/1.1
            x-api-key: sk-ant-dummy-0123
            anthropic-version: 2023-06-01
            content-type: application/json
            user-agent: longhaul/VERSION
            accept: */*
            host: HOST
            content-length: 119

            {"max_tokens":4096,"messages":[{"content":"What is \"to be\" learned?\nä","role":"user"}],"model":"claude-sonnet-4-5"}"#]],
    )
    .await;
    check("claude-opus-5[1m]", Credential::Token("sk-ant-oat-dummy".to_owned()), expect![[r#"
        POST /v1/messages HTTP/1.1
        authorization: Bearer sk-ant-oat-dummy
        anthropic-version: 2023-06-01
        content-type: application/json
        user-agent: longhaul/VERSION
        anthropic-beta: context-1m-2025-08-07
        accept: */*
        host: HOST
        content-length: 115

        {"max_tokens":4096,"messages":[{"content":"What is \"to be\" learned?\nä","role":"user"}],"model":"claude-opus-5"}"#]]).await;
}

#[tokio::test]
async fn joins_all_text_blocks() {
    let check = async |content: &str, stop_reason: &str, text: &str, is_refused: bool| {
        let (url, requests) = serve(message(content, stop_reason)).await;
        let tokens = Tokens { input: 12, output: 3, cache_read: 4, cache_write: 0 };
        let expected = Answer { text: text.to_owned(), model: "claude-x-1".to_owned(), tokens, is_refused };
        assert_eq!(ask(&url).await, Ok(expected), "{content}");
        assert_eq!(requests.lock().expect("no test panics with it").len(), 1);
    };
    let text_block = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    check("", "\"end_turn\"", "", false).await;
    check(&text_block("a"), "null", "a", false).await;
    let thinking = r#"{"type":"thinking","thinking":"hm","signature":"s"}"#;
    let blocks = [text_block("a"), thinking.to_owned(), text_block("b")].join(",");
    check(&blocks, "\"end_turn\"", "ab", false).await;
    check(&text_block("a"), "\"max_tokens\"", "a", false).await;
    check(&text_block("No."), "\"refusal\"", "No.", true).await;
}

/// Asks an API with this response and checks the error. There must be no second request.
async fn check(response: Response, expected: Expect) {
    let (url, requests) = serve(response).await;
    let error = ask(&url).await.expect_err("there is no answer");
    let host = url.trim_start_matches("http://");
    let description = format!("{}: {error} ({}, {:?})", error.class(), error.fault, error.retry_after);
    expected.assert_eq(&description.replace(host, "HOST"));
    assert_eq!(requests.lock().expect("no test panics with it").len(), 1, "it was asked again");
}

async fn check_http(status: &str, body: &str, expected: Expect) {
    check(http(status, body), expected).await;
}

#[tokio::test]
async fn reports_error_responses() {
    let refusal = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded\nfor now"}}"#;
    check_http(
        "529 ",
        refusal,
        expect!["OverloadedError: Error code: 529 - overloaded_error: Overloaded for now (overloaded, None)"],
    )
    .await;
    check_http(
        "429 \r\nretry-after: 3",
        "slow down",
        expect!["RateLimitError: Error code: 429 - it has no error message (rate_limited, Some(Span(3000)))"],
    )
    .await;
    check_http(
        "200 OK",
        "<html>Sign in</html>",
        expect!["APIResponseValidationError: Failed to parse response: it is not a message of the API (line 1, column 1) (network, None)"],
    )
    .await;
    check_http(
        "200 OK",
        "{}",
        expect!["APIResponseValidationError: Failed to parse response: it is not a message of the API (line 1, column 2) (network, None)"],
    )
    .await;
    check_http(
        "204 No Content",
        "",
        expect!["APIStatusError: Error code: 204 - it has no error message (network, None)"],
    )
    .await;
    // A redirect must not receive the key.
    check_http(
        "307 \r\nlocation: /elsewhere",
        "",
        expect!["APIStatusError: Error code: 307 - it has no error message (network, None)"],
    )
    .await;
}

#[tokio::test]
async fn broken_connection_is_not_retried() {
    // Before the first byte of the answer, and in the middle of it.
    let closed = "connection closed before message completed";
    for bytes in ["", "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"id\":"] {
        let (url, requests) = serve(Response::Answer(bytes.as_bytes().to_vec())).await;
        let error = ask(&url).await.expect_err("there is no answer");
        assert_eq!(error.class(), "APIConnectionError", "{error}");
        assert!(error.to_string().contains("Connection error: 127.0.0.1:"), "{error}");
        assert!(bytes.is_empty() == error.to_string().contains(closed), "{error}");
        assert_eq!(requests.lock().expect("no test panics with it").len(), 1, "it was asked again");
    }
    // A port without a server.
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback can be bound");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let error = ask(&format!("http://user:word@{address}/path")).await.expect_err("there is no answer");
    let message = error.to_string();
    assert!(
        message.starts_with(&format!("Connection error: {address}: ")) && message.contains("refused"),
        "{message}"
    );
    assert!(!message.contains("word"), "{message}");
}

#[tokio::test]
async fn sends_nothing_without_tls() {
    let (url, requests) = serve(http("200 OK", "{}")).await;
    let error = ask(&url.replace("http://", "https://")).await.expect_err("it speaks no TLS");
    assert_eq!(error.class(), "APIConnectionError", "{error}");
    let requests = requests.lock().expect("no test panics with it");
    assert!(requests.len() == 1 && !requests[0].contains(KEY), "{requests:?}");
}

#[tokio::test]
async fn timeout_covers_whole_answer() {
    for bytes in ["", "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"id\":"] {
        let (url, requests) = serve(Response::Begin(bytes.as_bytes().to_vec())).await;
        let messages = MessagesClient::new(&url, &Credential::Key(KEY.to_owned())).expect("they are sound");
        let result = messages.ask("claude-sonnet-4-5", "p", Span(300), Moment(0)).await;
        let error = result.expect_err("there is no answer");
        assert_eq!(
            (error.class(), error.to_string().as_str()),
            ("APITimeoutError", "Request timed out after 300ms")
        );
        assert_eq!(requests.lock().expect("no test panics with it").len(), 1);
    }
}

#[tokio::test]
async fn rejects_oversized_responses() {
    let endless =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{}", u64::MAX / 4, "x".repeat(5 << 20));
    check(
        Response::Begin(endless.into_bytes()),
        expect!["APIResponseValidationError: Failed to parse response: it is longer than 4194304 bytes (network, None)"],
    )
    .await;
    let endless = format!("HTTP/1.1 500 \r\ncontent-length: {}\r\n\r\n{}", u64::MAX / 4, "x".repeat(1 << 20));
    check(
        Response::Begin(endless.into_bytes()),
        expect!["InternalServerError: Error code: 500 - it has no error message (server_error, None)"],
    )
    .await;
}

#[tokio::test]
async fn messages_never_contain_key() {
    let body = format!(r#"{{"error":{{"type":"{KEY}","message":"the key {KEY} is no good"}}}}"#);
    let (url, _) = serve(http("401 ", &body)).await;
    let error = ask(&url).await.expect_err("it is refused");
    assert_eq!(error.to_string(), "Error code: 401 - …: the key … is no good");
    assert!(!format!("{error:?}").contains(KEY));
    // Truncation must not leave part of the key.
    for before in 0..320 {
        let sentence = format!("{} {KEY} {KEY}", "x".repeat(before));
        let body = serde_json::json!({"error": {"type": "e", "message": sentence}}).to_string();
        let message = MessagesError::status(401, body.as_bytes(), None).redacted(KEY).to_string();
        assert!(!message.contains(&KEY[..3]), "{message}");
        assert!(message.chars().count() < 330, "{message}");
    }
    let messages = MessagesClient::new(&url, &Credential::Key(KEY.to_owned())).expect("they are sound");
    assert!(!format!("{messages:?}").contains(KEY), "{messages:?}");
}

#[test]
fn rejects_invalid_settings() {
    let check = |url: &str, key: &str, expected: Expect| {
        let error =
            MessagesClient::new(url, &Credential::Key(key.to_owned())).expect_err("they are not sound");
        expected.assert_eq(&error);
    };
    for url in ["", "api.anthropic.com", "ftp://api", "http://", "/v1"] {
        check(
            url,
            KEY,
            expect![
                "cannot use the address of the API: it is not a URL that begins with https:// or http://: check AGENTIC_CONTEXT_BASE_URL and ANTHROPIC_BASE_URL"
            ],
        );
    }
    check(
        "https://api.anthropic.com",
        "sk\nant",
        expect![
            "cannot use the API key: it contains characters that no key has: check AGENTIC_CONTEXT_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_API_KEY for line breaks"
        ],
    );
}

#[test]
fn maps_status_to_fault_and_advice() {
    let check = |status: u16, sentence: &str, class: &str, fault: Fault, retry: RetryAdvice| {
        let body = format!(r#"{{"type":"error","error":{{"type":"e","message":"{sentence}"}}}}"#);
        let error = MessagesError::status(status, body.as_bytes(), None);
        let at = Some(Moment(5));
        let advice = RetryAdvice::after_fault(error.fault, at);
        assert_eq!((error.class(), error.fault, advice), (class, fault, retry), "{error}");
    };
    let later = RetryAdvice::Later(Some(Moment(5)));
    check(400, "messages: bad", "BadRequestError", Fault::BadRequest, RetryAdvice::Never);
    check(
        400,
        "prompt is too long: 208310 tokens > 200000",
        "BadRequestError",
        Fault::ContextFull,
        RetryAdvice::Never,
    );
    check(
        400,
        "Your credit balance is too low to access",
        "BadRequestError",
        Fault::Billing,
        RetryAdvice::NeedsPerson,
    );
    check(
        400,
        "This organization has been disabled.",
        "BadRequestError",
        Fault::Billing,
        RetryAdvice::NeedsPerson,
    );
    check(401, "", "AuthenticationError", Fault::Auth, RetryAdvice::NeedsPerson);
    check(402, "", "APIStatusError", Fault::Billing, RetryAdvice::NeedsPerson);
    check(403, "", "PermissionDeniedError", Fault::Auth, RetryAdvice::NeedsPerson);
    check(404, "model: x", "NotFoundError", Fault::ModelUnknown, RetryAdvice::NeedsPerson);
    check(408, "", "APIStatusError", Fault::ServerError, later);
    check(409, "", "ConflictError", Fault::ServerError, later);
    check(413, "", "RequestTooLargeError", Fault::ContextFull, RetryAdvice::Never);
    check(422, "", "UnprocessableEntityError", Fault::BadRequest, RetryAdvice::Never);
    check(429, "", "RateLimitError", Fault::RateLimited, later);
    check(500, "", "InternalServerError", Fault::ServerError, later);
    check(503, "", "InternalServerError", Fault::ServerError, later);
    check(529, "", "OverloadedError", Fault::Overloaded, later);
    // A sentence only matters for status 400.
    check(500, "Your credit balance is too low", "InternalServerError", Fault::ServerError, later);
}
