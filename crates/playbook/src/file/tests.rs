use super::{ChangeOutcome, ChangeResult, FileError, PlaybookFile, UndoError};
use crate::database::RevisionCause;
use crate::failpoints::{self, Failpoint};
use crate::points::{Applied, AppliedChange, ChangeSummary};
use crate::{LearningDb, LearningPaths, Playbook, Point, Section};
use longhaul_core::Moment;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use tempfile::TempDir;

const AT: Moment = Moment(1_795_393_800_000);
/// A playbook in another program's format.
const FOREIGN: &str = r#"{"version": "1.0", "last_updated": "2026-11-20T10:00:00.5", "sections": {"OTHERS":
    [{"name": "oth-001", "text": "theirs", "helpful": 4, "harmful": 0, "by": "me"}]}, "team": 1}"#;

struct Stage {
    dir: TempDir,
    file: PlaybookFile,
}

impl Stage {
    fn new() -> Stage {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("project")).expect("created");
        Stage { file: PlaybookFile::in_project(&dir.path().join("project")), dir }
    }

    fn with(text: impl AsRef<[u8]>) -> Stage {
        let stage = Stage::new();
        stage.write(text);
        stage
    }

    fn write(&self, text: impl AsRef<[u8]>) {
        let _ = fs::create_dir(self.claude());
        fs::write(self.file.path(), text).expect("written");
    }

    fn claude(&self) -> PathBuf {
        self.dir.path().join("project/.claude")
    }

    fn learning(&self) -> LearningDb {
        LearningDb::open(&LearningPaths::in_home(&self.dir.path().join("home"))).expect("opened")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file.path()).expect("read")
    }

    fn learn(&self, slice: i64, text: &str) -> Result<ChangeResult, FileError> {
        self.file.change(&mut self.learning(), &RevisionCause::SliceRow(slice), AT, |playbook| {
            added(playbook, text)
        })
    }

    fn learn_ok(&self, slice: i64, text: &str) -> ChangeResult {
        self.learn(slice, text).expect("learned")
    }

    fn texts(&self) -> Vec<String> {
        let found = self.file.read().expect("read");
        found.playbook.points().map(|(_, point)| point.text.clone()).collect()
    }

    fn history(&self) -> Vec<String> {
        let revisions = self.learning().revisions(&self.file.project()).expect("read");
        revisions.iter().map(|revision| revision.cause.to_string()).collect()
    }

    fn names(&self, dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("read");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }
}

fn added(playbook: &Playbook, text: &str) -> Applied {
    let mut playbook = playbook.clone();
    let name = format!("oth-{:03}", playbook.section(Section::Others).len() + 1);
    playbook.section_mut(Section::Others).push(Point::new(name.as_str().into(), text));
    let section = Section::Others;
    let change = AppliedChange::Added {
        name: name.as_str().into(),
        section,
        text: text.to_owned(),
        unknown_section: None,
    };
    Applied { playbook, changes: ChangeSummary { applied: vec![change], skipped: Vec::new() } }
}

fn unchanged(playbook: &Playbook) -> Applied {
    Applied { playbook: playbook.clone(), changes: ChangeSummary::default() }
}

#[test]
fn first_change_creates_file() {
    let stage = Stage::new();
    assert_eq!(stage.file.read().expect("read").text, None);
    let changed = stage.learn_ok(7, "one");
    assert_eq!((changed.outcome, changed.revision), (ChangeOutcome::Saved, Some(1)));
    assert_eq!(stage.texts(), ["one"]);
    assert!(stage.text().contains("\"last_updated\": \"2026-11-23T00:30:00.000000\""), "{}", stage.text());
    assert_eq!(stage.names(&stage.claude()), ["playbook.json"]);
    let mode = fs::metadata(stage.file.path()).expect("there").permissions().mode();
    assert_eq!(mode & 0o600, 0o600);
    // The same slice a second time.
    let again = stage.learn_ok(7, "one");
    assert_eq!(
        (again.outcome, again.revision, again.changes),
        (ChangeOutcome::AlreadyApplied, Some(1), changed.changes)
    );
    assert_eq!(stage.texts(), ["one"]);
    // The clock shows the same time, but `last_updated` must still increase.
    stage.learn_ok(8, "two");
    assert!(stage.text().contains("\"last_updated\": \"2026-11-23T00:30:00.000001\""), "{}", stage.text());
}

