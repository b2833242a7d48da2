//! Small trees of `.planning`, one per form, with the state that a careful reader finds.

use crate::{Files, Project, ProjectError};
use std::fmt::Display;
use std::fs;

/// A tree that is written in the test.
#[derive(Default)]
struct Tree<'a> {
    state: &'a str,
    roadmap: &'a str,
    requirements: Option<&'a str>,
    /// Files below `phases` without their suffix, separated by spaces.
    files: &'a str,
}

impl Tree<'_> {
    fn project(&self) -> Project {
        Project::from_files(Files {
            state: Some(self.state.to_owned()),
            roadmap: Some(self.roadmap.to_owned()),
            requirements: self.requirements.map(str::to_owned),
            paths: self.files.split_whitespace().map(|file| format!("phases/{file}.md")).collect(),
            ..Files::default()
        })
    }

    /// Compares phase, name, phases, plans and milestone with `2 Name | 1/3 | 0/2 | v1.0`.
    #[track_caller]
    fn check(&self, expected: &str) {
        let project = self.project();
        let status = &project.status;
        let current =
            [shown(status.current_phase.as_ref()), shown(status.current_phase_name.as_ref())].join(" ");
        let phases = [shown(status.phases_complete), shown(status.phases_total)].join("/");
        let plans = [shown(status.plans_complete), shown(status.plans_total)].join("/");
        let found = [current, phases, plans, shown(status.milestone.as_ref())].join(" | ");
        assert_eq!(found, expected, "{status:#?}");
    }

    fn warnings(&self) -> Vec<String> {
        let place = |line: Option<usize>| line.map(|line| format!(":{line}")).unwrap_or_default();
        let project = self.project();
        let warnings = project.status.warnings.iter();
        warnings.map(|warning| format!("{}{} {}", warning.file, place(warning.line), warning.text)).collect()
    }
}

fn shown<T: Display>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

const ROADMAP: &str = "# Roadmap: Kettle

## Phases

- [x] **Phase 1: Boil** - Heats water (completed 2026-01-02)
- [ ] **Phase 2: Pour** - Pours it
- [ ] **Phase 3: Steep** - Waits

## Phase Details

### Phase 1: Boil
**Plans**: 1 plan

- [x] 01-01-PLAN.md — Heater

### Phase 2: Pour
**Plans**: 2 plans

Plans:
- [ ] 02-01-PLAN.md — Spout
- [ ] 02-02-PLAN.md — Handle

### Phase 3: Steep
**Plans**: TBD

Plans:
- [ ] 03-01: TBD

## Progress

| Phase | Plans Complete | Status | Completed |
|-------|----------------|--------|-----------|
| 1. Boil | 1/1 | Complete | 2026-01-02 |
| 2. Pour | 0/2 | In progress | - |
| 3. Steep | 0/TBD | Not started | - |
";

#[test]
fn old_state_has_its_position_in_the_body() {
    let state = "# Project State\n\n## Current Position\n\nPhase: 2 of 3 (Pour)\nPlan: 1 of 2 in current phase\n\n\
                 ### Blockers/Concerns\n\n- The spout\n  leaks\n- ~~Rust~~\n- [x] Lid\n\n## Session\n\n- No blocker\n";
    let requirements = "## v1 Requirements\n\n### Heat\n- [x] **HEAT-01**: Boils\n- [ ] **HEAT-02**: Stops\n- [ ] no id\n\n\
                        ## v2 Requirements\n- [ ] **TEA-01**: Tea\n\n## Traceability\n| HEAT-01 | Phase 1 | Complete |\n";
    let files = "01-boil/01-01-PLAN 01-boil/01-01-SUMMARY 02-pour/02-01-PLAN 02-pour/02-01-SUMMARY 02-pour/02-02-PLAN \
                 01-boil/01-VERIFICATION";
    let tree = Tree { state, roadmap: ROADMAP, requirements: Some(requirements), files };
    tree.check("2 Pour | 1/3 | 1/2 | -");
    let project = tree.project();
    let status = &project.status;
    assert_eq!(status.progress_percent, Some(50.0));
    assert_eq!(status.blockers, ["The spout leaks"]);
    assert_eq!((status.requirements_complete, status.requirements_total), (Some(1), Some(2)));
    let source = |field: &str| status.sources[field].as_str();
    assert_eq!((source("current_phase"), source("plans_total")), ("STATE.md:5", "phases/02-pour"));
    assert_eq!(
        (source("current_phase_name"), source("requirements_total")),
        ("ROADMAP.md:6", "REQUIREMENTS.md:4")
    );
    assert_eq!(
        tree.warnings(),
        ["ROADMAP.md:34 the number of finished plans is 0 here, but 1 in phases/02-pour"]
    );

    let phase = project.phase(&"02".parse().expect("a number")).expect("it exists");
    assert_eq!(phase.unfinished_plans(), ["02-02"]);
    assert_eq!(project.phase(&"4".parse().expect("a number")), None);
    assert_eq!(project.ahead_of_work(), None);
}

