//! Derives the schemas from the types. The checked-in files must match them; `UPDATE_EXPECT=1` writes the
//! files.

mod config_files;

use super::{ALL, SchemaEntry};
use crate::args::{Cli, ENVELOPE_COMMANDS};
use crate::commands::gsd::RegisteredProject;
use crate::commands::{
    config, cost, detach, diff, doctor, drill, dry_run, export, gc, import, ledger, loop_workflow, playbook,
    report, rerun, research, runs, schema, show, simulate, status, why,
};
use crate::config::keys::{Key, Keys, ValueKind};
use crate::output::envelope::Envelope;
use crate::output::events::line::EventGap;
use crate::output::lifecycle;
use crate::output::result_event::ResultEvent;
use clap::{Command, CommandFactory};
use expect_test::expect_file;
use longhaul_agent::transcript_message::TranscriptMessage;
use longhaul_core::schema::Rfc3339;
use longhaul_core::{AnsweredQuestion, BackgroundTask, Moment, Record, RunId, WorkflowRecord};
use longhaul_gsd::ProjectStatus;
use longhaul_playbook::keypoints::Extraction;
use longhaul_store::{
    Argv, AttemptExit, BlockedUrl, CostSummary, Metadata, ModelUsage, Plan, SessionBaseline, SessionSummary,
    Status, WatchdogStop, WorkflowPlan, WorkflowResult, WorkflowStatus, WorkspaceRecord,
};
use longhaul_telemetry::Trace;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::path::Path;

/// A record of a run's journal, with the run's id. Ignore unknown kinds of records: new ones may be added.
/// Fields without a description are as in `journal.jsonl`: moments in milliseconds since 1970, lengths of
/// time in milliseconds, money in millionths of a US dollar.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is only described")]
struct Event {
    /// Id of the run.
    run: RunId,
    /// Number of the record in its run, starting at 1. Each number occurs once.
    seq: u64,
    /// Time of the decision.
    at: Rfc3339,
    #[serde(flatten)]
    record: Record,
}

/// A line of events.
#[derive(JsonSchema)]
#[expect(dead_code, clippy::large_enum_variant, reason = "it is only described")]
#[serde(untagged)]
enum EventLine<'a> {
    Event(Event),
    Gap(EventGap<'a>),
}

