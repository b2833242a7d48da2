//! The work that a sweep disturbs: one run, or a workflow of runs.

use super::SweepAgent;
use crate::call::Output;
use crate::harness::Stage;
use crate::workflows;
use longhaul_drill::workspace::WorkspaceFiles;
use longhaul_store::RunDir;
use serde_json::Value;
use std::path::PathBuf;

/// Four steps in three turns. Each step records its call in a separate file, and first checks whether it was
/// taken, as the prompt of a resumed session requests.
pub const WORK: &str = "
I take the first step.
$ echo one >> ../calls; grep -qs one steps || echo one >> steps
The next two belong together, and the first of them takes a while.
$ echo two >> ../calls; grep -qs two steps || { sleep 0.3; echo two >> steps; }
$ echo three >> ../calls; grep -qs three steps || echo three >> steps
Now the last.
$ echo four >> ../calls; grep -qs four steps || echo four >> steps
All four steps are taken.
";

pub const DONE: &str = "All four steps are taken.";
/// Content of the file `steps` after the run.
pub const STEPS: &str = "one\ntwo\nthree\nfour\n";

/// Two iterations: a plan, three runs in parallel, a review. Each run takes the step that its id names.
const WORKFLOW: &str = r#"
start_gap = "none"
[repeat]
iterations = 2
[[phase]]
name = "plan"
prompt = "Take step {{ iteration }}-plan-1."
[[phase]]
name = "prove"
needs = ["plan"]
fan_out = { list = ["alpha", "beta", "gamma"] }
prompt = "Take step {{ iteration }}-prove-{{ item_number }}."
[[phase]]
name = "review"
needs = ["prove"]
prompt = "Take step {{ iteration }}-review-1."
"#;
const WORKFLOW_STEPS: [&str; 5] = ["plan-1", "prove-1", "prove-2", "prove-3", "review-1"];
const WORKFLOW_SCRIPT: &str = "
I take my step.
$ step=${LONGHAUL_RUN#*-}; echo $step >> ../calls; grep -qs . $step || { sleep 0.1; echo taken >> $step; }
It is taken.
";

/// A step whose command must not be repeated.
pub struct Step {
    /// Name that the command notes.
    pub name: String,
    /// The start of the command.
    pub command: String,
    /// A text of the sessions that take the step.
    pub prompt: String,
}

pub struct Work {
    /// Script of the API.
    pub script: &'static str,
    pub steps: Vec<Step>,
    /// Files of the workspace after the work.
    pub files: WorkspaceFiles,
    /// Requests of undisturbed work.
    pub requests: u64,
    /// Number of runs.
    pub runs: usize,
    /// Maximum number of live runs.
    pub live_runs: u64,
    is_workflow: bool,
}

impl Work {
    pub fn of(agent: &SweepAgent) -> Work {
        match agent {
            SweepAgent::Workflow => Work::workflow(),
            SweepAgent::Scripted | SweepAgent::Acp | SweepAgent::Claude(_) => Work::run(),
        }
    }

    fn run() -> Work {
        Work {
            script: WORK,
            steps: ["one", "two", "three", "four"]
                .map(|name| Step {
                    name: name.to_owned(),
                    command: format!("echo {name} >> ../calls"),
                    prompt: String::new(),
                })
                .into(),
            files: WorkspaceFiles::from([("steps".to_owned(), STEPS.into())]),
            requests: 4,
            runs: 1,
            live_runs: 1,
            is_workflow: false,
        }
    }

    fn workflow() -> Work {
        let step = |iteration: u32, step: &str| {
            let name = format!("{iteration}-{step}");
            Step { command: "step=".to_owned(), prompt: format!("Take step {name}."), name }
        };
        let steps: Vec<Step> =
            [1, 2].iter().flat_map(|iteration| WORKFLOW_STEPS.map(|name| step(*iteration, name))).collect();
        Work {
            script: WORKFLOW_SCRIPT,
            files: steps.iter().map(|step| (step.name.clone(), b"taken\n".to_vec())).collect(),
            requests: 2 * steps.len() as u64,
            runs: steps.len(),
            live_runs: 3,
            steps,
            is_workflow: true,
        }
    }

    /// Returns the workflow file, or `None` for a run.
    pub fn file(&self, stage: &Stage) -> Option<PathBuf> {
        self.is_workflow.then(|| stage.file("workflow.toml", WORKFLOW))
    }

    /// Asserts the exit code of a call and returns its envelope.
    pub fn envelope(&self, output: &Output, code: i32) -> Value {
        if self.is_workflow { workflows::envelope(output, code) } else { output.envelope(code) }
    }

    /// Returns the envelopes that state all usage of the work, given those of its calls.
    pub fn usage_envelopes(&self, stage: &Stage, calls: &[Value]) -> Vec<Value> {
        if !self.is_workflow {
            return calls.to_vec();
        }
        let attach = |run: RunDir| stage.longhaul(["attach", run.id().as_str()]).output().envelope(0);
        stage.runs().into_iter().map(attach).collect()
    }

    /// Returns whether an envelope reports the work as done.
    pub fn is_done(&self, envelope: &Value) -> bool {
        envelope["success"] == true && (self.is_workflow || envelope["result"] == DONE)
    }

    /// Returns the outcome that an envelope states.
    pub fn outcome<'a>(&self, envelope: &'a Value) -> &'a Value {
        let kind = if self.is_workflow { "workflow" } else { "run" };
        &envelope[kind]["outcome"]
    }
}
