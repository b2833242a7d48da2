//! `cargo xtask decode`: prints the decoded content of each recorded stream as one JSON line: its events, cost
//! and fault. If the stream lies in a run directory, `stderr.log` and `exit.json` next to it are read too.

use clap::Args;
use longhaul_agent::{Dialect, DoneSignals, Guards, Tables, dialect_for};
use longhaul_core::{Exit, classify};
use serde_json::{Value, json};
use std::path::Path;
use std::{fs, io};

#[derive(Args)]
pub struct DecodeOptions {
    /// Dialect of the streams
    #[arg(long, default_value = "claude")]
    agent: String,
    /// Exit code of the agent; a negative one is the signal that ended it
    #[arg(long, allow_hyphen_values = true)]
    exit: Option<i32>,
    #[arg(required = true)]
    files: Vec<String>,
}

pub fn decode(options: &DecodeOptions) -> io::Result<()> {
    let agent = &options.agent;
    let dialect = dialect_for(agent, Tables::default())
        .ok_or_else(|| io::Error::other(format!("no dialect `{agent}`")))?;
    let exit = options.exit.map(|code| if code < 0 { Exit::Signal(-code) } else { Exit::Code(code) });
    for file in &options.files {
        println!("{}", line(dialect.as_ref(), file, exit)?);
    }
    Ok(())
}

fn line(dialect: &dyn Dialect, file: &str, exit: Option<Exit>) -> io::Result<String> {
    let stream = fs::read(file).map_err(|error| io::Error::other(format!("read {file}: {error}")))?;
    let read_sibling = |name: &str| fs::read(Path::new(file).with_file_name(name)).unwrap_or_default();
    let exit = exit.or_else(|| recorded_exit(&read_sibling("exit.json"))).unwrap_or(Exit::Unobserved);
    let stderr = read_sibling("stderr.log");
    let mut decoder = dialect.decoder(&Guards::default(), &DoneSignals::default());
    let mut notices = Vec::new();
    // In pieces, so that the notices of a long stream do not fill the memory.
    for piece in stream.chunks(1 << 16) {
        decoder.feed(piece, &mut notices);
        notices.clear();
    }
    let evidence = decoder.evidence(exit, &String::from_utf8_lossy(&stderr));
    let snapshot = decoder.snapshot();
    let line = json!({
        "name": file,
        "session": snapshot.session,
        "model": snapshot.model,
        "exit": exit,
        "ending": evidence.result,
        "fault": classify(&evidence),
        "result": snapshot.result,
        "usage": evidence.usage,
        "events": snapshot.events,
        "unknown": snapshot.unknown_events,
        "bad": snapshot.invalid_lines,
    });
    Ok(line.to_string())
}

fn recorded_exit(json: &[u8]) -> Option<Exit> {
    let recorded: Value = serde_json::from_slice(json).ok()?;
    serde_json::from_value(recorded["exit"].clone()).ok()
}
