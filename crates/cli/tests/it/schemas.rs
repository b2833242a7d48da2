//! Validates every JSON output of the binary against its schema in `docs/schemas`, in all tests.
//!
//! Each call is checked when it exits, and the runs of a stage when the test ends. The published schemas
//! accept unknown keys. Here an undescribed key is an error.

use crate::harness::Stage;
use crate::server::{Server, WORK};
use crate::tidy;
use jsonschema::Validator;
use longhaul_store::Journal;
use serde_json::{Deserializer, Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

type Validators = BTreeMap<String, Arc<Validator>>;
static VALIDATORS: LazyLock<Mutex<Validators>> = LazyLock::new(Mutex::default);

/// Commands that print the envelope of a run.
const PRINT_AN_ENVELOPE: [&str; 8] =
    ["run", "resume", "rerun", "loop", "research", "recover", "attach", "cancel"];
/// Commands of `gsd` that print the envelope of a run.
const GSD_RUNS: [&str; 5] =
    ["gsd-new-project", "gsd-plan-phase", "gsd-execute-phase", "gsd-next", "gsd-verify-phase"];
/// Commands that print text, or JSON of another program.
const PRINT_TEXT: [&str; 8] =
    ["handoff", "completions", "man", "drill-agent", "watchdog", "finish-tool", "help", "hook"];

/// The arguments of a call of the binary, which determine its output.
pub struct Invocation {
    args: Vec<String>,
    folder: PathBuf,
}

impl Invocation {
    pub fn new(args: impl Iterator<Item = String>, folder: PathBuf) -> Invocation {
        // Arguments after `--` belong to the agent.
        Invocation { args: args.take_while(|arg| arg != "--").collect(), folder }
    }

    fn has(&self, flags: &[&str]) -> bool {
        self.args.iter().any(|arg| flags.contains(&arg.as_str()))
    }

    fn value(&self, flag: &str) -> Option<&str> {
        let is_flag = |pair: &[String]| pair[0] == flag;
        let separate = self.args.windows(2).find(|pair| is_flag(pair)).map(|pair| pair[1].as_str());
        separate.or_else(|| self.args.iter().find_map(|arg| arg.strip_prefix(flag)?.strip_prefix('=')))
    }

    /// Returns the command's words, joined by `-`.
    fn command(&self) -> Option<String> {
        // An unknown command counts too, so that a new command without a schema fails.
        let existing = self.args.iter().position(|arg| is_command(arg));
        let index = existing.or_else(|| self.args.iter().position(|arg| !arg.starts_with('-')))?;
        let command = &self.args[index];
        let words = match command.as_str() {
            "config" | "ledger" | "mcp" | "playbook" => 1,
            "gsd" if self.has(&["projects"]) => 2,
            "gsd" => 1,
            _ => 0,
        };
        let subcommands = self.args[index + 1..].iter().filter(|arg| !arg.starts_with('-')).take(words);
        let name = subcommands.fold(command.clone(), |name, word| format!("{name}-{word}"));
        Some(match name.as_str() {
            "gsd-phases" => "loop".to_owned(),
            run if GSD_RUNS.contains(&run) => "run".to_owned(),
            _ => name,
        })
    }

    /// Validates the output and the events of the call.
    pub fn check(&self, code: i32, stdout: &str, stderr: &str) {
        for line in stderr.lines().filter_map(|line| line.strip_prefix("event: ")) {
            validate("lifecycle", &parsed(line));
        }
        let events = self.value("--events").filter(|path| !path.starts_with("fd:"));
        let file = events.filter(|path| *path != "-").map(|path| self.folder.join(path));
        if let Some(file) = file.filter(|file| file.is_file()) {
            validate_lines("events", &fs::read_to_string(file).expect("events are text"));
        }
        let Some(command) = self.command() else { return };
        let is_text = PRINT_TEXT.contains(&command.as_str())
            || self.value("--output-format") == Some("text")
            || self.has(&[
                "--help",
                "-h",
                "--version",
                "-V",
                "--list",
                "--print-service",
                "--csv",
                "--format",
            ]);
        // Text may also be configured, which the arguments do not show.
        let is_requested = self.value("--output-format").is_some();
        let is_json = is_requested || stdout.starts_with(['{', '[']);
        if is_text || stdout.is_empty() || !is_json {
            return;
        }
        if events == Some("-") {
            return validate_lines("events", stdout);
        }
        let is_lines = self.value("--output-format") == Some("stream-json");
        match command.as_str() {
            "logs" if self.has(&["--raw"]) => {}
            "logs" if is_lines => validate_lines("message", stdout),
            "logs" if self.has(&["--json-array"]) || is_requested => {
                validate_text("logs", stdout);
            }
            "logs" => {}
            // Text by default. A patch may begin with any character.
            "report" | "diff" if !is_requested => {}
            // A schema, printed by its name.
            "schema" if stdout.contains("\"$id\"") => {}
            command if PRINT_AN_ENVELOPE.contains(&command) => {
                self.check_run(command, is_lines, code, stdout)
            }
            _ if code != 0 && is_envelope(stdout) => validate_text("run", stdout),
            // A workflow has other keys than a run.
            "show" | "why" if parsed(stdout)["workflow"].is_string() => {
                validate_text(&format!("{command}-workflow"), stdout);
            }
            command => validate_text(command, stdout),
        }
    }

    fn check_run(&self, command: &str, is_lines: bool, code: i32, stdout: &str) {
        let dry_run = format!("{command}-dry-run");
        let mut results = 0;
        for value in Deserializer::from_str(stdout).into_iter::<Value>() {
            let value =
                value.unwrap_or_else(|error| panic!("{error} in the output of `{command}`: {stdout}"));
            // Nothing follows the result of a run. `recover` prints several runs.
            assert!(results == 0 || command == "recover", "{value} follows the result: {stdout}");
            if value["success"].is_boolean() && value["run"].is_object() {
                assert!(!is_lines, "a stream ends with a result event: {value}");
                validate("run", &value);
            } else if value["success"].is_boolean() && value["workflow"].is_object() {
                validate("loop", &value);
            } else if command == "loop" && self.has(&["validate"]) {
                validate("loop-validate", &value);
            } else if is_lines && value["type"] == "longhaul_workflow" {
                validate("loop-stream", &value);
            } else if is_lines && value["type"] == "result" {
                results += 1;
                validate("stream-result", &value);
            } else if code == 0 && self.has(&["--dry-run", "--dry_run"]) {
                validate(&dry_run, &value);
            } else if self.has(&["--detach", "--detached"]) && value["run"].is_object() {
                validate("run-detached", &value);
            } else if is_lines && value["type"] == "longhaul" {
                validate("stream-json", &value);
            } else {
                // An event of the agent.
                assert!(is_lines, "no schema describes this output of `{command}`: {value}");
            }
        }
    }
}

/// Validates the files of each run and workflow that other programs read, with any outcome.
pub fn check_runs(stage: &Stage) {
    for workflow in stage.workflows() {
        validate_file("workflow-plan", &workflow.plan_path());
        validate_file("workflow-status", &workflow.path().join("status.json"));
        validate_complete_lines("workflow-journal", &workflow.journal_path());
        let files = tidy::all_paths(workflow.path()).into_iter();
        let is_result =
            |path: &PathBuf| path.ancestors().any(|part| part.ends_with("results")) && path.is_file();
        files.filter(is_result).for_each(|path| validate_file("workflow-result", &path));
    }
    for run in stage.runs() {
        for (name, path) in [
            ("status-file", run.status_path()),
            ("cost-summary", run.logs_path().join("cost_summary.json")),
            ("session", run.logs_path().join("session.json")),
            ("metadata", run.path().join("metadata.json")),
            ("blocked-urls", run.logs_path().join("blocked_urls.json")),
            ("plan", run.plan_path()),
            ("trace", run.trace_path()),
            ("changes", run.path().join("changes.json")),
        ] {
            validate_file(name, &path);
        }
        for attempt in run.attempts().unwrap_or_default() {
            for (name, file_name) in [
                ("argv", "argv.json"),
                ("attempt-session", "session.json"),
                ("exit", "exit.json"),
                ("usage", "usage.json"),
                ("answers", "answers.json"),
                ("background", "background.json"),
                ("watchdog", "watchdog.json"),
            ] {
                validate_file(name, &attempt.path().join(file_name));
            }
        }
        // The input of the `--notify` commands.
        for notification in fs::read_dir(run.path().join("notified")).into_iter().flatten().flatten() {
            validate_text("notify", &fs::read_to_string(notification.path()).expect("the text is UTF-8"));
        }
        // A test may have made the journal unreadable.
        if <Journal>::load(&run.journal_path()).is_ok() {
            validate_complete_lines("journal", &run.journal_path());
        }
        validate_complete_lines("message", &run.transcript_path());
    }
}

/// Validates a file if it is complete. A test may have damaged or replaced it.
fn validate_file(name: &str, path: &Path) {
    let found = fs::read(path).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    found
        .iter()
        .filter(|value| value.is_object() || value.is_array())
        .for_each(|value| validate(name, value));
}

fn validate_complete_lines(name: &str, path: &Path) {
    let text = fs::read(path).unwrap_or_default();
    let values = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    values.filter(Value::is_object).for_each(|value| validate(name, &value));
}

fn is_command(word: &str) -> bool {
    PRINT_AN_ENVELOPE.contains(&word)
        || PRINT_TEXT.contains(&word)
        || matches!(word, "config" | "gsd" | "ledger" | "playbook")
        || schema_path(word).is_file()
}

fn is_envelope(stdout: &str) -> bool {
    serde_json::from_str(stdout)
        .is_ok_and(|value: Value| value["success"] == false && value["run"].is_object())
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn validate_text(name: &str, stdout: &str) {
    validate(name, &parsed(stdout));
}

fn validate_lines(name: &str, text: &str) {
    // The last line may be incomplete.
    let end = text.rfind('\n').map_or(0, |end| end + 1);
    text[..end].lines().for_each(|line| validate(name, &parsed(line)));
}

/// Asserts that a value matches the schema of this name and has no other keys.
pub fn validate(name: &str, value: &Value) {
    let validator = validator(name);
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(
        errors.is_empty(),
        "docs/schemas/{name}.schema.json does not describe this output; if the output is intended, \
         `UPDATE_EXPECT=1 cargo test -p longhaul-cli --bin longhaul schemas` updates the schema:\n{}\n{value:#}",
        errors.join("\n")
    );
}

fn validator(name: &str) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let found = validators.entry(name.to_owned());
    found.or_insert_with(|| Arc::new(compiled(&strict(published(name))))).clone()
}

fn compiled(schema: &Value) -> Validator {
    let built = jsonschema::draft202012::options().should_validate_formats(true).build(schema);
    built.unwrap_or_else(|error| panic!("{error} in {schema:#}"))
}

fn schema_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schemas/{name}.schema.json"))
}