#[test]
fn blockers_are_items_or_paragraphs() {
    let check = |text: &str, expected: &[&str]| {
        let state = format!("### Blockers/Concerns\n\n{text}\n\n## Session\n- No blocker\n");
        let project = Tree { state: &state, ..Tree::default() }.project();
        assert_eq!(project.status.blockers, expected, "{text}");
    };
    check(
        "- **No lid** exists,\n  so it boils over\n- ~~Rust~~\n  is gone\n- [x] Spout\n\nA remark.",
        &["No lid exists, so it boils over"],
    );
    check("The tap\nis dry.\n\n[Issues from](x)", &["The tap is dry.", "[Issues from](x)"]);
    for none in ["None yet.", "*Nenhum bloqueio.*", "- None.", "No blockers.", "—", "", "- [x] RESOLVED"] {
        check(none, &[]);
    }
}

#[test]
fn front_matter_has_a_body_or_not() {
    let front_matter = "---\ngsd_state_version: 1.0\nmilestone: v1.0\nmilestone_name: milestone\ncurrent_phase: 02 # next\n\
                        current_phase_name: \"Pour\"\nprogress:\n  total_phases: 3\n  completed_phases: 1\n---\n";
    for body in [
        "",
        "## Current Position\nPhase: 02 (pour) — EXECUTING\nPlan: 1 of 2\n",
        "## Current Position\n\nPhase: 2\nPlan: Not started\n",
        "## Current Position\nPhase: 02 — Pour\n",
        "## Current Position\nPhase: Phase 2 (Pour) — **PLANNED**\n",
        "## Current Position / Konum\nPhase / Faz: 2 (1 of 2 in v1.0) (Pour)\n",
        "## Position\n- **Phase:** 2 of 3 — Pour\n",
        "**Current Phase:** 2\n",
        "## Current Phase\nPhase 2 — Complete (all plans)\n",
        "| Field | Value |\n|---|---|\n| **Phase** | 2 of 3 |\n",
    ] {
        let state = format!("{front_matter}{body}");
        let tree = Tree { state: &state, roadmap: ROADMAP, ..Tree::default() };
        tree.check("2 Pour | 1/3 | 0/2 | v1.0");
        assert_eq!(tree.warnings(), Vec::<String>::new(), "{body}");
    }
}

#[test]
fn words_instead_of_a_number_are_no_phase() {
    for (text, is_clear) in [
        ("none", true),
        ("All phases complete", true),
        ("n/a (between milestones)", true),
        ("Complete (1: Boil, 2: Pour)", true),
        ("All v1 phases complete", true),
        ("2–3", false),
        ("35+", false),
        ("--phase — 86", false),
    ] {
        let state = format!("## Current Position\nPhase: {text}\n");
        let tree = Tree { state: &state, roadmap: ROADMAP, ..Tree::default() };
        tree.check("- - | 1/3 | -/- | -");
        let warnings = tree.warnings();
        assert_eq!(
            warnings.iter().any(|text| text.starts_with("STATE.md:2 ")),
            !is_clear,
            "{text}: {warnings:?}"
        );
    }
}

