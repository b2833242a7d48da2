//! `longhaul playbook`: showing, checking and editing a playbook, its history, and undoing changes.

use crate::call::Output;
use crate::harness::Stage;
use expect_test::expect;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

const PLAYBOOK: &str = r#"{
  "version": "1.0",
  "last_updated": "2026-11-20T10:00:00.500000",
  "sections": {
    "PATTERNS & APPROACHES": [
      {
        "name": "pat-001",
        "text": "run the linter before the tests",
        "helpful": 5,
        "harmful": 0,
        "by": "me"
      },
      {
        "name": "pat-002",
        "text": "Run the linter before the tests!",
        "helpful": 1,
        "harmful": 1
      }
    ],
    "MISTAKES TO AVOID": [],
    "USER PREFERENCES": [
      {
        "name": "pref-001",
        "text": "answer in \u001b[31mGerman",
        "helpful": 0,
        "harmful": 0
      }
    ],
    "PROJECT CONTEXT": [],
    "OTHERS": []
  },
  "team": 7
}"#;

fn path(stage: &Stage) -> PathBuf {
    stage.work().join(".claude/playbook.json")
}

fn write(stage: &Stage, text: &str) {
    fs::create_dir_all(stage.work().join(".claude")).expect("created");
    fs::write(path(stage), text).expect("written");
}

fn playbook(stage: &Stage, args: &[&str]) -> Output {
    let project = stage.work();
    stage.longhaul(["playbook"]).args(args).args(["--project"]).args([project]).output()
}

