//! What of a call's input is looked at, by tool: a tool that fetches names a URL, one that searches asks a question,
//! a shell is given a script, and of a tool that nobody here knows every string is looked at both ways.

use super::texts::{Found, Look};
use super::url_pattern::UrlPattern;
use super::urls::{Place, Urls};
use super::{Call, Guards, Verdict};
use crate::glance::beginning;
use serde_json::{Value, json};

// An answer must fit into one write to a pipe, whatever was written into the pattern.
const PATTERN_BYTES_MAX: usize = 200;

/// Tools that read and write files here, plan, ask and report: what they are told may name a URL without going there,
/// and what an agent does that they start is asked about itself.
const LOCAL: [&str; 27] = [
    "Agent",
    "AskUserQuestion",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "ListAgents",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "StructuredOutput",
    "Task",
    "TaskOutput",
    "TaskStop",
    "TodoWrite",
    "ToolSearch",
    "Write",
];

/// Fields in which tools are given a program: a shell would read something else in it.
const CODE: [&str; 9] =
    ["code", "expression", "function", "html", "javascript", "js", "pageFunction", "python", "source"];

/// What guards against URLs say to a call.
pub(super) fn verdict(guards: &Guards, call: &Call<'_>) -> Verdict {
    if guards.block_urls.is_empty() || LOCAL.contains(&call.tool) {
        return Verdict::Pass;
    }
    let Some(input) = call.input() else {
        return Verdict::Deny(
            "The input of this call cannot be read, so that nobody can tell what it would reach.".to_owned(),
        );
    };
    let urls = Urls::new(&guards.block_urls);
    let mut look = Look::new(&urls, call.input_bytes());
    let found = match call.tool {
        "WebFetch" => fetched(&mut look, input),
        "WebSearch" => {
            let found = searched(&mut look, input);
            let query =
                || input.get("query").and_then(Value::as_str).and_then(|query| urls.searched_for(query));
            found.or_else(|| query().map(Found::Blocked))
        }
        "Bash" | "Monitor" => every_string(input, &mut |_, text| look.script(text)),
        _ => every_string(input, &mut |name, text| {
            let found = look.text(text, &Place::default());
            found.or_else(|| if CODE.contains(&name) { None } else { look.script(text) })
        }),
    };
    match found {
        Some(Found::Blocked(pattern)) => Verdict::Deny(blocked(pattern)),
        Some(Found::Endless) => Verdict::Deny(
            "This call is too tangled to be checked against the URLs that are blocked in this run. Write it plainly."
                .to_owned(),
        ),
        None if call.tool == "WebSearch" && call.is_free => without(&guards.block_urls, input),
        None => Verdict::Pass,
    }
}

fn blocked(pattern: &UrlPattern) -> String {
    let pattern = pattern.to_string();
    let pattern = beginning(&pattern, PATTERN_BYTES_MAX);
    format!("{pattern} is blocked in this run, and nobody is there to allow it. Go on without it.")
}

fn fetched<'a>(look: &mut Look<'a>, input: &Value) -> Option<Found<'a>> {
    let url = input.get("url")?;
    let place = Place { is_client: true, ports: Vec::new() };
    // Whoever fetches leaves these out.
    let plain = |text: &str| text.trim().replace(['\t', '\n', '\r'], "");
    every_string(url, &mut |_, text| look.text(&plain(text), &place))
}

fn searched<'a>(look: &mut Look<'a>, input: &Value) -> Option<Found<'a>> {
    // What is left out of a search may be named.
    let asked = input.as_object()?.iter().filter(|(key, _)| *key != "blocked_domains");
    // Ways to write a dot that only people read.
    let spelled = |text: &str| text.replace(" dot ", ".").replace("[.]", ".").replace("(.)", ".");
    asked.map(|(_, value)| value).find_map(|value| {
        every_string(value, &mut |_, text| {
            let found = look.text(text, &Place::default());
            found.or_else(|| look.text(&spelled(text), &Place::default()))
        })
    })
}

/// A search that is told what to leave out.
fn without(patterns: &[UrlPattern], input: &Value) -> Verdict {
    // One that is told where to look takes nothing to leave out.
    let is_narrow =
        input.get("allowed_domains").and_then(Value::as_array).is_some_and(|domains| !domains.is_empty());
    let mut domains = input.get("blocked_domains").and_then(Value::as_array).cloned().unwrap_or_default();
    let before = domains.len();
    for host in patterns.iter().filter_map(UrlPattern::whole_host) {
        let domain = json!(host);
        if !domains.contains(&domain) {
            domains.push(domain);
        }
    }
    match input {
        Value::Object(fields) if !is_narrow && domains.len() > before => {
            let mut fields = fields.clone();
            fields.insert("blocked_domains".to_owned(), domains.into());
            Verdict::Amend(fields.into())
        }
        _ => Verdict::Pass,
    }
}

/// Looks at the strings of an input, each with the name of its field, until something is found. The names are
/// looked at themselves.
fn every_string<F>(value: &Value, look: &mut impl FnMut(&str, &str) -> Option<F>) -> Option<F> {
    strings_below("", value, look)
}