const MILESTONES: &str = "# Roadmap\n
## Milestones\n
- ✅ **v1.0 Kettle** — Phases 1-2 (shipped 2026-01-02)
- 🚧 **v1.1 Teapot** — Phases 3-4 (in progress)\n
## Phases\n
<details>
<summary>✅ v1.0 Kettle (Phases 1-2) — SHIPPED 2026-01-02</summary>\n
- [x] Phase 1: Boil (1/1 plans) — completed 2026-01-01
- [x] Phase 2: Pour (2/2 plans) — completed 2026-01-02
- [x] Phase 2.1: Fix the spout (INSERTED) (1/1 plans) — completed 2026-01-02\n
</details>\n
### 🚧 v1.1 Teapot (In Progress)\n
- [x] **Phase 3: Steep** — waits
- [ ] **Phase 4: Serve** — pours
- [ ] **Phase 4.1: Saucer (INSERTED)**\n
## Progress\n
| Phase | Milestone | Plans Complete | Status | Completed |
|---|---|---|---|---|
| 1-2 (v1.0) | v1.0 | 4/4 | Complete | 2026-01-02 |
| 3. Steep | 2/2 | Complete | 2026-01-03 | - |
| 4. Serve | v1.1 | 0/3 | Not started | - |
";

#[test]
fn milestone_counts_its_own_phases() {
    let check = |state: &str, expected: &str| {
        Tree { state, roadmap: MILESTONES, ..Tree::default() }.check(expected);
    };
    check("## Current Position\nPhase: 4 of 4 (serve)\n", "4 Serve | 1/3 | 0/3 | v1.1");
    check("## Current Position\nPhase: 04.1 (Saucer)\n", "4.1 Saucer | 1/3 | -/- | v1.1");
    check("## Current Position\nPhase: 2.1\n", "2.1 Fix the spout | 3/3 | 1/1 | v1.0");
    check("## Current Position\nMilestone: v1.0 shipped\nStatus: Complete\n", "- - | 3/3 | -/- | v1.0");
    // Without a milestone, or with the placeholder of GSD, the open one counts.
    check("---\nmilestone: none\n---\n## Current Position\nPhase: none\n", "- - | 1/3 | -/- | v1.1");
    check("---\nmilestone: milestone\n---\n", "- - | 1/3 | -/- | v1.1");
}

#[test]
fn active_milestone_can_be_folded() {
    let roadmap = "# Roadmap\n\n<details>\n<summary>✅ v1.0 (Phases 1-2) — SHIPPED</summary>\n\n- [x] Phase 1: Boil\n\
                   - [x] Phase 2: Pour\n\n</details>\n\n<details open>\n<summary>🟦 v1.1 (Milestone 2) — planned</summary>\n\n\
                   - [x] Phase 3: Steep (filter, lid) — completed 2026-01-02\n- [ ] Phase 4: Serve\n\n</details>\n\n## Backlog\n\n\
                   ### Phase 999.1: Bookkeeping (BACKLOG)\n- [ ] Phase 3: find its summary\n";
    let state = "---\nmilestone: v1.0\n---\n## Current Position\nPhase: 3\n";
    let tree = Tree { state, roadmap, ..Tree::default() };
    tree.check("3 Steep (filter, lid) | 1/2 | -/- | v1.1");
    assert_eq!(tree.warnings(), ["STATE.md:2 the milestone is v1.0 here, but v1.1 in ROADMAP.md:14"]);
}