/// Edits the playbook with an editor that runs this shell script on its file.
fn edit(stage: &Stage, body: &str) -> Output {
    let editor = stage.script("editor", body);
    let project = stage.work();
    // Users often set an editor with an argument.
    let editor = format!("'{}' --wait", editor.display());
    let call = stage.longhaul(["playbook", "edit", "--project"]).args([project]);
    call.env("EDITOR", "false").env("VISUAL", editor).output()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Replaces the path of the workspace in a text.
fn redacted(stage: &Stage, text: &str) -> String {
    text.replace(&stage.work().display().to_string(), "WORK")
}

#[test]
fn show_prints_the_playbook() {
    let stage = Stage::new();
    let none = playbook(&stage, &["show"]);
    assert_eq!((none.code, &json_of(&none)["points"]), (0, &json!([])), "{none:?}");
    write(&stage, PLAYBOOK);
    let all = playbook(&stage, &["show"]);
    let points = json_of(&all)["points"].as_array().expect("a list").clone();
    assert_eq!(points.len(), 3);
    let first = json!({"name": "pat-001", "section": "PATTERNS & APPROACHES",
        "text": "run the linter before the tests", "helpful": 5, "harmful": 0});
    assert_eq!(points[0], first);
    let text = playbook(&stage, &["show", "--output-format", "text"]);
    expect![[r#"
        PATTERNS & APPROACHES
          pat-001  run the linter before the tests  (helped 5, harmful 0)
          pat-002  Run the linter before the tests!  (helped 1, harmful 1)

        USER PREFERENCES
          pref-001  answer in [31mGerman  (helped 0, harmful 0)
    "#]]
    .assert_eq(&text.stdout);
    let one = json_of(&playbook(&stage, &["show", "pat-002", "pref-001", "--section", "pref"]));
    assert_eq!(one["points"].as_array().map(Vec::len), Some(1));
    let unknown = playbook(&stage, &["show", "pat-003"]);
    assert_eq!(unknown.code, 2);
    unknown.assert_error(&["there is no point `pat-003`", "did you mean pat-00"]);
    let unknown = playbook(&stage, &["show", "--section", "tips"]);
    assert_eq!(unknown.code, 2);
    unknown.assert_error(&["there is no section `tips`", "pat, mis, pref, ctx, oth"]);
    let nowhere = stage.longhaul(["playbook", "show", "--project", "/nowhere"]).output();
    assert_eq!(nowhere.code, 2);
    // None of these calls created a file.
    assert!(!stage.home().exists());
    assert_eq!(fs::read_to_string(path(&stage)).expect("read"), PLAYBOOK);
}

#[test]
fn project_is_found_by_variable_and_directory() {
    let stage = Stage::new();
    write(&stage, PLAYBOOK);
    let subdirectory = stage.work().join("src/deep");
    fs::create_dir_all(&subdirectory).expect("created");
    let shown = |call: crate::call::Call| json_of(&call.args(["playbook", "show"]).output());
    let count = |shown: &Value| shown["points"].as_array().map(Vec::len);
    let program = env!("CARGO_BIN_EXE_longhaul");
    assert_eq!(count(&shown(stage.program(program))), Some(0));
    assert_eq!(count(&shown(stage.program(program).env("CLAUDE_PROJECT_DIR", stage.work()))), Some(3));
    let shell = stage.program("sh").args(["-c", "cd \"$1\" && exec \"$2\" playbook show --json", "sh"]);
    let found = json_of(&shell.args([subdirectory.as_os_str(), program.as_ref()]).output());
    assert_eq!(count(&found), Some(3));
    assert_eq!(found["path"], fs::canonicalize(path(&stage)).expect("the file exists").display().to_string());
}

#[test]
fn check_locates_errors() {
    let stage = Stage::new();
    let check = |text: Option<&str>, code: i32| -> String {
        if let Some(text) = text {
            write(&stage, text);
        }
        let output = playbook(&stage, &["check"]);
        assert_eq!(output.code, code, "{output:?}");
        let text = playbook(&stage, &["check", "--output-format", "text"]);
        assert_eq!(text.code, code, "{text:?}");
        redacted(&stage, &text.stdout)
    };
    let results = [
        check(None, 0),
        check(Some(PLAYBOOK), 0),
        check(Some(&PLAYBOOK.replace("pat-002", "pat-001").replace("\"helpful\": 1", "\"helpful\": -1")), 1),
        check(Some(&PLAYBOOK[..300]), 1),
        check(Some(&PLAYBOOK.replace("\"1.0\"", "\"2.0\"")), 1),
        check(Some(r#"{"key_points": ["an old one", {"text": "a scored one", "score": -2}]}"#), 0),
    ];
    expect![[r#"
        WORK/.claude/playbook.json: does not exist yet
        WORK/.claude/playbook.json: version 1.0, 3 points, last changed 2026-11-20T10:00:00.500000
        duplicate: [pat-002] repeats [pat-001]; they will be merged
        WORK/.claude/playbook.json: version 1.0, 3 points, last changed 2026-11-20T10:00:00.500000
        problem: PATTERNS & APPROACHES [pat-001]: there is another point of this name in PATTERNS & APPROACHES
        warning: sections.PATTERNS & APPROACHES[1]: its helpful is -1; read as 0
        duplicate: [pat-001] repeats [pat-001]; they will be merged
        WORK/.claude/playbook.json: cannot be used
        problem: cannot read WORK/.claude/playbook.json: it is damaged: line 14, column 17: EOF while parsing a string; fix it, or leave it: the next change keeps a copy of it and continues from the last saved state
        WORK/.claude/playbook.json: cannot be used
        problem: cannot read WORK/.claude/playbook.json: its version is 2.0, which a newer program wrote; update longhaul; the file is left as it is
        WORK/.claude/playbook.json: version 1.0, 2 points
        warning: key_points: 2 in the old format moved to OTHERS
    "#]].assert_eq(&results.join(""));
    write(&stage, PLAYBOOK);
    let checked = stage.longhaul(["playbook", "check", "--project"]).args([stage.work()]);
    let checked = json_of(&checked.env("AGENTIC_CONTEXT_DEDUP_THRESHOLD", "high").output());
    assert!(
        checked["warnings"][0].as_str().is_some_and(|warning| warning.contains("`high` is not a number")),
        "{checked}"
    );
    assert_eq!(checked["near_duplicates"], json!([{"name": "pat-001", "duplicate": "pat-002"}]));
}

#[test]
fn edit_is_checked_before_saving() {
    let stage = Stage::new();
    write(&stage, PLAYBOOK);
    // An edit without a change writes nothing.
    let unchanged = edit(&stage, "test \"$1\" = --wait && test -f \"$2\"");
    assert_eq!((unchanged.code, &json_of(&unchanged)["changed"]), (0, &json!(false)), "{unchanged:?}");
    assert_eq!(fs::read_to_string(path(&stage)).expect("read"), PLAYBOOK);
    let edited = edit(&stage, "sed -i 's/before the tests\"/before all else\"/' \"$2\"");
    assert_eq!(edited.code, 0, "{edited:?}");
    let printed = json_of(&edited);
    assert_eq!(printed["changed"], true);
    assert_eq!(printed["applied"][0]["change"], "updated");
    let content = fs::read_to_string(path(&stage)).expect("read");
    assert!(
        content.contains("before all else")
            && content.contains("\"by\": \"me\"")
            && content.contains("\"team\": 7")
    );
    assert!(!content.contains("2026-11-20T10"), "{content}");
    // An invalid edit is stored, and the next edit can start from it.
    let broken = edit(&stage, "sed -i 's/\"version\"/version/; s/all else/lunch/' \"$2\"");
    assert_eq!(broken.code, 2, "{broken:?}");
    broken.assert_error(&[
        "cannot use the edited playbook: line 2, column 3",
        "your text is kept: longhaul playbook edit --from",
        // The printed command is for the same project.
        &format!(" --project {}\n", stage.work().display()),
    ]);
    assert_eq!(fs::read_to_string(path(&stage)).expect("read"), content);
    let stored = broken.stderr.split("--from ").nth(1).and_then(|rest| rest.split(' ').next());
    let stored = stored.expect("the file is named");
    let editor = stage.script("fix", "sed -i 's/version/\"version\"/' \"$1\"");
    let repaired = stage.longhaul(["playbook", "edit", "--from", stored, "--project"]).args([stage.work()]);
    let repaired = repaired.env("EDITOR", editor).output();
    assert_eq!(repaired.code, 0, "{repaired:?}");
    assert!(fs::read_to_string(path(&stage)).expect("read").contains("before lunch"));
    // A duplicate name, an editor that fails, and no editor.
    let duplicate = edit(&stage, "sed -i 's/pat-002/pat-001/' \"$2\"");
    assert_eq!(duplicate.code, 2);
    duplicate.assert_error(&["there is another point of this name"]);
    let failed = edit(&stage, "exit 3");
    assert_eq!(failed.code, 1, "{failed:?}");
    failed.assert_error(&["ended with exit status: 3", "nothing was changed"]);
    let none = playbook(&stage, &["edit"]);
    assert_eq!(none.code, 2);
    none.assert_error(&["set VISUAL or EDITOR"]);
    // Another process changed the playbook during the edit.
    let conflicting =
        format!("sed -i 's/lunch/tea/' \"$2\"; sed -i 's/lunch/coffee/' '{}'", path(&stage).display());
    let conflicting = edit(&stage, &conflicting);
    assert_ne!(conflicting.code, 0);
    conflicting.assert_error(&["it has changed in the meantime", "your text is kept"]);
    assert!(fs::read_to_string(path(&stage)).expect("read").contains("before coffee"));
}

#[test]
fn edit_repairs_a_damaged_playbook_and_creates_the_first() {
    let stage = Stage::new();
    write(&stage, &PLAYBOOK[..PLAYBOOK.len() - 1]);
    let shown = playbook(&stage, &["show"]);
    assert_ne!(shown.code, 0);
    shown.assert_error(&["it is damaged: line 33", "hint:"]);
    let repaired = edit(&stage, "echo '}' >> \"$2\"");
    assert_eq!(repaired.code, 0, "{repaired:?}");
    assert!(
        json_of(&repaired)["damaged_copy"]
            .as_str()
            .is_some_and(|copy| copy.ends_with("playbook.json.damaged-1"))
    );
    assert_eq!(json_of(&playbook(&stage, &["show"]))["points"].as_array().map(Vec::len), Some(3));

    let stage = Stage::new();
    // A team's playbook, stored outside the project.
    fs::create_dir_all(stage.work().join(".claude")).expect("created");
    symlink("../../team.json", path(&stage)).expect("linked");
    let team = stage.folder().join("team.json");
    let checked = playbook(&stage, &["check", "--output-format", "text"]);
    assert_eq!(checked.code, 1, "{checked:?}");
    assert!(checked.stdout.contains("problem: cannot change") && checked.stdout.contains("remove the link"));
    let rejected = edit(&stage, "printf '{\"sections\": {\"OTHERS\": [\"a point\"]}}' > \"$2\"");
    assert!(rejected.code != 0 && !team.exists(), "{rejected:?}");
    rejected.assert_error(&["which is outside the project and not a playbook", "remove the link"]);
    fs::write(&team, r#"{"sections": {"OTHERS": []}}"#).expect("written");
    let first = edit(&stage, "sed -i 's/\"OTHERS\": \\[\\]/\"OTHERS\": [\"a first point\"]/' \"$2\"");
    assert_eq!(first.code, 0, "{first:?}");
    assert!(fs::read_to_string(team).expect("read").contains("\"oth-001\""));
    assert!(fs::symlink_metadata(path(&stage)).expect("the file exists").is_symlink());
}

#[test]
fn changes_are_listed_and_undone() {
    let stage = Stage::new();
    let empty = playbook(&stage, &["undo"]);
    assert_eq!(empty.code, 2, "{empty:?}");
    empty.assert_error(&["there are no changes"]);
    assert_eq!(json_of(&playbook(&stage, &["history"]))["changes"], json!([]));
    assert!(!stage.home().exists());
    write(&stage, PLAYBOOK);
    for word in ["one", "two", "three"] {
        let edited = edit(&stage, &format!("sed -i 's/before [a-z ]*\"/before {word}\"/' \"$2\""));
        assert_eq!(edited.code, 0, "{edited:?}");
    }
    let listed = playbook(&stage, &["history", "--output-format", "text"]).stdout;
    let listed = listed.lines().map(|line| {
        let words: Vec<&str> = line.split("  ").filter(|word| !word.is_empty()).collect();
        // Without the times.
        format!("{} | {} | {}\n", words[0].trim(), words[2].trim(), words[3].trim())
    });
    expect![[r#"
        change | cause | result
        4 | an edit | 1 changed
        3 | an edit | 1 changed
        2 | an edit | 1 changed
        1 | external change | 3 new
    "#]]
    .assert_eq(&listed.collect::<String>());
    let newest = json_of(&playbook(&stage, &["history", "-n", "1"]));
    assert_eq!((&newest["more"], &newest["changes"][0]["cause"]), (&json!(true), &json!("edit")));
    let content = || fs::read_to_string(path(&stage)).expect("read");
    let before = content();
    let planned = playbook(&stage, &["undo", "--dry-run", "--output-format", "text"]);
    expect![[r#"
        ~ pat-001 run the linter before two  (was: run the linter before three)
        WORK/.claude/playbook.json would be changed
    "#]]
    .assert_eq(&redacted(&stage, &planned.stdout));
    assert_eq!(content(), before);
    let undone = playbook(&stage, &["undo"]);
    assert_eq!(json_of(&undone)["reverted"], json!([4]), "{undone:?}");
    assert!(content().contains("before two"));
    // Undoing a user's own edits needs `--force`.
    let rejected = playbook(&stage, &["undo", "2"]);
    assert_eq!(rejected.code, 2);
    rejected.assert_error(&["manual change 3, made after change 2, would be lost", "--force"]);
    assert!(content().contains("before two"));
    let forced = playbook(&stage, &["undo", "2", "--force"]);
    assert_eq!(json_of(&forced)["reverted"], json!([2, 3, 4, 5]), "{forced:?}");
    assert!(content().contains("before the tests") && content().contains("\"team\": 7"));
    let unknown = playbook(&stage, &["undo", "99"]);
    assert_eq!(unknown.code, 2);
    unknown.assert_error(&["there is no change 99", "longhaul playbook history"]);
}

#[test]
fn killed_edit_is_complete_or_absent() {
    for (step, is_saved) in [("Prepared", false), ("Recorded", true), ("Replaced", true), ("Confirmed", true)]
    {
        let stage = Stage::new();
        write(&stage, PLAYBOOK);
        let editor = stage.script("editor", "sed -i 's/before the tests\"/before lunch\"/' \"$1\"");
        let killed = stage.longhaul(["playbook", "edit", "--project"]).args([stage.work()]);
        let killed = killed.env("EDITOR", editor).env("LONGHAUL_FAILPOINT", format!("worker@{step}"));
        assert!(killed.start().output_unless_killed().is_none(), "{step}");
        // The file is a valid playbook in each case. The next change finds the first one either complete or
        // absent.
        assert_eq!(playbook(&stage, &["check"]).code, 0, "{step}");
        let next = edit(&stage, "sed -i 's/German/French/' \"$2\"");
        assert_eq!(next.code, 0, "{step} {next:?}");
        let content = fs::read_to_string(path(&stage)).expect("read");
        assert_eq!(
            (content.contains("before lunch"), content.contains("French")),
            (is_saved, true),
            "{step} {content}"
        );
        let entries: Vec<_> = fs::read_dir(stage.work().join(".claude")).expect("read").collect();
        assert_eq!(entries.len(), 1, "{step} {entries:?}");
        let history = json_of(&playbook(&stage, &["history"]));
        assert_eq!(history["changes"].as_array().map(Vec::len), Some(if is_saved { 3 } else { 2 }), "{step}");
    }
}