#[test]
fn keeps_and_records_foreign_changes() {
    let stage = Stage::with(FOREIGN);
    stage.learn_ok(1, "ours");
    assert_eq!(stage.texts(), ["theirs", "ours"]);
    assert!(stage.text().contains("\"by\": \"me\"") && stage.text().contains("\"team\": 1"));
    stage.write(stage.text().replace("theirs", "by hand"));
    stage.learn_ok(2, "more");
    assert_eq!(stage.texts(), ["by hand", "ours", "more"]);
    assert_eq!(stage.history(), ["found", "slice 1", "found", "slice 2"]);
    let revisions = stage.learning().revisions(&stage.file.project()).expect("read");
    assert_eq!(revisions[0].content.as_deref(), Some(FOREIGN));
    assert!(
        matches!(&revisions[2].changes.applied[..], [AppliedChange::Updated { previous_text, .. }] if previous_text == "theirs")
    );
}

#[test]
fn preserves_mode_and_links() {
    let stage = Stage::with(FOREIGN);
    fs::set_permissions(stage.file.path(), Permissions::from_mode(0o640)).expect("set");
    stage.learn_ok(1, "ours");
    assert_eq!(fs::metadata(stage.file.path()).expect("there").permissions().mode() & 0o777, 0o640);

    let stage = Stage::new();
    let shared = stage.dir.path().join("team");
    fs::create_dir(&shared).expect("created");
    fs::create_dir(stage.claude()).expect("created");
    fs::write(shared.join("team.json"), "{\"sections\": {}}").expect("written");
    symlink("../../team/team.json", stage.file.path()).expect("linked");
    stage.learn_ok(1, "first");
    stage.learn_ok(2, "second");
    assert!(fs::symlink_metadata(stage.file.path()).expect("there").is_symlink());
    assert_eq!(stage.names(&shared), ["team.json"]);
    assert_eq!(stage.texts(), ["first", "second"]);
}

#[test]
fn rejects_links_to_foreign_files() {
    let bashrc: &[(&str, &str)] = &[("bashrc", "alias ls=ls\n")];
    let settings: &[(&str, &str)] = &[("settings.json", "{\"model\": \"opus\"}")];
    let leftover: &[(&str, &str)] = &[(".playbook.json.longhaul.new", "x")];
    let check = |existing_files: &[(&str, &str)], link: &str, target: &str| {
        let stage = Stage::new();
        let outside = stage.dir.path().join("user");
        fs::create_dir(&outside).expect("created");
        for (name, content) in existing_files {
            fs::write(outside.join(name), content).expect("written");
        }
        if link != ".claude" {
            fs::create_dir(stage.claude()).expect("created");
        }
        symlink(target, stage.dir.path().join("project").join(link)).expect("linked");
        let before = stage.names(&stage.dir.path().join("project"));
        let refused = stage.learn(1, "x");
        let leads_elsewhere =
            matches!(&refused, Err(FileError::Outside { path, leads_to }) if path != leads_to);
        assert!(leads_elsewhere, "{target}: {refused:?}");
        let replaced = stage.file.replace(&mut stage.learning(), None, Playbook::default(), AT);
        assert!(matches!(replaced, Err(FileError::Outside { .. })), "{target}: {replaced:?}");
        let expected: Vec<&str> = existing_files.iter().map(|(name, _)| *name).collect();
        assert_eq!(stage.names(&outside), expected, "{target}");
        for (name, content) in existing_files {
            assert_eq!(fs::read_to_string(outside.join(name)).expect("there"), *content);
        }
        assert_eq!(stage.names(&stage.dir.path().join("project")), before, "{target}");
        if link != ".claude" {
            assert_eq!(stage.names(&stage.claude()), ["playbook.json"], "{target}");
        }
        assert!(stage.history().is_empty());
    };
    check(bashrc, ".claude/playbook.json", "../../user/bashrc");
    check(settings, ".claude/playbook.json", "../../user/settings.json");
    check(bashrc, ".claude/playbook.json", "../../user/new");
    check(bashrc, ".claude/playbook.json", "../../user/new/new");
    check(bashrc, ".claude", "../user");
    check(bashrc, ".claude", "../user/new");
    check(leftover, ".claude", "../user");
    check(&[("playbook.json", "damaged")], ".claude", "../user");
    // A link that stays in the project is allowed.
    let stage = Stage::new();
    fs::create_dir(stage.claude()).expect("created");
    symlink("../team.json", stage.file.path()).expect("linked");
    stage.learn_ok(1, "first");
    assert_eq!(stage.texts(), ["first"]);
    assert!(stage.dir.path().join("project/team.json").exists());
}

