//! `longhaul report`: its content for finished runs, its destination, and its appearance in a browser.

use crate::browser::Browser;
use crate::call::Output;
use crate::harness::Stage;
use crate::recovering::{endless_steps, kill_agent, play_with_each_agent, run_to_mid_tool};
use crate::server::{Server, WORK};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

/// A task that is harmless only if it is escaped.
const TASK: &str = "</script><img src=x onerror=alert(1)> write a file";

fn run(stage: &Stage, agent: &Path, server: &Server) -> Value {
    let args = [TASK, "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(agent, &args).against(server).output().envelope(0)
}

fn report(stage: &Stage, args: &[&str]) -> Output {
    let output = stage.longhaul(["report"]).args(args).output();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{args:?}: {output:?}");
    output
}

/// Reads the page whose path the call printed.
fn page(output: &Output) -> String {
    let path = output.stdout.strip_suffix('\n').expect("a line");
    assert_eq!(fs::metadata(path).expect("the file exists").permissions().mode() & 0o777, 0o600);
    fs::read_to_string(path).expect("a page")
}

#[test]
fn run_is_reported_as_page_text_and_json() {
    play_with_each_agent(WORK, "a report", |stage, agent, server| {
        let envelope = run(stage, agent, server);
        let id = envelope["run"]["id"].as_str().expect("an id");
        let output = report(stage, &[]);
        let path = Path::new(output.stdout.trim());
        let name = path.file_name().and_then(OsStr::to_str).expect("a name");
        assert!(name.starts_with("report-20") && name.ends_with(".html"), "{name}");
        assert_eq!(path.parent(), Some(stage.home().join("reports").as_path()));
        let page = page(&output);
        assert!(
            page.contains(&format!("id=\"run-{id}\"")) && page.contains("echo hello &gt; hello.txt"),
            "{page}"
        );
        assert!(page.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; write a file"), "{page}");
        assert!(!page.contains("<img") && !page.contains("<script"), "{page}");

        let text = report(stage, &["--format", "text"]).stdout;
        for words in [id, "1 done, 0 failed", "The work is done.", "Bash echo hello > hello.txt", "Nothing."]
        {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
        // For a single run, and as JSON.
        for args in [
            &["--output-format", "json"][..],
            &["@", "--output-format", "json"],
            &[id, "--output-format", "json"],
        ] {
            let json: Value = serde_json::from_str(&report(stage, args).stdout).expect("JSON");
            let cost = |name: &str| json["summary"][name].as_f64().expect("a cost");
            let total = cost("reported_cost_usd") + cost("estimated_cost_usd");
            assert!(
                (total - envelope["usage"]["total_cost_usd"].as_f64().expect("a cost")).abs() < 1e-6,
                "{json}"
            );
            assert_eq!((&json["runs"][0]["id"], &json["runs"][0]["health"]), (&id.into(), &"done".into()));
            assert_eq!(json["runs"].as_array().map(Vec::len), Some(1));
        }
        // `--since` omits runs that finished earlier.
        let recent = stage.longhaul(["report", "--format", "text", "--since", "0s"]).output();
        assert!(recent.stdout.contains("0 runs active since"), "{recent:?}");
    });
}

#[test]
fn orphaned_run_needs_a_person() {
    play_with_each_agent(&endless_steps(), "a report of an orphaned run", |stage, agent, server| {
        let supervisor = run_to_mid_tool(stage, agent, server);
        let id = stage.only_run().id().to_string();
        let assert_reported = |words: &str| {
            let text = report(stage, &["--format", "text"]).stdout;
            assert!(text.contains(words), "no `{words}` in {text}");
        };
        assert_reported("It is working.");
        supervisor.kill();
        assert_reported(&format!("$ longhaul recover {id}"));
        kill_agent(&stage.only_run());
        let output = stage.longhaul(["recover"]).against(server).output();
        assert_eq!(output.code, 0, "{output:?}");
        assert_reported("1 done, 0 failed");
    });
}

#[test]
fn report_is_written_to_the_requested_path() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run(&stage, &stage.agent(), &server);
    let report_to = |name: &str| report(&stage, &["--output", name]);
    assert!(report_to("-").stdout.starts_with("<!doctype html>\n"));
    // An existing file is replaced, also through a link.
    let file = stage.file("old.html", "old");
    std::os::unix::fs::symlink(&file, stage.folder().join("link.html")).expect("the stage is writable");
    assert!(page(&report_to("link.html")).starts_with("<!doctype html>\n"));
    assert!(fs::read_to_string(&file).expect("text").starts_with("<!doctype html>\n"));
    assert!(stage.folder().join("link.html").is_symlink());
    // A device stays a device, even for root.
    assert_eq!(report_to("/dev/null").stdout, "/dev/null\n");
    assert!(fs::metadata("/dev/null").expect("the file exists").file_type().is_char_device());
    assert!(
        report(&stage, &["--format", "text", "--output", "report.txt"]).stdout.ends_with("/report.txt\n")
    );
    let text = fs::read_to_string(stage.folder().join("report.txt")).expect("text");
    assert!(text.starts_with("LONGHAUL REPORT\n"), "{text}");
    let names: Vec<_> =
        fs::read_dir(stage.folder()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().starts_with(".longhaul-report")), "{names:?}");
}

#[test]
fn invalid_output_path_and_time_are_rejected_early() {
    let stage = Stage::new();
    let file = stage.file("file", "");
    let inside_file = file.join("report.html").display().to_string();
    let check = |args: &[&str], fragments: &[&str]| {
        let output = stage.longhaul(["report"]).args(args).output();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{args:?}: {output:?}");
        output.assert_error(fragments);
        assert!(!stage.home().exists(), "{args:?} created {}", stage.home().display());
    };
    check(&["--output", "/nowhere/report.html"], &["/nowhere/report.html", "hint:", "--output"]);
    check(&["--output", "/proc/report.html"], &["/proc/report.html", "hint:", "--output"]);
    check(&["--output", &inside_file], &["report.html", "hint:", "--output"]);
    check(&["--output", "work"], &["work: is a directory", "hint: name a file in a directory"]);
    check(&["--format", "text", "--output-format", "json"], &["different formats", "hint:"]);
    check(&["--since", "2999-01-01"], &["in the future", "--help"]);
    check(&["--since", "lately"], &["lately", "12h or 7d"]);
    check(&["@", "--since", "12h"], &["cannot be used with", "--help"]);
    // The absence of runs is no error, unless one is named.
    assert!(report(&stage, &["--format", "text"]).stdout.contains("There are none."));
    let output = stage.longhaul(["report", "@"]).output();
    assert_eq!(output.code, 2, "{output:?}");
    output.assert_error(&["hint:"]);
}

#[test]
fn report_works_with_a_damaged_ledger() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run(&stage, &stage.agent(), &server);
    let ledger = stage.home().join("ledger.sqlite3");
    fs::write(&ledger, "no database").expect("the test owns the file");
    fs::set_permissions(&ledger, PermissionsExt::from_mode(0o600)).expect("the test owns the file");
    let output = stage.longhaul(["report", "--format", "text"]).output();
    assert!(output.code == 0 && output.stdout.contains("1 done, 0 failed"), "{output:?}");
    assert!(output.stderr.starts_with("warning: ") && output.stderr.contains("not a database"), "{output:?}");
    assert!(
        report(&stage, &["--format", "text"]).stdout.contains("1 done, 0 failed"),
        "the ledger was rebuilt"
    );
}

