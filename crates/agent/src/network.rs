//! What of the network an agent's commands may reach.

/// The hosts that commands may reach; without any, nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    hosts: Vec<String>,
}

/// What is no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host; one is written like `example.com`, `*.example.com` or `example.com:443`")]
pub struct NetworkError(String);

impl Network {
    /// Only these hosts: each a name or an IPv4 address, with `*.` in front for all below it, and with `:PORT` behind for
    /// that port alone.
    ///
    /// # Errors
    /// At the first that is none of this. One that its agent does not understand could let everything pass.
    pub fn new(hosts: impl IntoIterator<Item = String>) -> Result<Network, NetworkError> {
        let hosts: Vec<String> = hosts.into_iter().collect();
        match hosts.iter().find(|host| !is_host(host)) {
            Some(host) => Err(NetworkError(host.clone())),
            None => Ok(Network { hosts }),
        }
    }

    /// The hosts as they were written.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }
}

fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let name = name.strip_prefix("*.").unwrap_or(name);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    name.split('.').all(is_label) && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

#[cfg(test)]
mod tests {
    use super::Network;

    #[test]
    fn a_host_is_a_name() {
        let check = |host: &str, expected: bool| {
            assert_eq!(Network::new([host.to_owned()]).is_ok(), expected, "{host}");
        };
        check("example.com", true);
        check("*.example.com", true);
        check("example.com:443", true);
        check("10.0.0.1", true);
        check("localhost", true);
        check("", false);
        check("*", false);
        check("*.", false);
        check("a.*.com", false);
        check("example.com:", false);
        check("example.com:0", false);
        check("example.com:65536", false);
        check("https://example.com", false);
        check("example.com/path", false);
        check("[::1]", false);
        check(" example.com", false);
    }
}
