use super::names_in;
use crate::document::visible_lines;

#[track_caller]
fn check(section: &str, expected: &[&str]) {
    let lines = visible_lines(section);
    let names: Vec<String> = names_in(&lines).into_iter().map(|objective| objective.name).collect();
    assert_eq!(names, expected, "{section}");
}

#[test]
fn heads_of_items_are_objectives() {
    for marker in ["-", "*", "+", "1.", "12)", "- [ ]", "1. [ ]"] {
        for name in
            ["A/B.lean", "**A/B.lean**", "`A/B.lean`", "**`A/B.lean`**", "`A/B.lean:12`", "__A/B.lean__"]
        {
            for rest in
                ["", " — fill 2 sorries of `Other.lean` [mode: physics]", ": close the goal", ", then rest"]
            {
                check(&format!("\n{marker} {name}{rest}\n"), &["A/B.lean"]);
            }
        }
    }
    check("- **Fill the sorries in A/B.lean** — as in `C.lean`\n", &["A/B.lean"]);
    check("1. **Target: B.lean (4 sorries)**\n", &["B.lean"]);
    check("- `A\\B.lean`\n- ./C.lean\n", &["A/B.lean", "./C.lean"]);
}

#[test]
fn order_is_kept_and_a_name_counts_once() {
    check("1. **B.lean**\n2. **A.lean**\n3. **B.lean** again\n", &["B.lean", "A.lean"]);
    check(
        "- **A.lean**, **B.lean** and `C.lean` — together with **D.lean**\n",
        &["A.lean", "B.lean", "C.lean"],
    );
    check("- `A.lean` & `B.lean`\n", &["A.lean", "B.lean"]);
}

#[test]
fn mentions_are_no_objectives() {
    for text in [
        "The file **A.lean** compiles.",
        "**A.lean** is next.",
        "- See `A.lean` for the lemma.",
        "- Preserve `Q(r) >= 0`; never restore `67/4`, `raw/solution.pdf`.",
        "- Run `lake env lean A.lean`.",
        "- `A.lean.md`",
        "- `.lean`",
        "- **A.lean and B.lean share a lemma**",
        "```\n- **A.lean**\n```",
        "<!-- - **A.lean** -->",
        "| `A.lean` | 2 |",
        "> - quoted",
    ] {
        check(&format!("{text}\n"), &[]);
    }
}

#[test]
fn nested_items_name_a_file_only_with_a_key() {
    check(
        "1. **A.lean** — fill it\n   - `B.lean` has the lemma\n   - **Depends on:** `C.lean`\n",
        &["A.lean"],
    );
    check("1. **First target**\n   - **File:** `A/B.lean`\n   - **Task:** 2 lemmas\n", &["A/B.lean"]);
    check("- Target:\n  - Path: A/B.lean (new)\n", &["A/B.lean"]);
    check(
        "**Target 1: B.lean (4 sorries)**\n- **File:** A/B.lean\n- **Task:** as in C.lean\n",
        &["A/B.lean"],
    );
    check("- **Files:** `A.lean`, `B.lean`\n", &["A.lean", "B.lean"]);
}

#[test]
fn finished_items_are_no_objectives() {
    check("- [x] **A.lean**\n- [ ] **B.lean**\n- ~~**C.lean**~~\n", &["B.lean"]);
    check("- [X] First\n  - **File:** A.lean\n- [ ] Second\n  - **File:** B.lean\n", &["B.lean"]);
    check("- **Do NOT touch A.lean**\n  - **File:** A.lean\n- **B.lean**\n", &["B.lean"]);
}

#[test]
fn labels_say_that_a_list_has_another_purpose() {
    for label in [
        "**Do NOT assign:**",
        "**Deferred:**",
        "Key findings:",
        "**Session 11 outcome**",
        "### Compilation status",
        "### Deferred: confirmed gaps (do not assign)",
        "Blocked:",
        "**Do NOT assign** — these need more of Mathlib",
    ] {
        check(&format!("1. **A.lean**\n\n{label}\n\n- **B.lean** (400 lines)\n- C.lean\n"), &["A.lean"]);
    }
    // An excluding heading governs the labels below it, down to the next heading of its level.
    check(
        "### Deferred\n**Wave 1:**\n- `A.lean`\n#### More\n- `B.lean`\n### Next\n- `C.lean`\n",
        &["C.lean"],
    );
    // Another label ends the exclusion of the one before.
    check("**Blocked:**\n- `A.lean`\n\n**Targets:**\n- `B.lean`\n", &["B.lean"]);
    // Below a label of unknown purpose, only marked names count.
    check("**Wave 1:**\n- `A.lean`\n- B.lean — a note\n", &["A.lean"]);
    // A sentence is no label.
    check("Pivot away from the blocked files.\n- **A.lean**\n", &["A.lean"]);
    // Text below a label belongs to it, text below its list does not.
    check(
        "**Do not assign:**\nThey need more.\n- **A.lean**\n\nThe rest is open.\n- **B.lean**\n",
        &["B.lean"],
    );
}

#[test]
fn names_of_files_exclude_nothing() {
    check(
        "1. **Results/Status.lean** — fill it\n2. **Target: Done.lean**\n",
        &["Results/Status.lean", "Done.lean"],
    );
    check("**Target 1: Outcome.lean**\n- **File:** A/Outcome.lean\n", &["A/Outcome.lean"]);
}

#[test]
fn plain_names_count_below_a_label_that_assigns() {
    check("### Objectives for session 13\n1. A/B.lean — two lemmas\n", &["A/B.lean"]);
    check("Targets:\n- A.lean\n- B.lean\n", &["A.lean", "B.lean"]);
    check("**Wave 1:**\n- A.lean — see below\n", &[]);
}

#[test]
fn text_of_an_item_is_no_label() {
    check("1. **A.lean** — the lemma is\nblocked:\n2. **B.lean**\n", &["A.lean", "B.lean"]);
    check("1. **A.lean**\n\n   Not done:\n\n2. **B.lean**\n", &["A.lean", "B.lean"]);
    // A bold line is a label in any case.
    check("1. **A.lean**\n**Deferred**\n2. **B.lean**\n", &["A.lean"]);
}

#[test]
fn label_with_a_state_in_the_middle_assigns() {
    for label in
        ["**Targets that were blocked by A:**", "### Objectives (not in priority order)", "**To complete:**"]
    {
        check(&format!("{label}\n- **B.lean**\n"), &["B.lean"]);
    }
}