fn strings_below<F>(name: &str, value: &Value, look: &mut impl FnMut(&str, &str) -> Option<F>) -> Option<F> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
        Value::String(text) => look(name, text),
        Value::Array(values) => values.iter().find_map(|value| strings_below(name, value, look)),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let found = look("", name);
            found.or_else(|| strings_below(name, value, look))
        }),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Call, Guards, Verdict};
    use serde_json::{Value, json};

    fn guards(urls: &[&str]) -> Guards {
        Guards {
            block_urls: urls.iter().map(|text| text.parse().expect(text)).collect(),
            ..Guards::default()
        }
    }

    #[test]
    fn a_search_is_told_what_to_leave_out() {
        let check = |is_free: bool, input: Value, expected: Option<Value>| {
            let guards = guards(&["a.test", "*.b.test", "c.test/x", "https://d.test/"]);
            let text = input.to_string();
            let verdict = guards.verdict(&Call::new("WebSearch", &text).freely(is_free));
            assert_eq!(verdict, expected.map_or(Verdict::Pass, Verdict::Amend), "{input}");
        };
        // Hosts that are blocked whole.
        let told = json!({ "query": "q", "blocked_domains": ["a.test", "d.test"] });
        check(true, json!({ "query": "q" }), Some(told.clone()));
        check(
            true,
            json!({ "query": "q", "allowed_domains": [] }),
            Some(json!({ "query": "q", "allowed_domains": [],
            "blocked_domains": ["a.test", "d.test"] })),
        );
        check(
            true,
            json!({ "query": "q", "blocked_domains": ["z.test", "a.test"] }),
            Some(json!({ "query": "q", "blocked_domains": ["z.test", "a.test", "d.test"] })),
        );
        check(true, told, None);
        check(true, json!({ "query": "q", "allowed_domains": ["z.test"] }), None);
        // What is amended would be permitted with it.
        check(false, json!({ "query": "q" }), None);
    }

    #[test]
    fn a_pattern_for_urls_as_a_whole() {
        let patterns =
            ["*2401.00001*", "*github.com/Acme*", "*low-rank*magic*", "*acme.test*", "*ar5iv.org*00001*"];
        let guards = guards(&patterns);
        let check = |tool: &str, input: Value, denied: bool| {
            let verdict = guards.verdict(&Call::new(tool, &input.to_string()));
            assert_eq!(matches!(verdict, Verdict::Deny(_)), denied, "{tool} {input}: {verdict:?}");
        };
        let fetch = |url: &str, denied: bool| check("WebFetch", json!({ "url": url, "prompt": "x" }), denied);
        fetch("https://arxiv.org/abs/2401.00001v2", true);
        fetch("https://arxiv.org/abs/2401.00002", false);
        fetch("https://mirror.test/?id=2401.00001", true);
        fetch("https://github.com/acme/repo", true);
        fetch("https://github.com/other/acme", false);
        fetch("https://papers.test/Low-Rank-Magic.pdf", true);
        fetch("https://www.acme.test/", true);
        let bash = |command: &str, denied: bool| check("Bash", json!({ "command": command }), denied);
        bash("curl -L 'https://arxiv.org/pdf/2401.00001' -o p.pdf", true);
        bash("git clone git@github.com:acme/x", true);
        bash("wget arxiv.org/pdf/2401.00001", true);
        bash("python -c \"get('https://ar5iv.org/html/2401.00001')\"", true);
        // Files of the workspace, and words.
        bash("python train.py --out /code/low-rank-magic", false);
        bash("echo low-rank magic", false);
        let search = |query: &str, denied: bool| check("WebSearch", json!({ "query": query }), denied);
        search("Low-Rank adaptation is magic", true);
        search("low-rank adaptation", false);
        search("arxiv 2401.00001", true);
    }

    #[test]
    fn what_cannot_be_read_is_denied() {
        let guards = guards(&["a.test"]);
        let denied =
            |tool: &str, input: &str| matches!(guards.verdict(&Call::new(tool, input)), Verdict::Deny(_));
        for input in ["", "{", r#"{"command":"\ud83d"}"#] {
            assert!(denied("Bash", input) && denied("mcp__x__y", input), "{input}");
        }
        // Nothing in it is looked at.
        assert!(!denied("Read", ""));
        // One word stands for sixty of a hundred signs, many times over.
        let values = format!("for x in {{1..60}}{}; do ", "y".repeat(100));
        let tangled = values + &"echo $x;".repeat(2_000);
        let input = json!({ "command": tangled }).to_string();
        match guards.verdict(&Call::new("Bash", &input)) {
            Verdict::Deny(reason) => assert!(reason.contains("too tangled"), "{reason}"),
            verdict @ (Verdict::Pass | Verdict::Amend(_)) => unreachable!("{verdict:?}"),
        }
    }

    #[test]
    fn the_reason_is_short() {
        let long = format!("a.test/{}", "x".repeat(1000));
        let input = json!({ "url": format!("http://{long}") }).to_string();
        match guards(&[&long]).verdict(&Call::new("WebFetch", &input)) {
            Verdict::Deny(reason) => assert!(reason.len() < 400, "{reason}"),
            verdict @ (Verdict::Pass | Verdict::Amend(_)) => unreachable!("{verdict:?}"),
        }
    }
}
