//! The part of the network that an agent's commands may reach.

/// An entry that is not a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host; write it like `example.com`, `*.example.com` or `example.com:443`")]
pub struct NetworkError(String);

/// Checks the hosts that commands may reach; none blocks the network. Each is a name or an IPv4 address; `*.`
/// in front allows all names below it, and `:PORT` at the end allows only that port.
///
/// # Errors
/// Returns the first entry of another form, because an entry that the agent does not understand could allow
/// everything.
pub fn check_hosts(hosts: &[String]) -> Result<(), NetworkError> {
    match hosts.iter().find(|host| !is_host(host)) {
        Some(host) => Err(NetworkError(host.clone())),
        None => Ok(()),
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
    use super::check_hosts;

    #[test]
    fn validates_hosts() {
        let check = |host: &str, expected: bool| {
            assert_eq!(check_hosts(&[host.to_owned()]).is_ok(), expected, "{host}");
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
