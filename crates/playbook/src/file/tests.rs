use super::failpoints;
use super::{Changed, FileError, Outcome, PlaybookFile, UndoError};
use crate::database::RevisionCause;
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
/// As another program writes it.
const THEIRS: &str = r#"{"version": "1.0", "last_updated": "2026-11-20T10:00:00.5", "sections": {"OTHERS":
    [{"name": "oth-001", "text": "theirs", "helpful": 4, "harmful": 0, "by": "me"}]}, "team": 1}"#;

struct Stage {
    dir: TempDir,
    file: PlaybookFile,
}

impl Stage {
    fn new() -> Stage {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("project")).expect("created");
        Stage { file: PlaybookFile::of_project(&dir.path().join("project")), dir }
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

    /// Adds a point for a slice.
    fn learn(&self, slice: i64, text: &str) -> Result<Changed, FileError> {
        self.file.change(&mut self.learning(), &RevisionCause::SliceRow(slice), AT, |playbook| {
            added(playbook, text)
        })
    }

    fn learnt(&self, slice: i64, text: &str) -> Changed {
        self.learn(slice, text).expect("learnt")
    }

    fn texts(&self) -> Vec<String> {
        let found = self.file.read().expect("read");
        found.playbook.points().map(|(_, point)| point.text.clone()).collect()
    }