fn published(name: &str) -> Value {
    let text = fs::read_to_string(schema_path(name));
    parsed(&text.unwrap_or_else(|error| {
        panic!(
            "docs/schemas/{name}.schema.json: {error}. Each command that prints JSON has a schema: see \
             crates/cli/src/schemas.rs"
        )
    }))
}

/// Returns the schema without permission for undescribed keys.
fn strict(mut schema: Value) -> Value {
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.values_mut().for_each(close_parts);
    }
    close(&mut schema);
    schema
}

/// Closes a schema. A combination of schemas is closed as a whole.
fn close(schema: &mut Value) {
    close_parts(schema);
    let Value::Object(object) = schema else { return };
    let describes_keys = ["properties", "$ref", "allOf", "anyOf", "oneOf"];
    if describes_keys.iter().any(|word| object.contains_key(*word)) {
        object.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
    }
}

fn close_parts(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    for (word, part) in object.iter_mut() {
        match (word.as_str(), part) {
            ("properties" | "patternProperties", Value::Object(values)) => {
                values.values_mut().for_each(close);
            }
            ("items" | "additionalProperties", part) => close(part),
            ("prefixItems", Value::Array(parts)) => parts.iter_mut().for_each(close),
            // These describe the same value.
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => parts.iter_mut().for_each(close_parts),
            (_, _) => {}
        }
    }
}

