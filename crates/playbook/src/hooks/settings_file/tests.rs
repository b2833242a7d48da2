use super::*;
use crate::hooks::HookEvent;
use expect_test::{Expect, expect};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn requested() -> Vec<HookEntry> {
    let command = |event: &HookEvent| format!("/opt/longhaul hook {event}");
    HookEvent::ALL.iter().map(|event| HookEntry { event: *event, command: command(event) }).collect()
}

fn file(content: Option<&str>) -> (tempfile::TempDir, SettingsFile) {
    let dir = tempfile::tempdir().expect("there is a temporary folder");
    let file = SettingsFile::new(dir.path().join("settings.json"), "longhaul-0.2");
    if let Some(content) = content {
        fs::write(file.path(), content).expect("it can be written");
    }
    (dir, file)
}

fn installed(content: &str) -> String {
    let (_dir, file) = file(Some(content));
    file.with_hooks(&requested(), false).expect("it is understood").after
}

const FOREIGN: &str = r#"{
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "model"  :   "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say \"done\""}]}],
        "SessionEnd": [
            {
                "hooks": [
                    { "type": "command", "command": "/usr/bin/notify end", "timeout": 1e1 }
                ]
            }
        ]
    },
    "price": 1.10,
    "deep": {"hooks": {"SessionEnd": "é\u00e9"}}
}
"#;