#[test]
fn empty_change_keeps_file() {
    let stage = Stage::with(FOREIGN);
    let apply_empty = |slice: i64| {
        stage
            .file
            .change(&mut stage.learning(), &RevisionCause::SliceRow(slice), AT, unchanged)
            .expect("done")
            .outcome
    };
    assert_eq!(apply_empty(1), ChangeOutcome::Unchanged);
    assert_eq!(stage.text(), FOREIGN);
    assert_eq!(apply_empty(1), ChangeOutcome::AlreadyApplied);
    let stage = Stage::new();
    let changed =
        stage.file.change(&mut stage.learning(), &RevisionCause::SliceRow(1), AT, unchanged).expect("done");
    assert_eq!(changed.outcome, ChangeOutcome::Unchanged);
    assert!(!stage.file.path().exists());
}

#[test]
fn killed_writer_applies_change_once_or_not() {
    let damaged = format!("{}…", &FOREIGN[..60]);
    let mut interruptions = 0;
    for name in ["nothing", "theirs", "ours", "damaged"] {
        for step in failpoints::CHANGE_STEPS {
            let stage = Stage::new();
            match name {
                "nothing" => {}
                "theirs" => stage.write(FOREIGN),
                "ours" => drop(stage.learn_ok(1, "ours")),
                _ => {
                    stage.learn_ok(1, "ours");
                    stage.write(&damaged);
                }
            }
            let before = stage.file.read().map(|found| found.playbook).ok();
            if failpoints::interrupt_after(*step, || stage.learn_ok(17, "learned")).is_none() {
                continue;
            }
            interruptions += 1;
            // A reader sees the state before or after the change.
            if let Ok(found) = stage.file.read() {
                let learned = found.playbook.points().filter(|(_, point)| point.text == "learned").count();
                assert!(learned == 1 || before.as_ref() == Some(&found.playbook), "{name} {step:?}");
            }
            let first = stage.learn_ok(17, "learned");
            assert!(
                matches!(first.outcome, ChangeOutcome::Saved | ChangeOutcome::AlreadyApplied),
                "{name} {step:?}"
            );
            assert_eq!(
                stage.learn_ok(17, "learned").outcome,
                ChangeOutcome::AlreadyApplied,
                "{name} {step:?}"
            );
            stage.learn_ok(18, "later");
            let texts = stage.texts();
            let expected: &[&str] = match name {
                "nothing" => &["learned", "later"],
                "theirs" => &["theirs", "learned", "later"],
                _ => &["ours", "learned", "later"],
            };
            assert_eq!(texts, expected, "{name} {step:?}");
            let files = stage.names(&stage.claude());
            let expected: &[&str] = if name == "damaged" {
                &["playbook.json", "playbook.json.damaged-1"]
            } else {
                &["playbook.json"]
            };
            assert_eq!(files, expected, "{name} {step:?}");
            let history = stage.history();
            assert_eq!(history.iter().filter(|cause| *cause == "slice 17").count(), 1, "{name} {step:?}");
        }
    }
    // Each step for each initial state, but `BackedUp` only for a damaged file.
    assert_eq!(interruptions, 4 * 4 + 1);
}

