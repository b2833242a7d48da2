use super::*;
use crate::hooks::HookEvent;
use expect_test::{Expect, expect};
use std::os::unix::fs::{PermissionsExt, symlink};

fn wanted() -> Vec<HookEntry> {
    let command = |event: &HookEvent| format!("/opt/longhaul hook {event}");
    HookEvent::ALL.iter().map(|event| HookEntry { event: *event, command: command(event) }).collect()
}

fn file(content: Option<&str>) -> (tempfile::TempDir, SettingsFile) {
    let dir = tempfile::tempdir().expect("there is a temporary folder");
    let file = SettingsFile::at(dir.path().join("settings.json"), "longhaul-0.2");
    if let Some(content) = content {
        fs::write(file.path(), content).expect("it can be written");
    }
    (dir, file)
}

fn installed(content: &str) -> String {
    let (_dir, file) = file(Some(content));
    file.with_hooks(&wanted(), false).expect("it is understood").after
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
fn our_hooks_are_put_beside_all_others() {
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
fn a_file_of_ours_alone_is_as_people_write_them() {
    let (_dir, file) = file(None);
    let only = [HookEntry {
        event: HookEvent::SessionStart,
        command: "'/my bin/longhaul' hook SessionStart".to_owned(),
    }];
    let change = file.with_hooks(&only, false).expect("there is nothing to understand");
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
fn what_is_put_in_comes_out_again_and_nothing_else_does() {
    for content in [
        FOREIGN,
        "{}",
        "{\n}\n",
        r#"{"model": "opus"}"#,
        "{\"model\":\"opus\",\"hooks\":{\"Stop\":[]}}\n",
        "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": {\r\n\t\t\"Stop\": []\r\n\t}\r\n}\r\n",
        "  {\n\n  \"model\": \"opus\"\n\n}",
        r#"{"hooks": {"SessionEnd": [{"matcher": "x", "hooks": [{"type": "command", "command": "longhaul-like hook"}]}]}}"#,
    ] {
        let with = installed(content);
        let parsed: Value = serde_json::from_str(&with).expect("it is JSON");
        for event in HookEvent::ALL {
            let groups = parsed["hooks"][event.as_str()].as_array().expect("it has hooks");
            let ours = &groups.last().expect("one is ours")["hooks"][0];
            assert_eq!(ours["command"], format!("/opt/longhaul hook {event}"), "{with}");
        }
        assert_eq!(installed(&with), with, "twice is once");
        let (_dir, file) = file(Some(&with));
        let without = file.without_hooks().expect("it is understood").after;
        let squeezed = |text: &str| if text.trim().len() <= 3 { "{}".to_owned() } else { text.to_owned() };
        assert_eq!(squeezed(&without), squeezed(content));
    }
}

#[test]
fn an_older_one_of_ours_goes() {
    let check = |old: &str, expected: bool| {
        let old = serde_json::json!({"hooks": {
            "SessionEnd": [{"hooks": [{"type": "command", "command": old}, {"type": "command", "command": "other"}]}],
            "PostToolUse": [{"hooks": [{"type": "command", "command": "longhaul hook PreCompact"}]}],
        }});
        let with: Value = serde_json::from_str(&installed(&old.to_string())).expect("it is JSON");
        let left = with["hooks"]["SessionEnd"][0]["hooks"].as_array().map(Vec::len);
        assert_eq!(left, Some(if expected { 1 } else { 2 }), "{with}");
        assert_eq!(with["hooks"].get("PostToolUse"), None, "it is ours, wherever it is");
        assert_eq!(with["hooks"]["SessionEnd"].as_array().map(Vec::len), Some(2), "{with}");
    };
    check("/old/place/longhaul hook SessionEnd", true);
    check("'/old place/it'\\''s/longhaul' hook SessionEnd --judge claude", true);
    check("\"/old/longhaul\" hook SessionEnd", true);
    check("longhaul hook SessionEnd", true);
    // As this program is called here.
    check("'/opt/of mine/longhaul-0.2' hook SessionEnd", true);
    check("/opt/longhaul-0.3 hook SessionEnd", false);
    check("/opt/not-longhaul hook SessionEnd", false);
    check("/opt/longhaul hook SessionEndless", false);
    check("/opt/longhaul/bin/notify hook SessionEnd", false);
    check("/opt/longhaul run", false);
}

#[test]
fn one_with_other_flags_or_another_limit_is_replaced() {
    let with = installed("{}");
    for (from, to) in [("SessionEnd\"", "SessionEnd --judge claude\""), ("10", "120"), ("compact", "startup")]
    {
        let other = with.replace(from, to);
        assert_ne!(other, with);
        let again: Value = serde_json::from_str(&installed(&other)).expect("it is JSON");
        assert_eq!(again, serde_json::from_str::<Value>(&with).expect("it is JSON"), "{from}");
    }
}

#[test]
fn what_is_not_understood_is_not_touched() {
    let check = |content: &str, expected: Expect| {
        let (_dir, file) = file(Some(content));
        let error = file.with_hooks(&wanted(), true).expect_err("it is not understood");
        let path = file.path().display().to_string();
        expected.assert_eq(&format!("{error}; {}", error.hint()).replace(&path, "FILE"));
        assert_eq!(fs::read_to_string(file.path()).expect("it is there"), content);
    };
    check(
        "{\n  // mine\n  \"model\": \"opus\"\n}",
        expect![
            "understand FILE: key must be a string at line 2 column 3; take its comments out: Claude Code ignores settings with comments; nothing was changed"
        ],
    );
    check(
        "{\"model\": \"opus\" /* mine */}",
        expect![
            "understand FILE: expected `,` or `}` at line 1 column 18; take its comments out: Claude Code ignores settings with comments; nothing was changed"
        ],
    );
    check(
        "{\"model\": \"opus\",}",
        expect![
            "understand FILE: trailing comma at line 1 column 18; mend it: Claude Code ignores it as it is; nothing was changed"
        ],
    );
    check(
        "{\"model\":",
        expect![
            "understand FILE: EOF while parsing a value at line 1 column 9; mend it: Claude Code ignores it as it is; nothing was changed"
        ],
    );
    check(
        "[]",
        expect![
            "understand FILE: the whole is not an object; mend it: Claude Code complains about it as well; nothing was changed"
        ],
    );
    check(
        "7",
        expect![
            "understand FILE: the whole is not an object; mend it: Claude Code complains about it as well; nothing was changed"
        ],
    );
    check(
        r#"{"hooks": []}"#,
        expect![
            "understand FILE: `hooks` is not an object; mend it: Claude Code complains about it as well; nothing was changed"
        ],
    );
    check(
        r#"{"hooks": null}"#,
        expect![
            "understand FILE: `hooks` is not an object; mend it: Claude Code complains about it as well; nothing was changed"
        ],
    );
    check(
        r#"{"hooks": {"SessionEnd": {}}}"#,
        expect![
            "understand FILE: `hooks.SessionEnd` is not an array; mend it: Claude Code complains about it as well; nothing was changed"
        ],
    );
}

#[test]
fn groups_of_another_form_are_left_alone() {
    let content =
        r#"{"hooks": {"SessionEnd": [1, null, {"hooks": 3}, {"hooks": [4, {"command": 5}]}], "Other": 7}}"#;
    let with = installed(content);
    assert!(with.starts_with(&content[..content.len() - 30]), "{with}");
}

#[test]
fn the_ace_hooks_are_told_of_and_go_when_that_is_asked() {
    let ace = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command":
        "/bin/uv run --project \"/repo\" python \"/home/me/.claude/hooks/user_prompt_inject.py\""}]}],
        "SessionEnd": [{"hooks": [{"type": "command", "command": "python /home/me/.claude/hooks/session_end.py"},
        {"type": "command", "command": "python /home/me/hooks/session_end.py"}]}]}, "disableAllHooks": true}"#;
    let (_dir, file) = file(Some(ace));
    assert!(file.has_ace());
    let change = file.with_hooks(&wanted(), false).expect("it is understood");
    assert_eq!(change.warnings, [SettingsWarning::HooksAreDisabled, SettingsWarning::AceHooks]);
    let change = file.with_hooks(&wanted(), true).expect("it is understood");
    assert_eq!(change.warnings, [SettingsWarning::HooksAreDisabled]);
    assert!(
        !change.after.contains("user_prompt_inject.py")
            && !change.after.contains(".claude/hooks/session_end.py")
    );
    assert!(change.after.contains("/home/me/hooks/session_end.py"), "{}", change.after);
    // Or by themselves, where ours are in another file.
    let change = file.without_ace().expect("it is understood");
    let left: Vec<_> = entries(&change.after).into_iter().map(|entry| entry.command).collect();
    assert_eq!(left, ["python /home/me/hooks/session_end.py"]);
    let backup = change.write().expect("it is written").expect("it is kept");
    assert_eq!(fs::read_to_string(backup).expect("it is there"), ace);
}