#[test]
fn numbers_can_start_again_in_a_milestone() {
    let roadmap = "<details>\n<summary>✅ v1.0 Kettle — SHIPPED</summary>\n\n- [x] Phase 1: Boil\n- [x] Phase 2: Pour\n\n\
                   </details>\n\n## Phases\n- [ ] **Phase 1: Brew**\n\n## Phase Details\n### Phase 1: Brew\n**Plans:** 2 plans\n\n\
                   ## Progress\n| Phase | Milestone | Status |\n|---|---|---|\n| 1. Boil | v1.0 | Complete |\n| 1. Brew | v2.0 | Planned |\n";
    Tree { state: "Phase: 1 of 1\n", roadmap, ..Tree::default() }.check("1 Brew | 0/1 | 0/2 | -");
}

#[test]
fn decimal_phases_are_no_fractions() {
    let roadmap = "### Phase 8.1: One ✅\n### Phase 08.9: Nine (COMPLETE)\n### Phase 8.10: Ten — completed 2026-01-01\n\
                   ### Phase 8.11.1: Deep\n### Phase 0: Zero\n### Phase 11.2–11.3: A range\n";
    let tree = Tree { state: "Phase: 08.10\n", roadmap, ..Tree::default() };
    tree.check("8.10 Ten | 3/5 | -/- | -");
    Tree { state: "Phase: 0 of 4\n", ..tree }.check("0 Zero | 3/5 | -/- | -");
    let status = serde_json::to_value(Tree { state: "Phase: 08.10", ..Tree::default() }.project().status);
    assert_eq!(status.expect("it serializes")["current_phase"], "8.10");
}

#[test]
fn inserted_phases_can_have_a_letter() {
    let roadmap = "## Milestones\n- 🚧 **v1.0 Kettle** — Phases 1-2\n\n- [x] **Phase 1: Boil**\n- [x] **Phase 2: Pour**\n\
                   - [ ] **Phase 2a: Spout**\n### Phase 2a: Spout\n**Plans**: 2 plans\n";
    let files = "02A-spout/02A-01-PLAN 02A-spout/02A-01-SUMMARY 02A-spout/02A-02-PLAN";
    let tree = Tree { state: "Phase: 2A\n", roadmap, files, ..Tree::default() };
    tree.check("2A Spout | 2/3 | 1/2 | v1.0");
    assert_eq!(tree.warnings(), Vec::<String>::new());
}

#[test]
fn open_phases_that_cannot_be_read_cause_warnings() {
    let check = |lines: &str, expected: &[&str]| {
        let roadmap = format!("- [x] **Phase 1: Boil**\n{lines}\n");
        let tree = Tree { state: "Phase: 1\n", roadmap: &roadmap, ..Tree::default() };
        let unread = tree.project().unread;
        assert_eq!(unread.is_some(), !expected.is_empty(), "{lines}: {unread:?}");
        let warnings = expected.iter().map(|warning| {
            format!("ROADMAP.md:{warning} cannot be read: its id is no number such as 2, 2.1 or 2A")
        });
        assert_eq!(tree.warnings(), warnings.collect::<Vec<_>>(), "{lines}");
    };
    check("- [ ] **Phase KT-2: Pour** - pours\n### Phase KT-2: Pour", &["2 phase KT-2"]);
    check("- [ ] **Phase 2.1A**: Pour\n### Phase B: Steep", &["2 phase 2.1A", "3 phase B"]);
    check("- [ ] Phase 2-4: Later\n- [ ] **Phase 5-7** - Still later", &["2 phase 2-4", "3 phase 5-7"]);
    check("- [x] **Phase KT-2: Pour**\n### Phase KT-2: Pour\n### Phase KT-3: Steep ✅", &[]);
    check(
        "## Phase Details\n## Phase order: why\n- [ ] Phase 1 is done: 2\n- [ ] Phase B is done\n- Phase KT-2: a remark",
        &[],
    );
    check("<details>\n<summary>✅ v0.9 — SHIPPED</summary>\n### Phase KT-2: Pour\n</details>", &[]);
}

