//! Notification channels. Maps each channel to a program and its input. It never
//! starts the program.
//!
//! No channel, argument or log contains a secret: Slack's URL comes from an environment variable, and `curl`
//! reads it from its standard input.

use crate::notification::{Message, Notification};
use std::env;
use std::str::FromStr;

const NTFY_SERVER: &str = "https://ntfy.sh";
// Shorter than the 30 s timeout of a notification command, so that curl itself reports a server that does not
// answer.
const CURL_TIME_LIMIT_S: u32 = 20;

/// The destination of a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The desktop, through `notify-send` or `osascript`.
    Desktop,
    /// An ntfy topic, by its full URL.
    Ntfy(String),
    /// A Slack webhook, by the name of the variable that holds its URL.
    Slack(String),
    /// A user's command, which reads JSON.
    Command(String),
}

/// The reason why a text is no channel, or why a channel cannot be used in this environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The topic has other characters.
    #[error("an ntfy topic has only letters, digits, `-` and `_`")]
    InvalidTopic,
    /// The URL has no host or no topic.
    #[error("the URL has no host or no topic")]
    IncompleteUrl,
    /// The URL contains a password.
    #[error("the URL contains a password, which every process of this machine could read")]
    UrlWithPassword,
    /// The name of Slack's variable is none. It may be the secret itself, so no error repeats it.
    #[error("slack: takes the name of an environment variable, because the URL of a webhook is a secret")]
    InvalidVariable,
    /// Slack's variable is not set.
    #[error("the variable {0} is not set")]
    VariableNotSet(String),
    /// Slack's variable contains something else.
    #[error("the variable {0} does not contain a URL")]
    VariableWithoutUrl(String),
    /// The program that sends to ntfy and Slack is missing.
    #[error("`{CURL}` is not on PATH")]
    NoCurl,
    /// Both programs for the desktop are missing.
    #[error("neither `{}` nor `{}` is on PATH", DESKTOP[0], DESKTOP[1])]
    NoDesktop,
}

impl FromStr for Channel {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Channel, ChannelError> {
        match text.split_once(':') {
            None if text == "desktop" => Ok(Channel::Desktop),
            Some(("ntfy", topic)) => ntfy(topic),
            Some(("slack", variable)) => slack(variable),
            Some(("command", command)) => Ok(Channel::Command(command.to_owned())),
            Some(_) | None => Ok(Channel::Command(text.to_owned())),
        }
    }
}

fn ntfy(topic: &str) -> Result<Channel, ChannelError> {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\'));
    let is_topic = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    let Some(rest) = topic.strip_prefix("https://").or_else(|| topic.strip_prefix("http://")) else {
        return match is_topic(topic) {
            true => Ok(Channel::Ntfy(format!("{NTFY_SERVER}/{topic}"))),
            false => Err(ChannelError::InvalidTopic),
        };
    };
    match rest.split_once('/') {
        Some((host, _)) if host.contains('@') => Err(ChannelError::UrlWithPassword),
        Some((host, path)) if !host.is_empty() && is_topic(path) && is_plain(host) => {
            Ok(Channel::Ntfy(topic.to_owned()))
        }
        Some(_) | None => Err(ChannelError::IncompleteUrl),
    }
}

fn slack(variable: &str) -> Result<Channel, ChannelError> {
    let is_name = variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_name {
        true => Ok(Channel::Slack(variable.to_owned())),
        false => Err(ChannelError::InvalidVariable),
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) program: &'static str,
    pub(crate) args: Vec<String>,
    pub(crate) stdin: Vec<u8>,
}

impl Channel {
    /// Returns an error if this channel cannot be used in an environment with these variables.
    ///
    /// # Errors
    /// Returns an error if a program is not on `PATH`, or if Slack's variable does not contain a URL.
    pub fn check(&self, variable: impl Fn(&str) -> Option<String>) -> Result<(), ChannelError> {
        let has = |program: &str| {
            let path = variable("PATH").unwrap_or_default();
            env::split_paths(&path).any(|dir| dir.join(program).is_file())
        };
        match self {
            Channel::Command(_) => Ok(()),
            Channel::Desktop if DESKTOP.iter().any(|program| has(program)) => Ok(()),
            Channel::Desktop => Err(ChannelError::NoDesktop),
            Channel::Ntfy(_) | Channel::Slack(_) if !has(CURL) => Err(ChannelError::NoCurl),
            Channel::Ntfy(_) => Ok(()),
            Channel::Slack(name) => webhook(name, &variable).map(drop),
        }
    }

