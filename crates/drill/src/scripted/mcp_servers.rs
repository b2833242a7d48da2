//! Runs the MCP servers of the command line. They start and stop with the agent. The module implements the
//! part of the protocol that a server with a few tools needs, and declares every tool from the start.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use super::VERSION;
use super::tool_outcome::Outcome;

/// Error of a server that has exited.
const CLOSED: &str = "MCP error -32000: Connection closed";
/// The supported version of the protocol.
const PROTOCOL: &str = "2025-11-25";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    mcp_servers: BTreeMap<String, Program>,
}

/// The command that starts a server. Other transports are not supported.
#[derive(Debug, Deserialize)]
struct Program {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(super) struct Servers(Vec<Server>);

#[derive(Debug)]
struct Server {
    name: String,
    /// `None` if the server could not be started.
    connection: Option<Connection>,
    /// The server's tools, as it describes them.
    tools: Vec<Value>,
}

#[derive(Debug)]
struct Connection {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    requests: u64,
}

impl Servers {
    /// Starts the servers of these configurations, each in JSON.
    ///
    /// A later server replaces an earlier one with the same name. The error is the text for stderr.
    pub(super) fn start(configs: &[String]) -> Result<Servers, String> {
        let mut programs = BTreeMap::new();
        for config in configs {
            let config: Config = serde_json::from_str(config)
                .map_err(|error| format!("Error: Invalid MCP configuration:\n{error}"))?;
            programs.extend(config.mcp_servers);
        }
        Ok(Servers(programs.into_iter().map(|(name, program)| Server::start(name, &program)).collect()))
    }

    pub(super) fn status_list(&self) -> Value {
        let status = |server: &Server| {
            let status = if server.connection.is_some() { "connected" } else { "failed" };
            json!({"name": server.name, "status": status, "source": "dynamic"})
        };
        self.0.iter().map(status).collect()
    }

    pub(super) fn tool_definitions(&self) -> Vec<Value> {
        let tools = self.0.iter().flat_map(|server| server.tools.iter().map(move |tool| (server, tool)));
        let definition = |(server, tool): (&Server, &Value)| {
            json!({"name": full_name(&server.name, tool), "description": tool["description"],
                "input_schema": tool["inputSchema"]})
        };
        tools.map(definition).collect()
    }

    /// Calls a tool by its full name. Returns `None` if no server has it.
    pub(super) fn call(&mut self, tool: &str, input: &Value) -> Option<Outcome> {
        let (server, name) = self.0.iter_mut().find_map(|server| {
            let definition =
                server.tools.iter().find(|definition| full_name(&server.name, definition) == tool)?;
            let name = definition["name"].clone();
            Some((server, name))
        })?;
        let params = json!({"name": name, "arguments": input});
        Some(match server.connection.as_mut()?.request("tools/call", &params) {
            Ok(result) => Outcome {
                content: result["content"].clone(),
                is_error: result["isError"] == true,
                detail: result["content"].clone(),
            },
            Err(error) => Outcome::error(error),
        })
    }
}

impl Server {
    /// Starts a server. A server that cannot start is not an error, as with the real agent.
    fn start(name: String, program: &Program) -> Server {
        let result = Connection::open(program).and_then(|mut connection| {
            let tools = connection.request("tools/list", &json!({}))?;
            Ok((connection, tools["tools"].as_array().cloned().unwrap_or_default()))
        });
        match result {
            Ok((connection, tools)) => Server { name, connection: Some(connection), tools },
            Err(_) => Server { name, connection: None, tools: Vec::new() },
        }
    }
}

impl Connection {
    fn open(program: &Program) -> Result<Connection, String> {
        let mut child = Command::new(&program.command)
            .args(&program.args)
            .envs(&program.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let lines = BufReader::new(child.stdout.take().ok_or(CLOSED)?).lines();
        let mut connection = Connection { child, lines, requests: 0 };
        let client = json!({"protocolVersion": PROTOCOL, "capabilities": {},
            "clientInfo": {"name": "claude-code", "version": VERSION}});
        connection.request("initialize", &client)?;
        connection.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(connection)
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.requests += 1;
        let id = self.requests;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        // A server answers immediately. Drills ignore all its other messages.
        let answers = self.lines.by_ref().map_while(Result::ok);
        let mut answers = answers.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        parse_response(&answers.find(|answer| answer["id"] == id).ok_or(CLOSED)?)
    }

    fn write(&mut self, message: &Value) -> Result<(), String> {
        let stdin = self.child.stdin.as_mut().ok_or(CLOSED)?;
        stdin.write_all(format!("{message}\n").as_bytes()).map_err(|error| error.to_string())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // A server that ignores the end of its input must not outlive the agent. A server that has exited is
        // only reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse_response(answer: &Value) -> Result<Value, String> {
    match &answer["error"] {
        Value::Null => Ok(answer["result"].clone()),
        error => {
            let message = error["message"].as_str().unwrap_or_default();
            Err(format!("MCP error {}: {message}", error["code"]))
        }
    }
}

fn full_name(server: &str, tool: &Value) -> String {
    format!("mcp__{server}__{}", tool["name"].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests;
