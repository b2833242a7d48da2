use super::{ProjectProgress, Stage};

const STAGES: &str = "init, autoformalize, prover, polish or COMPLETE";

fn stage(text: &str) -> Result<Stage, String> {
    ProjectProgress::parse(text).map(|progress| progress.stage)
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let error = stage(text).expect_err("there is no known stage");
    assert_eq!(error, expected);
}

#[test]
fn every_stage_is_read() {
    for expected in Stage::ALL.iter().copied() {
        for text in [
            format!("# Project\n\n## Current Stage\n{expected}\n\n## Stages\n- [x] init\n"),
            format!("## Current Stage\r\n\r\n  {expected}  \r\n"),
            format!("## current stage\n\n\n**{expected}**.\n"),
            format!("## Current Stage ##\n`{expected}`"),
            format!("## Current Stage\n<!-- init | prover -->\n{expected}"),
            format!("## Current Stage\n```\nCOMPLETE\n```\n{expected}"),
        ] {
            assert_eq!(stage(&text), Ok(expected), "{text}");
        }
    }
}

#[test]
fn note_follows_only_a_stage_with_work_left() {
    for note in [" (session 12)", " — two files are complete", " - see below"] {
        assert_eq!(stage(&format!("## Current Stage\nprover{note}")), Ok(Stage::Prover), "{note}");
        assert_eq!(stage(&format!("## Current Stage\n**Polish**{note}")), Ok(Stage::Polish), "{note}");
        let complete = stage(&format!("## Current Stage\nCOMPLETE{note}"));
        let error = complete.expect_err("COMPLETE has no note");
        assert!(error.starts_with("PROGRESS.md, line 2: `COMPLETE"), "{error}");
    }
}

#[test]
fn sentence_about_completion_is_not_complete() {
    for text in [
        "formalization complete; verification complete",
        "complete",
        "Complete",
        "NOT COMPLETE",
        "COMPLETE except for one lemma",
        "prover complete",
        "proving",
        "prover-polish",
    ] {
        check_error(
            &format!("# P\n\n## Current Stage\n\n{text}\n"),
            &format!("PROGRESS.md, line 5: `{text}` is no stage; write only {STAGES}"),
        );
    }
}

#[test]
fn errors_name_the_line_and_the_stages() {
    check_error(
        "## Current Stage\nalmost done\n",
        &format!("PROGRESS.md, line 2: `almost done` is no stage; write only {STAGES}"),
    );
    check_error(
        "# P\n## Current Stage\n\n## Stages\n- [x] init\n",
        &format!("PROGRESS.md, line 2: no stage follows the heading; write {STAGES} below it"),
    );
    for text in ["", "# P\n\nprover\n", "<!--\n## Current Stage\nprover\n-->", "### Current Stage\nprover"] {
        check_error(
            text,
            &format!(
                "PROGRESS.md has no heading `## Current Stage`; add it, with {STAGES} in the line below"
            ),
        );
    }
}

#[test]
fn two_sections_must_state_the_same_stage() {
    assert_eq!(stage("## Current Stage\nprover\n## Current Stage\nprover\n"), Ok(Stage::Prover));
    check_error(
        "## Current Stage\nprover\n## Notes\n## Current Stage\nCOMPLETE\n",
        "PROGRESS.md states the stage prover in line 2 and COMPLETE in line 5; delete one",
    );
}

#[test]
fn newest_objectives_win() {
    let names = |text: &str| {
        let objectives = ProjectProgress::parse(text).expect("the stage is known").objectives;
        objectives.into_iter().map(|objective| (objective.name, objective.line)).collect::<Vec<_>>()
    };
    let old = "## Current Stage\nprover\n## Current Objectives\n1. **Old.lean** — fill it\n## Plan\n";
    assert_eq!(names(old), [("Old.lean".to_owned(), 4)]);
    let new = format!("{old}## Current Objectives\n- `New/A.lean`\n");
    assert_eq!(names(&new), [("New/A.lean".to_owned(), 7)]);
    assert_eq!(names(&format!("{old}## Current Objectives\n\n## Notes\n- **Other.lean**\n")), []);
    assert_eq!(names("## Current Stage\nCOMPLETE\n"), []);
}
