//! `longhaul mcp install`: prints the configuration that makes a client start the server, or adds it to the client's file
//! and keeps everything else there.

use super::ceilings::Ceilings;
use crate::args::{GlobalArgs, McpClient, McpInstallArgs};
use crate::failure::{Failure, OrFailure};
use crate::own_program::lasting_path;
use crate::{open_home, output, prompt_arg};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use longhaul_playbook::replace_user_file;
use longhaul_store::{if_exists, read_regular_to_string};
use serde::Serialize;
use serde_json::{Value, json};
use std::env;
use std::path::{Path, PathBuf};

const NAME: &str = "longhaul";
/// Variables by which Claude Code finds its account and its API. Codex hides all but a few variables from a server.
const AGENT_VARIABLES: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CONFIG_DIR",
    "IS_SANDBOX",
];

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct McpInstallOutput {
    /// The client's file.
    file: String,
    /// Whether the file was changed.
    written: bool,
    /// The configuration for a file that has no other servers.
    content: String,
}

/// The place of a server in a client's file.
enum Format {
    /// JSON, with this key for the servers.
    Json(&'static str),
    Toml,
}

pub fn install(global: &GlobalArgs, args: &McpInstallArgs) -> Result<u8, Failure> {
    let (file, format) = file(args.client)?;
    let server = server(args)?;
    let content = match format {
        Format::Json(key) => output::pretty(&json!({ key: { NAME: server } })),
        Format::Toml => toml_text(&server)?,
    };
    let change = match format {
        _ if !args.write => None,
        Format::Json(key) => json_change(&file, key, &server)?,
        Format::Toml => toml_change(&file, &content)?,
    };
    let written = change.is_some();
    if let Some((before, after)) = change {
        replace_user_file(&file, before.as_deref(), &after)
            .map_err(|error| Failure::usage(error.message, error.hint))?;
    }
    let path = file.display();
    let installed = McpInstallOutput { file: path.to_string(), written, content };
    output::print_output(global, &installed, || match (args.write, written) {
        (false, _) => installed.content.clone(),
        (true, true) => format!("installed: {path}\n"),
        (true, false) => format!("nothing to change: {path}\n"),
    });
    if !args.write {
        output::print_status(&format!("this belongs in {path}; --write adds it"));
    }
    Ok(0)
}

fn file(client: McpClient) -> Result<(PathBuf, Format), Failure> {
    let here = |path: &str| {
        let dir = env::current_dir().or_usage("cannot find the project", "change to its directory")?;
        Ok::<_, Failure>(dir.join(path))
    };
    Ok(match client {
        McpClient::ClaudeCode => (here(".mcp.json")?, Format::Json("mcpServers")),
        McpClient::Gemini => (here(".gemini/settings.json")?, Format::Json("mcpServers")),
        McpClient::Cursor => (here(".cursor/mcp.json")?, Format::Json("mcpServers")),
        McpClient::Vscode => (here(".vscode/mcp.json")?, Format::Json("servers")),
        McpClient::Codex => {
            let home = env::var_os("CODEX_HOME").map(PathBuf::from);
            let home = home.or_else(|| env::home_dir().map(|home| home.join(".codex")));
            let home = home.ok_or_else(|| {
                Failure::usage(
                    "cannot find the configuration of Codex: HOME is not set",
                    "set HOME or CODEX_HOME",
                )
            })?;
            (home.join("config.toml"), Format::Toml)
        }
    })
}

fn server(args: &McpInstallArgs) -> Result<Value, Failure> {
    let program = lasting_path()?;
    let mut server = json!({ "command": program.to_string_lossy(), "args": words(args)? });
    if matches!(args.client, McpClient::ClaudeCode | McpClient::Vscode) {
        server["type"] = "stdio".into();
    }
    if args.client == McpClient::Codex {
        server["env_vars"] = AGENT_VARIABLES.iter().copied().collect();
    }
    // The server must find the runs of this shell.
    if env::var_os("LONGHAUL_HOME").is_some_and(|home| !home.is_empty()) {
        server["env"] = json!({ "LONGHAUL_HOME": open_home::locate()?.path().to_string_lossy() });
    }
    Ok(server)
}

fn words(args: &McpInstallArgs) -> Result<Vec<String>, Failure> {
    let ceilings = &args.ceilings;
    // This client starts the server in this directory. Codex has one file for all projects.
    if args.client != McpClient::Codex {
        Ceilings::new(ceilings)?;
    }
    let mut words =
        vec!["mcp".to_owned(), format!("--max-permission-mode={}", ceilings.max_permission_mode.as_str())];
    words.extend(ceilings.max_budget.map(|budget| format!("--max-budget={}", budget.as_dollars())));
    for dir in &ceilings.allow_dir {
        let dir = prompt_arg::directory(dir)?;
        words.push(format!("--allow-dir={}", dir.display()));
    }
    Ok(words)
}

/// The file before and after the change. `None` if the file has the configuration already.
type Change = Option<(Option<String>, String)>;

fn json_change(file: &Path, key: &str, server: &Value) -> Result<Change, Failure> {
    let before = read(file)?;
    let text = before.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
    let unusable = |reason: String| {
        Failure::usage(
            format!("cannot change {}: {reason}", file.display()),
            "correct the file, or add what this command prints without --write",
        )
    };
    let root =
        CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| unusable(error.to_string()))?;
    let object = root.object_value_or_create().ok_or_else(|| unusable("it is no object".to_owned()))?;
    let servers =
        object.object_value_or_create(key).ok_or_else(|| unusable(format!("`{key}` is no object")))?;
    match servers.get(NAME) {
        Some(entry) if entry.to_serde_value().as_ref() == Some(server) => return Ok(None),
        Some(entry) => entry.set_value(input(server)),
        None => drop(servers.append(NAME, input(server))),
    }
    Ok(Some((before, root.to_string())))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(entries) => {
            CstInputValue::Object(entries.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

fn toml_text(server: &Value) -> Result<String, Failure> {
    toml::to_string(&json!({ "mcp_servers": { NAME: server } })).or_unexpected("cannot write TOML")
}

fn toml_change(file: &Path, text: &str) -> Result<Change, Failure> {
    let before = read(file)?;
    let hint = "correct the file, or replace the entry by what this command prints without --write";
    let known: toml::Table = toml::from_str(before.as_deref().unwrap_or_default())
        .or_usage(format!("cannot read {}", file.display()), hint)?;
    let earlier = known.get("mcp_servers").and_then(|servers| servers.get(NAME));
    let requested: toml::Table = toml::from_str(text).or_unexpected("cannot read TOML")?;
    match earlier {
        None => {
            let earlier = before.as_deref().unwrap_or_default();
            let gap = if earlier.is_empty() { "" } else { "\n" };
            let after = format!("{earlier}{gap}{text}");
            // An inline table, such as `mcp_servers = { … }`, accepts no further table.
            toml::from_str::<toml::Table>(&after).or_usage(
                format!("cannot add a server to `mcp_servers` in {}", file.display()),
                "write each server there as a table `[mcp_servers.NAME]`, or add the entry of this command without --write",
            )?;
            Ok(Some((before, after)))
        }
        Some(earlier) if Some(earlier) == requested["mcp_servers"].get(NAME) => Ok(None),
        Some(_) => {
            let error = format!("{} has another entry for {NAME}", file.display());
            Err(Failure::usage(error, "replace it by what this command prints without --write"))
        }
    }
}

fn read(file: &Path) -> Result<Option<String>, Failure> {
    if_exists(read_regular_to_string(file)).or_usage(
        format!("cannot read {}", file.display()),
        "make the file readable, or add what this command prints to another one",
    )
}

#[cfg(test)]
mod tests;