    fn history(&self) -> Vec<String> {
        let saves = self.learning().saves(&self.file.project()).expect("read");
        saves.iter().map(|save| save.cause.to_string()).collect()
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
    let done = AppliedChange::Added {
        name: name.as_str().into(),
        section,
        text: text.to_owned(),
        unknown_section: None,
    };
    Applied { playbook, changes: ChangeSummary { applied: vec![done], skipped: Vec::new() } }
}

fn same(playbook: &Playbook) -> Applied {
    Applied { playbook: playbook.clone(), changes: ChangeSummary::default() }
}

#[test]
fn the_first_change_makes_the_file() {
    let stage = Stage::new();
    assert_eq!(stage.file.read().expect("read").text, None);
    let changed = stage.learnt(7, "one");
    assert_eq!((changed.outcome, changed.save), (Outcome::Saved, Some(1)));
    assert_eq!(stage.texts(), ["one"]);
    assert!(stage.text().contains("\"last_updated\": \"2026-11-23T00:30:00.000000\""), "{}", stage.text());
    assert_eq!(stage.names(&stage.claude()), ["playbook.json"]);
    let mode = fs::metadata(stage.file.path()).expect("there").permissions().mode();
    assert_eq!(mode & 0o600, 0o600);
    // The same slice again, by whomever.
    let again = stage.learnt(7, "one");
    assert_eq!((again.outcome, again.save, again.changes), (Outcome::Already, Some(1), changed.changes));
    assert_eq!(stage.texts(), ["one"]);
    // The clock has not moved on, and the file says that it has changed all the same.
    stage.learnt(8, "two");
    assert!(stage.text().contains("\"last_updated\": \"2026-11-23T00:30:00.000001\""), "{}", stage.text());
}

#[test]
fn what_others_wrote_is_kept_and_in_the_history() {
    let stage = Stage::with(THEIRS);
    stage.learnt(1, "ours");
    assert_eq!(stage.texts(), ["theirs", "ours"]);
    assert!(stage.text().contains("\"by\": \"me\"") && stage.text().contains("\"team\": 1"));
    stage.write(stage.text().replace("theirs", "by hand"));
    stage.learnt(2, "more");
    assert_eq!(stage.texts(), ["by hand", "ours", "more"]);
    assert_eq!(stage.history(), ["found", "slice 1", "found", "slice 2"]);
    let saves = stage.learning().saves(&stage.file.project()).expect("read");
    assert_eq!(saves[0].content.as_deref(), Some(THEIRS));
    assert!(
        matches!(&saves[2].changes.applied[..], [AppliedChange::Updated { previous_text, .. }] if previous_text == "theirs")
    );
}

#[test]
fn the_mode_and_a_link_stay() {
    let stage = Stage::with(THEIRS);
    fs::set_permissions(stage.file.path(), Permissions::from_mode(0o640)).expect("set");
    stage.learnt(1, "ours");
    assert_eq!(fs::metadata(stage.file.path()).expect("there").permissions().mode() & 0o777, 0o640);

    let stage = Stage::new();
    let shared = stage.dir.path().join("team");
    fs::create_dir(&shared).expect("created");
    fs::create_dir(stage.claude()).expect("created");
    fs::write(shared.join("team.json"), "{\"sections\": {}}").expect("written");
    symlink("../../team/team.json", stage.file.path()).expect("linked");
    stage.learnt(1, "first");
    stage.learnt(2, "second");
    assert!(fs::symlink_metadata(stage.file.path()).expect("there").is_symlink());
    assert_eq!(stage.names(&shared), ["team.json"]);
    assert_eq!(stage.texts(), ["first", "second"]);
}

#[test]
fn no_link_leads_us_to_a_file_of_somebody_elses() {
    let bashrc: &[(&str, &str)] = &[("bashrc", "alias ls=ls\n")];
    let settings: &[(&str, &str)] = &[("settings.json", "{\"model\": \"opus\"}")];
    let left: &[(&str, &str)] = &[(".playbook.json.longhaul-1.new", "x")];
    let check = |there: &[(&str, &str)], link: &str, target: &str| {
        let stage = Stage::new();
        let outside = stage.dir.path().join("user");
        fs::create_dir(&outside).expect("created");
        for (name, content) in there {
            fs::write(outside.join(name), content).expect("written");
        }
        if link != ".claude" {
            fs::create_dir(stage.claude()).expect("created");
        }
        symlink(target, stage.dir.path().join("project").join(link)).expect("linked");
        let before = stage.names(&stage.dir.path().join("project"));
        let refused = stage.learn(1, "x");
        assert!(matches!(refused, Err(FileError::Outside { .. })), "{target}: {refused:?}");
        let replaced = stage.file.replace(&mut stage.learning(), None, Playbook::default(), AT);
        assert!(matches!(replaced, Err(FileError::Outside { .. })), "{target}: {replaced:?}");
        let expected: Vec<&str> = there.iter().map(|(name, _)| *name).collect();
        assert_eq!(stage.names(&outside), expected, "{target}");
        for (name, content) in there {
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
    check(left, ".claude", "../user");
    check(&[("playbook.json", "damaged")], ".claude", "../user");
    // One that stays in the project is the project's affair.
    let stage = Stage::new();
    fs::create_dir(stage.claude()).expect("created");
    symlink("../team.json", stage.file.path()).expect("linked");
    stage.learnt(1, "first");
    assert_eq!(stage.texts(), ["first"]);
    assert!(stage.dir.path().join("project/team.json").exists());
}

#[test]
fn a_change_that_changes_nothing_leaves_the_file_alone() {
    let stage = Stage::with(THEIRS);
    let nothing = |slice: i64| {
        stage
            .file
            .change(&mut stage.learning(), &RevisionCause::SliceRow(slice), AT, same)
            .expect("done")
            .outcome
    };
    assert_eq!(nothing(1), Outcome::Unchanged);
    assert_eq!(stage.text(), THEIRS);
    assert_eq!(nothing(1), Outcome::Already);
    let stage = Stage::new();
    let nothing =
        stage.file.change(&mut stage.learning(), &RevisionCause::SliceRow(1), AT, same).expect("done");
    assert_eq!(nothing.outcome, Outcome::Unchanged);
    assert!(!stage.file.path().exists());
}

#[test]
fn whoever_is_killed_between_two_steps_has_learnt_once_or_not_at_all() {
    let damaged = format!("{}…", &THEIRS[..60]);
    let mut cut_off = 0;
    for name in ["nothing", "theirs", "ours", "damaged"] {
        for step in failpoints::ALL {
            let stage = Stage::new();
            match name {
                "nothing" => {}
                "theirs" => stage.write(THEIRS),
                "ours" => drop(stage.learnt(1, "ours")),
                _ => {
                    stage.learnt(1, "ours");
                    stage.write(&damaged);
                }
            }
            let before = stage.file.read().map(|found| found.playbook).ok();
            if failpoints::at(*step, || stage.learnt(17, "learnt")).is_none() {
                continue;
            }
            cut_off += 1;
            // A reader sees what was, or what is.
            if let Ok(found) = stage.file.read() {
                let learned = found.playbook.points().filter(|(_, point)| point.text == "learnt").count();
                assert!(learned == 1 || before.as_ref() == Some(&found.playbook), "{name} {step:?}");
            }
            let first = stage.learnt(17, "learnt");
            assert!(matches!(first.outcome, Outcome::Saved | Outcome::Already), "{name} {step:?}");
            assert_eq!(stage.learnt(17, "learnt").outcome, Outcome::Already, "{name} {step:?}");
            stage.learnt(18, "later");
            let texts = stage.texts();
            let expected: &[&str] = match name {
                "nothing" => &["learnt", "later"],
                "theirs" => &["theirs", "learnt", "later"],
                _ => &["ours", "learnt", "later"],
            };
            assert_eq!(texts, expected, "{name} {step:?}");
            let left = stage.names(&stage.claude());
            let expected: &[&str] = if name == "damaged" {
                &["playbook.json", "playbook.json.damaged-1"]
            } else {
                &["playbook.json"]
            };
            assert_eq!(left, expected, "{name} {step:?}");
            let history = stage.history();
            assert_eq!(history.iter().filter(|cause| *cause == "slice 17").count(), 1, "{name} {step:?}");
        }
    }
    // Each step of each beginning, but nothing is put aside where nothing is damaged.
    assert_eq!(cut_off, 4 * 4 + 1);
}

#[test]
fn what_a_person_does_behind_a_killed_writer_is_kept() {
    // Never in the file, and edited since: the edit stays, and the slice is learnt on top of it.
    let stage = Stage::with(THEIRS);
    failpoints::at(failpoints::Step::WrittenDown, || stage.learnt(1, "learnt")).expect("cut off");
    stage.write(THEIRS.replace("theirs", "by hand"));
    assert_eq!(stage.learnt(1, "learnt").outcome, Outcome::Saved);
    assert_eq!(stage.texts(), ["by hand", "learnt"]);
    // In the file, unnoted, and edited since.
    failpoints::at(failpoints::Step::Placed, || stage.learnt(2, "second")).expect("cut off");
    stage.write(stage.text().replace("by hand", "by hand again"));
    assert_eq!(stage.learnt(2, "second").outcome, Outcome::Already);
    assert_eq!(stage.texts(), ["by hand again", "learnt", "second"]);
    // Never in the file, and another program wrote what was there before, with a moment of its own.
    let theirs = stage.text();
    failpoints::at(failpoints::Step::WrittenDown, || stage.learnt(6, "sixth")).expect("cut off");
    stage.write(theirs.replace("2026-11-23", "2026-11-24").replace("\"learnt\"", "\"their own\""));
    assert_eq!(stage.learnt(6, "sixth").outcome, Outcome::Saved);
    assert_eq!(stage.texts(), ["by hand again", "their own", "second", "sixth"]);
    // In the file, unnoted, and written by another program since.
    failpoints::at(failpoints::Step::Placed, || stage.learnt(7, "seventh")).expect("cut off");
    stage.write(stage.text().replace("2026-11-24", "2026-11-25").replace("their own", "learnt"));
    assert_eq!(stage.learnt(7, "seventh").outcome, Outcome::Already);
    stage.write(&theirs);
    // Noted, and an older state brought back, as `git checkout` does: it was meant.
    let older = stage.text();
    stage.learnt(3, "third");
    stage.write(&older);
    stage.learnt(4, "fourth");
    assert_eq!(stage.texts(), ["by hand again", "learnt", "second", "fourth"]);
    // Removed: it begins anew.
    fs::remove_file(stage.file.path()).expect("removed");
    stage.learnt(5, "fifth");
    assert_eq!(stage.texts(), ["fifth"]);
}

#[test]
fn a_damaged_file_is_kept_and_learning_goes_on() {
    let check = |damage: &[u8]| {
        let stage = Stage::new();
        stage.learnt(1, "ours");
        stage.write(damage);
        assert!(matches!(stage.file.read(), Err(FileError::Damaged { .. })));
        let changed = stage.learnt(2, "more");
        assert_eq!(changed.damaged_copy, Some(stage.claude().join("playbook.json.damaged-1")));
        assert_eq!(changed.warnings.len(), 1);
        assert_eq!(fs::read(stage.claude().join("playbook.json.damaged-1")).expect("kept"), damage);
        assert_eq!(stage.texts(), ["ours", "more"]);
        // Another time, another name.
        stage.write("{");
        stage.learnt(3, "last");
        assert_eq!(fs::read(stage.claude().join("playbook.json.damaged-2")).expect("kept"), b"{");
        assert_eq!(stage.texts(), ["ours", "more", "last"]);
    };
    check(b"");
    check(b"{\"sections\": {\"OTHERS\": [");
    check(b"{\"sections\": []}");
    check(b"\xff\xfe\x00");
    // Without a state of ours it begins anew, and an empty one takes nobody's place.
    let stage = Stage::with("{\"sections\"");
    let nothing =
        stage.file.change(&mut stage.learning(), &RevisionCause::SliceRow(1), AT, same).expect("done");
    assert_eq!((nothing.outcome, stage.text().as_str()), (Outcome::Unchanged, "{\"sections\""));
    stage.learnt(2, "new");
    assert_eq!(stage.texts(), ["new"]);
    assert_eq!(stage.names(&stage.claude()), ["playbook.json", "playbook.json.damaged-1"]);
}

#[test]
fn a_newer_file_is_left_alone() {
    let newer = r#"{"version": "2.0", "points": []}"#;
    let stage = Stage::with(newer);
    assert!(matches!(stage.learn(1, "x"), Err(FileError::Newer { .. })));
    assert!(matches!(stage.file.read(), Err(FileError::Newer { .. })));
    assert_eq!((stage.text().as_str(), stage.history().len()), (newer, 0));
    // Once it is one of ours again, the slice is learnt.
    stage.write(THEIRS);
    assert_eq!(stage.learnt(1, "x").outcome, Outcome::Saved);
}

#[test]
fn what_cannot_be_written_is_as_if_it_had_not_been_tried() {
    // Something else has the name of the directory, or of the file; or the project is gone.
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
    assert_eq!(stage.learnt(1, "x").outcome, Outcome::Saved);
    assert_eq!(stage.history(), ["slice 1"]);
}

#[test]
fn an_edit_does_not_overwrite_what_it_has_not_seen() {
    let stage = Stage::with(THEIRS);
    let seen = stage.file.bytes().expect("read");
    let edited = added(&stage.file.read().expect("read").playbook, "edited").playbook;
    let replace = |seen: &Option<Vec<u8>>| {
        stage.file.replace(&mut stage.learning(), seen.as_deref(), edited.clone(), AT)
    };
    stage.learnt(1, "in the meantime");
    assert!(matches!(replace(&seen), Err(FileError::Overtaken { .. })));
    assert_eq!(stage.texts(), ["theirs", "in the meantime"]);
    let seen = stage.file.bytes().expect("read");
    assert_eq!(replace(&seen).expect("saved").outcome, Outcome::Saved);
    assert_eq!(stage.texts(), ["theirs", "edited"]);
    assert_eq!(stage.history(), ["found", "slice 1", "edit"]);
    // A damaged one can be mended, and is kept.
    stage.write("{");
    assert_eq!(replace(&Some(b"{".to_vec())).expect("saved").outcome, Outcome::Saved);
    assert_eq!(stage.names(&stage.claude()), ["playbook.json", "playbook.json.damaged-1"]);
}

#[test]
fn changes_are_taken_back() {
    let stage = Stage::with(THEIRS);
    let undo = |number: Option<i64>, force: bool| -> Result<Vec<String>, UndoError> {
        let planned = stage.file.undoing(&stage.learning(), number, force);
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
            (planned, undone) => panic_free(&format!("{planned:?} {undone:?}")),
        }
    };
    assert_eq!(undo(None, false), Err(UndoError::Nothing));
    stage.learnt(1, "one"); // 1 found, 2
    stage.learnt(2, "two"); // 3
    stage
        .file
        .change(&mut stage.learning(), &RevisionCause::SliceRow(3), AT, same)
        .expect("nothing to learn"); // 4
    // The last change that changed something; then its undoing is the last one.
    assert_eq!(undo(None, false).expect("undone"), ["theirs", "one"]); // 5
    assert_eq!(undo(None, false).expect("undone"), ["theirs", "one", "two"]); // 6
    assert_eq!(undo(Some(2), false).expect("undone"), ["theirs"]); // 7
    assert_eq!(undo(Some(6), false).expect("undone"), ["theirs", "one"]); // 8
    assert_eq!(undo(Some(99), false), Err(UndoError::NoSuch { number: 99 }));
    // Nor what was there when all began.
    assert!(matches!(undo(Some(1), false), Err(UndoError::Edited { number: 1, .. })));
    // What a person wrote since, noticed or not, is not lost by the way.
    stage.write(stage.text().replace("theirs", "by hand"));
    assert!(matches!(undo(None, false), Err(UndoError::Edited { number: 8, .. })));
    stage.learnt(4, "four"); // 9 found, 10
    assert_eq!(undo(None, false).expect("undone"), ["by hand", "one"]); // 11
    assert!(matches!(undo(Some(3), false), Err(UndoError::Edited { number: 3, .. })));
    assert_eq!(undo(Some(3), true).expect("undone"), ["theirs", "one"]);
    assert_eq!(stage.history().last().map(String::as_str), Some("undo 3"));
    // A name that was taken back is not given again.
    assert!(stage.text().contains("\"oth\": 3"), "{}", stage.text());
}

fn panic_free(said: &str) -> Result<Vec<String>, UndoError> {
    assert_eq!(said, "", "an undo and its plan differ");
    Err(UndoError::Nothing)
}

#[test]
fn the_last_hundred_states_are_kept_and_every_slice_is_known() {
    let stage = Stage::new();
    for slice in 0..104 {
        stage.learnt(slice, &format!("point {slice}"));
    }
    let saves = stage.learning().saves(&stage.file.project()).expect("read");
    let kept = saves.iter().filter(|save| save.content.is_some()).count();
    assert_eq!((saves.len(), kept), (104, 100));
    assert_eq!(stage.learnt(0, "again").outcome, Outcome::Already);
    let undo = stage.file.undo(&mut stage.learning(), Some(2), false, AT);
    assert!(matches!(undo, Err(FileError::Undo(UndoError::Forgotten { number: 2 }))), "{undo:?}");
}

#[test]
fn many_at_once_lose_nothing() {
    const WRITERS: i64 = 20;
    const EACH: i64 = 5;
    let stage = Stage::with(THEIRS);
    stage.learning();
    let begin = Barrier::new(WRITERS as usize);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (stage, begin) = (&stage, &begin);
            scope.spawn(move || {
                begin.wait();
                for change in 0..EACH {
                    // Every slice by two of them.
                    let slice = writer / 2 * EACH + change;
                    stage.learnt(slice, &format!("slice {slice}"));
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