/// A record of the run between the agent's own events.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is only described")]
struct StreamLine {
    /// Distinguishes the line from the agent's own.
    #[serde(rename = "type")]
    class: StreamType,
    #[serde(flatten)]
    event: Event,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is only described")]
#[serde(rename_all = "snake_case")]
enum StreamType {
    Longhaul,
}

/// One step of a run: the decisions of one event. Moments are in milliseconds since 1970, lengths of time in
/// milliseconds, money in millionths of a US dollar.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is only described")]
struct JournalLine {
    /// Format of the journal; in its first line only.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<u32>,
    /// Number of the step, starting at 0.
    seq: u64,
    /// Time of the step.
    at: Moment,
    /// Decisions, in order.
    records: Vec<Record>,
}

/// One step of a workflow, as a line of a run's journal.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is only described")]
struct WorkflowJournalLine {
    /// Format of the journal; in its first line only.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<u32>,
    /// Number of the step, starting at 1.
    seq: u64,
    /// Time of the step.
    at: Moment,
    /// Decisions, in order.
    records: Vec<WorkflowRecord>,
}

/// The planned action: a new run, or the resumption of an existing one.
#[derive(JsonSchema)]
#[expect(dead_code, clippy::large_enum_variant, reason = "it is only described")]
#[serde(untagged)]
enum ResearchDryRun<'a> {
    Start(dry_run::DryRun<'a>),
    Resume(research::ResumeDryRun),
}

fn derive(name: &str) -> Value {
    match name {
        "run" => schema_of::<Envelope>(),
        "run-detached" => schema_of::<detach::DetachMessage>(),
        "run-dry-run" => schema_of::<dry_run::DryRun<'_>>(),
        "rerun-dry-run" => schema_of::<rerun::RerunPlan>(),
        "research-dry-run" => schema_of::<ResearchDryRun<'_>>(),
        "loop" => schema_of::<loop_workflow::WorkflowEnvelope>(),
        "loop-dry-run" => schema_of::<loop_workflow::LoopDryRun<'_>>(),
        "loop-validate" => schema_of::<loop_workflow::ValidateOutput>(),
        "loop-stream" => schema_of::<loop_workflow::WorkflowLine<'_>>(),
        "workflow-plan" => schema_of::<WorkflowPlan>(),
        "workflow-journal" => schema_of::<WorkflowJournalLine>(),
        "workflow-status" => schema_of::<WorkflowStatus>(),
        "workflow-result" => schema_of::<WorkflowResult>(),
        "runs" => schema_of::<runs::RunsOutput<'_>>(),
        "status" => schema_of::<status::StatusOutput>(),
        "cost" => schema_of::<cost::CostOutput>(),
        "show" => schema_of::<show::ShowOutput>(),
        "show-workflow" => schema_of::<show::ShowWorkflowOutput<'_>>(),
        "why" => schema_of::<why::WhyOutput<'_>>(),
        "why-workflow" => schema_of::<why::WhyWorkflowOutput<'_>>(),
        "logs" => schema_of::<Vec<TranscriptMessage>>(),
        "report" => schema_of::<report::Printed>(),
        "playbook-learn" => schema_of::<playbook::learn::LearnOutput>(),
        "playbook-status" => schema_of::<playbook::status::LearningStatus>(),
        "playbook-bootstrap" => schema_of::<playbook::bootstrap::BootstrapOutput>(),
        "playbook-extract" => schema_of::<Extraction>(),
        "playbook-show" => schema_of::<playbook::show::PlaybookShowOutput>(),
        "playbook-edit" | "playbook-undo" => schema_of::<playbook::change_report::ChangeReport>(),
        "playbook-check" => schema_of::<playbook::check::CheckOutput>(),
        "playbook-history" => schema_of::<playbook::history::HistoryOutput>(),
        "gsd-status" => schema_of::<Envelope<ProjectStatus>>(),
        "gsd-projects-add" | "gsd-projects-remove" => schema_of::<Envelope<Option<RegisteredProject>>>(),
        "gsd-projects-list" => schema_of::<Envelope<Vec<RegisteredProject>>>(),
        "export" => schema_of::<export::ExportOutput<'_>>(),
        "mcp-install" => schema_of::<crate::commands::mcp::McpInstallOutput>(),
        "import" => schema_of::<import::ImportOutput<'_>>(),
        "gc" => schema_of::<gc::GcOutput>(),
        "ledger-rebuild" => schema_of::<ledger::Rebuilt>(),
        "ledger-verify" => schema_of::<ledger::VerifyOutput>(),
        "playbook-inject" => schema_of::<playbook::inject::InjectOutput>(),
        "playbook-install" | "playbook-uninstall" => schema_of::<playbook::settings::SettingsOutput>(),
        "drill" => schema_of::<Vec<drill::Scorecard>>(),
        "simulate" => schema_of::<simulate::SimulateOutput<'_>>(),
        "doctor" => schema_of::<doctor::DoctorOutput<'_>>(),
        "config" => config_files::schema(),
        "config-show" => configuration_schema(),
        "config-path" => schema_of::<config::ConfigFilesOutput>(),
        "config-init" => schema_of::<config::ConfigWritten>(),
        "config-trust" => schema_of::<config::ConfigTrust>(),
        "schema" => schema_of::<schema::SchemaList>(),
        "events" => schema_of::<EventLine<'_>>(),
        "stream-json" => schema_of::<StreamLine>(),
        "stream-result" => schema_of::<ResultEvent>(),
        "notify" => schema_of::<longhaul::NotificationBody>(),
        "lifecycle" => schema_of::<lifecycle::LifecycleEvent<'_>>(),
        "message" => schema_of::<TranscriptMessage>(),
        "journal" => schema_of::<JournalLine>(),
        "status-file" => schema_of::<Status>(),
        "cost-summary" => schema_of::<CostSummary>(),
        "session" => schema_of::<SessionSummary>(),
        "plan" => schema_of::<Plan>(),
        "metadata" => schema_of::<Metadata>(),
        "blocked-urls" => schema_of::<Vec<BlockedUrl>>(),
        "argv" => schema_of::<Argv>(),
        "attempt-session" => schema_of::<SessionBaseline>(),
        "exit" => schema_of::<AttemptExit>(),
        "usage" => schema_of::<Vec<ModelUsage>>(),
        "answers" => schema_of::<Vec<AnsweredQuestion>>(),
        "background" => schema_of::<Vec<BackgroundTask>>(),
        "watchdog" => schema_of::<WatchdogStop>(),
        "changes" => schema_of::<WorkspaceRecord>(),
        "diff" => schema_of::<diff::DiffOutput<'_>>(),
        "trace" => schema_of::<Trace>(),
        other => panic!("`{other}` is in the list of schemas: say here which type it is derived from"),
    }
}

/// Derives the schema of a type as serialized: keys that are always present are required.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Describes the output of `config show`. Its keys are those of the flags; with `--origin` each holds an
/// object with the value and its origin.
fn configuration_schema() -> Value {
    let root = Cli::command();
    let keys = Keys::for_command(&root);
    let properties: Map<String, Value> = keys.all().map(|key| (key.path(), key_schema(key))).collect();
    let required: Vec<String> = keys.all().map(Key::path).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "Effective configuration of a run in a directory, by key. A key is null if it is not set and has no default",
        "type": "object",
        "properties": properties,
        "required": required,
    })
}