#[test]
fn the_file_is_kept_before_it_is_changed_and_once() {
    let (dir, file) = file(Some(FOREIGN));
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o640)).expect("it is ours");
    let kept = |name: &str| fs::read_to_string(dir.path().join(name)).ok();
    let install =
        || file.with_hooks(&wanted(), false).and_then(|change| change.write()).expect("it is written");
    assert_eq!(install(), Some(dir.path().join("settings.json.longhaul-backup")));
    assert_eq!(kept("settings.json.longhaul-backup").as_deref(), Some(FOREIGN));
    assert_eq!(install(), None, "nothing changes");
    file.without_hooks().and_then(|change| change.write()).expect("it is written");
    assert_eq!(kept("settings.json").as_deref(), Some(FOREIGN));
    assert_eq!(install(), Some(dir.path().join("settings.json.longhaul-backup")), "the same is kept already");
    fs::write(file.path(), "{}").expect("it can be written");
    assert_eq!(install(), Some(dir.path().join("settings.json.longhaul-backup-2")));
    assert_eq!(kept("settings.json.longhaul-backup").as_deref(), Some(FOREIGN));
    assert_eq!(kept("settings.json.longhaul-backup-2").as_deref(), Some("{}"));
    let mode =
        |name: &str| fs::metadata(dir.path().join(name)).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode("settings.json"), mode("settings.json.longhaul-backup")), (0o640, 0o640));
    let names = fs::read_dir(dir.path()).expect("it is there").count();
    assert_eq!(names, 3, "nothing else is left");
}

