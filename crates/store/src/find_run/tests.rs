use super::*;
use std::fs::{File, FileTimes};
use std::time::Duration;

/// Returns a home with runs of these days and ids, created one second after another.
fn home(runs: &[(&str, &str)]) -> (tempfile::TempDir, Home) {
    let (dir, home) = Home::temporary();
    for (second, (day, id)) in (1_700_000_000..).zip(runs) {
        let run = home.runs_path().join(day).join(id);
        fs::create_dir_all(&run).expect("run");
        let created = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        let plan = File::create(run.join("plan.json")).expect("plan");
        plan.set_times(FileTimes::new().set_modified(created)).expect("time");
    }
    (dir, home)
}

#[test]
fn finds_runs_by_user_input() {
    let (_dir, home) = home(&[
        ("2025-11-20", "bcdfgh"),
        ("2025-11-21", "zzzzzz"),
        ("2025-11-21", "bcdxxx"),
        ("2025-11-21", "bcdxxxk"),
    ]);
    let check = |request: &str, expected: Result<&str, &str>| {
        let found = home.find(request);
        match (found, expected) {
            (Ok(run), Ok(id)) => assert_eq!(run.id().as_str(), id, "{request}"),
            (Err(error), Err(message)) => {
                assert!(error.to_string().contains(message), "{request}: {error}");
            }
            (found, expected) => assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{request}"),
        }
    };
    check("z", Ok("zzzzzz"));
    check("bcdf", Ok("bcdfgh"));
    check("bcdxxx", Ok("bcdxxx"));
    check("bcdxxxk", Ok("bcdxxxk"));
    check("@", Ok("bcdxxxk"));
    check("@-", Ok("bcdxxx"));
    check("@-0", Ok("bcdxxxk"));
    check("@-3", Ok("bcdfgh"));
    check("@-4", Err("no run `"));
    check("bcd", Err("several runs: bcdxxxk, bcdxxx, bcdfgh"));
    check("k", Err("no run `"));
    check("../x", Err("no run `"));
    for malformed in ["", "@x", "@--1", "@-1x", "@-99999999999999999999"] {
        check(malformed, Err("is not an id prefix"));
    }
}

#[test]
fn finds_the_latest_of_some_runs() {
    let (_dir, home) = home(&[("2025-11-20", "bcdfgh"), ("2025-11-21", "zzzzzz"), ("2025-11-21", "bcdxxx")]);
    let check = |request: &str, expected: Option<&str>| {
        let found = home.find_recent(request, |run| run.id().as_str() != "zzzzzz").ok();
        assert_eq!(found.as_ref().map(|run| run.id().as_str()), expected, "{request}");
    };
    check("@", Some("bcdxxx"));
    check("@-1", Some("bcdfgh"));
    check("@-2", None);
    check("bcdfgh", None);
}

#[test]
fn latest_run_is_no_judge_run() {
    let (_dir, home) = home(&[
        ("2025-11-20", "bcdfgh"),
        ("2025-11-20", "kkkkkk"),
        ("2025-11-21", "mmmmmm"),
        ("2025-11-21", "zzzzzz"),
    ]);
    let plan = |id: &str, name: &str, cwd: &Path| {
        let mut plan = crate::plan::tests::plan();
        plan.spec.name = Some(name.to_owned());
        plan.spec.cwd = cwd.to_owned();
        home.find(id).expect("it exists").replace_plan(&plan).expect("the plan is replaced");
    };
    let judge_dir = home.path().join("playbook/judge");
    plan("zzzzzz", "playbook-judge", &judge_dir);
    plan("mmmmmm", "playbook-judge", Path::new("/home/me/project"));
    plan("kkkkkk", "playbook-judge", &judge_dir);
    for (request, id) in [("@", "mmmmmm"), ("@-", "bcdfgh"), ("z", "zzzzzz")] {
        assert_eq!(home.find(request).expect("run").id().as_str(), id, "{request}");
    }
    assert!(home.find("@-2").is_err());
    assert_eq!(home.runs_newest_first().expect("runs").count(), 4);
}

#[test]
fn ignores_other_entries() {
    let (_dir, home) = home(&[("2025-11-20", "bcdfgh"), ("2025-11-21", ".new-zz"), ("backup", "zzzzzz")]);
    fs::create_dir_all(home.runs_path().join("2025-11-22/kkkkkk")).expect("a directory without a plan");
    fs::write(home.runs_path().join("2025-11-23"), "a file").expect("file");
    assert_eq!(home.find("@").expect("run").id().as_str(), "bcdfgh");
    assert!(home.find("k").is_err());
    assert!(home.find(".").is_err());
    assert_eq!(home.runs_newest_first().expect("runs").count(), 1);
}

#[test]
fn missing_home_has_no_runs() {
    let home = Home::locate(Some("/nonexistent/longhaul".into()), |_| None).expect("home");
    assert!(matches!(home.find("@"), Err(StoreError::NoSuchRun { .. })));
}
