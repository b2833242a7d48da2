//! Measures what calls from other programs add: a Python program with one call, and a tool call of an MCP client.

use super::Bench;
use crate::process::time_command;
use crate::results::ResultSection;
use crate::sample::{median, ms, percentile};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

const PYTHON_BAR_MS: f64 = 60.0;
const MCP_BAR_MS: f64 = 5.0;

pub fn bench(bench: &Bench) -> io::Result<ResultSection> {
    let mut section = ResultSection::new(
        "Medians, taken in turn. A Python program imports the package, calls `status` once and exits. The tool \
         `status` of one MCP server is called again and again.",
    );
    let sandbox = Sandbox::new()?;
    let python = |code: &str| {
        let mut command = sandbox.command("python3");
        command.env("PYTHONPATH", bench.root.join("packages/python/src")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("LONGHAUL_BIN", &bench.programs.longhaul).args(["-c", code]);
        command
    };
    let mut status = sandbox.command(&bench.programs.longhaul);
    status.args(["status", "--output-format", "json"]);
    let [call, bare, binary] = bench.medians(
        50,
        5,
        [
            &mut || {
                let call = "import asyncio, longhaul; asyncio.run(longhaul.status())";
                time_command(&mut python(call))
            },
            &mut || time_command(&mut python("import asyncio")),
            &mut || time_command(&mut status),
        ],
    )?;
    section.figure("Python program with one call", None, "ms", call);
    section.figure("Python program without one", None, "ms", bare);
    section.figure("`longhaul status`", None, "ms", binary);
    section.figure("a Python call adds", PYTHON_BAR_MS, "ms", call - bare - binary);

    let mut server = sandbox.command(&bench.programs.longhaul);
    let answers = status_calls(server.arg("mcp"), bench.count(200, 10))?;
    section.figure("MCP `status`", MCP_BAR_MS, "ms", median(&answers));
    section.figure("MCP `status`, 90th percentile", None, "ms", percentile(&answers, 90.0));
    Ok(section)
}

/// Returns the milliseconds from each call of the tool `status` to its answer.
fn status_calls(server: &mut Command, count: usize) -> io::Result<Vec<f64>> {
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let closed = || io::Error::other("the server closed its pipes");
    let mut input = server.stdin.take().ok_or_else(closed)?;
    let mut output = BufReader::new(server.stdout.take().ok_or_else(closed)?).lines();
    let info = json!({ "name": "bench", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let mut request = |id: usize, method: &str, params: Value| -> io::Result<f64> {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let since = Instant::now();
        writeln!(input, "{request}")?;
        let answer = output.next().ok_or_else(closed)??;
        let elapsed = ms(since.elapsed());
        let answer: Value = serde_json::from_str(&answer)?;
        if answer["id"] == id && answer["result"]["isError"] != true && answer["error"].is_null() {
            Ok(elapsed)
        } else {
            Err(io::Error::other(format!("unexpected answer: {answer}")))
        }
    };
    request(0, "initialize", hello)?;
    let answers = (1..=count)
        .map(|id| request(id, "tools/call", json!({ "name": "status", "arguments": {} })))
        .collect();
    drop(input);
    server.wait()?;
    answers
}