fn key_schema(key: &Key<'_>) -> Value {
    let value = match key.kind {
        ValueKind::Switch => json!({ "type": "boolean" }),
        ValueKind::Count => json!({ "type": ["integer", "string", "null"] }),
        ValueKind::Amount => json!({ "type": ["number", "string", "null"] }),
        ValueKind::Text | ValueKind::Path => json!({ "type": ["string", "null"] }),
        ValueKind::List => json!({ "type": ["array", "null"], "items": { "type": "string" } }),
    };
    let origin =
        json!({ "description": "The file, variable or preset that set the value", "type": "string" });
    let with_origin = json!({
        "description": "The value with its origin, with --origin",
        "type": "object",
        "properties": { "value": { "description": "Effective value", "anyOf": [value.clone()] }, "origin": origin },
        "required": ["value", "origin"],
    });
    json!({ "description": key.about(), "anyOf": [value, with_origin] })
}

/// Adds a name to the schema of this entry and removes everything that validators do not know.
fn named(schema: &SchemaEntry) -> Value {
    let mut value = derive(schema.name);
    plain(&mut value, schema.name == "events" || schema.name == "stream-json");
    // The title describes it better.
    if value["description"] == "Output of the command." {
        value.as_object_mut().expect("it is an object").remove("description");
    }
    value["$id"] = format!("urn:longhaul:schema:{}", schema.name).into();
    value["title"] = schema.about.into();
    value
}

