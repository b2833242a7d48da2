//! `longhaul report`: what it tells of runs that were carried out, where it writes, and what a browser makes of it.

use crate::browser::Browser;
use crate::call::{Ended, until};
use crate::harness::Stage;
use crate::recovering::{agent_of, in_mid_tool, is_gone, with_each_agent, with_each_agent_at};
use crate::server::{Server, WORK};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

/// Harmless only where it is escaped.
const TASK: &str = "</script><img src=x onerror=alert(1)> write a file";

fn run(stage: &Stage, agent: &Path, server: &Server) -> Value {
    let args = [TASK, "--permission-mode", "bypassPermissions", "--preset", "drill"];
    stage.run(agent, &args).against(server).end().envelope(0)
}

fn report(stage: &Stage, args: &[&str]) -> Ended {
    let ended = stage.longhaul(["report"]).args(args).end();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{args:?}: {ended:?}");
    ended
}

/// The page that a call wrote, whose name it printed.
fn page(ended: &Ended) -> String {
    let path = ended.stdout.strip_suffix('\n').expect("a line");
    assert_eq!(fs::metadata(path).expect("it is there").permissions().mode() & 0o777, 0o600);
    fs::read_to_string(path).expect("a page")
}

#[test]
fn a_run_is_told_on_a_page_in_text_and_in_json() {
    with_each_agent_at(WORK, "a report", |stage, agent, server| {
        let envelope = run(stage, agent, server);
        let id = envelope["run"]["id"].as_str().expect("an id");
        let ended = report(stage, &[]);
        let path = Path::new(ended.stdout.trim());
        let name = path.file_name().and_then(OsStr::to_str).expect("a name");
        assert!(name.starts_with("report-20") && name.ends_with(".html"), "{name}");
        assert_eq!(path.parent(), Some(stage.home().join("reports").as_path()));
        let page = page(&ended);
        assert!(
            page.contains(&format!("id=\"run-{id}\"")) && page.contains("echo hello &gt; hello.txt"),
            "{page}"
        );
        assert!(page.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; write a file"), "{page}");
        assert!(!page.contains("<img") && !page.contains("<script"), "{page}");

        let text = report(stage, &["--text"]).stdout;
        for words in [id, "1 done, 0 failed", "The work is done.", "Bash echo hello > hello.txt", "Nothing."]
        {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
        // Of one run alone, and as JSON.
        for args in [
            &["--output-format", "json"][..],
            &["@", "--output-format", "json"],
            &[id, "--output-format", "json"],
        ] {
            let json: Value = serde_json::from_str(&report(stage, args).stdout).expect("JSON");
            let cost = |name: &str| json["summary"][name].as_f64().expect("a cost");
            let all = cost("reported_cost_usd") + cost("estimated_cost_usd");
            assert!(
                (all - envelope["usage"]["total_cost_usd"].as_f64().expect("a cost")).abs() < 1e-6,
                "{json}"
            );
            assert_eq!((&json["runs"][0]["id"], &json["runs"][0]["health"]), (&id.into(), &"done".into()));
            assert_eq!(json["runs"].as_array().map(Vec::len), Some(1));
        }
        // Whoever asks for what was active since a moment hears of nothing that was over before it.
        let tomorrow = stage.longhaul(["report", "--text", "--since", "0s"]).end();
        assert!(tomorrow.stdout.contains("0 runs active since"), "{tomorrow:?}");
    });
}

#[test]
fn a_run_that_nobody_supervises_needs_a_person() {
    with_each_agent("a report of what was left", |stage, agent, server| {
        let supervisor = in_mid_tool(stage, agent, server);
        let id = stage.only_run().id().to_string();
        let told = |words: &str| {
            let text = report(stage, &["--text"]).stdout;
            assert!(text.contains(words), "no `{words}` in {text}");
        };
        told("An attempt is running.");
        supervisor.kill();
        told(&format!("$ longhaul recover {id}"));
        let agent = agent_of(&stage.only_run());
        // It may have ended by itself by now.
        let _ = kill_process(agent, Signal::KILL);
        until("the agent is gone", || is_gone(agent));
        let ended = stage.longhaul(["recover"]).against(server).end();
        assert_eq!(ended.code, 0, "{ended:?}");
        told("1 done, 0 failed");
    });
}

#[test]
fn a_report_is_written_where_it_is_wanted() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    run(&stage, &stage.agent(), &server);
    let to = |name: &str| report(&stage, &["--output", name]);
    assert!(to("-").stdout.starts_with("<!doctype html>\n"));
    // What is there is replaced, through a link too.
    let file = stage.file("old.html", "old");
    std::os::unix::fs::symlink(&file, stage.folder().join("link.html")).expect("the stage can be written");
    assert!(page(&to("link.html")).starts_with("<!doctype html>\n"));
    assert!(fs::read_to_string(&file).expect("text").starts_with("<!doctype html>\n"));
    assert!(stage.folder().join("link.html").is_symlink());
    // A device stays one, whoever we are.
    assert_eq!(to("/dev/null").stdout, "/dev/null\n");
    assert!(fs::metadata("/dev/null").expect("it is there").file_type().is_char_device());
    assert!(report(&stage, &["--text", "--output", "report.txt"]).stdout.ends_with("/report.txt\n"));
    let text = fs::read_to_string(stage.folder().join("report.txt")).expect("text");
    assert!(text.starts_with("LONGHAUL REPORT\n"), "{text}");
    let names: Vec<_> =
        fs::read_dir(stage.folder()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().starts_with(".longhaul-report")), "{names:?}");
}

