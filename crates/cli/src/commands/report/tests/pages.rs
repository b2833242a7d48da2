//! Pages are balanced, harmless and complete.

use super::*;

/// Elements without an end tag.
const VOID: &[&str] = &["meta", "br"];

/// Asserts that a page is balanced, and that it loads and runs nothing. Returns its text.
pub fn check(page: &str) -> String {
    let (mut rest, mut open, mut text) = (page, Vec::new(), String::new());
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        let end = start + rest[start..].find('>').expect("an element ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
        if tag.starts_with('!') {
            assert_eq!(tag, "!doctype html");
        } else if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "unbalanced element: {tag}");
        } else {
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "{tag}");
            for forbidden in
                ["script", "img", "iframe", "object", "embed", "link", "form", "base", "use", "image"]
            {
                assert_ne!(name, forbidden, "{tag}");
            }
            attributes(tag);
            if !VOID.contains(&name) {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "unclosed elements: {open:?}");
    text.push_str(rest);
    text
}

/// Asserts that each attribute is quoted, and that none of them runs or loads anything.
fn attributes(tag: &str) {
    let mut parts = tag.split('"');
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        let name = name.rsplit(' ').next().unwrap_or_default().trim_end_matches('=');
        assert!(!name.starts_with("on") && !["src", "style", "srcset", "action"].contains(&name), "{tag}");
        assert!(name != "href" || value.starts_with('#'), "external link: {tag}");
    }
}

#[test]
fn page_is_balanced_and_complete() {
    let report = report_of(runs());
    let page = html::page(&report, &clock());
    let text = check(&page);
    for run in &report.runs {
        assert!(page.contains(&format!("id=\"run-{}\"", run.id)), "{}", run.id);
        let reason = super::super::explanation(run, &clock());
        assert!(text.contains(&reason), "{reason}");
        if run.health.is_urgent()
            && let Some(next) = &run.next
        {
            assert!(text.contains(next), "{next}");
        }
    }
    for row in &report.lost_time {
        assert!(text.contains(row.cause.label()), "{row:?}");
    }
    for fragment in [
        "Summary",
        "Needs attention",
        "Time lost",
        "Faults",
        "Spent over time",
        "Tokens by model",
        "cargo test",
        "denied",
    ] {
        assert!(text.contains(fragment), "{fragment}");
    }
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline';"));
    // Every section is labeled by its heading.
    let count = |marker: &str| page.matches(marker).count();
    assert_eq!(count("<section "), count("<h2"));
    assert!(page.split("<section ").skip(1).all(|section| section.contains("aria-labelledby=")));
    assert_eq!((count("<main>"), count("<header>"), count("<footer>"), count("<nav ")), (1, 1, 1, 1));
    assert_eq!(count("<th "), count("scope="), "each table heading has a scope");
}

#[test]
fn escapes_text_of_a_run() {
    let evil =
        "</script><img src=x onerror=alert(1)>\"' </style></title><!-- ]]> &lt;b&gt; \u{202e}\u{1b}[2J";
    let mut read = RunRecords::started()
        .finished(30, Some(Fault::Auth), outcome_of_fault(OutcomeKind::NeedsPerson, Fault::Auth))
        .read("aaa", evil, 60);
    let run = &mut read.entry.run;
    (run.name, run.project, run.agent, run.model) =
        (Some(evil.to_owned()), evil.to_owned(), evil.to_owned(), Some(evil.to_owned()));
    (run.state, run.error, read.hint) = (RunState::Unreadable, Some(evil.to_owned()), Some(evil.to_owned()));
    let spend = read.entry.spend.values().next().copied().expect("the run spent something");
    read.entry.spend.insert((0, evil.to_owned()), spend);
    for call in &mut read.calls.last {
        (call.tool, call.argument, call.at) = (evil.to_owned(), evil.to_owned(), Some(evil.to_owned()));
    }
    let report = report_of(vec![read]);
    let page = html::page(&report, &clock());
    let text = check(&page);
    // The task, name, directory, agent, model, error, hint and two calls.
    assert!(text.matches("&lt;img src=x onerror=alert(1)&gt;").count() >= 12, "{text}");
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert!(!text::text(&report, &clock()).contains(['\u{202e}', '\u{1b}']));
}

#[test]
fn page_of_500_runs_is_below_5_megabytes() {
    // Text that grows most when it is escaped.
    let long = "\"&' ".repeat(300);
    let mut records = RunRecords::started();
    for attempt in 0..100 {
        records = records.fails(attempt * 100 + 50, Fault::Overloaded, 50).attempt(attempt * 100 + 100);
    }
    let read = |number: usize| {
        let mut read = records.read(&format!("run{number}"), &long, 20_000);
        read.calls.last =
            vec![ToolCallRow { argument: long[..120].to_owned(), ..calls().last.remove(0) }; 10];
        read
    };
    let page = html::page(&report_of((0..500).map(read).collect()), &clock());
    assert!(page.len() < 5_000_000, "{}", page.len());
    check(&page);
    let page = html::page(&report_of((0..600).map(read).collect()), &clock());
    assert!(page.contains("And 100 more runs, one per line:"));
    assert!((0..600).all(|number| page.contains(&format!("id=\"run-run{number}\""))));
}
