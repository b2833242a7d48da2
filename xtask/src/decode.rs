//! `cargo xtask decode [--agent NAME] [--exit CODE] FILE…`: prints the decoded content of each recorded
//! stream as one JSON line: its events, cost and fault. If the stream lies in a run directory, `stderr.log`
//! and `exit.json` next to it are read too.

use longhaul_agent::{Dialect, dialect_for, stream_report};
use longhaul_core::Exit;
use serde_json::Value;
use std::path::Path;
use std::{fs, io};

/// Decodes the named files.
pub fn decode(args: &[String]) -> io::Result<()> {
    let mut agent = "claude";
    let mut exit = None;
    let mut files = Vec::new();
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "--agent" => agent = args.next().ok_or_else(usage)?,
            "--exit" => exit = Some(parse_exit(args.next().ok_or_else(usage)?)?),
            file => files.push(file),
        }
    }
    if files.is_empty() {
        return Err(usage());
    }
    let dialect = dialect_for(agent).ok_or_else(|| io::Error::other(format!("no dialect `{agent}`")))?;
    for file in files {
        println!("{}", line(dialect.as_ref(), file, exit)?);
    }
    Ok(())
}

fn line(dialect: &dyn Dialect, file: &str, exit: Option<Exit>) -> io::Result<String> {
    let stream = fs::read(file).map_err(|error| io::Error::other(format!("read {file}: {error}")))?;
    let read_sibling = |name: &str| fs::read(Path::new(file).with_file_name(name)).unwrap_or_default();
    let exit = exit.or_else(|| recorded_exit(&read_sibling("exit.json"))).unwrap_or(Exit::Unobserved);
    let stderr = read_sibling("stderr.log");
    Ok(serde_json::to_string(&stream_report(
        dialect,
        file,
        &stream,
        exit,
        &String::from_utf8_lossy(&stderr),
    ))?)
}

fn recorded_exit(json: &[u8]) -> Option<Exit> {
    let recorded: Value = serde_json::from_slice(json).ok()?;
    serde_json::from_value(recorded["exit"].clone()).ok()
}

/// Parses an exit code. A negative one is the signal that ended the process.
fn parse_exit(text: &str) -> io::Result<Exit> {
    let code: i32 = text.parse().map_err(|_| usage())?;
    Ok(if code < 0 { Exit::Signal(-code) } else { Exit::Code(code) })
}

fn usage() -> io::Error {
    io::Error::other(
        "usage: cargo xtask decode [--agent NAME] [--exit CODE] FILE…; a negative CODE is a signal",
    )
}
