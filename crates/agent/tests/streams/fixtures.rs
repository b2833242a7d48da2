//! The recorded streams and their expected faults. Recorded with Claude Code 2.1.330 against a loopback API.

use longhaul_agent::{Decoder, DoneSignals, Guards, SideEffects, default_dialect};
use longhaul_core::{Evidence, Exit, Notice, StopCause, Usage, classify};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The agent's stderr in the streams where it matters.
const STDERR: [(&str, &str); 4] = [
    (
        "startup-resume-unknown",
        "No conversation found with session ID: 54f67155-e360-42b6-9434-20e025ea6338\n",
    ),
    (
        "startup-session-id-in-use",
        "Error: Session ID 606d35e3-4d8a-40b6-849d-3b7f6ad43854 is already in use.\n",
    ),
    (
        "startup-bypass-root",
        "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n",
    ),
    // A warning, not a failed start.
    ("model-not-found", "[claude-code:unrecognized_model] {\"model\":\"claude-nope-9\"}\n"),
];

#[derive(Deserialize)]
struct Expected {
    exit: Option<i32>,
    signal: Option<i32>,
    fault: Option<String>,
}

/// A recorded stream.
pub struct Fixture {
    pub name: String,
    pub bytes: Vec<u8>,
    pub exit: Exit,
    pub stderr: &'static str,
    pub fault: Option<String>,
}

/// The decoded content of a stream.
#[derive(Debug, PartialEq)]
pub struct DecodedStream {
    pub notices: Vec<Notice>,
    pub evidence: Evidence,
    pub side_effects: SideEffects,
    pub by_model: Vec<(String, Usage)>,
}

pub fn dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude")
}

pub fn all() -> Vec<Fixture> {
    let expected = fs::read_to_string(dir().join("expected.json")).expect("the expectations are there");
    let expected: BTreeMap<String, Expected> = serde_json::from_str(&expected).expect("they are JSON");
    let fixture = |(name, expected): (String, Expected)| Fixture {
        bytes: fs::read(dir().join(format!("{name}.jsonl"))).expect("the stream is there"),
        exit: match (expected.exit, expected.signal) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::Unobserved,
        },
        stderr: STDERR.iter().find(|(fixture, _)| *fixture == name).map_or("", |(_, stderr)| stderr),
        fault: expected.fault,
        name,
    };
    expected.into_iter().map(fixture).collect()
}

pub fn find_fixture(name: &str) -> Fixture {
    all().into_iter().find(|fixture| fixture.name == name).expect("the fixture is there")
}

pub fn decoder() -> Box<dyn Decoder> {
    default_dialect().decoder(&Guards::default(), &DoneSignals::default())
}

impl Fixture {
    /// Decodes the given chunks as if they were this fixture's.
    pub fn decode<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Notice>, Evidence) {
        let read = self.read(pieces);
        (read.notices, read.evidence)
    }

    /// Decodes the given chunks and also returns side effects and usage by model.
    pub fn read<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> DecodedStream {
        let mut decoder = decoder();
        let mut notices = Vec::new();
        for piece in pieces {
            decoder.feed(piece, &mut notices);
        }
        let evidence = decoder.evidence(self.exit, self.stderr);
        DecodedStream {
            notices,
            evidence,
            side_effects: decoder.side_effects().clone(),
            by_model: decoder.usage_by_model(),
        }
    }

    pub fn check(&self, evidence: &Evidence, label: &str) {
        // The recorder stopped these agents, as Longhaul does after `--background-wait`.
        let is_stopped =
            ["background-shell-lingers", "background-shell-sigterm"].contains(&self.name.as_str());
        let stop_cause = is_stopped.then_some(StopCause::BackgroundStopped);
        let fault =
            classify(&Evidence { stop_cause, ..evidence.clone() }).map(|fault| fault.as_str().to_owned());
        assert_eq!(fault, self.fault, "{} {label}: {evidence:#?}", self.name);
    }
}

#[test]
fn every_stream_gives_its_fault() {
    let fixtures = all();
    assert!(fixtures.len() >= 75, "only {} fixtures", fixtures.len());
    for fixture in &fixtures {
        let (_, evidence) = fixture.decode([&fixture.bytes[..]]);
        fixture.check(&evidence, "whole");
    }
}

#[test]
fn knows_every_event_of_recorded_version() {
    for fixture in all() {
        let mut decoder = decoder();
        decoder.feed(&fixture.bytes, &mut Vec::new());
        decoder.evidence(fixture.exit, fixture.stderr);
        let snapshot = decoder.snapshot();
        assert_eq!((snapshot.unknown_events, snapshot.invalid_lines), (0, 0), "{}", fixture.name);
        let lines = fixture.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        assert_eq!(snapshot.events, lines as u64, "{}", fixture.name);
    }
}