    /// Returns the program that delivers this notification.
    pub(crate) fn delivery(
        &self,
        notification: &Notification,
        project: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Delivery, ChannelError> {
        self.check(&variable)?;
        let message = notification.message(project);
        Ok(match self {
            Channel::Command(command) => Delivery {
                program: "/bin/sh",
                args: vec!["-c".to_owned(), command.clone()],
                stdin: notification.line(),
            },
            Channel::Desktop => desktop(&message, &variable("PATH").unwrap_or_default()),
            Channel::Ntfy(url) => {
                let priority = if message.is_urgent { "high" } else { "default" };
                let headers =
                    [format!("Title: {}", message.title), format!("Priority: {priority}"), TEXT.to_owned()];
                curl(url, &headers, &message.body)
            }
            Channel::Slack(name) => {
                let text = format!("*{}*\n{}", message.title, message.body);
                let body = serde_json::json!({ "text": text }).to_string();
                curl(&webhook(name, &variable)?, &[JSON.to_owned()], &body)
            }
        })
    }
}

const CURL: &str = "curl";
const DESKTOP: [&str; 2] = ["notify-send", "osascript"];
const TEXT: &str = "Content-Type: text/plain; charset=utf-8";
const JSON: &str = "Content-Type: application/json";

fn webhook(name: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String, ChannelError> {
    match variable(name) {
        Some(url) if url.starts_with("https://") || url.starts_with("http://") => Ok(url),
        Some(_) => Err(ChannelError::VariableWithoutUrl(name.to_owned())),
        None => Err(ChannelError::VariableNotSet(name.to_owned())),
    }
}

fn desktop(message: &Message, path: &str) -> Delivery {
    let Message { title, body, is_urgent } = message;
    if env::split_paths(path).any(|dir| dir.join(DESKTOP[0]).is_file()) {
        let urgency = if *is_urgent { "critical" } else { "normal" };
        let args = ["--app-name=longhaul", &format!("--urgency={urgency}"), "--", title, body];
        return Delivery { program: DESKTOP[0], args: args.map(str::to_owned).to_vec(), stdin: Vec::new() };
    }
    let script = format!("display notification {} with title {}\n", quoted(body), quoted(title));
    Delivery { program: DESKTOP[1], args: vec!["-".to_owned()], stdin: script.into_bytes() }
}

/// Builds a POST request. All of it goes to curl's standard input, because every process can read arguments.
/// `--disable` skips `~/.curlrc`, which could make curl print the URL into a log. A redirect is an error: a message that
/// is not posted again would be lost.
fn curl(url: &str, headers: &[String], body: &str) -> Delivery {
    let mut config = format!(
        "url = {}\nproto = \"=http,https\"\nsilent\nshow-error\nfail\nlocation\nmax-redirs = 0\nmax-time = {CURL_TIME_LIMIT_S}\ndata-raw = {}\n",
        quoted(url),
        quoted(body)
    );
    headers.iter().for_each(|header| config += &format!("header = {}\n", quoted(header)));
    let args = ["--disable", "--config", "-"].map(str::to_owned).to_vec();
    Delivery { program: CURL, args, stdin: config.into_bytes() }
}

/// Quotes a text for curl's configuration and for AppleScript.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "\\r");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::{Channel, Message, curl, desktop, quoted};

    #[test]
    fn parses_channels() {
        let check = |text: &str, expected: Channel| assert_eq!(text.parse(), Ok(expected), "{text}");
        let ntfy = |url: &str| Channel::Ntfy(url.to_owned());
        let command = |text: &str| Channel::Command(text.to_owned());
        check("desktop", Channel::Desktop);
        check("ntfy:my-topic_1", ntfy("https://ntfy.sh/my-topic_1"));
        check("ntfy:http://127.0.0.1:8080/t", ntfy("http://127.0.0.1:8080/t"));
        check("slack:SLACK_URL", Channel::Slack("SLACK_URL".to_owned()));
        check("command:desktop", command("desktop"));
        check("jq -r .next >> ~/todo:list", command("jq -r .next >> ~/todo:list"));
        for text in ["ntfy:", "ntfy:a/b", "ntfy:https://host", "ntfy:https:///t", "ntfy:https://u:p@host/t"] {
            assert!(text.parse::<Channel>().is_err(), "{text}");
        }
    }

    #[test]
    fn errors_never_repeat_a_webhook() {
        let error =
            "slack:https://hooks.example/T0K3N".parse::<Channel>().expect_err("a URL is not a variable name");
        assert!(!error.to_string().contains("T0K3N"), "{error}");
    }

    #[test]
    fn curl_receives_everything_on_stdin() {
        let delivery = curl("https://host/secret", &["Title: a \"b\"".to_owned()], "one\ntwo \\");
        assert_eq!(delivery.args, ["--disable", "--config", "-"]);
        let config = String::from_utf8(delivery.stdin).expect("text");
        assert!(config.contains("url = \"https://host/secret\"\n"), "{config}");
        assert!(config.contains("data-raw = \"one\\ntwo \\\\\"\n"), "{config}");
        assert!(config.contains("header = \"Title: a \\\"b\\\"\"\n"), "{config}");
    }

    #[test]
    fn osascript_reads_its_script_from_stdin() {
        let message = Message { title: "t".to_owned(), body: "say \"x\"".to_owned(), is_urgent: false };
        let delivery = desktop(&message, "");
        assert_eq!((delivery.program, delivery.args), ("osascript", vec!["-".to_owned()]));
        let script = String::from_utf8(delivery.stdin).expect("text");
        assert_eq!(script, format!("display notification {} with title \"t\"\n", quoted(&message.body)));
    }
}
