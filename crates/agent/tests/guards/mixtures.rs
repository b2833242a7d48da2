//! Every call gets a verdict, and a blocked host is found however a shell command spells it.

use longhaul_agent::{BlockedPaths, GuardedCall, Guards, Verdict};
use proptest::prelude::*;
use serde_json::json;

fn guards() -> Guards {
    let urls =
        ["example.com", "https://arxiv.example/abs/*", "203.0.113.7", "[2001:db8::7]", "*.wild.example:8080"];
    let paths = ["secrets".to_owned(), "/code/answers".to_owned()];
    let paths = BlockedPaths::new(&paths, "/code/repo", "/home/dev").expect("the paths can be blocked");
    Guards {
        block_urls: urls.iter().map(|text| text.parse().expect(text)).collect(),
        block_paths: paths,
        ..Guards::default()
    }
}

fn denies(tool: &str, field: &str, text: &str) -> bool {
    let input = json!({ field: text }).to_string();
    matches!(guards().verdict(&GuardedCall::new(tool, &input)), Verdict::Deny(_))
}

/// Writes a letter in one of several ways.
fn spell(letter: char, style: u8) -> String {
    match style % 7 {
        0 => letter.to_string(),
        1 => format!("'{letter}'"),
        2 => format!("\"{letter}\""),
        3 => format!("\\{letter}"),
        4 => format!("$'\\x{:02x}'", u32::from(letter)),
        5 => format!("$'\\{:03o}'", u32::from(letter)),
        _ => format!("''{letter}\"\""),
    }
}

fn mixture(name: &str, styles: &[u8]) -> String {
    name.chars().zip(styles.iter().cycle()).map(|(letter, style)| spell(letter, *style)).collect()
}

proptest! {
    #[test]
    fn every_call_gets_verdict(text in r#"([ -~\n]|[$(){}\[\]<>|;&'"`\\#%=/.:-]|example\.com|203\.0\.113\.7|\PC){0,200}"#) {
        for (tool, field) in [("Bash", "command"), ("WebFetch", "url"), ("WebSearch", "query"), ("mcp__x__y", "code"), ("mcp__x__y", "z")] {
            denies(tool, field, &text);
        }
    }

    #[test]
    fn finds_host_in_any_spelling(styles in prop::collection::vec(any::<u8>(), 11)) {
        let host = mixture("example.com", &styles);
        for command in [format!("curl https://{host}/x"), format!("bash -c 'true'; ping {host}"), format!("x={host}; nc $x 80"), format!("python3 -c \"get('{host}')\"")] {
            prop_assert!(denies("Bash", "command", &command), "{command}");
        }
    }

    #[test]
    fn finds_path_in_any_spelling(styles in prop::collection::vec(any::<u8>(), 13)) {
        let path = mixture("/code/answers", &styles);
        for command in [format!("cat {path}/1.txt"), format!("x={path}; ls $x"), format!("echo x >{path}"), format!("curl -F f=@{path}")] {
            prop_assert!(denies("Bash", "command", &command), "{command}");
        }
        let other = mixture("/code/answer-s", &styles);
        prop_assert!(!denies("Bash", "command", &format!("cat {other}/1.txt")), "{other}");
    }

    #[test]
    fn allows_other_hosts_in_any_spelling(styles in prop::collection::vec(any::<u8>(), 20)) {
        for name in ["notexample.com", "example.com.evil.org", "example.community", "my-example.com"] {
            // A backslash before some letters is a space to most programs.
            let styles: Vec<u8> = styles.iter().map(|style| if style % 7 == 3 { 0 } else { *style }).collect();
            let command = format!("curl https://{}/x", mixture(name, &styles));
            prop_assert!(!denies("Bash", "command", &command), "{command}");
        }
    }
}