#[test]
fn a_link_stays_one() {
    let (dir, file) = file(None);
    let real = dir.path().join("dotfiles");
    fs::write(&real, "{}").expect("it can be written");
    symlink(&real, file.path()).expect("it is new");
    file.with_hooks(&wanted(), false).and_then(|change| change.write()).expect("it is written");
    assert!(file.path().is_symlink());
    assert!(fs::read_to_string(&real).expect("it is there").contains("longhaul"));
    fs::remove_file(&real).expect("it is there");
    let error =
        file.with_hooks(&wanted(), false).and_then(|change| change.write()).expect_err("it leads nowhere");
    assert!(matches!(error, InstallError::Io { .. }), "{error}");
}

#[test]
fn what_another_program_writes_meanwhile_stays() {
    let (_dir, file) = file(Some("{}"));
    let change = file.with_hooks(&wanted(), false).expect("it is understood");
    fs::write(file.path(), r#"{"model": "opus"}"#).expect("it can be written");
    let error = change.write().expect_err("it is another file now");
    assert!(matches!(error, InstallError::ChangedMeanwhile { .. }), "{error}");
    assert_eq!(fs::read_to_string(file.path()).expect("it is there"), r#"{"model": "opus"}"#);
}

#[test]
fn without_a_file_there_is_nothing_to_take_out() {
    let (_dir, file) = file(None);
    let change = file.without_hooks().expect("there is nothing to understand");
    assert!(!change.is_change());
    assert_eq!(change.write().expect("nothing is done"), None);
    assert!(!file.path().exists());
}