#[test]
fn inserts_hooks_next_to_others() {
    expect![[r#"
        {
            "$schema": "https://json.schemastore.org/claude-code-settings.json",
            "model"  :   "opus",
            "hooks": {
                "Stop": [{"hooks": [{"type": "command", "command": "say \"done\""}]}],
                "SessionEnd": [
                    {
                        "hooks": [
                            { "type": "command", "command": "/usr/bin/notify end", "timeout": 1e1 }
                        ]
                    },
                    {
                        "hooks": [
                            {
                                "type": "command",
                                "command": "/opt/longhaul hook SessionEnd",
                                "timeout": 10
                            }
                        ]
                    }
                ],
                "UserPromptSubmit": [
                    {
                        "hooks": [
                            {
                                "type": "command",
                                "command": "/opt/longhaul hook UserPromptSubmit",
                                "timeout": 10
                            }
                        ]
                    }
                ],
                "SessionStart": [
                    {
                        "matcher": "compact",
                        "hooks": [
                            {
                                "type": "command",
                                "command": "/opt/longhaul hook SessionStart",
                                "timeout": 10
                            }
                        ]
                    }
                ],
                "PreCompact": [
                    {
                        "hooks": [
                            {
                                "type": "command",
                                "command": "/opt/longhaul hook PreCompact",
                                "timeout": 10
                            }
                        ]
                    }
                ],
                "SubagentStop": [
                    {
                        "hooks": [
                            {
                                "type": "command",
                                "command": "/opt/longhaul hook SubagentStop",
                                "timeout": 10
                            }
                        ]
                    }
                ]
            },
            "price": 1.10,
            "deep": {"hooks": {"SessionEnd": "é\u00e9"}}
        }
    "#]]
    .assert_eq(&installed(FOREIGN));
}

#[test]
fn new_file_is_formatted() {
    let (_dir, file) = file(None);
    let only = [HookEntry {
        event: HookEvent::SessionStart,
        command: "'/my bin/longhaul' hook SessionStart".to_owned(),
    }];
    let change = file.with_hooks(&only, false).expect("the file is missing");
    expect![[r#"
        {
          "hooks": {
            "SessionStart": [
              {
                "matcher": "compact",
                "hooks": [
                  {
                    "type": "command",
                    "command": "'/my bin/longhaul' hook SessionStart",
                    "timeout": 10
                  }
                ]
              }
            ]
          }
        }
    "#]]
    .assert_eq(&change.after);
}

#[test]
fn removing_restores_original() {
    for content in [
        FOREIGN,
        "{}",
        "{\n}\n",
        r#"{"model": "opus"}"#,
        "{\"model\":\"opus\",\"hooks\":{\"Stop\":[]}}\n",
        "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": {\r\n\t\t\"Stop\": []\r\n\t}\r\n}\r\n",
        "  {\n  \"model\": \"opus\"\n}",
        r#"{"hooks": {"SessionEnd": [{"matcher": "x", "hooks": [{"type": "command", "command": "longhaul-like hook"}]}]}}"#,
    ] {
        let with = installed(content);
        let parsed: Value = serde_json::from_str(&with).expect("it is JSON");
        for event in HookEvent::ALL {
            let groups = parsed["hooks"][event.as_str()].as_array().expect("it has hooks");
            let entry = &groups.last().expect("one is Longhaul's")["hooks"][0];
            assert_eq!(entry["command"], format!("/opt/longhaul hook {event}"), "{with}");
        }
        assert_eq!(installed(&with), with, "a second installation changes nothing");
        let (_dir, file) = file(Some(&with));
        let without = file.without_hooks().expect("it is understood").after;
        // What stood in one line keeps the lines that the hooks needed.
        if content.trim().contains("\n") && content.contains(':') {
            assert_eq!(without, content);
        } else {
            let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("it is JSON");
            assert_eq!(parsed(&without), parsed(content));
        }
    }
}

#[test]
fn removes_older_hooks() {
    let check = |old: &str, expected: bool| {
        let old = serde_json::json!({"hooks": {
            "SessionEnd": [{"hooks": [{"type": "command", "command": old}, {"type": "command", "command": "other"}]}],
            "PostToolUse": [{"hooks": [{"type": "command", "command": "longhaul hook PreCompact"}]}],
        }});
        let with: Value = serde_json::from_str(&installed(&old.to_string())).expect("it is JSON");
        let remaining = with["hooks"]["SessionEnd"][0]["hooks"].as_array().map(Vec::len);
        assert_eq!(remaining, Some(if expected { 1 } else { 2 }), "{with}");
        assert_eq!(with["hooks"].get("PostToolUse"), None, "a Longhaul hook is removed from any event");
        assert_eq!(with["hooks"]["SessionEnd"].as_array().map(Vec::len), Some(2), "{with}");
    };
    check("/old/place/longhaul hook SessionEnd", true);
    check("'/old place/it'\\''s/longhaul' hook SessionEnd --judge claude", true);
    check("\"/old/longhaul\" hook SessionEnd", true);
    check("longhaul hook SessionEnd", true);
    // The name of the running program.
    check("'/opt/of mine/longhaul-0.2' hook SessionEnd", true);
    check("/opt/longhaul-0.3 hook SessionEnd", false);
    check("/opt/not-longhaul hook SessionEnd", false);
    check("/opt/longhaul hook SessionEndless", false);
    check("/opt/longhaul/bin/notify hook SessionEnd", false);
    check("/opt/longhaul run", false);
}

#[test]
fn replaces_hooks_with_other_flags_or_timeout() {
    let with = installed("{}");
    for (from, to) in [("SessionEnd\"", "SessionEnd --judge claude\""), ("10", "120"), ("compact", "startup")]
    {
        let other = with.replace(from, to);
        assert_ne!(other, with);
        let replaced: Value = serde_json::from_str(&installed(&other)).expect("it is JSON");
        assert_eq!(replaced, serde_json::from_str::<Value>(&with).expect("it is JSON"), "{from}");
    }
}

#[test]
fn rejects_invalid_settings_unchanged() {
    let check = |content: &str, expected: Expect| {
        let (_dir, file) = file(Some(content));
        let error = file.with_hooks(&requested(), true).expect_err("it is not understood");
        let path = file.path().display().to_string();
        expected.assert_eq(&format!("{error}; {}", error.hint).replace(&path, "FILE"));
        assert_eq!(fs::read_to_string(file.path()).expect("it is there"), content);
    };
    check(
        "{\n  // mine\n  \"model\": \"opus\"\n}",
        expect![
            "cannot understand FILE: key must be a string at line 2 column 3; remove its comments: Claude Code ignores settings with comments; nothing was changed"
        ],
    );
    check(
        "{\"model\": \"opus\" /* mine */}",
        expect![
            "cannot understand FILE: expected `,` or `}` at line 1 column 18; remove its comments: Claude Code ignores settings with comments; nothing was changed"
        ],
    );
    check(
        "{\"model\": \"opus\",}",
        expect![
            "cannot understand FILE: trailing comma at line 1 column 18; fix it: Claude Code ignores the file as it is; nothing was changed"
        ],
    );
    check(
        "{\"model\":",
        expect![
            "cannot understand FILE: EOF while parsing a value at line 1 column 9; fix it: Claude Code ignores the file as it is; nothing was changed"
        ],
    );
    check(
        "[]",
        expect![
            "cannot understand FILE: the content is not an object; fix it: Claude Code rejects it too; nothing was changed"
        ],
    );
    check(
        "7",
        expect![
            "cannot understand FILE: the content is not an object; fix it: Claude Code rejects it too; nothing was changed"
        ],
    );
    check(
        r#"{"hooks": {}, "hooks": {}}"#,
        expect!["cannot understand FILE: it has `hooks` twice; correct it; nothing was changed"],
    );
    check(
        r#"{"hooks": []}"#,
        expect![
            "cannot understand FILE: `hooks` is not an object; fix it: Claude Code rejects it too; nothing was changed"
        ],
    );
    check(
        r#"{"hooks": null}"#,
        expect![
            "cannot understand FILE: `hooks` is not an object; fix it: Claude Code rejects it too; nothing was changed"
        ],
    );
    check(
        r#"{"hooks": {"SessionEnd": {}}}"#,
        expect![
            "cannot understand FILE: `hooks.SessionEnd` is not an array; fix it: Claude Code rejects it too; nothing was changed"
        ],
    );
}

#[test]
fn keeps_groups_of_unknown_form() {
    let content =
        r#"{"hooks": {"SessionEnd": [1, null, {"hooks": 3}, {"hooks": [4, {"command": 5}]}], "Other": 7}}"#;
    let mut with: Value = serde_json::from_str(&installed(content)).expect("it is JSON");
    let before: Value = serde_json::from_str(content).expect("it is JSON");
    with["hooks"]["SessionEnd"].as_array_mut().expect("it is a list").pop();
    assert_eq!(with["hooks"]["SessionEnd"], before["hooks"]["SessionEnd"]);
    assert_eq!(with["hooks"]["Other"], 7);
}

#[test]
fn reports_and_removes_ace_hooks() {
    let ace = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command":
        "/bin/uv run --project \"/repo\" python \"/home/me/.claude/hooks/user_prompt_inject.py\""}]}],
        "SessionEnd": [{"hooks": [{"type": "command", "command": "python /home/me/.claude/hooks/session_end.py"},
        {"type": "command", "command": "python /home/me/hooks/session_end.py"}]}]}, "disableAllHooks": true}"#;
    let (_dir, file) = file(Some(ace));
    assert!(file.has_ace());
    let change = file.with_hooks(&requested(), false).expect("it is understood");
    assert_eq!(change.warnings, [SettingsWarning::HooksAreDisabled, SettingsWarning::AceHooks]);
    let change = file.with_hooks(&requested(), true).expect("it is understood");
    assert_eq!(change.warnings, [SettingsWarning::HooksAreDisabled]);
    assert!(
        !change.after.contains("user_prompt_inject.py")
            && !change.after.contains(".claude/hooks/session_end.py")
    );
    assert!(change.after.contains("/home/me/hooks/session_end.py"), "{}", change.after);
    // Or separately, if Longhaul's hooks are in another file.
    let change = file.without_ace().expect("it is understood");
    let settings = Settings::parse(&change.after).expect("it is JSON");
    let remaining: Vec<_> = settings.entries().into_iter().map(|entry| entry.command).collect();
    assert_eq!(remaining, ["python /home/me/hooks/session_end.py"]);
    let backup = change.write().expect("it is written").expect("it is kept");
    assert_eq!(fs::read_to_string(backup).expect("it is there"), ace);
}