#[test]
fn what_cannot_be_written_or_is_no_time_is_refused_first() {
    let stage = Stage::new();
    let file = stage.file("file", "");
    let below = file.join("report.html").display().to_string();
    let check = |args: &[&str], words: &[&str]| {
        let ended = stage.longhaul(["report"]).args(args).end();
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{args:?}: {ended:?}");
        ended.says(words);
        assert!(!stage.home().exists(), "{args:?} made {}", stage.home().display());
    };
    check(&["--output", "/nowhere/report.html"], &["/nowhere/report.html", "hint:", "--output"]);
    check(&["--output", "/proc/report.html"], &["/proc/report.html", "hint:", "--output"]);
    check(&["--output", &below], &["report.html", "hint:", "--output"]);
    check(&["--output", "work"], &["work: this is a directory", "hint: name a file in it"]);
    check(&["--text", "--output-format", "json"], &["text or JSON, not both", "hint:"]);
    check(&["--since", "2999-01-01"], &["in the future", "--help"]);
    check(&["--since", "lately"], &["lately", "12h or 7d"]);
    check(&["@", "--since", "12h"], &["cannot be used with", "--help"]);
    // There is no run, which is no error, unless one is named.
    assert!(report(&stage, &["--text"]).stdout.contains("There are none."));
    let ended = stage.longhaul(["report", "@"]).end();
    assert_eq!(ended.code, 2, "{ended:?}");
    ended.says(&["hint:"]);
}

#[test]
fn a_ledger_that_cannot_be_used_keeps_nobody_from_a_report() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    run(&stage, &stage.agent(), &server);
    let ledger = stage.home().join("ledger.sqlite3");
    fs::write(&ledger, "no database").expect("it is ours");
    fs::set_permissions(&ledger, PermissionsExt::from_mode(0o600)).expect("it is ours");
    let ended = stage.longhaul(["report", "--text"]).end();
    assert!(ended.code == 0 && ended.stdout.contains("1 done, 0 failed"), "{ended:?}");
    assert!(ended.stderr.starts_with("warning: ") && ended.stderr.contains("damaged"), "{ended:?}");
    assert!(report(&stage, &["--text"]).stdout.contains("1 done, 0 failed"), "it was made anew");
}

#[test]
fn a_run_whose_files_are_damaged_is_told_of() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    run(&stage, &stage.agent(), &server);
    let (run, path) = (stage.only_run(), stage.only_run().journal_path());
    let journal = fs::read_to_string(&path).expect("a journal");
    fs::write(&path, journal.replacen("{", "", 1)).expect("it is ours");
    for args in [&["--text"][..], &["--text", run.id().as_str()]] {
        let text = report(&stage, args).stdout;
        for words in ["1 needs a person", run.id().as_str(), "is damaged", "longhaul seed --from-transcript"]
        {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
    }
}

