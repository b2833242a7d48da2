//! Checks that real commands of agents pass under unrelated block lists. The commands are the tester's own:
//! the test reads the JSON lines below the directory in `LONGHAUL_CORPUS`.

use longhaul_agent::{GuardedCall, Guards, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

/// Realistic lists, and lists of names that are as short as a word or look like one.
const LISTS: [&[&str]; 20] = [
    &["arxiv.org", "export.arxiv.org/api/*"],
    &["openreview.net/forum?id=*", "openreview.net"],
    &["https://arxiv.org/abs/2401.00001*", "https://arxiv.org/pdf/2401.00001*"],
    &["paperswithcode.com", "semanticscholar.org", "scholar.google.com"],
    &["huggingface.co", "hf.co", "kaggle.com"],
    &["https://github.com/acme/secret", "https://raw.githubusercontent.com/acme/secret/*"],
    &["gitlab.com", "bitbucket.org", "codeberg.org", "sr.ht"],
    &["pastebin.com", "gist.github.com", "transfer.sh", "0x0.st"],
    &["stackoverflow.com", "*.stackexchange.com", "superuser.com"],
    &["reddit.com", "x.com", "t.co", "bit.ly"],
    &["youtube.com/watch?v=*", "youtu.be"],
    &["medium.com", "substack.com", "dev.to"],
    &["1.1.1.1", "8.8.8.8", "9.9.9.9"],
    &["2606:4700::1111", "[2001:4860:4860::8888]", "169.254.169.254"],
    &["install.sh", "build.rs", "time.is", "notion.so"],
    &["socket.io", "main.py", "list.md", "process.env"],
    &["a.co", "i.am", "w.org", "go.dev"],
    &["münchen.example", "xn--bcher-kva.example", "例え.テスト"],
    &["ftp://ftp.example.test", "ssh://git.example.test", "intranet", "wiki:8080"],
    &["example.test:8080", "*.internal.example", "blocked.example/a/*/b?c=d"],
];

#[test]
fn allows_real_commands() {
    let Some(dir) = env::var_os("LONGHAUL_CORPUS") else {
        eprintln!("skipped: LONGHAUL_CORPUS names no directory with recorded commands");
        return;
    };
    let mut commands = BTreeSet::new();
    read(Path::new(&dir), &mut commands);
    assert!(!commands.is_empty(), "there are no commands below {}", Path::new(&dir).display());
    let mut verdict_count = 0;
    for list in LISTS {
        let block_urls = list.iter().map(|text| text.parse().expect(text)).collect();
        let guards = Guards { block_urls, ..Guards::default() };
        for command in &commands {
            let input = json!({ "command": command }).to_string();
            let verdict = guards.verdict(&GuardedCall::new("Bash", &input));
            assert_eq!(verdict, Verdict::Allow, "{list:?}: {command}");
            verdict_count += 1;
        }
    }
    eprintln!("{verdict_count} verdicts on {} commands, none denied", commands.len());
}

fn read(dir: &Path, commands: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).expect("the directory can be read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            read(&path, commands);
        } else if path.extension().is_some_and(|end| end == "jsonl" || end == "ndjson") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            text.lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .for_each(|line| collect(&line, commands));
        }
    }
}

fn collect(value: &Value, commands: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if value["type"] == "tool_use" && value["name"] == "Bash" {
                commands.extend(value["input"]["command"].as_str().map(str::to_owned));
            }
            fields.values().for_each(|value| collect(value, commands));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, commands)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
