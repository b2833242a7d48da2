//! Whatever a call says, it has a verdict; and a blocked host is found in any mixture of a shell's ways to write it.

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

/// One way to write a letter.
fn written(letter: char, path: u8) -> String {
    match path % 7 {
        0 => letter.to_string(),
        1 => format!("'{letter}'"),
        2 => format!("\"{letter}\""),
        3 => format!("\\{letter}"),
        4 => format!("$'\\x{:02x}'", u32::from(letter)),
        5 => format!("$'\\{:03o}'", u32::from(letter)),
        _ => format!("''{letter}\"\""),
    }
}

fn mixture(name: &str, ways: &[u8]) -> String {
    name.chars().zip(ways.iter().cycle()).map(|(letter, path)| written(letter, *path)).collect()
}

proptest! {
    #[test]
    fn every_call_has_a_verdict(text in r#"([ -~\n]|[$(){}\[\]<>|;&'"`\\#%=/.:-]|example\.com|203\.0\.113\.7|\PC){0,200}"#) {
        for (tool, field) in [("Bash", "command"), ("WebFetch", "url"), ("WebSearch", "query"), ("mcp__x__y", "code"), ("mcp__x__y", "z")] {
            denies(tool, field, &text);
        }
    }

    #[test]
    fn a_host_is_found_in_any_mixture(ways in prop::collection::vec(any::<u8>(), 11)) {
        let host = mixture("example.com", &ways);
        for command in [format!("curl https://{host}/x"), format!("bash -c 'true'; ping {host}"), format!("x={host}; nc $x 80"), format!("python3 -c \"get('{host}')\"")] {
            prop_assert!(denies("Bash", "command", &command), "{command}");
        }
    }

    #[test]
    fn a_path_is_found_in_any_mixture(ways in prop::collection::vec(any::<u8>(), 13)) {
        let path = mixture("/code/answers", &ways);
        for command in [format!("cat {path}/1.txt"), format!("x={path}; ls $x"), format!("echo x >{path}"), format!("curl -F f=@{path}")] {
            prop_assert!(denies("Bash", "command", &command), "{command}");
        }
        let other = mixture("/code/answer-s", &ways);
        prop_assert!(!denies("Bash", "command", &format!("cat {other}/1.txt")), "{other}");
    }

    #[test]
    fn another_host_is_none_in_any_mixture(ways in prop::collection::vec(any::<u8>(), 20)) {
        for name in ["notexample.com", "example.com.evil.org", "example.community", "my-example.com"] {
            // A backslash before some letters is a space to most programs.
            let ways: Vec<u8> = ways.iter().map(|path| if path % 7 == 3 { 0 } else { *path }).collect();
            let command = format!("curl https://{}/x", mixture(name, &ways));
            prop_assert!(!denies("Bash", "command", &command), "{command}");
        }
    }
}
