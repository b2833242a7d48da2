//! `cargo xtask decode [--agent NAME] [--exit CODE] FILE…`: what each recorded stream says, as one
//! JSON line. It shows what a supervisor would have understood, and so what it would have done.

use longhaul_agent::{Dialect, dialect, report};
use longhaul_core::Exit;
use std::{fs, io};

/// Decodes the files named.
pub fn decode(args: &[String]) -> io::Result<()> {
    let mut agent = "claude";
    // A recording does not say how its process ended.
    let mut exit = Exit::Unseen;
    let mut files = Vec::new();
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "--agent" => agent = args.next().ok_or_else(usage)?,
            "--exit" => exit = parse_exit(args.next().ok_or_else(usage)?)?,
            file => files.push(file),
        }
    }
    if files.is_empty() {
        return Err(usage());
    }
    let dialect = dialect(agent).ok_or_else(|| io::Error::other(format!("no dialect is called {agent}")))?;
    for file in files {
        println!("{}", line(dialect.as_ref(), file, exit)?);
    }
    Ok(())
}

fn line(dialect: &dyn Dialect, file: &str, exit: Exit) -> io::Result<String> {
    let stream = fs::read(file).map_err(|error| io::Error::other(format!("read {file}: {error}")))?;
    Ok(serde_json::to_string(&report(dialect, file, &stream, exit, ""))?)
}

/// A code; negative for the signal that ended the process.
fn parse_exit(text: &str) -> io::Result<Exit> {
    let code: i32 = text.parse().map_err(|_| usage())?;
    Ok(if code < 0 { Exit::Signal(-code) } else { Exit::Code(code) })
}

fn usage() -> io::Error {
    io::Error::other("usage: cargo xtask decode [--agent NAME] [--exit CODE] FILE…; a negative CODE is a signal")
}
