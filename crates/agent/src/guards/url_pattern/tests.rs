use super::{UrlMention, UrlPattern};
use expect_test::{Expect, expect};

fn pattern(text: &str) -> UrlPattern {
    text.parse().expect(text)
}

#[test]
fn parses_patterns() {
    let check = |text: &str, expected: Expect| {
        let parsed = text.parse::<UrlPattern>();
        let text =
            parsed.map(|pattern| pattern.to_string()).unwrap_or_else(|error| format!("error: {error}"));
        expected.assert_eq(&text);
    };
    check(" example.com ", expect!["example.com"]);
    check("HTTPS://Example.com:443/Papers/*?q=1#x", expect!["HTTPS://Example.com:443/Papers/*?q=1#x"]);
    check("*.example.com", expect!["*.example.com"]);
    check("[2001:db8::7]:80", expect!["[2001:db8::7]:80"]);
    check("bücher.example", expect!["bücher.example"]);
    check("localhost:3000", expect!["localhost:3000"]);
    check("*2401.00001*", expect!["*2401.00001*"]);
    check("*web.archive.org*acme/secret*", expect!["*web.archive.org*acme/secret*"]);
    check("", expect!["error: an empty pattern blocks no URL; name a host, as in `example.com`"]);
    for none in ["*", "***", "http://", "/papers/*", "*.", "https://*/x", ".", "?q=1"] {
        assert!(
            none.parse::<UrlPattern>().is_err_and(|error| error.to_string().contains("names no host")),
            "{none}"
        );
    }
    check(
        "a b",
        expect!["error: `a b` has spaces in it; each pattern is one URL, and a space in it is `%20`"],
    );
    check(
        "exam*ple.com",
        expect![
            "error: `exam*ple.com` in `exam*ple.com` is not a host; write it as in `example.com`, `*.example.com` or `192.0.2.1`"
        ],
    );
    check(
        "example..com",
        expect![
            "error: `example..com` in `example..com` is not a host; write it as in `example.com`, `*.example.com` or `192.0.2.1`"
        ],
    );
    check(
        "1.2.3",
        expect![
            "error: `1.2.3` in `1.2.3` is not a host; write it as in `example.com`, `*.example.com` or `192.0.2.1`"
        ],
    );
    check(
        "example.com:99999",
        expect!["error: `example.com:99999` names no port from 1 to 65535 after its host"],
    );
    check(
        "example.com:x/y",
        expect!["error: `example.com:x/y` names no port from 1 to 65535 after its host"],
    );
    check(
        "10.0.0.0/8",
        expect!["error: `10.0.0.0/8` is a range of addresses; name single ones, or a host with a path"],
    );
    check(&"x".repeat(3000), expect!["error: a pattern of more than 1024 bytes is not a URL"]);
}

#[test]
fn compares_scheme_port_path_and_query() {
    let check = |text: &str, scheme: Option<&str>, port: Option<u16>, target: &str, expected: bool| {
        let mention = UrlMention { scheme, port, target };
        assert_eq!(pattern(text).blocks(&mention), expected, "{text} {mention:?}");
    };
    check("e.test", Some("ftp"), Some(9), "/x", true);
    check("https://e.test", Some("http"), None, "", true);
    check("https://e.test", Some("git"), None, "/x", true);
    check("ftp://e.test", Some("https"), None, "", false);
    check("ftp://e.test", None, None, "", false);
    check("e.test:8080", Some("http"), Some(8080), "/x", true);
    check("e.test:8080", Some("http"), None, "/x", false);
    check("e.test:443", Some("https"), None, "/x", true);
    check("e.test:443", Some("http"), None, "/x", false);
    check("e.test:80", None, None, "/x", true);
    for papers in ["e.test/papers", "e.test/papers/", "e.test/papers/*", "e.test//x/../papers/*"] {
        check(papers, None, None, "/papers", true);
        check(papers, None, None, "/papers/7?x", true);
        check(papers, None, None, "//y/../papers/./7", true);
        check(papers, None, None, "/papers.git", true);
        check(papers, None, None, "/papers-old", false);
        check(papers, None, None, "/x/papers", false);
        check(papers, None, None, "", false);
    }
    check("e.test/abs/1*", None, None, "/abs/12v3", true);
    check("e.test/*/raw", None, None, "/a/b/raw/c", true);
    check("e.test/*/raw", None, None, "/raw", false);
    check("e.test/w?v=a*", None, None, "/w?x=1&v=abc#t", true);
    check("e.test/w?v=a*", None, None, "/w/below?v=abc", false);
    check("e.test/w?v=a&x=1", None, None, "/w?v=a", false);
    check("e.test?v=a", None, None, "/any?v=a", true);
}