#[test]
fn tables_can_be_the_whole_roadmap() {
    let roadmap = "## Milestone: v1\n\n| Phase | Name | Status |\n|:--|:--|--:|\n| 01 | Complete checkout | in progress |\n\
                   | 02 | Ship | complete |\n\n## Milestone: v2\n\n| # | Phase | Goal | Status |\n|---|---|---|---|\n\
                   | 3 | Search | Done by May | planned |\n\n## Requirements\n\n| Requirement | Phase |\n|---|---|\n| A-01 | Phase 9 |\n";
    Tree { state: "Phase: 1\n", roadmap, ..Tree::default() }.check("1 Complete checkout | 1/2 | -/- | v1");
    Tree { state: "Phase: 3\n", roadmap, ..Tree::default() }.check("3 Search | 0/1 | -/- | v2");
}

#[test]
fn sentences_about_phases_are_no_titles() {
    let roadmap = "## Phases\n- [ ] Phase 1: Boil\n- [ ] **Phase 2:** Pour - pours\n\n### Phase 1: Boil\n**Status:** Not complete\n\
                   - [x] Phase 2 is mentioned\n- [x] the phase 2\n\n## Risks\n- Phase 2 needs Node v18\n### Upgrade to Node v20\n\
                   - [ ] Phase 3: Completed orders\n";
    Tree { state: "Phase: 2\n", roadmap, ..Tree::default() }.check("2 Pour | 0/3 | -/- | -");
    Tree { state: "Phase: 3\n", roadmap, ..Tree::default() }.check("3 Completed orders | 0/3 | -/- | -");
}

#[test]
fn conflict_of_git_is_skipped() {
    let state = "---\nmilestone: v1.0\n<<<<<<< Updated\ncurrent_phase: 1\n=======\ncurrent_phase: 3\n>>>>>>> Stashed\n---\n\
                 ## Current Position\nPhase: 2\n";
    let tree = Tree { state, roadmap: ROADMAP, ..Tree::default() };
    tree.check("2 Pour | 1/3 | 0/2 | v1.0");
    let text = "a merge conflict is unresolved, so that its lines are ignored";
    assert_eq!(tree.warnings(), [format!("STATE.md:3 {text}")]);
    let body = "## Current Position\nPhase: 2\n<<<<<<< HEAD\nPlan: 1\n";
    let warnings = Tree { state: body, roadmap: ROADMAP, ..Tree::default() }.warnings();
    assert_eq!(warnings, ["STATE.md:3 a merge conflict is unresolved"]);
    let open = Tree { state: "---\nPhase: 2\n", roadmap: ROADMAP, ..Tree::default() };
    open.check("2 Pour | 1/3 | 0/2 | -");
    assert_eq!(open.warnings(), ["STATE.md:1 the front matter has no end and is ignored"]);
}

#[test]
fn line_ends_of_windows_change_nothing() {
    let windows = |text: &str| text.replace('\n', "\r\n");
    let state = windows("---\nmilestone: v1.0\n---\n## Current Position\nPhase: 2 of 3 (Pour)\n");
    let roadmap = windows(ROADMAP);
    Tree { state: &state, roadmap: &roadmap, ..Tree::default() }.check("2 Pour | 1/3 | 0/2 | v1.0");
}

#[test]
fn contradiction_is_decided_by_the_roadmap_or_not_at_all() {
    let state = |body: u32, front_matter: u32| {
        format!("---\ncurrent_phase: {front_matter}\n---\n## Current Position\nPhase: {body} (x)\n")
    };
    let check = |body, front_matter, expected: &str, warning: &str| {
        let state = state(body, front_matter);
        let tree = Tree { state: &state, roadmap: ROADMAP, ..Tree::default() };
        tree.check(expected);
        assert_eq!(tree.warnings(), [warning]);
    };
    let open = "2 Pour | 1/3 | 0/2 | -";
    check(1, 2, open, "STATE.md:5 the current phase is 1 here, but 2 in STATE.md:2");
    check(2, 1, open, "STATE.md:2 the current phase is 1 here, but 2 in STATE.md:5");
    // Both are open, or neither is known.
    let none = "- - | 1/3 | -/- | -";
    check(2, 3, none, "STATE.md:2 the current phase is 3 here, but 2 in STATE.md:5");
    check(8, 9, none, "STATE.md:2 the current phase is 9 here, but 8 in STATE.md:5");
}

