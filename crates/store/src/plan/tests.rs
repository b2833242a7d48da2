use super::*;
use expect_test::expect;
use longhaul_core::{Preset, SessionPlan};

/// Returns a plan, also for tests of other files.
pub(crate) fn plan() -> Plan {
    let spec = RunSpec::new("claude", "/home/me/project", "fix the failing tests", Preset::Drill.policy());
    let spec = spec.with(|spec| {
        spec.session = Some(SessionPlan::New("0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0".into()));
        spec.model = Some("opus".to_owned());
        spec.agent.args = vec!["-p".to_owned(), "--verbose".to_owned()];
        spec.guards.deny_tools = vec!["mcp__*".to_owned()];
    });
    let path = "/opt/claude".into();
    Plan {
        longhaul_version: "0.1.0".to_owned(),
        binary: Some(Binary { path, size: 7, modified_at: Moment(1_000).into(), sha256: None }),
        env: EnvNames::new(["ANTHROPIC_API_KEY=sk-secret", "DISABLE_AUTOUPDATER"], ["CLAUDECODE"]),
        origins: BTreeMap::from([("stall_timeout".to_owned(), "flag --stall-timeout".to_owned())]),
        ..Plan::new(spec, Moment(1_763_775_245_120), "4b1d".to_owned())
    }
}

#[test]
fn plan_is_readable_and_holds_no_secret() {
    let text = serde_json::to_string_pretty(&plan()).expect("JSON");
    assert!(!text.contains("sk-secret"));
    let (head, rest) = text.split_once("  \"policy\"").expect("a policy");
    let (_, rest) = rest.split_once("\n  },\n").expect("the end of the policy");
    expect![[r#"
        {
          "longhaul_version": "0.1.0",
          "started_at": "2025-11-22T01:34:05.120Z",
          "prompt": "fix the failing tests",
          "cwd": "/home/me/project",
          "session": {
            "new": "0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0"
          },
          "model": "opus",
          "permission_mode": null,
          "agent": {
            "name": "claude",
            "program": "claude",
            "args": [
              "-p",
              "--verbose"
            ]
          },
          "guards": {
            "allow_tools": [],
            "deny_tools": [
              "mcp__*"
            ]
          },
          …
          "handoff_tokens": 12000,
          "keep_partial_messages": false,
          "binary": {
            "path": "/opt/claude",
            "size": 7,
            "modified_at": "1970-01-01T00:00:01.000Z"
          },
          "env": {
            "set": [
              "ANTHROPIC_API_KEY",
              "DISABLE_AUTOUPDATER"
            ],
            "removed": [
              "CLAUDECODE"
            ]
          },
          "origins": {
            "stall_timeout": "flag --stall-timeout"
          },
          "marker": "4b1d"
        }"#]]
    .assert_eq(&format!("{head}  …\n{rest}"));
}

#[test]
fn round_trips_and_ignores_unknown_fields() {
    let mut value = serde_json::to_value(plan()).expect("JSON");
    value["later"] = "a field of a newer version".into();
    assert_eq!(serde_json::from_value::<Plan>(value).expect("plan"), plan());
}

#[test]
fn old_plan_has_no_watchdog() {
    let mut value = serde_json::to_value(plan()).expect("JSON");
    let timeout = value["policy"].as_object_mut().and_then(|policy| policy.remove("orphan_timeout"));
    assert_eq!(timeout, Some(60_000.into()));
    assert_eq!(serde_json::from_value::<Plan>(value).expect("plan").spec.policy.orphan_timeout, None);
}

#[test]
fn binary_resolves_links() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let (file, link) = (dir.path().join("agent-1.2"), dir.path().join("agent"));
    fs::write(&file, "#!/bin/sh\n").expect("file");
    std::os::unix::fs::symlink(&file, &link).expect("link");
    let binary = Binary::new(&link).expect("binary");
    assert_eq!(binary.path.as_path(), fs::canonicalize(&file).expect("path"));
    assert_eq!(binary.size, 10);
    assert!(binary.modified_at.0 > Moment(1_600_000_000_000));
    assert!(Binary::new(&dir.path().join("none")).is_err());
}