#[test]
fn keeps_edits_after_killed_writer() {
    // Never written, and edited since: the edit stays, and the slice is applied to it.
    let stage = Stage::with(FOREIGN);
    failpoints::interrupt_after(Failpoint::Recorded, || stage.learn_ok(1, "learned"))
        .expect("the change is interrupted");
    stage.write(FOREIGN.replace("theirs", "by hand"));
    assert_eq!(stage.learn_ok(1, "learned").outcome, ChangeOutcome::Saved);
    assert_eq!(stage.texts(), ["by hand", "learned"]);
    // Written but not recorded, and edited since.
    failpoints::interrupt_after(Failpoint::Replaced, || stage.learn_ok(2, "second"))
        .expect("the change is interrupted");
    stage.write(stage.text().replace("by hand", "by hand again"));
    assert_eq!(stage.learn_ok(2, "second").outcome, ChangeOutcome::AlreadyApplied);
    assert_eq!(stage.texts(), ["by hand again", "learned", "second"]);
    // Never written, and another program rewrote the previous state with its own time.
    let foreign = stage.text();
    failpoints::interrupt_after(Failpoint::Recorded, || stage.learn_ok(6, "sixth"))
        .expect("the change is interrupted");
    stage.write(foreign.replace("2026-11-23", "2026-11-24").replace("\"learned\"", "\"their own\""));
    assert_eq!(stage.learn_ok(6, "sixth").outcome, ChangeOutcome::Saved);
    assert_eq!(stage.texts(), ["by hand again", "their own", "second", "sixth"]);
    // Written but not recorded, and rewritten by another program since.
    failpoints::interrupt_after(Failpoint::Replaced, || stage.learn_ok(7, "seventh"))
        .expect("the change is interrupted");
    stage.write(stage.text().replace("2026-11-24", "2026-11-25").replace("their own", "learned"));
    assert_eq!(stage.learn_ok(7, "seventh").outcome, ChangeOutcome::AlreadyApplied);
    stage.write(&foreign);
    // Recorded, and an older state restored, as `git checkout` does: it is intended.
    let older = stage.text();
    stage.learn_ok(3, "third");
    stage.write(&older);
    stage.learn_ok(4, "fourth");
    assert_eq!(stage.texts(), ["by hand again", "learned", "second", "fourth"]);
    // A removed file starts from scratch.
    fs::remove_file(stage.file.path()).expect("removed");
    stage.learn_ok(5, "fifth");
    assert_eq!(stage.texts(), ["fifth"]);
}

#[test]
fn backs_up_damaged_file_and_continues() {
    let check = |damage: &[u8]| {
        let stage = Stage::new();
        stage.learn_ok(1, "ours");
        stage.write(damage);
        assert!(matches!(stage.file.read(), Err(FileError::Damaged { .. })));
        let changed = stage.learn_ok(2, "more");
        assert_eq!(changed.damaged_copy, Some(stage.claude().join("playbook.json.damaged-1")));
        assert_eq!(changed.warnings.len(), 1);
        assert_eq!(fs::read(stage.claude().join("playbook.json.damaged-1")).expect("kept"), damage);
        assert_eq!(stage.texts(), ["ours", "more"]);
        // The next damaged file gets another name.
        stage.write("{");
        stage.learn_ok(3, "last");
        assert_eq!(fs::read(stage.claude().join("playbook.json.damaged-2")).expect("kept"), b"{");
        assert_eq!(stage.texts(), ["ours", "more", "last"]);
    };
    check(b"");
    check(b"{\"sections\": {\"OTHERS\": [");
    check(b"{\"sections\": []}");
    check(b"\xff\xfe\x00");
    // Without a saved state the playbook starts empty, and an empty playbook never replaces a damaged file.
    let stage = Stage::with("{\"sections\"");
    let changed =
        stage.file.change(&mut stage.learning(), &RevisionCause::SliceRow(1), AT, unchanged).expect("done");
    assert_eq!((changed.outcome, stage.text().as_str()), (ChangeOutcome::Unchanged, "{\"sections\""));
    stage.learn_ok(2, "new");
    assert_eq!(stage.texts(), ["new"]);
    assert_eq!(stage.names(&stage.claude()), ["playbook.json", "playbook.json.damaged-1"]);
}