#[test]
fn every_schema_is_valid() {
    let folder = schema_path("run").parent().expect("the path has a parent").to_owned();
    let mut ids = Vec::new();
    for entry in fs::read_dir(folder).expect("the schemas exist") {
        let name = entry.expect("the schemas exist").file_name().into_string().expect("text");
        let Some(name) = name.strip_suffix(".schema.json") else { continue };
        let schema = published(name);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        assert!(jsonschema::meta::is_valid(&schema), "{name} is no schema of draft 2020-12");
        assert!(!schema.to_string().contains("dditionalProperties\":false"), "{name} forbids new keys");
        assert_eq!(schema["$id"], format!("urn:longhaul:schema:{name}"));
        compiled(&strict(schema));
        ids.push(name.to_owned());
    }
    assert!(ids.len() > 30, "{ids:?}");
}

#[test]
fn undescribed_key_is_rejected() {
    let is_valid = |name: &str, value: &Value| validator(name).is_valid(value);
    let event = json!({ "run": "kmzxqp", "seq": 1, "at": "2026-11-22T15:08:38.120Z", "record": "swept", "stopped_processes": 0 });
    assert!(is_valid("events", &event));
    let with = |name: &str, value: Value| {
        let mut event: Map<String, Value> = event.as_object().expect("an object").clone();
        event.insert(name.to_owned(), value);
        Value::Object(event)
    };
    assert!(!is_valid("events", &with("unheard_of", json!(1))));
    assert!(!is_valid("events", &with("record", json!("unheard_of"))));
    assert!(!is_valid("events", &with("at", json!(5))));
    assert!(!is_valid("events", &with("ended", json!(-1))));
    // The published schema accepts the key.
    assert!(compiled(&published("events")).is_valid(&with("unheard_of", json!(1))));
}

