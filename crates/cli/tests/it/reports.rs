//! `longhaul report`: what it tells of runs that were carried out, where it writes, and what a browser makes of it.

use crate::call::{Ended, until};
use crate::recovering::{agent_of, in_mid_tool, is_gone, with_each_agent, with_each_agent_at};
use crate::server::{Server, WORK};
use crate::stage::Stage;
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

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
        let name =
            Path::new(ended.stdout.trim()).file_name().and_then(OsStr::to_str).expect("a name").to_owned();
        assert!(name.starts_with("longhaul-report-20") && name.ends_with(".html"), "{name}");
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
            let all = cost("cost_usd") + cost("estimated_cost_usd");
            assert!(
                (all - envelope["usage"]["total_cost_usd"].as_f64().expect("a cost")).abs() < 1e-6,
                "{json}"
            );
            assert_eq!((&json["runs"][0]["id"], &json["runs"][0]["standing"]), (&id.into(), &"done".into()));
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
        told("An attempt is under way.");
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

/// A Chromium: the program that `LONGHAUL_TEST_CHROMIUM` names, else `chromium` on PATH. Where there is none, the test says that
/// it is left out.
fn chromium() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = || env::split_paths(&path).map(|dir| dir.join("chromium")).find(|file| file.is_file());
    let found = env::var_os("LONGHAUL_TEST_CHROMIUM").map(PathBuf::from).or_else(on_path);
    if found.is_none() {
        // Past the test harness's capture: nobody may take this for a pass.
        let _ = writeln!(
            io::stderr(),
            "left out: a report in a browser; LONGHAUL_TEST_CHROMIUM names no Chromium"
        );
    }
    found
}

/// A Chromium without a window, of this size, in the light or in the dark. It reaches nothing.
fn browse(stage: &Stage, chromium: &Path, size: &str, dark: bool, args: &[String]) -> String {
    // By the numbers of its own settings.
    let scheme = if dark { "0" } else { "1" };
    let ended = stage
        .program(chromium.to_str().expect("a plain name"))
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-background-networking",
        ])
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--no-first-run",
            "--disable-breakpad",
            "--disable-dev-shm-usage",
        ])
        .args([format!("--user-data-dir={}", stage.folder().join("browser").display())])
        .args([format!("--window-size={size}"), format!("--blink-settings=preferredColorScheme={scheme}")])
        .args(args)
        .end();
    assert_eq!(ended.code, 0, "{ended:?}");
    ended.stdout
}

#[test]
fn a_browser_shows_it_on_any_screen() {
    let Some(chromium) = chromium() else { return };
    let (stage, server) = (Stage::new(), Server::plays(WORK));
    run(&stage, &stage.agent(), &server);
    // One that failed, too, with a task of one word that is wider than a phone, as what is to be typed may be.
    let word = "word".repeat(99);
    let failed =
        stage.run(&stage.script("broken", "exit 3"), &[&word, "--model", &word, "--preset", "drill"]).end();
    assert_ne!(failed.code, 0, "{failed:?}");
    let page = page(&report(&stage, &["--output", "report.html"]));
    // A copy that may measure itself: the report itself may run nothing.
    let (before, after) = page.split_once("<meta http-equiv").expect("it has a policy");
    let after = after.split_once('>').expect("it ends").1;
    let measure = "<script>addEventListener('load', () => { document.querySelectorAll('details').forEach(each => each.open = true); \
                   document.title = document.documentElement.scrollWidth <= innerWidth ? 'it fits' : 'it does not fit' })</script>";
    let measured = stage.file("measured.html", format!("{before}{after}{measure}"));
    let mut shots = Vec::new();
    for (size, dark) in [("390,844", false), ("390,844", true), ("1280,900", false), ("1280,900", true)] {
        let dom = browse(
            &stage,
            &chromium,
            size,
            dark,
            &["--dump-dom".to_owned(), format!("file://{}", measured.display())],
        );
        assert!(dom.contains("<title>it fits</title>"), "at {size}: {dom}");
        let shot = stage.folder().join(format!("{size}-{dark}.png"));
        let url = format!("file://{}", stage.folder().join("report.html").display());
        browse(&stage, &chromium, size, dark, &[format!("--screenshot={}", shot.display()), url]);
        shots.push(fs::read(shot).expect("a picture"));
    }
    // What they look like is for people; that light and dark are two pictures is not.
    assert!(shots.iter().all(|shot| shot.starts_with(b"\x89PNG")));
    assert!(shots[0] != shots[1] && shots[2] != shots[3], "light and dark are the same");
}