/// A page that is looked at: nothing of what it is made of is missing, nothing is cut, and nothing but the file is read.
#[test]
fn a_browser_shows_it_on_any_screen() {
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    let Some(mut browser) = Browser::start(&stage, "a report in a browser") else { return };
    run(&stage, &stage.agent(), &server);
    // One that waited for an API that was overloaded.
    let overloaded = Server::plays(&(WORK.to_owned() + "[[fault]]\nturn = 1\nstatus = { code = 529 }\n"));
    let free = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let args = ["--retry-base", "50ms", "--retry-jitter", "none", "--inner-retries", "0", "--name", "waited"];
    stage.run(&stage.agent(), &free).args(args).against(&overloaded).end().envelope(0);
    // One that failed, too, with a task of one word that is wider than a phone, as what is to be typed may be.
    let word = "word".repeat(99);
    let failed =
        stage.run(&stage.script("broken", "exit 3"), &[&word, "--model", &word, "--preset", "drill"]).end();
    assert_ne!(failed.code, 0, "{failed:?}");
    report(&stage, &["--output", "report.html"]);
    let report: Value =
        serde_json::from_str(&report(&stage, &["--output-format", "json"]).stdout).expect("JSON");

    let url = format!("file://{}", stage.folder().join("report.html").display());
    let mut pictures = Vec::new();
    for (width, height) in [(320, 568), (390, 844), (768, 1024), (1280, 900)] {
        for scheme in ["light", "dark"] {
            browser.is_a_screen(width, height, scheme);
            let visit = browser.open(&url);
            assert_eq!(visit.complaints, Vec::<String>::new(), "at {width}, {scheme}");
            assert_eq!(visit.requests, [url.as_str()], "at {width}, {scheme}");
            pictures.push(browser.picture(&format!("report-{width}-{scheme}")));
            browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)");
            assert_eq!(browser.evaluate(TOO_WIDE), json!([]), "at {width}, {scheme}");
            // As much as there may be to say of a tool and of money.
            browser.evaluate(LONGEST);
            assert_eq!(browser.evaluate(TOO_WIDE), json!([]), "at {width}, {scheme}");
            assert_eq!(browser.evaluate("document.documentElement.scrollWidth"), width, "{scheme}");
        }
    }
    // What they look like is for people; that light and dark are two pictures is not.
    assert!(pictures.chunks(2).all(|pair| pair[0] != pair[1]), "light and dark are the same");
    browser.open(&url);
    says_all(&mut browser, &report);
}

/// Puts the longest words where there are only short ones.
const LONGEST: &str = "for (const [selector, words] of [
    ['td.cost', '$1111.11 and about $1111.11 or more: some has no price'],
    ['td.tool', 'mcp__a_server_with_a_long_name__read_the_whole_repository (sub-agent)'],
    ['th.count', '1000'],
]) document.querySelectorAll(selector).forEach(each => each.textContent = words)";

/// What is wider than what it is in, and what lies beyond the screen: for each the element and its beginning.
const TOO_WIDE: &str = "[...document.body.querySelectorAll('*:not(.skip)')].filter(each => {
    const box = each.getBoundingClientRect(), cut = each.scrollWidth > each.clientWidth + 1;
    const hidden = getComputedStyle(each).clipPath != 'none' || each.closest('.lines thead, .models thead');
    const shows = !each.matches('td, th') && getComputedStyle(each).overflowX == 'visible';
    return !hidden && (box.right > innerWidth + 1 || box.left < -1 || cut && !shows);
}).map(each => `${each.tagName} ${each.className} ${each.textContent.slice(0, 60)}`)";

/// Asserts that everything that the JSON has is on the page, each where it belongs.
fn says_all(browser: &mut Browser, report: &Value) {
    let texts = |browser: &mut Browser, selector: &str| -> Vec<String> {
        let all =
            format!("[...document.querySelectorAll({})].map(each => each.textContent)", json!(selector));
        serde_json::from_value(browser.evaluate(&all)).expect("texts")
    };
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let word = |value: &Value| value.as_str().expect("a word").to_owned();

    let whole = texts(browser, "body").concat();
    for never in ["NaN", "undefined", "null", "Infinity", "None)", "Some("] {
        assert!(!whole.contains(never), "{never} in {whole}");
    }
    let summary = texts(browser, "#summary .figure");
    for count in ["runs", "done", "failed", "needs_person", "running"] {
        assert!(summary.contains(&report["summary"][count].to_string()), "{count}: {summary:?}");
    }

    // Runs in the order of the JSON, which begins with those that failed, and these before everything else.
    let runs = list(&report["runs"]);
    let shown: Vec<String> = runs.iter().map(|run| format!("run-{}", word(&run["id"]))).collect();
    let ids = browser.evaluate("[...document.querySelectorAll('article')].map(each => each.id)");
    assert_eq!(ids, json!(shown));
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
        // Each kind of what it did is drawn, and told in words.
        let told = texts(browser, &format!("{article} .axis .label")).concat();
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
            assert!(told.contains(words), "{kind}: {told}");
            kinds.insert(kind);
        }
    }
    assert_eq!(kinds, ["failed", "waiting", "working"].map(str::to_owned).into(), "{report}");

    for (section, rows) in [("lost", "lost"), ("faults", "faults"), ("models", "models")] {
        let told = texts(browser, &format!("#{section} tbody tr"));
        assert_eq!(told.len(), list(&report[rows]).len(), "{section}: {told:?}");
        assert!(!told.is_empty(), "{section}");
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
