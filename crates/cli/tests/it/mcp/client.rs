//! A client of `longhaul mcp` that writes and reads the protocol's lines itself, and validates results against the
//! schemas of their tools.

use crate::harness::{LONGHAUL, Stage};
use crate::server::Server;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(120);

pub struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    notifications: Vec<Value>,
    last_id: u64,
    /// Schemas of results, by tool.
    schemas: HashMap<String, Value>,
}

impl Client {
    /// Starts a server in the work directory of a stage, whose runs use the scripted agent against this API.
    pub fn start(stage: &Stage, api: &Server, args: &[&str]) -> Client {
        Client::start_with(stage, api, args, &[])
    }

    /// Starts a server with more variables.
    pub fn start_with(stage: &Stage, api: &Server, args: &[&str], variables: &[(&str, &str)]) -> Client {
        let mut server = Command::new(LONGHAUL)
            .arg("mcp")
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", stage.user_home())
            .env("TMPDIR", stage.folder())
            .env("LONGHAUL_HOME", stage.home())
            .env("LONGHAUL_AGENT_PATH", stage.agent())
            .env("LONGHAUL_RETRY_BASE", "10ms")
            .env("LONGHAUL_INNER_RETRIES", "0")
            .env("IS_SANDBOX", "1")
            .envs(api.api.environment())
            .envs(variables.iter().copied())
            .current_dir(stage.work())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the server starts");
        let stdin = server.stdin.take();
        let stdout = BufReader::new(server.stdout.take().expect("stdout is piped"));
        let (sender, messages) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("each line is a message");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let (notifications, schemas) = (Vec::new(), HashMap::new());
        let mut client = Client { server, stdin, messages, notifications, last_id: 0, schemas };
        let info = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        assert_eq!(client.request("initialize", hello)["serverInfo"]["name"], "longhaul");
        client.notify("notifications/initialized", json!({}));
        let tools = client.request("tools/list", json!({}));
        for tool in tools["tools"].as_array().expect("a list of tools") {
            let name = tool["name"].as_str().expect("a tool has a name").to_owned();
            client.schemas.insert(name, tool["outputSchema"].clone());
        }
        client
    }

    pub fn write(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("the server is running");
        stdin.write_all(text.as_bytes()).expect("the server reads its input");
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.write(&format!("{message}\n"));
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "method": method, "params": params }));
    }

    fn send_request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        self.send(json!({ "id": self.last_id, "method": method, "params": params }));
        self.last_id
    }

    /// Starts a call of a tool and returns the id of the request.
    pub fn send_call(&mut self, tool: &str, arguments: Value, progress_token: Option<&str>) -> u64 {
        let mut params = json!({ "name": tool, "arguments": arguments });
        if let Some(token) = progress_token {
            params["_meta"] = json!({ "progressToken": token });
        }
        self.send_request("tools/call", params)
    }

    fn receive(&self) -> Value {
        self.messages.recv_timeout(TIMEOUT).expect("the server answers")
    }

    /// Waits for the next message of progress.
    pub fn next_progress(&mut self) -> String {
        loop {
            let message = self.receive();
            if message["method"] == "notifications/progress" {
                return message["params"]["message"].as_str().unwrap_or_default().to_owned();
            }
        }
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
            self.notifications.push(message);
        }
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        let answer = self.answer(id);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    pub fn request_error(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        self.answer(id)["error"].clone()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.send_call(tool, arguments, None);
        self.result(tool, id)
    }

    /// Calls a tool and returns its result and the messages of its progress.
    pub fn call_with_progress(&mut self, tool: &str, arguments: Value) -> (Value, Vec<String>) {
        let token = format!("progress-{}", self.last_id);
        let id = self.send_call(tool, arguments, Some(&token));
        let result = self.result(tool, id);
        let own =
            self.notifications.iter().filter(|message| message["params"]["progressToken"] == token.as_str());
        let messages: Vec<_> = own.map(|message| message["params"]["message"].to_string()).collect();
        (result, messages)
    }

    fn result(&mut self, tool: &str, id: u64) -> Value {
        let answer = self.answer(id);
        assert!(answer["error"].is_null(), "{answer}");
        let result = answer["result"].clone();
        let schema = self.schemas.get(tool).filter(|schema| !schema.is_null());
        if let (Some(schema), structured) = (schema, &result["structuredContent"])
            && !structured.is_null()
        {
            let validator = jsonschema::validator_for(schema).expect("the schema is valid");
            let errors: Vec<String> =
                validator.iter_errors(structured).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{tool}: {errors:?}\n{structured}");
        }
        result
    }

    /// Closes the connection. The server exits by itself.
    pub fn close(mut self) {
        drop(self.stdin.take());
        let status = self.server.wait().expect("the server exits");
        assert!(status.success(), "{status}");
    }

    /// Kills the server, as a client does that is itself killed.
    pub fn kill(mut self) {
        self.server.kill().expect("a child can be killed");
        self.server.wait().expect("a killed child exits");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
