//! `--preset openclawpack`: the five lifecycle events of that system, for what reads them on stderr. Each is a line `event:
//! {"type":…,"data":…}`; `--quiet` leaves them out. They say what the envelope says, and decide nothing.

use super::print_status;
use crate::args::{GlobalArgs, RunArgs};
use crate::failure::Failure;
use longhaul::RunReport;
use longhaul_core::{OutcomeKind, Preset};
use longhaul_store::Plan;
use serde::Serialize;
use serde_json::Value;

/// What is told of one run.
pub struct Lifecycle {
    command: &'static str,
    /// The event that says that it succeeded.
    success: &'static str,
    phase: Option<Value>,
    /// Whether somebody thought of answers to the agent's questions.
    has_answers: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event<'a> {
    /// Which event.
    r#type: &'static str,
    /// What there is to tell.
    data: Data<'a>,
}

#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Data<'a> {
    /// What was asked for: `create_project`, `plan_phase`, `execute_phase` or `run`.
    command: &'static str,
    /// Which phase: a number, or a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a Value>,
    /// Why a decision is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
    /// `complete`.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// What went wrong, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<&'a [String]>,
}

impl Lifecycle {
    /// Of a run that is about to begin, and what it is to do.
    pub fn of_run(global: &GlobalArgs, args: &RunArgs, prompt: &str) -> Option<Lifecycle> {
        let has_answers = !args.answer.is_empty() || args.answers_file.is_some();
        let is_asked_for = args.policy.preset == Some(Preset::Openclawpack);
        (is_asked_for && !global.quiet).then(|| Lifecycle::new(prompt, has_answers))
    }

    /// Of a run that goes on.
    pub fn of_plan(global: &GlobalArgs, plan: &Plan) -> Option<Lifecycle> {
        let is_asked_for =
            plan.origins.get("preset").is_some_and(|preset| preset == Preset::Openclawpack.as_str());
        let has_answers = plan.guards.answers.as_ref().is_some_and(|answers| !answers.is_empty());
        (is_asked_for && !global.quiet).then(|| Lifecycle::new(&plan.prompt.text, has_answers))
    }

    /// What a prompt asks of GSD, if it does.
    fn new(prompt: &str, has_answers: bool) -> Lifecycle {
        let mut words = prompt.split_whitespace();
        let (command, success) = match words.next() {
            Some("/gsd:new-project") => ("create_project", "progress_update"),
            Some("/gsd:plan-phase") => ("plan_phase", "plan_complete"),
            Some("/gsd:execute-phase") => ("execute_phase", "phase_complete"),
            Some(_) | None => ("run", "progress_update"),
        };
        // Phases are numbers there, and by now also numbers like 2.1.
        let phase = words.next().filter(|_| success != "progress_update");
        let phase = phase.map(|word| word.parse::<u32>().map_or_else(|_| word.into(), Value::from));
        Lifecycle { command, success, phase, has_answers }
    }

    /// The run is about to begin. Nobody answers the agent's questions but defaults, if nobody thought of answers.
    pub fn begins(&self) {
        if !self.has_answers {
            self.emit(
                "decision_needed",
                Data {
                    reason: Some("using_default_answers"),
                    message: Some("no answers were given; defaults decide"),
                    ..Data::default()
                },
            );
        }
    }

    /// It ended, or could not.
    pub fn emit_end(&self, ended: &Result<RunReport, Failure>) {
        match ended {
            Ok(report) => self.ended(report),
            Err(failure) => self.failed(failure),
        }
    }

    fn ended(&self, report: &RunReport) {
        if report.outcome.kind != OutcomeKind::Done {
            return self.error(&report.errors);
        }
        let status = (self.success == "progress_update").then_some("complete");
        self.emit(self.success, Data { phase: self.phase.as_ref(), status, ..Data::default() });
    }

    /// It was not begun, or broke off.
    pub fn failed(&self, failure: &Failure) {
        self.error(std::slice::from_ref(&failure.error));
    }

    fn error(&self, errors: &[String]) {
        self.emit("error", Data { phase: self.phase.as_ref(), errors: Some(errors), ..Data::default() });
    }

    fn emit(&self, r#type: &'static str, data: Data<'_>) {
        let event = Event { r#type, data: Data { command: self.command, ..data } };
        let line = serde_json::to_string(&event).expect("an event has only string keys");
        print_status(&format!("event: {line}"));
    }
}
