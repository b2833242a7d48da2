//! `--preset openclawpack`: the five lifecycle events of that system, for programs that read them on stderr.
//! Each is a line `event: {"type":…,"data":…}`; `--quiet` disables them. They repeat the envelope and affect
//! no decision.

use super::print_status;
use crate::args::RunArgs;
use crate::failure::Failure;
use longhaul::RunReport;
use longhaul_core::{OutcomeKind, Preset};
use longhaul_store::Plan;
use serde::Serialize;
use serde_json::Value;

pub struct Lifecycle {
    command: &'static str,
    /// Type of the event that reports success.
    success: &'static str,
    phase: Option<Value>,
    has_answers: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LifecycleEvent<'a> {
    /// Type of the event.
    r#type: &'static str,
    /// Data of the event.
    data: Data<'a>,
}

#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Data<'a> {
    /// Command of the prompt: `create_project`, `plan_phase`, `execute_phase` or `run`.
    command: &'static str,
    /// Phase: a number or a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a Value>,
    /// Why a decision is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The reason as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
    /// `complete`.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// Errors, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<&'a [String]>,
}

impl Lifecycle {
    /// Returns the events of a new run, or `None` if they are disabled.
    pub fn for_run(args: &RunArgs, prompt: &str) -> Option<Lifecycle> {
        let has_answers = !args.answer.is_empty() || args.answers_file.is_some();
        let is_enabled = args.policy.preset == Some(Preset::Openclawpack);
        is_enabled.then(|| Lifecycle::new(prompt, has_answers))
    }

    /// Returns the events of a run that is resumed, or `None` if they are disabled.
    pub fn for_plan(plan: &Plan) -> Option<Lifecycle> {
        let is_enabled =
            plan.origins.get("preset").is_some_and(|preset| preset == Preset::Openclawpack.as_str());
        let has_answers = plan.spec.guards.answers.as_ref().is_some_and(|answers| !answers.is_empty());
        is_enabled.then(|| Lifecycle::new(&plan.spec.prompt, has_answers))
    }

    /// Recognizes the GSD command of a prompt, if there is one.
    fn new(prompt: &str, has_answers: bool) -> Lifecycle {
        let mut words = prompt.split_whitespace();
        // Newer versions of GSD write `/gsd-plan-phase`.
        let name = words.next().and_then(|word| word.strip_prefix("/gsd")?.strip_prefix([':', '-']));
        let (command, success) = match name {
            Some("new-project") => ("create_project", "progress_update"),
            Some("plan-phase") => ("plan_phase", "plan_complete"),
            Some("execute-phase") => ("execute_phase", "phase_complete"),
            Some(_) | None => ("run", "progress_update"),
        };
        // Phases were whole numbers in that system; newer versions also have numbers like 2.1.
        let phase = words.next().filter(|_| success != "progress_update");
        let phase = phase.map(|word| word.parse::<u32>().map_or_else(|_| word.into(), Value::from));
        Lifecycle { command, success, phase, has_answers }
    }

    /// Emits the start of the run. Without answers from the user, defaults answer the agent's questions.
    pub fn emit_start(&self) {
        if !self.has_answers {
            let reason = Some("using_default_answers");
            let message = Some("no answers were given; defaults decide");
            self.emit("decision_needed", Data { reason, message, ..Data::default() });
        }
    }

    pub fn emit_end(&self, result: &Result<RunReport, Failure>) {
        match result {
            Ok(report) if report.outcome.kind == OutcomeKind::Done => {
                let status = (self.success == "progress_update").then_some("complete");
                self.emit(self.success, Data { phase: self.phase.as_ref(), status, ..Data::default() });
            }
            Ok(report) => self.emit_error(&report.errors),
            Err(failure) => self.emit_failure(failure),
        }
    }

    pub fn emit_failure(&self, failure: &Failure) {
        self.emit_error(std::slice::from_ref(&failure.error));
    }

    fn emit_error(&self, errors: &[String]) {
        self.emit("error", Data { phase: self.phase.as_ref(), errors: Some(errors), ..Data::default() });
    }

    fn emit(&self, r#type: &'static str, data: Data<'_>) {
        let event = LifecycleEvent { r#type, data: Data { command: self.command, ..data } };
        let line = serde_json::to_string(&event).expect("an event has only string keys");
        print_status(&format!("event: {line}"));
    }
}
