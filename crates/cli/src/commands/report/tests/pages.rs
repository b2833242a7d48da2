//! Pages: that they are whole, harmless, and say everything.

use super::*;

/// Elements that have no end.
const VOID: &[&str] = &["meta", "br"];

/// Asserts that a page is balanced, and that nothing in it loads or runs. Returns its text.
pub fn check(page: &str) -> String {
    let (mut rest, mut open, mut text) = (page, Vec::new(), String::new());
    while let Some(begin) = rest.find('<') {
        text.push_str(&rest[..begin]);
        let end = begin + rest[begin..].find('>').expect("an element ends");
        let tag = &rest[begin + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
        if tag.starts_with('!') {
            assert_eq!(tag, "!doctype html");
        } else if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "an element ends that did not begin last: {tag}");
        } else {
            assert!(name.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit()), "{tag}");
            for never in
                ["script", "img", "iframe", "object", "embed", "link", "form", "base", "use", "image"]
            {
                assert_ne!(name, never, "{tag}");
            }
            attributes(tag);
            if !VOID.contains(&name) {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "these did not end: {open:?}");
    text.push_str(rest);
    text
}

/// Asserts that each attribute is quoted, and that none of them runs or loads anything.
fn attributes(tag: &str) {
    let mut parts = tag.split('"');
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        let name = name.rsplit(' ').next().unwrap_or_default().trim_end_matches('=');
        assert!(!name.starts_with("on") && !["src", "style", "srcset", "action"].contains(&name), "{tag}");
        assert!(name != "href" || value.starts_with('#'), "it leads away: {tag}");
    }
}

#[test]
fn a_page_is_whole_and_says_everything() {
    let report = report_of(runs());
    let page = html::page(&report, &clock());
    let text = check(&page);
    for run in &report.runs {
        assert!(page.contains(&format!("id=\"run-{}\"", run.id)), "{}", run.id);
        let reason = super::super::because(run, &clock());
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
    for words in [
        "Summary",
        "What needs you",
        "Time lost",
        "Faults",
        "Spent over time",
        "Tokens by model",
        "cargo test",
        "denied",
    ] {
        assert!(text.contains(words), "{words}");
    }
    assert!(page.contains("content=\"default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;;"));
    // Wherever a heading is, the part that it is the heading of says so.
    let named = |marker: &str| page.matches(marker).count();
    assert_eq!(named("<section "), named("<h2"));
    assert!(page.split("<section ").skip(1).all(|section| section.contains("aria-labelledby=")));
    assert_eq!((named("<main>"), named("<header>"), named("<footer>"), named("<nav ")), (1, 1, 1, 1));
    assert_eq!(named("<th "), named("scope="), "each heading of a table says of what");
}

#[test]
fn whatever_a_run_is_called_is_text() {
    let evil =
        "</script><img src=x onerror=alert(1)>\"' </style></title><!-- ]]> &lt;b&gt; \u{202e}\u{1b}[2J";
    let mut read = Tale::begun()
        .over(30, Some(Fault::Auth), of_fault(OutcomeKind::NeedsPerson, Fault::Auth))
        .read("aaa", evil, 60);
    let run = &mut read.entry.run;
    (run.name, run.project, run.agent, run.model) =
        (Some(evil.to_owned()), evil.to_owned(), evil.to_owned(), Some(evil.to_owned()));
    (run.state, run.error, read.hint) = (RunState::Unreadable, Some(evil.to_owned()), Some(evil.to_owned()));
    let spend = read.entry.spend.values().next().copied().expect("something was spent");
    read.entry.spend.insert((0, evil.to_owned()), spend);
    for call in &mut read.calls.last {
        (call.tool, call.argument, call.at) = (evil.to_owned(), evil.to_owned(), Some(evil.to_owned()));
    }
    let report = report_of(vec![read]);
    let page = html::page(&report, &clock());
    let said = check(&page);
    // The task, the name, the directory, who worked, the model, the complaint, what to do, and two calls.
    assert!(said.matches("&lt;img src=x onerror=alert(1)&gt;").count() >= 12, "{said}");
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert!(!text::text(&report, &clock()).contains(['\u{202e}', '\u{1b}']));
}

#[test]
fn a_page_of_500_runs_of_100_attempts_each_is_below_5_megabytes() {
    // Of what grows most when it is escaped.
    let long = "\"&' ".repeat(300);
    let mut tale = Tale::begun();
    for attempt in 0..100 {
        tale = tale.fails(attempt * 100 + 50, Fault::Overloaded, 50).attempt(attempt * 100 + 100);
    }
    let read = |number: usize| {
        let mut read = tale.read(&format!("run{number}"), &long, 20_000);
        read.calls.last = vec![ToolCall { argument: long[..120].to_owned(), ..calls().last.remove(0) }; 10];
        read
    };
    let page = html::page(&report_of((0..500).map(read).collect()), &clock());
    assert!(page.len() < 5_000_000, "{}", page.len());
    check(&page);
    let page = html::page(&report_of((0..600).map(read).collect()), &clock());
    assert!(page.contains("And 100 more runs, each in a line:"));
    assert!((0..600).all(|number| page.contains(&format!("id=\"run-run{number}\""))));
}