#[test]
fn rejects_newer_file() {
    let newer = r#"{"version": "2.0", "points": []}"#;
    let stage = Stage::with(newer);
    assert!(matches!(stage.learn(1, "x"), Err(FileError::Newer { .. })));
    assert!(matches!(stage.file.read(), Err(FileError::Newer { .. })));
    assert_eq!((stage.text().as_str(), stage.history().len()), (newer, 0));
    // After a downgrade of the file, the slice is learned.
    stage.write(FOREIGN);
    assert_eq!(stage.learn_ok(1, "x").outcome, ChangeOutcome::Saved);
}

#[test]
fn failed_write_leaves_no_trace() {
    // The name of the directory or of the file is taken, or the project does not exist.
    let stage = Stage::new();
    fs::write(stage.claude(), "").expect("written");
    assert!(matches!(stage.learn(1, "x"), Err(FileError::Io { .. })));
    fs::remove_file(stage.claude()).expect("removed");
    fs::create_dir_all(stage.file.path()).expect("created");
    assert!(matches!(stage.learn(1, "x"), Err(FileError::Io { .. })));
    fs::remove_dir_all(stage.dir.path().join("project")).expect("removed");
    assert!(matches!(stage.learn(1, "x"), Err(FileError::Io { .. })));
    assert!(!stage.dir.path().join("project").exists());
    fs::create_dir(stage.dir.path().join("project")).expect("created");
    assert_eq!(stage.learn_ok(1, "x").outcome, ChangeOutcome::Saved);
    assert_eq!(stage.history(), ["slice 1"]);
}

#[test]
fn edit_rejects_changed_file() {
    let stage = Stage::with(FOREIGN);
    let seen = stage.file.bytes().expect("read");
    let edited = added(&stage.file.read().expect("read").playbook, "edited").playbook;
    let replace = |seen: &Option<Vec<u8>>| {
        stage.file.replace(&mut stage.learning(), seen.as_deref(), edited.clone(), AT)
    };
    stage.learn_ok(1, "in the meantime");
    assert!(matches!(replace(&seen), Err(FileError::ChangedMeanwhile { .. })));
    assert_eq!(stage.texts(), ["theirs", "in the meantime"]);
    let seen = stage.file.bytes().expect("read");
    assert_eq!(replace(&seen).expect("saved").outcome, ChangeOutcome::Saved);
    assert_eq!(stage.texts(), ["theirs", "edited"]);
    assert_eq!(stage.history(), ["found", "slice 1", "edit"]);
    // A damaged file can be replaced and is backed up.
    stage.write("{");
    assert_eq!(replace(&Some(b"{".to_vec())).expect("saved").outcome, ChangeOutcome::Saved);
    assert_eq!(stage.names(&stage.claude()), ["playbook.json", "playbook.json.damaged-1"]);
}

