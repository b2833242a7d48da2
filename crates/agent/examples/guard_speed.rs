//! Measures verdicts on calls of a megabyte, ordinary ones and pathological ones: `cargo run --release -p
//! longhaul-agent --example guard_speed`
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this example measures time"
)]

use longhaul_agent::{BlockedPaths, GuardedCall, Guards, Verdict};
use serde_json::json;
use std::time::Instant;

const KINDS: [(&str, &str); 27] = [
    ("words", "echo some words of a command\n"),
    ("quoted words", "echo \"some words\" 'of a' command;"),
    ("a here-document", "line of a file with https://safe.test/x in it\n"),
    ("one word", "x"),
    ("quotes", "'"),
    ("nested commands", "$(echo "),
    ("braces", "{a,b}"),
    ("variables", "x=$x$x; "),
    ("look-alikes", "notexample.com "),
    ("another path", "example.com/x "),
    ("concatenated strings", "'my' + 'example.com' "),
    ("placeholders in strings", "${h}example.com "),
    ("here-documents", "cat <<a "),
    ("base64", "aHR0cHM6Ly9zYWZlLnRlc3Qv "),
    ("backslashes", "\\\\\\x41"),
    ("pipes", "echo a | xargs echo | "),
    ("one long query", "a=example.com/b&"),
    ("many hosts in one word", "https://example.com/"),
    ("open braces", "{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{ "),
    ("many ports", "nc example.com 80 81 82 83 84 85 "),
    ("directories", "cd aaaaaaaaaaaaaaaaaaaaaa; echo b c d e f;"),
    ("values of a loop", "for x in a b c d; do echo $x$x$x; done;"),
    ("paths", "cat ../code/a/b/c ./x ~/y "),
    ("non-ASCII letters", "éxämple.cöm "),
    ("numbers", "1.2.3.4 0xff "),
    ("percent signs", "%2525%41"),
    ("scripts in scripts", "bash -c \"bash -c 'echo a; echo b'\"; "),
];

fn main() {
    let urls = ["example.com/papers/*", "203.0.113.7", "[2001:db8::7]", "blocked.test"];
    let paths = ["secrets/key".to_owned(), ".env".to_owned(), "/srv/my data".to_owned()];
    let guards = Guards {
        block_paths: BlockedPaths::new(&paths, "/code/repo", "/home/dev").expect("they can be blocked"),
        block_urls: urls.iter().map(|text| text.parse().expect(text)).collect(),
        ..Guards::default()
    };
    println!("{:<20} {:>10} {:>10} {:>10}", "", "256 KB", "1 MB", "factor");
    for (name, piece) in KINDS {
        let time = |bytes: usize| {
            let command = piece.repeat(bytes / piece.len());
            let input = json!({ "command": command }).to_string();
            let started = Instant::now();
            let verdict = guards.verdict(&GuardedCall::new("Bash", &input));
            (started.elapsed(), verdict)
        };
        let ((small, _), (large, verdict)) = (time(256 << 10), time(1 << 20));
        let denied = if verdict == Verdict::Allow { "" } else { "denied" };
        let factor = large.as_secs_f64() / small.as_secs_f64();
        println!(
            "{name:<20} {:>7} ms {:>7} ms {factor:>10.1} {denied}",
            small.as_millis(),
            large.as_millis()
        );
    }
}
