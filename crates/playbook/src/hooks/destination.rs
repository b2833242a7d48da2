//! Determines the API that may receive a session's content: the one that the session itself used.

use crate::JudgeSettings;

/// Returns the API's address without a user name and password, for storage.
pub fn destination(settings: &JudgeSettings) -> String {
    if let Some(cloud) = settings.cloud {
        return cloud.to_owned();
    }
    let url = &settings.base_url;
    let Some((scheme, rest)) = url.split_once("://") else { return url.clone() };
    let (authority, path) = rest.find(['/', '?', '#']).map_or((rest, ""), |index| rest.split_at(index));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omits_credentials() {
        let check = |base_url: &str, expected: &str| {
            let settings = JudgeSettings::from_variables(|name| {
                (name == "ANTHROPIC_BASE_URL").then(|| base_url.to_owned())
            });
            assert_eq!(destination(&settings), expected, "{base_url}");
        };
        check("", "https://api.anthropic.com");
        check("http://127.0.0.1:4000/", "http://127.0.0.1:4000");
        check("https://me:secret@proxy.example/v1", "https://proxy.example/v1");
        check("https://me:se@cret@proxy.example?a=@", "https://proxy.example?a=@");
        check("https://proxy.example/a@b", "https://proxy.example/a@b");
        check("nonsense", "nonsense");
    }
}