#[test]
fn damaged_run_is_reported() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    run(&stage, &stage.agent(), &server);
    let (run, path) = (stage.only_run(), stage.only_run().journal_path());
    let journal = fs::read_to_string(&path).expect("a journal");
    fs::write(&path, journal.replacen("{", "", 1)).expect("the test owns the file");
    for args in [&["--format", "text"][..], &["--format", "text", run.id().as_str()]] {
        let text = report(&stage, args).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in
            ["1 needs a person", run.id().as_str(), "is damaged", "longhaul handoff --from-transcript"]
        {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
    }
}

/// Views the page: nothing is missing or clipped, and the browser reads no other file.
#[test]
fn page_fits_every_screen_size() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let Some(mut browser) = Browser::start(&stage, "a report in a browser") else { return };
    run(&stage, &stage.agent(), &server);
    // One run that waited for an overloaded API.
    let overloaded = Server::start(&(WORK.to_owned() + "[[fault]]\nturn = 1\nstatus = { code = 529 }\n"));
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let args = ["--retry-base", "50ms", "--retry-jitter", "none", "--inner-retries", "0", "--name", "waited"];
    stage.run(&stage.agent(), &base_args).args(args).against(&overloaded).output().envelope(0);
    // One run that failed. Its task and its resume command have one word that is wider than a phone.
    let word = "word".repeat(99);
    let failed = stage
        .run(&stage.script("broken", "exit 3"), &[&word, "--model", &word, "--preset", "drill"])
        .output();
    assert_ne!(failed.code, 0, "{failed:?}");
    report(&stage, &["--output", "report.html"]);
    let report: Value =
        serde_json::from_str(&report(&stage, &["--output-format", "json"]).stdout).expect("JSON");

    let url = format!("file://{}", stage.folder().join("report.html").display());
    let mut screenshots = Vec::new();
    for (width, height) in [(320, 568), (390, 844), (768, 1024), (1280, 900)] {
        for scheme in ["light", "dark"] {
            browser.set_screen(width, height, scheme);
            let visit = browser.open(&url);
            assert_eq!(visit.messages, Vec::<String>::new(), "at {width}, {scheme}");
            assert_eq!(visit.requests, [url.as_str()], "at {width}, {scheme}");
            screenshots.push(browser.screenshot(&format!("report-{width}-{scheme}")));
            browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)");
            assert_eq!(browser.evaluate(TOO_WIDE), json!([]), "at {width}, {scheme}");
            // With the longest possible text for a tool and an amount.
            browser.evaluate(LONGEST);
            assert_eq!(browser.evaluate(TOO_WIDE), json!([]), "at {width}, {scheme}");
            assert_eq!(browser.evaluate("document.documentElement.scrollWidth"), width, "{scheme}");
        }
    }
    // People look at the screenshots. This test only asserts that light and dark differ.
    assert!(screenshots.chunks(2).all(|pair| pair[0] != pair[1]), "light and dark are the same");
    browser.open(&url);
    assert_page_is_complete(&mut browser, &report);
}

