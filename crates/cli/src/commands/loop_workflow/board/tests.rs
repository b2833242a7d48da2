use super::Board;
use expect_test::expect;
use longhaul::workflow::WorkflowView;
use longhaul_core::{
    AfterRun, Moment, Outcome, OutcomeKind, PhasePolicy, Reactions, RunEnd, RunId, RunKey, RunShare, Span,
    Usd, Workflow, WorkflowLimits, WorkflowPolicy, WorkflowRecord,
};
use longhaul_store::Home;

const START: Moment = Moment::from_unix_seconds(1_790_000_000);

fn phase(name: &str, needs: Vec<usize>, has_items: bool) -> PhasePolicy {
    PhasePolicy {
        name: name.to_owned(),
        needs,
        has_items,
        parallel_max: 200,
        items_max: 200,
        has_worktrees: false,
        budget: None,
        time: None,
        reactions: Reactions::default(),
    }
}

fn policy() -> WorkflowPolicy {
    WorkflowPolicy {
        phases: vec![
            phase("plan", vec![], false),
            phase("prove", vec![0], true),
            phase("review", vec![1], false),
        ],
        iterations_max: 10,
        until_after: None,
        from: None,
        only: None,
        skipped: Vec::new(),
        parallel_max: 200,
        limits: WorkflowLimits { budget: Some(Usd(20_000_000)), time: None },
        start_gap: Span::ZERO,
    }
}

/// Returns the records of a workflow whose first phase is done and whose second one runs `items` items.
fn records(items: u32) -> Vec<WorkflowRecord> {
    let key = |phase, item| RunKey { iteration: 1, phase, item, retry: 0 };
    let end = |kind, cost| RunEnd {
        outcome: Outcome { kind, ..Outcome::DONE },
        cost: Usd(cost),
        active: Span::ZERO,
    };
    let planned = |key| WorkflowRecord::RunPlanned { key, share: RunShare::default(), resumed: false };
    let ended = |key, end, next| WorkflowRecord::RunEnded { key, end, next, parked_until: None };
    let mut records = vec![
        WorkflowRecord::WorkflowStarted,
        WorkflowRecord::IterationStarted { iteration: 1 },
        WorkflowRecord::PhaseStarted { phase: 0, has_items: false },
        planned(key(0, 0)),
        ended(key(0, 0), end(OutcomeKind::Done, 1_500_000), AfterRun::Complete),
        WorkflowRecord::PhaseEnded { phase: 0, outcome: Outcome::DONE, problem: None, stops: false },
        WorkflowRecord::PhaseStarted { phase: 1, has_items: true },
        WorkflowRecord::ItemsListed {
            phase: 1,
            items: (1..=items).map(|number| format!("File{number}.lean")).collect(),
            deferred: 0,
        },
    ];
    records.extend((0..items).map(|item| planned(key(1, item))));
    records.push(ended(key(1, 0), end(OutcomeKind::Done, 250_000), AfterRun::Complete));
    records.push(ended(key(1, 1), end(OutcomeKind::Failed, 250_000), AfterRun::Continue));
    let until = Some(START + Span::from_hours(1));
    records.push(WorkflowRecord::RunEnded {
        key: key(1, 2),
        end: end(OutcomeKind::RetryLater, 100_000),
        next: AfterRun::Park,
        parked_until: until,
    });
    records
}

fn replay(records: &[WorkflowRecord]) -> Workflow {
    Workflow::replay(records.iter().map(|record| (START, record)))
}

fn lines(items: u32, width: usize, height: usize) -> String {
    let home = tempfile::tempdir().expect("a directory");
    let home = Home::open(Some(home.path().to_owned()), |_| None).expect("a home");
    let (policy, id) = (policy(), RunId::from("kxhfgg"));
    let workflow = replay(&records(items));
    let mut board = Board::new(home, &id, Some("nightly"), START);
    board.update(WorkflowView { workflow: &workflow, policy: &policy, at: START });
    let now = START + Span::from_secs(130);
    // The time of day depends on the zone.
    let lines = board.lines(now, width, height);
    assert!(lines.len() <= height.min(12), "{lines:?}");
    let text = lines.join("\n") + "\n";
    match text.split_once("parked until ") {
        Some((before, after)) => {
            format!("{before}parked until TIME{}", after.find(" (in").map_or("", |index| &after[index..]))
        }
        None => text,
    }
}

#[test]
fn shows_phases_and_runs() {
    expect![[r#"
        nightly (kxhfgg): waiting until 2026-09-21 15:13, iteration 1 of 10, $2.10 of $20.00, 2m 10s
          plan done, prove 1 of 5 done, 1 not, review pending
          kxhfgg-1-prove-3 (File3.lean): $0.1000, parked until TIME (in 57m 50s)
          kxhfgg-1-prove-4 (File4.lean): $0, starting
          kxhfgg-1-prove-5 (File5.lean): $0, starting
    "#]]
    .assert_eq(&lines(5, 100, 30));
}

#[test]
fn delay_for_memory_is_shown_until_a_step() {
    let home = tempfile::tempdir().expect("a directory");
    let home = Home::open(Some(home.path().to_owned()), |_| None).expect("a home");
    let (policy, id, workflow) = (policy(), RunId::from("kxhfgg"), replay(&records(3)));
    let mut board = Board::new(home, &id, None, START);
    let view = WorkflowView { workflow: &workflow, policy: &policy, at: START };
    board.update(view);
    board.delay_for_memory();
    let headline = |board: &mut Board| board.lines(START, 100, 1).remove(0);
    assert!(headline(&mut board).starts_with("kxhfgg: waiting, the next run waits for memory, iteration 1"));
    board.update(view);
    assert!(headline(&mut board).starts_with("kxhfgg: waiting until "));
}

#[test]
fn counts_runs_that_do_not_fit() {
    let text = lines(200, 100, 30);
    assert_eq!(text.lines().count(), 12, "{text}");
    assert_eq!(text.lines().last(), Some("  and 189 more"), "{text}");
    let text = lines(200, 20, 4);
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 20), "{text}");
}