#[test]
fn undoes_changes() {
    let stage = Stage::with(FOREIGN);
    let undo = |number: Option<i64>, force: bool| -> Result<Vec<String>, UndoError> {
        let planned = stage.file.undo_plan(&stage.learning(), number, force);
        let undone = stage.file.undo(&mut stage.learning(), number, force, AT);
        match (planned, undone) {
            (Ok(planned), Ok(changed)) => {
                assert_eq!(planned.changes, changed.changes);
                Ok(stage.texts())
            }
            (Err(FileError::Undo(planned)), Err(FileError::Undo(error))) => {
                assert_eq!(planned, error);
                Err(error)
            }
            (planned, undone) => fail(&format!("{planned:?} {undone:?}")),
        }
    };
    assert_eq!(undo(None, false), Err(UndoError::Nothing));
    stage.learn_ok(1, "one"); // 1 found, 2
    stage.learn_ok(2, "two"); // 3
    stage
        .file
        .change(&mut stage.learning(), &RevisionCause::SliceRow(3), AT, unchanged)
        .expect("nothing to learn"); // 4
    // The last change with an effect; after that, its undo is the last change.
    assert_eq!(undo(None, false).expect("undone"), ["theirs", "one"]); // 5
    assert_eq!(undo(None, false).expect("undone"), ["theirs", "one", "two"]); // 6
    assert_eq!(undo(Some(2), false).expect("undone"), ["theirs"]); // 7
    assert_eq!(undo(Some(6), false).expect("undone"), ["theirs", "one"]); // 8
    assert_eq!(undo(Some(99), false), Err(UndoError::NoSuch(99)));
    // The initial state cannot be undone either.
    assert!(matches!(undo(Some(1), false), Err(UndoError::Edited { number: 1, .. })));
    // An edit by a person is never lost silently, whether it is recorded or not.
    stage.write(stage.text().replace("theirs", "by hand"));
    assert!(matches!(undo(None, false), Err(UndoError::Edited { number: 8, .. })));
    stage.learn_ok(4, "four"); // 9 found, 10
    assert_eq!(undo(None, false).expect("undone"), ["by hand", "one"]); // 11
    assert!(matches!(undo(Some(3), false), Err(UndoError::Edited { number: 3, .. })));
    assert_eq!(undo(Some(3), true).expect("undone"), ["theirs", "one"]);
    assert_eq!(stage.history().last().map(String::as_str), Some("undo 3"));
    // An id that was undone is not reused.
    assert!(stage.text().contains("\"oth\": 3"), "{}", stage.text());
}

fn fail(difference: &str) -> Result<Vec<String>, UndoError> {
    assert_eq!(difference, "", "an undo and its plan differ");
    Err(UndoError::Nothing)
}

#[test]
fn keeps_hundred_texts_and_every_slice() {
    let stage = Stage::new();
    for slice in 0..104 {
        stage.learn_ok(slice, &format!("point {slice}"));
    }
    let revisions = stage.learning().revisions(&stage.file.project()).expect("read");
    let with_content = revisions.iter().filter(|revision| revision.content.is_some()).count();
    assert_eq!((revisions.len(), with_content), (104, 100));
    assert_eq!(stage.learn_ok(0, "again").outcome, ChangeOutcome::AlreadyApplied);
    let result = stage.file.undo(&mut stage.learning(), Some(2), false, AT);
    assert!(matches!(result, Err(FileError::Undo(UndoError::ContentDeleted(2)))), "{result:?}");
}

#[test]
fn concurrent_writers_lose_nothing() {
    const WRITERS: i64 = 20;
    const EACH: i64 = 5;
    let stage = Stage::with(FOREIGN);
    stage.learning();
    let barrier = Barrier::new(WRITERS as usize);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (stage, barrier) = (&stage, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for change in 0..EACH {
                    // Every slice is learned by two writers.
                    let slice = writer / 2 * EACH + change;
                    stage.learn_ok(slice, &format!("slice {slice}"));
                }
            });
        }
    });
    let mut texts = stage.texts();
    texts.sort();
    let mut expected: Vec<String> = (0..WRITERS / 2 * EACH).map(|slice| format!("slice {slice}")).collect();
    expected.push("theirs".to_owned());
    expected.sort();
    assert_eq!(texts, expected);
    assert_eq!(stage.names(&stage.claude()), ["playbook.json"]);
}