/// Inserts the longest words in elements that only have short ones.
const LONGEST: &str = "for (const [selector, words] of [
    ['td.cost', '$1111.11 and about $1111.11 or more: partly unpriced'],
    ['td.tool', 'mcp__a_server_with_a_long_name__read_the_whole_repository (sub-agent)'],
    ['th.count', '1000'],
]) document.querySelectorAll(selector).forEach(each => each.textContent = words)";

/// Finds elements that are wider than their parents or extend beyond the screen. Returns the element and the
/// start of its text.
const TOO_WIDE: &str = "[...document.body.querySelectorAll('*:not(.skip)')].filter(each => {
    const box = each.getBoundingClientRect(), cut = each.scrollWidth > each.clientWidth + 1;
    const hidden = getComputedStyle(each).clipPath != 'none' || each.closest('.lines thead, .models thead');
    const shows = !each.matches('td, th') && getComputedStyle(each).overflowX == 'visible';
    return !hidden && (box.right > innerWidth + 1 || box.left < -1 || cut && !shows);
}).map(each => `${each.tagName} ${each.className} ${each.textContent.slice(0, 60)}`)";

/// Asserts that the page shows all data of the JSON in the expected places.
fn assert_page_is_complete(browser: &mut Browser, report: &Value) {
    let texts = |browser: &mut Browser, selector: &str| -> Vec<String> {
        let script =
            format!("[...document.querySelectorAll({})].map(each => each.textContent)", json!(selector));
        serde_json::from_value(browser.evaluate(&script)).expect("texts")
    };
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let word = |value: &Value| value.as_str().expect("a word").to_owned();

    let body = texts(browser, "body").concat();
    for forbidden in ["NaN", "undefined", "null", "Infinity", "None)", "Some("] {
        assert!(!body.contains(forbidden), "{forbidden} in {body}");
    }
    let summary = texts(browser, "#summary .figure");
    for count in ["runs", "done", "failed", "needs_person", "running"] {
        assert!(summary.contains(&report["summary"][count].to_string()), "{count}: {summary:?}");
    }

    // Runs have the order of the JSON: failed runs first, before everything else.
    let runs = list(&report["runs"]);
    let expected_ids: Vec<String> = runs.iter().map(|run| format!("run-{}", word(&run["id"]))).collect();
    let ids = browser.evaluate("[...document.querySelectorAll('article')].map(each => each.id)");
    assert_eq!(ids, json!(expected_ids));
    let urgent =
        |run: &&Value| ["failed", "needs_person"].contains(&run["health"].as_str().unwrap_or_default());
    let urgent: Vec<&Value> = runs.iter().filter(urgent).collect();
    assert_eq!((urgent.len(), runs[0]["health"].as_str()), (1, Some("failed")), "{report}");
    let cards = texts(browser, "main > section#attention .card");
    assert_eq!(cards.len(), urgent.len());
    for part in [&urgent[0]["id"], &urgent[0]["next"], &urgent[0]["task"]] {
        assert!(cards[0].contains(&word(part)), "no {part} in {cards:?}");
    }
    let order = browser.evaluate("[...document.querySelectorAll('main section')].map(each => each.id)");
    assert_eq!(order, json!(["summary", "attention", "lost", "faults", "spent", "models", "runs"]));

    let mut kinds = BTreeSet::new();
    for run in &runs {
        let article = format!("#run-{}", word(&run["id"]));
        let (attempts, calls) = (list(&run["attempts"]), list(&run["calls"]["last"]));
        assert_eq!(texts(browser, &format!("{article} table.attempts tbody tr")).len(), attempts.len());
        let rows = texts(browser, &format!("{article} table.calls tbody tr"));
        assert_eq!(rows.len(), calls.len(), "{rows:?}");
        for (row, call) in rows.iter().zip(&calls) {
            assert!(
                row.contains(&word(&call["tool"])) && row.contains(&word(&call["argument"])),
                "{row}: {call}"
            );
        }
        // Each kind of activity is drawn and described in words.
        let labels = texts(browser, &format!("{article} .axis .label")).concat();
        for slice in list(&run["timeline"]) {
            let kind = word(&slice["kind"]);
            let drawn = texts(browser, &format!("{article} .timeline rect.s-{kind}")).len();
            assert!(drawn > 0, "{kind} is not drawn in {article}");
            let words = match kind.as_str() {
                "working" => "worked ",
                "failed" => "failed attempts ",
                "waiting" => "waited ",
                other => panic!("a run was {other}: {run}"),
            };
            assert!(labels.contains(words), "{kind}: {labels}");
            kinds.insert(kind);
        }
    }
    assert_eq!(kinds, ["failed", "waiting", "working"].map(str::to_owned).into(), "{report}");

    for (section, rows) in [("lost", "lost_time"), ("faults", "faults"), ("models", "models")] {
        let labels = texts(browser, &format!("#{section} tbody tr"));
        assert_eq!(labels.len(), list(&report[rows]).len(), "{section}: {labels:?}");
        assert!(!labels.is_empty(), "{section}");
    }
    let models = texts(browser, "#models tbody th");
    for model in list(&report["models"]) {
        assert!(models.contains(&word(&model["model"])), "{models:?}: {model}");
    }
    let bars = list(&report["spend"]);
    let spent =
        bars.iter().filter(|bar| bar["reported_cost_usd"] != 0.0 || bar["estimated_cost_usd"] != 0.0).count();
    assert!(spent > 0 && texts(browser, "#spent .chart rect").len() >= spent, "{bars:?}");
    assert_eq!(texts(browser, "#spent tbody tr").len(), spent);
}