#[test]
fn backs_up_file_once() {
    let (dir, file) = file(Some(FOREIGN));
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o640)).expect("it can be changed");
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).ok();
    let install =
        || file.with_hooks(&requested(), false).and_then(|change| change.write()).expect("it is written");
    assert_eq!(install(), Some(dir.path().join("settings.json.longhaul-backup")));
    assert_eq!(read("settings.json.longhaul-backup").as_deref(), Some(FOREIGN));
    assert_eq!(install(), None, "nothing changes");
    file.without_hooks().and_then(|change| change.write()).expect("it is written");
    assert_eq!(read("settings.json").as_deref(), Some(FOREIGN));
    assert_eq!(install(), Some(dir.path().join("settings.json.longhaul-backup")), "the same backup exists");
    fs::write(file.path(), "{}").expect("it can be written");
    assert_eq!(install(), Some(dir.path().join("settings.json.longhaul-backup-2")));
    assert_eq!(read("settings.json.longhaul-backup").as_deref(), Some(FOREIGN));
    assert_eq!(read("settings.json.longhaul-backup-2").as_deref(), Some("{}"));
    let mode =
        |name: &str| fs::metadata(dir.path().join(name)).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode("settings.json"), mode("settings.json.longhaul-backup")), (0o640, 0o640));
    let names = fs::read_dir(dir.path()).expect("it is there").count();
    assert_eq!(names, 3, "nothing else is left");
}

#[test]
fn follows_links() {
    let (dir, file) = file(None);
    let real = dir.path().join("dotfiles");
    fs::write(&real, "{}").expect("it can be written");
    symlink(&real, file.path()).expect("it is new");
    file.with_hooks(&requested(), false).and_then(|change| change.write()).expect("it is written");
    assert!(file.path().is_symlink());
    assert!(fs::read_to_string(&real).expect("it is there").contains("longhaul"));
    fs::remove_file(&real).expect("it is there");
    let error = file
        .with_hooks(&requested(), false)
        .and_then(|change| change.write())
        .expect_err("the link has no target");
    assert!(error.hint.starts_with("check its owner"), "{error}");
}

#[test]
fn keeps_concurrent_changes() {
    let (_dir, file) = file(Some("{}"));
    let change = file.with_hooks(&requested(), false).expect("it is understood");
    fs::write(file.path(), r#"{"model": "opus"}"#).expect("it can be written");
    let error = change.write().expect_err("the file has changed");
    assert!(error.message.ends_with("another program has just changed it"), "{error}");
    assert_eq!(fs::read_to_string(file.path()).expect("it is there"), r#"{"model": "opus"}"#);
}

#[test]
fn missing_file_needs_no_removal() {
    let (_dir, file) = file(None);
    let change = file.without_hooks().expect("the file is missing");
    assert!(!change.is_change());
    assert_eq!(change.write().expect("nothing is done"), None);
    assert!(!file.path().exists());
}
