//! Takeovers of several workflows on one thread.

use super::take_over;
use longhaul_core::{Span, WorkflowLimits, WorkflowPolicy};
use longhaul_store::{Home, WorkflowPlan, WorkflowSource};
use std::collections::BTreeMap;
use std::fs::File;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;
use std::task::Poll;
use tempfile::TempDir;

fn plan(project_dir: &TempDir) -> WorkflowPlan {
    let policy = WorkflowPolicy {
        phases: Vec::new(),
        iterations_max: 1,
        until_after: None,
        from: None,
        only: None,
        skipped: Vec::new(),
        parallel_max: 1,
        limits: WorkflowLimits::default(),
        start_gap: Span::ZERO,
    };
    let path = PathBuf::from("workflow.toml").into();
    let file = WorkflowSource { path, text: String::new(), files: BTreeMap::new() };
    WorkflowPlan::new(project_dir.path().to_owned(), file, policy, Vec::new())
}

#[tokio::test]
async fn takeover_that_waits_does_not_block_another_one() {
    let folder = TempDir::new().expect("a temporary directory");
    let home = Home::open(Some(folder.path().join("home")), |_| None).expect("a home");
    let day = "2025-11-22".parse().expect("a date");
    let (dir, supervisor) = home.create_workflow(&day, 7, &plan(&folder)).expect("a workflow");
    let mut waiting = pin!(take_over(&home, &dir, false));
    let polled = poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context))).await;
    assert!(polled.is_pending(), "the workflow has a supervisor");
    let workflows = File::open(home.workflows_path()).expect("the directory exists");
    workflows.try_lock().expect("another takeover can start");
    drop((workflows, supervisor));
    waiting.await.expect("the supervisor has died");
}
