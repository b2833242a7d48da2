//! Serves a scenario until stdin closes, then prints the request log. Use it to try an agent by hand:
//! `cargo run -p longhaul-drill --example serve -- storm [SEED] [--no-kills|--no-faults]`

#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

use std::io::Read;

use longhaul_drill::scenario::FaultKind;
use longhaul_drill::{Api, scenario};

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "storm".to_owned());
    let seed = arguments.next().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut scenario = scenario::find(&name)?;
    match arguments.next().as_deref() {
        Some("--no-kills") => scenario.faults.retain(|fault| !matches!(fault.kind, FaultKind::Kill { .. })),
        Some("--no-faults") => scenario.faults.clear(),
        _ => {}
    }
    let api = Api::start(&scenario, seed).await?;
    for (name, value) in api.environment() {
        println!("{name}={value}");
    }
    println!();
    let mut signal_points = api.signal_points();
    tokio::spawn(async move {
        while let Ok(signal_point) = signal_points.recv().await {
            eprintln!("signal point: {signal_point:?}");
        }
    });
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    println!("{}", serde_json::to_string_pretty(&api.request_log())?);
    println!("cost: ${}", api.request_log().cost().dollars());
    Ok(())
}