#[test]
fn state_can_be_ahead_of_the_work() {
    let tree = Tree {
        state: "## Current Position\nPhase: 3\n",
        roadmap: ROADMAP,
        files: "01-boil/01-01-PLAN 02-pour/02-01-PLAN 02-pour/02-01-SUMMARY 02-pour/02-02-PLAN",
        ..Tree::default()
    };
    let project = tree.project();
    let (current, phase) = project.ahead_of_work().expect("phase 2 is unfinished");
    assert_eq!((current.to_string(), phase.id.to_string()), ("3".to_owned(), "2".to_owned()));
    assert_eq!(phase.unfinished_plans(), ["02-02"]);
    let warnings = [
        "ROADMAP.md:5 phase 1 is complete here, but plans have no summary: 01-01",
        "STATE.md the current phase is 3, but phase 2 has plans without a summary: 02-02",
    ];
    assert_eq!(tree.warnings(), warnings);
}

#[test]
fn state_can_lag_behind_the_work() {
    let files = "02-pour/02-01-PLAN 02-pour/02-01-SUMMARY 03-steep/03-01-PLAN 03-steep/03-01-SUMMARY";
    let tree = Tree { state: "Phase: 2\n", roadmap: ROADMAP, files, ..Tree::default() };
    tree.check("2 Pour | 3/3 | 1/1 | -");
    let warnings = tree.warnings();
    let text = "STATE.md the current phase is 2, which is complete, but phase 3 has summaries";
    assert!(warnings.iter().any(|warning| warning == text), "{warnings:?}");
}

#[test]
fn deleted_plans_and_ambiguous_directories_are_not_counted() {
    let tree = Tree { state: "Phase: 2\n", roadmap: ROADMAP, ..Tree::default() };
    Tree { files: "02-pour/02-01-SUMMARY", ..tree }.check("2 Pour | 1/3 | 1/2 | -");
    Tree {
        files: "02-pour/02-01-PLAN 02-other/02-01-PLAN 02-other/02-02-PLAN",
        state: "Phase: 2\n",
        roadmap: ROADMAP,
        ..Tree::default()
    }
    .check("2 Pour | 1/3 | 0/1 | -");
    Tree {
        files: "02-a/02-01-PLAN 02-b/02-01-PLAN",
        state: "Phase: 2\n",
        roadmap: ROADMAP,
        ..Tree::default()
    }
    .check("2 Pour | 1/3 | 0/2 | -");
}

#[test]
fn requirements_can_be_rows_or_headings() {
    let check = |requirements: &str, expected: (u32, u32)| {
        let project = Tree { requirements: Some(requirements), ..Tree::default() }.project();
        let found = (project.status.requirements_complete, project.status.requirements_total);
        assert_eq!(found, (Some(expected.0), Some(expected.1)), "{requirements}");
    };
    check(
        "## v1\n| ID | Text | Status |\n|---|---|---|\n| R1.1 | a | Done |\n| R1.2 | b | Open |\n## v2 (later)\n| R2.1 | c | Open |\n",
        (1, 2),
    );
    check(
        "## In Scope\n### R1 — a\n**Status**: done\n- [ ] x\n### R2 — b\n**Status**: pending\n## Out of Scope\n",
        (1, 2),
    );
    check(
        "## v1.0 Requirements (shipped)\n- [x] **A-01**: a\n## v1.1 Requirements\n- [ ] **B-01**: b\n",
        (0, 1),
    );
    check("## Requirements\n- [x] **A-01** a\n* [X] `A-02`: b\n", (2, 2));
    let tree = Tree { requirements: Some("# Requirements\n- text\n"), ..Tree::default() };
    assert_eq!(tree.project().status.requirements_total, None);
    assert!(
        tree.warnings()[0].starts_with("REQUIREMENTS.md the file has no requirements"),
        "{:?}",
        tree.warnings()
    );
}

