//! Runs the tools: writes, edits and reads files, and runs commands. The results have the real agent's
//! wording.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::{Agent, Stop};
use super::inbox::InboxEvent;
use super::init;
use super::questions;
use super::shell::{Background, Shell};
use super::tool_outcome::Outcome;

/// Time limit of a foreground command whose call sets none.
const COMMAND_WAIT: Duration = Duration::from_secs(120);

impl Agent {
    pub(super) fn run_tool(&mut self, call: &Value) -> Result<Outcome, Stop> {
        let input = &call["input"];
        let text = |field: &str| input[field].as_str().unwrap_or_default();
        let path = self.environment.cwd.join(text("file_path"));
        match call["name"].as_str().unwrap_or_default() {
            "Write" => Ok(write(&path, text("file_path"), text("content"))),
            "Edit" => Ok(edit(&path, text("file_path"), input)),
            "Read" => Ok(read(&path)),
            "Bash" if input["run_in_background"] == true => Ok(self.start_in_background(call)),
            "Bash" => self.run_command(call),
            questions::ASK_USER_QUESTION => {
                let detail = json!({"questions": input["questions"], "answers": input["answers"]});
                Ok(Outcome::success(questions::render_answers(input), detail))
            }
            init::STRUCTURED_OUTPUT => Ok(self.structured_output(input)),
            other => Ok(self.servers.call(other, input).unwrap_or_else(|| {
                Outcome::error(format!(
                    "<tool_use_error>Error: No such tool available: {other}</tool_use_error>"
                ))
            })),
        }
    }

    /// Accepts a result that has the required fields of the schema, each of its type.
    fn structured_output(&self, input: &Value) -> Outcome {
        let schema = self.flags.json_schema.as_ref().unwrap_or(&Value::Null);
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let fits = |field: &str| match schema["properties"][field]["type"].as_str() {
            Some("boolean") => input[field].is_boolean(),
            Some("array") => input[field].is_array(),
            Some(_) | None => !input[field].is_null(),
        };
        match required.into_iter().find(|field| !fits(field)) {
            Some(field) => {
                Outcome::error(format!("Output does not match required schema: /{field} has another type"))
            }
            None => Outcome::success("Structured output provided successfully", Value::Null),
        }
    }

    fn start_shell(&mut self, call: &Value, name: &str) -> io::Result<Shell> {
        self.serial += 1;
        let command = call["input"]["command"].as_str().unwrap_or_default();
        let output = self.session.outputs().join(format!("{name}.output"));
        Shell::start(command, &self.environment.cwd, output, self.serial, self.inbox.sender.clone())
    }

    fn run_command(&mut self, call: &Value) -> Result<Outcome, Stop> {
        let name = format!("b{}", self.out.rng.letters(8));
        let shell = match self.start_shell(call, &name) {
            Ok(shell) => shell,
            Err(error) => return Ok(Outcome::error(format!("cannot run bash: {error}"))),
        };
        let limit = call["input"]["timeout"].as_u64().map_or(COMMAND_WAIT, Duration::from_millis);
        let end = Instant::now() + limit;
        let code = loop {
            match self.wait(Some(end)) {
                Ok(Some(InboxEvent::CommandEnded(serial, code))) if serial == shell.serial => break code,
                Ok(Some(_)) => {}
                Ok(None) => {
                    shell.kill();
                    return Ok(Outcome::error(format!("Command timed out after {} s", limit.as_secs_f64())));
                }
                Err(stop) => {
                    shell.kill();
                    return Err(stop);
                }
            }
        };
        let text = shell.text();
        if code != 0 {
            let content = if text.is_empty() {
                format!("Exit code {code}")
            } else {
                format!("Exit code {code}\n{text}")
            };
            return Ok(Outcome::error(content));
        }
        let detail = json!({"stdout": text, "stderr": ""});
        let content = if text.is_empty() { "(Bash completed with no output)".to_owned() } else { text };
        Ok(Outcome::success(content, detail))
    }

    fn start_in_background(&mut self, call: &Value) -> Outcome {
        let task_id = format!("b{}", self.out.rng.letters(8));
        let shell = match self.start_shell(call, &task_id) {
            Ok(shell) => shell,
            Err(error) => return Outcome::error(format!("cannot run bash: {error}")),
        };
        let input = &call["input"];
        let description =
            input["description"].as_str().or(input["command"].as_str()).unwrap_or_default().to_owned();
        let tool_id = call["id"].as_str().unwrap_or_default().to_owned();
        let output = shell.output.display().to_string();
        let event = json!({"task_id": task_id, "tool_use_id": tool_id, "description": description,
            "is_backgrounded": true});
        self.background.push(Background { shell, task_id: task_id.clone(), tool_id, description });
        self.emit_background();
        self.out.system("task_started", event);
        let content = format!(
            "Command running in background with ID: {task_id}. Output is being written to: {output}. You will be \
             notified when it completes. To check interim output, use Read on that file path."
        );
        Outcome::success(content, json!({"stdout": "", "stderr": "", "backgroundTaskId": task_id}))
    }
}

/// Writes a file. `requested_path` is the path as the model wrote it.
fn write(path: &Path, requested_path: &str, content: &str) -> Outcome {
    let existed = path.exists();
    let result = path.parent().map_or(Ok(()), fs::create_dir_all);
    if let Err(error) = result.and_then(|()| fs::write(path, content)) {
        return Outcome::error(format!("cannot write {}: {error}", path.display()));
    }
    let verb = if existed { "updated" } else { "created" };
    let detail = json!({"filePath": path, "content": content});
    let note = "(file state is current in your context — no need to Read it back)";
    Outcome::success(format!("File {verb} successfully at: {requested_path} {note}"), detail)
}

fn edit(path: &Path, requested_path: &str, input: &Value) -> Outcome {
    let text = |field: &str| input[field].as_str().unwrap_or_default();
    let (old, new, all) = (text("old_string"), text("new_string"), input["replace_all"] == true);
    let Ok(before) = fs::read_to_string(path) else {
        return Outcome::error(format!(
            "<tool_use_error>File does not exist: {}</tool_use_error>",
            path.display()
        ));
    };
    let count = before.matches(old).count();
    if old.is_empty() || count == 0 {
        return Outcome::error(format!(
            "<tool_use_error>String to replace not found in file.\nString: {old}</tool_use_error>"
        ));
    }
    if count > 1 && !all {
        return Outcome::error(format!(
            "<tool_use_error>Found {count} matches of the string to replace, but replace_all is false.</tool_use_error>"
        ));
    }
    if let Err(error) = fs::write(path, before.replace(old, new)) {
        return Outcome::error(format!("cannot write {}: {error}", path.display()));
    }
    let detail = json!({"filePath": path, "oldString": old, "newString": new, "replaceAll": all});
    let note = "(file state is current in your context — no need to Read it back)";
    Outcome::success(format!("The file {requested_path} has been updated successfully. {note}"), detail)
}

fn read(path: &Path) -> Outcome {
    let Ok(text) = fs::read_to_string(path) else {
        return Outcome::error("File does not exist.");
    };
    let numbered: Vec<String> =
        text.lines().enumerate().map(|(index, line)| format!("{}\t{line}", index + 1)).collect();
    let detail = json!({"type": "text", "file": {"filePath": path, "content": text}});
    Outcome::success(numbered.join("\n"), detail)
}