/// Removes what is specific to Rust: number formats, line breaks of comments, and `additionalProperties`. In
/// event lines it also removes the time from records, because the line itself has it.
fn plain(value: &mut Value, is_event_line: bool) {
    match value {
        Value::Object(object) => {
            if object.get("format").and_then(Value::as_str).is_some_and(|format| format != "date-time") {
                object.remove("format");
            }
            if let Some(Value::String(description)) = object.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            if object.get("additionalProperties") == Some(&Value::Bool(false)) {
                object.remove("additionalProperties");
            }
            if is_event_line {
                without_time(object);
            }
            object.values_mut().for_each(|value| plain(value, is_event_line));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| plain(value, is_event_line)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Removes the time from this schema if it describes a record.
fn without_time(object: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    if properties.get("record").is_some_and(|record| record["const"].is_string()) {
        properties.remove("at");
        if let Some(Value::Array(required)) = object.get_mut("required") {
            required.retain(|name| name != "at");
        }
    }
}

#[test]
fn checked_in_schemas_match_types() {
    for schema in ALL {
        let path = format!("../../../../docs/schemas/{}.schema.json", schema.name);
        expect_file![path].assert_eq(&format!("{:#}\n", named(schema)));
    }
}

#[test]
fn every_key_is_described() {
    for schema in ALL {
        let value = named(schema);
        let mut without = Vec::new();
        undescribed(&value, &value, &mut without);
        assert_eq!(without, Vec::<&str>::new(), "{}: without a comment on the field", schema.name);
    }
}

/// Collects the keys that have no description, neither of their own nor through their type.
fn undescribed<'a>(root: &Value, value: &'a Value, without: &mut Vec<&'a str>) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                // The only key of a variant is described by the variant.
                let is_variant = properties.len() == 1 && is_described(root, value);
                let names =
                    properties.iter().filter(|(_, property)| !is_variant && !is_described(root, property));
                without.extend(names.map(|(name, _)| name.as_str()));
            }
            object.values().for_each(|value| undescribed(root, value, without));
        }
        Value::Array(items) => items.iter().for_each(|value| undescribed(root, value, without)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_described(root: &Value, value: &Value) -> bool {
    let by_name = || root.pointer(value["$ref"].as_str()?.strip_prefix('#')?);
    let is_so = |value: &Value| value["description"].is_string() || value["const"].is_string();
    let parts = value["anyOf"].as_array();
    is_so(value)
        || by_name().is_some_and(is_so)
        || parts.is_some_and(|parts| parts.iter().any(|part| is_described(root, part)))
}

#[test]
fn every_schema_file_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    for entry in folder.read_dir().expect("the schemas are there") {
        let name = entry.expect("the schemas are there").file_name().into_string().expect("text");
        let Some(name) = name.strip_suffix(".schema.json") else { continue };
        assert!(
            super::names().any(|known| known == name),
            "docs/schemas/{name}.schema.json: it is not in the list of schemas"
        );
    }
}

#[test]
fn documentation_lists_every_schema_in_order() {
    let text = include_str!("../../../../docs/schemas/README.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| [")?.split_once(']'));
    assert_eq!(rows.map(|(name, _)| name).collect::<Vec<_>>(), super::names().collect::<Vec<_>>());
}

/// Commands of `gsd` that print the envelope of a run or of a workflow.
const RUN_COMMANDS: &[&str] =
    &["gsd-new-project", "gsd-plan-phase", "gsd-execute-phase", "gsd-next", "gsd-phases", "gsd-verify-phase"];

/// Commands that print no JSON of Longhaul's, whatever the output format.
const TEXT_COMMANDS: &[&str] = &["handoff", "completions", "man", "hint", "loop-check-progress"];

#[test]
fn every_json_command_has_schema() {
    let mut root = Cli::command();
    root.build();
    let mut names = Vec::new();
    leaves(&root, "", &mut names);
    assert!(names.contains(&"ledger-rebuild".to_owned()), "{names:?}");
    for name in names {
        let has_its_own = super::names().any(|known| known == name);
        assert!(
            has_its_own
                || ENVELOPE_COMMANDS.contains(&name.as_str())
                || RUN_COMMANDS.contains(&name.as_str())
                || TEXT_COMMANDS.contains(&name.as_str()),
            "`longhaul {0}` takes --output-format, and there is no schema of what it prints: add `{0}` to \
             crates/cli/src/schemas.rs with an empty docs/schemas/{0}.schema.json, say in schemas/tests.rs which type it \
             is derived from, and run this test with UPDATE_EXPECT=1",
            name.replace(' ', "-"),
        );
    }
}

/// Collects the commands, with `-` between the words of one.
fn leaves(command: &Command, above: &str, names: &mut Vec<String>) {
    let takes_format = |command: &Command| command.get_arguments().any(|arg| arg.get_id() == "output_format");
    for below in command.get_subcommands() {
        let name = format!("{above}{}", below.get_name());
        if below.has_subcommands() {
            leaves(below, &format!("{name}-"), names);
        } else if takes_format(below) {
            names.push(name);
        }
    }
}
