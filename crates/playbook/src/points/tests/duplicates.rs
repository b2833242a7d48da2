use super::{playbook, to_text};
use crate::points::similarity::{groups, merge_duplicates, similarity, words};
use crate::points::{Point, THRESHOLD, threshold};
use crate::{Playbook, Section};
use expect_test::expect;
use std::time::{Duration, Instant};

#[test]
fn detects_equivalent_texts_only() {
    let check = |expected: bool, pairs: &[(&str, &str)]| {
        for (a, b) in pairs {
            let (a_words, b_words) = (words(a), words(b));
            let found = similarity(&a_words, &b_words);
            assert_eq!(found >= THRESHOLD, expected, "{found:.3}: {a} | {b}");
            assert_eq!(found, similarity(&b_words, &a_words), "{a} | {b}");
        }
    };
    check(
        true,
        &[
            ("Use type hints.", "use type hints"),
            ("always use type hints for function parameters", "use type hints on all function parameters"),
            ("always add type hints", "remember to add type hints always"),
            ("Never commit secrets to git", "Do not commit secrets to git!"),
            ("Don't commit secrets to git", "don’t ever commit secrets to git"),
            ("Avoid editing generated files", "never edit generated files"),
            ("Run the unit tests before committing", "Always run unit tests before you commit"),
            ("The tests need port 8080", "the test needs port 8080"),
            ("Run `cargo fmt` before each commit", "run `cargo fmt` before every commit"),
            ("Use tabs, not spaces", "use tabs (not spaces)"),
            ("Use UTC", "use utc"),
            ("type-hints for parameters of functions", "type hints for parameters of functions"),
            ("提交前运行测试", "提交前运行测试。".trim_end_matches('。')),
            ("Use it", "use it"),
            (
                "Keep the public functions of each module short and simple",
                "keep all the public library functions of each module short and simple",
            ),
        ],
    );
    check(
        false,
        &[
            ("use tabs", "do not use tabs"),
            ("use tabs", "never use tabs"),
            ("use tabs, not spaces", "use spaces, not tabs"),
            ("The server listens on port 8080", "The server listens on port 8081"),
            ("prefer pnpm over npm", "prefer npm over pnpm"),
            ("convert json to yaml", "convert yaml to json"),
            ("run the tests before committing", "commit before running the tests"),
            ("never use var and always use const", "never use var and never use const"),
            (
                "Use the staging database credentials from the vault when running integration tests",
                "Use the production database credentials from the vault when running integration tests",
            ),
            ("Format code with prettier", "Format Python code with prettier"),
            ("Keep functions short and pure", "Keep functions pure and short"),
            ("Fetch it over https", "Fetch it over http"),
            ("Run the tests with --release", "Run the tests with --debug"),
            (
                "Run the whole test suite of this project first",
                "Run the whole test suite of this project first with `-j1`",
            ),
            ("Edit src/api/routes.rs for new routes", "Edit src/web/routes.rs for new routes"),
            ("Run the tests if CI is set", "Run the tests unless CI is set"),
            (
                "Always enable the strict mode of the compiler",
                "Always disable the strict mode of the compiler",
            ),
            ("use type hints for parameters", "prefer composition over inheritance"),
            (
                "Die Tests vor jedem Commit und vor jedem Push laufen lassen",
                "Die Tests vor jedem Commit und vor jedem Push nicht laufen lassen",
            ),
            ("提交前运行测试", "提交前不运行测试"),
            ("Use it", "see that"),
            ("", ""),
            ("…", "!"),
        ],
    );
}

#[test]
fn joins_duplicates_into_first() {
    let mut several = playbook(
        "
        ## PATTERNS & APPROACHES
        pat-001 5/0 always use type hints for function parameters
        pat-002 0/0 keep functions short
        pat-003 3/1 use type hints on all function parameters
        ## MISTAKES TO AVOID
        mis-001 1/0 keep functions short
        mis-002 0/0 never edit generated files
        ## PROJECT CONTEXT
        ctx-001 1/0 Keep functions short!
        ctx-002 1/1 do not edit generated files
        ## OTHERS
        oth-001 2/2 Use type hints for function parameters
    ",
    );
    let joined = merge_duplicates(&mut several, THRESHOLD);
    expect![[r#"
        ## PATTERNS & APPROACHES
        pat-001 10/3 always use type hints for function parameters
        pat-002 1/0 keep functions short
        ## MISTAKES TO AVOID
        mis-001 1/0 keep functions short
        mis-002 1/1 never edit generated files
    "#]]
    .assert_eq(&to_text(&several));
    expect![[r#"
        [
            Joined {
                name: PointId(
                    "pat-001",
                ),
                from: PointId(
                    "pat-003",
                ),
                text: "use type hints on all function parameters",
            },
            Joined {
                name: PointId(
                    "pat-002",
                ),
                from: PointId(
                    "ctx-001",
                ),
                text: "Keep functions short!",
            },
            Joined {
                name: PointId(
                    "mis-002",
                ),
                from: PointId(
                    "ctx-002",
                ),
                text: "do not edit generated files",
            },
            Joined {
                name: PointId(
                    "pat-001",
                ),
                from: PointId(
                    "oth-001",
                ),
                text: "Use type hints for function parameters",
            },
        ]
    "#]]
    .assert_eq(&format!("{joined:#?}\n"));
}

#[test]
fn groups_duplicates_transitively() {
    assert_eq!(groups(5, [(0, 3), (1, 3), (2, 4)].into_iter()), [0, 0, 2, 0, 2]);
    assert_eq!(groups(4, [(2, 3), (1, 2), (0, 1)].into_iter()), [0; 4]);
    assert_eq!(groups(2, [].into_iter()), [0, 1]);
}

#[test]
fn limits_threshold_to_0_and_1() {
    let check = |setting: Option<&str>, expected: f64, has_warning: bool| {
        let (found, warning) = threshold(setting);
        assert_eq!((found, warning.is_some()), (expected, has_warning), "{setting:?}: {warning:?}");
    };
    check(None, THRESHOLD, false);
    check(Some(""), THRESHOLD, false);
    check(Some(" 0.9 "), 0.9, false);
    check(Some("0"), 0.0, false);
    check(Some("1.5"), 1.0, true);
    check(Some("-1"), 0.0, true);
    check(Some("high"), THRESHOLD, true);
    check(Some("nan"), THRESHOLD, true);
}

#[test]
fn compares_five_hundred_points_quickly() {
    let verbs = ["run", "check", "update", "format", "deploy", "review", "document"];
    let nouns =
        ["parser", "scheduler", "migration", "cache", "router", "ledger", "panel", "client", "worker"];
    let text = |n: usize| {
        let (verb, noun) = (verbs[n % verbs.len()], nouns[n % nouns.len()]);
        format!(
            "When you {verb} the {noun} of module{n}, look at the notes of its {verb} step and keep the {noun} simple"
        )
    };
    let mut several = Playbook::default();
    let points = (0..500).map(|n| Point::new(format!("pat-{n}").into(), text(n)));
    several.section_mut(Section::Patterns).extend(points);
    let started = Instant::now();
    assert_eq!(merge_duplicates(&mut several, THRESHOLD), []);
    // Without optimization on two shared cores; an optimized build takes a hundredth of a second.
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}