#[test]
fn undescribed_key_is_rejected_at_every_depth() {
    let (stage, server) = (Stage::new(), Server::start(WORK));
    let base_args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
    let envelope = stage.run(&stage.agent(), &base_args).against(&server).output().envelope(0);
    let mut outputs = vec![("run", envelope)];
    for command in ["show", "why", "runs", "report"] {
        let args = [command, "--output-format", "json"];
        outputs.push((
            command,
            parsed(&stage.longhaul(args).args((command != "runs").then_some("@")).output().stdout),
        ));
    }
    for (name, value) in outputs {
        let mut pointers = Vec::new();
        objects(&value, "", &mut pointers);
        for pointer in pointers {
            let mut changed = value.clone();
            let object =
                changed.pointer_mut(&pointer).and_then(Value::as_object_mut).expect("the file exists");
            object.insert("unheard_of".to_owned(), Value::Null);
            assert!(!validator(name).is_valid(&changed), "{name}: a new key at `{pointer}` is accepted");
        }
    }
}

/// Collects the JSON pointers of all objects in a value.
fn objects(value: &Value, pointer: &str, pointers: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            pointers.push(pointer.to_owned());
            object.iter().for_each(|(name, value)| objects(value, &format!("{pointer}/{name}"), pointers));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| objects(item, &format!("{pointer}/{index}"), pointers));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn schema_command_prints_each_schema() {
    let stage = Stage::new();
    let listed = stage.longhaul(["schema"]).output();
    let listed = parsed(&listed.stdout);
    let names: Vec<&str> = listed["schemas"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|schema| schema["name"].as_str())
        .collect();
    for name in ["run", "runs", "events"] {
        assert!(names.contains(&name), "{names:?}");
        let output = stage.longhaul(["schema", name]).output();
        assert_eq!((output.code, parsed(&output.stdout)), (0, published(name)));
    }
    let text = stage.longhaul(["schema", "--output-format", "text"]).output().stdout;
    let row = text.lines().find(|line| line.split_whitespace().next() == Some("runs"));
    assert!(row.is_some_and(|row| row.ends_with("  The list of runs")), "{text}");
    let output = stage.longhaul(["schema", "rnus"]).output();
    assert_eq!(output.code, 2);
    output.assert_error(&["'rnus'", "runs"]);
}
