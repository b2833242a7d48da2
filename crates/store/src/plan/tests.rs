use super::*;
use expect_test::expect;
use longhaul_core::Preset;

/// Returns a plan, also for tests of other files.
pub(crate) fn plan() -> Plan {
    Plan {
        longhaul_version: "0.1.0".to_owned(),
        started_at: Moment(1_763_775_245_120),
        name: None,
        prompt: PlanPrompt { text: "fix the failing tests".to_owned(), file: None },
        cwd: "/home/me/project".into(),
        session: Some(SessionPlan::New("0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0".into())),
        model: Some("opus".to_owned()),
        permission_mode: None,
        agent: PlanAgent {
            name: "claude".to_owned(),
            program: "claude".into(),
            leading_args: Vec::new(),
            version: Some("2.1.330".to_owned()),
            binary: Some(Binary {
                path: "/opt/claude".into(),
                size: 7,
                modified_at: Moment(1_000),
                sha256: None,
            }),
        },
        argv: vec!["-p".into(), "--verbose".into()],
        guards: PlanGuards { deny_tools: vec!["mcp__*".to_owned()], ..PlanGuards::default() },
        network: None,
        learn: None,
        env: EnvNames::new(["ANTHROPIC_API_KEY=sk-secret", "DISABLE_AUTOUPDATER"], ["CLAUDECODE"]),
        harness: None,
        policy: Preset::Drill.policy(),
        handoff_tokens: 12_000,
        checks: Vec::new(),
        notify: Vec::new(),
        finish_tool: false,
        done_when: None,
        wrap_up_prompt: None,
        handoff_summary: None,
        keep_partial_messages: false,
        diagnostic: false,
        prices: None,
        effects: None,
        origins: BTreeMap::from([("stall_timeout".to_owned(), "flag --stall-timeout".to_owned())]),
        marker: None,
        imported: None,
        inherited: None,
    }
}

#[test]
fn plan_is_readable_and_holds_no_secret() {
    let text =
        serde_json::to_string_pretty(&Plan { policy: Preset::Default.policy(), ..plan() }).expect("JSON");
    assert!(!text.contains("sk-secret"));
    let (head, _) = text.split_once("  \"policy\"").expect("a policy");
    expect![[r#"
        {
          "longhaul_version": "0.1.0",
          "started_at": "2025-11-22T01:34:05.120Z",
          "prompt": {
            "text": "fix the failing tests"
          },
          "cwd": "/home/me/project",
          "session": {
            "new": "0e9bdb0f-0ac1-426d-a6e3-2ba958d9e0e0"
          },
          "model": "opus",
          "permission_mode": null,
          "agent": {
            "name": "claude",
            "program": "claude",
            "version": "2.1.330",
            "binary": {
              "path": "/opt/claude",
              "size": 7,
              "modified_at": "1970-01-01T00:00:01.000Z"
            }
          },
          "argv": [
            "-p",
            "--verbose"
          ],
          "guards": {
            "allow_tools": [],
            "deny_tools": [
              "mcp__*"
            ]
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
    "#]]
    .assert_eq(head);
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
    assert_eq!(serde_json::from_value::<Plan>(value).expect("plan").policy.orphan_timeout, None);
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
    assert!(binary.modified_at > Moment(1_600_000_000_000));
    assert!(Binary::new(&dir.path().join("none")).is_err());
}
