//! Workflows that need attention, and runs that their workflow deals with.

use super::super::workflows::ReportWorkflow;
use super::*;
use longhaul_core::{Rfc3339, RunId};
use longhaul_store::WorkflowPosition;

fn workflow(id: &str, outcome: Option<OutcomeKind>, problem: &str) -> ReportWorkflow {
    let health = outcome.map_or(RunHealth::Running, RunHealth::of_outcome);
    ReportWorkflow {
        id: id.to_owned(),
        name: None,
        file: "build.toml".to_owned(),
        project: "/home/me/project".to_owned(),
        outcome,
        status: outcome.map_or("waiting", OutcomeKind::as_str).to_owned(),
        health,
        problems: vec![problem.to_owned()],
        retry_at: None,
        iteration: 1,
        iterations_max: 1,
        cost: Dollars::default(),
        started_at: at(0).into(),
        ended_at: outcome.map(|_| at(50).into()),
        next: health.is_urgent().then(|| format!("longhaul resume {id}")),
        resumed_runs: Vec::new(),
    }
}

fn run_of(workflow: &str, id: &str, records: &RunRecords) -> RunInput {
    let mut input = records.read(id, "build it", 9_000);
    input.entry.run.workflow =
        Some(WorkflowPosition { id: workflow.into(), iteration: 1, phase: "build".to_owned(), item: None });
    input
}

fn ended(fault: Fault, kind: OutcomeKind) -> RunRecords {
    RunRecords::started().finished(30, Some(fault), outcome_of_fault(kind, fault))
}

fn report(inputs: Vec<RunInput>, workflows: Vec<ReportWorkflow>) -> ReportData {
    ReportData::new(None, Some(at(0)), inputs, workflows, at(9_000), &TimeZone::UTC)
}

#[test]
fn workflow_that_needs_a_person_is_listed_although_all_its_runs_are_done() {
    let problem = "phase `build`: 1 of 3 results are not merged. Then resume the workflow.";
    let done = RunRecords::started().finished(30, None, Outcome::DONE);
    let needs = workflow("kxhfgg", Some(OutcomeKind::NeedsPerson), problem);
    let report = report(vec![run_of("kxhfgg", "kxhfgg-1-build-1", &done)], vec![needs]);
    let text = text::text(&report, &clock());
    let (start, end) = (text.find("SUMMARY").expect("a summary"), text.find("TIME LOST").expect("a section"));
    expect![[r#"
        SUMMARY
          runs        1, in 1 attempt: 1 done, 0 failed, 0 needs a person, 0 running
          workflows   1: 1 needs a person
          spent       $1.20 reported by the agent; 3.0M tokens
          time lost   0s; active 30s

        NEEDS ATTENTION
          kxhfgg  needs a person
            workflow build.toml
            Phase `build`: 1 of 3 results are not merged. Then resume the workflow.
            $ longhaul resume kxhfgg

    "#]]
    .assert_eq(&text[start..end]);
    let page = html::page(&report, &clock());
    let page = pages::check(&page);
    for shown in ["1 of 3 results are not merged", "longhaul resume kxhfgg"] {
        assert_eq!(page.matches(shown).count(), 1 + usize::from(shown.starts_with("longhaul")), "{page}");
    }
}

#[test]
fn workflow_deals_with_its_replaced_and_parked_runs() {
    let auth = ended(Fault::Auth, OutcomeKind::NeedsPerson);
    let mut parked = Outcome::from_fault(OutcomeKind::RetryLater, Fault::UsageLimit);
    parked.retry_at = Some(at(20_000));
    let parked = RunRecords::started().finished(30, Some(Fault::UsageLimit), parked);
    let mut left = run_of("aaaaaa", "aaaaaa-1-build-2", &RunRecords::started());
    left.has_supervisor = false;
    let mut live = workflow("bbbbbb", None, "1 run live");
    live.resumed_runs = vec![RunId::from("bbbbbb-1-build-1")];
    let inputs = vec![
        run_of("aaaaaa", "aaaaaa-1-build-1", &auth),
        left,
        run_of("bbbbbb", "bbbbbb-1-build-1", &parked),
        run_of("cccccc", "cccccc-1-build-1", &auth),
    ];
    let report = report(inputs, vec![workflow("aaaaaa", Some(OutcomeKind::Done), ""), live]);
    let runs = report.runs.iter().map(|run| {
        let (health, next) = (run.health.label(), run.next.as_deref().unwrap_or("-"));
        format!("{} {health}: {} | {next}\n", run.id, super::super::explanation(run, &clock()))
    });
    expect![[r#"
        aaaaaa-1-build-2 needs a person: Unfinished, without a supervisor. | longhaul recover aaaaaa-1-build-2
        cccccc-1-build-1 needs a person: The credentials were rejected. | longhaul resume cccccc-1-build-1
        aaaaaa-1-build-1 failed: The credentials were rejected (workflow aaaaaa: done). | -
        bbbbbb-1-build-1 running: Retry later: the account's usage limit is reached (workflow bbbbbb: waiting); until Jan 1 05:33. | -
    "#]].assert_eq(&runs.collect::<String>());
    let urgent: Vec<&str> = report.urgent_runs().map(|run| run.id.as_str()).collect();
    // A done workflow does not continue a run that a person resumed, and a run without a workflow needs the user.
    assert_eq!(urgent, ["aaaaaa-1-build-2", "cccccc-1-build-1"]);
    assert_eq!(report.urgent_workflows().count(), 0);
    assert_eq!(report.runs.last().and_then(|run| run.retry_at), Some(Rfc3339(at(20_000))));
}
