//! `cargo xtask packages together`: one run across all packages. The real Claude Code starts it through MCP, Python looks
//! at it, Node cancels it, and `longhaul why` explains it. Each package is installed into an empty environment.

use super::npm;
use super::python;
use crate::api::{Loopback, scenario};
use crate::programs::stdout_of;
use crate::real_agent;
use crate::sandbox::Sandbox;
use crate::test::note_skipped;
use clap::Args;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The outer agent starts the run. The agent of the run works until it is cancelled.
const TURNS: &str = r#"
[[turn]]
text = "I start a run."
[[turn.tools]]
call = { name = "mcp__longhaul__run", input = { prompt = "INNER: work", name = "relay" } }
[[turn]]
text = "It works by itself."
[[reply]]
to = "INNER"
[[reply.turn]]
text = "I work."
[[reply.turn.tools]]
bash = { command = "touch started; sleep 100" }
[[reply.turn]]
text = "Done."
"#;

const PYTHON: &str = "
import asyncio
import longhaul
run = asyncio.run(longhaul.status()).runs[0]
assert (run.name, run.state) == ('relay', 'running'), run
print(run.id)
";

const NODE: &str = "
import { cancel } from 'longhaul';
const { run } = await cancel('relay');
console.log(`${run.id} ${run.outcome}`);
";

#[derive(Args)]
pub struct TogetherOptions {
    /// Use the packages that `cargo xtask dist` wrote to this directory
    #[arg(long, value_name = "DIR")]
    dist: PathBuf,
}

pub fn together(root: &Path, options: &TogetherOptions) -> io::Result<()> {
    let description = "one run across all packages";
    let dist = root.join(&options.dist);
    let (Some(wheel), Some(tarballs)) = (python::wheel_for_host(&dist), npm::tarballs_for_host(&dist)) else {
        let reason = format!("{} lacks packages for this machine", dist.display());
        return note_skipped(description, &reason, "run `cargo xtask dist`, and read its error");
    };
    let Some(interpreter) = python::newest() else {
        return note_skipped(
            description,
            "there is no Python with venv and pip",
            "install python3 and python3-venv",
        );
    };
    let claude = real_agent::locate(root)?;
    let sandbox = Sandbox::new()?;
    let environment = python::install(&interpreter, &sandbox.path().join("python"), &wheel)?;
    let longhaul = environment.with_file_name("longhaul");
    let npm_project = sandbox.path().join("npm");
    npm::install(&npm_project, &tarballs)?;

    let api = Loopback::start(&scenario("Start a run.", TURNS)?, 1)?;
    let call = |program: &Path, args: &[&OsStr]| {
        let mut command = sandbox.agent_command(program, &api);
        stdout_of(command.args(args).env("LONGHAUL_AGENT_PATH", &claude))
    };
    let words = |line: &'static str| line.split(' ').map(OsStr::new).collect::<Vec<_>>();

    let install = "mcp install --client claude-code --max-permission-mode bypassPermissions --write";
    call(&longhaul, &words(install))?;
    let prompt = "-p --permission-mode bypassPermissions --mcp-config .mcp.json -- start";
    expect("Claude Code started the run", &call(&claude, &words(prompt))?, "It works by itself.")?;
    let id = call(&environment, &[OsStr::new("-c"), OsStr::new(PYTHON)])?;
    println!("Python sees run {}", id.trim());
    let script = npm_project.join("cancel.mjs");
    std::fs::write(&script, NODE)?;
    let cancelled = call(Path::new("node"), &[script.as_os_str()])?;
    expect("Node cancelled the run", &cancelled, &format!("{} cancelled", id.trim()))?;
    let why = call(&npm_project.join("node_modules/.bin/longhaul"), &words("why relay"))?;
    expect("`longhaul why` explains it", &why, "cancelled")
}

fn expect(step: &str, output: &str, text: &str) -> io::Result<()> {
    println!("{step}:\n{output}");
    let is_met = output.contains(text);
    is_met.then_some(()).ok_or_else(|| io::Error::other(format!("{step}: expected `{text}` in this output")))
}