#[test]
fn torn_and_endless_files_are_read() {
    let state = "---\nmilestone: v1.0\n---\n## Current Position\nPhase: 2 (é (5 of 6)) — **ÉTAPE**\nPlan: 1/2\n### Blockers\n- é\n";
    for text in [ROADMAP, MILESTONES, state] {
        for (end, _) in text.char_indices() {
            let text = &text[..end];
            Tree { state: text, roadmap: text, requirements: Some(text), ..Tree::default() }.project();
        }
    }
    let roadmap: String = (0..4000).map(|id| format!("## Phase {id}: Name\n")).collect();
    let tree = Tree { state: "Phase: 1\n", roadmap: &roadmap, ..Tree::default() };
    tree.check("1 Name | -/- | -/- | -");
    assert_eq!(
        tree.warnings(),
        ["ROADMAP.md:3001 the roadmap has more than 3000 phases; the rest is ignored"]
    );
}

#[test]
fn missing_files_are_no_zeros() {
    let project = Project::from_files(Files::default());
    let status = &project.status;
    assert_eq!((&status.current_phase, status.phases_total, status.requirements_total), (&None, None, None));
    let warnings: Vec<String> =
        status.warnings.iter().map(|warning| format!("{} {}", warning.file, warning.text)).collect();
    assert_eq!(warnings, ["STATE.md the file is missing", "ROADMAP.md the file is missing"]);
    assert_eq!(project.unread.as_ref(), Some(&status.warnings[1]));
    // Without a roadmap, the phases are those on disk.
    let paths = vec!["phases/02-pour/02-01-PLAN.md".to_owned(), "phases/01-boil/01-01-SUMMARY.md".to_owned()];
    let project = Project::from_files(Files { paths, ..Files::default() });
    let shown = |index: usize| (project.phases[index].id.to_string(), project.phases[index].is_complete);
    assert_eq!((shown(0), shown(1)), (("1".to_owned(), true), ("2".to_owned(), false)));
}

#[test]
fn project_is_read_from_its_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let error = Project::read(dir.path()).expect_err("it has no project");
    assert!(matches!(error, ProjectError::NoPlanning(_)), "{error}");
    let planning = dir.path().join(".planning");
    fs::create_dir_all(planning.join("phases/02-pour")).expect("a directory");
    fs::write(planning.join("STATE.md"), "Phase: 2\n").expect("a file");
    fs::write(planning.join("ROADMAP.md"), ROADMAP).expect("a file");
    fs::write(planning.join("phases/02-pour/02-01-PLAN.md"), "").expect("a file");
    fs::write(planning.join("phases/02-pour/02-01-SUMMARY.md"), "").expect("a file");
    fs::write(planning.join("config.json"), "{\n  \"mode\": yolo\n}\n").expect("a file");
    let project = Project::read(dir.path()).expect("it is readable");
    assert_eq!(project.status.plans_complete, Some(1));
    let warnings = project.status.warnings.iter();
    let warnings: Vec<_> =
        warnings.map(|warning| (warning.file.as_str(), warning.line, warning.text.as_str())).collect();
    let expected =
        [("PROJECT.md", None, "the file is missing"), ("config.json", Some(2), "the file is not JSON")];
    assert_eq!(warnings[..2], expected);

    fs::write(planning.join("STATE.md"), b"Phase: 2 (\xff)\n").expect("a file");
    let project = Project::read(dir.path()).expect("it is readable");
    assert_eq!(project.status.plans_complete, Some(1));
    assert_eq!(
        project.status.warnings[0].text,
        "the file is not UTF-8 text, so that characters are replaced"
    );

    fs::remove_file(planning.join("STATE.md")).expect("it exists");
    fs::create_dir(planning.join("STATE.md")).expect("a directory");
    let error = Project::read(dir.path()).expect_err("its state is unreadable").to_string();
    assert!(error.ends_with(".planning is unreadable: STATE.md is not a regular file"), "{error}");
}
