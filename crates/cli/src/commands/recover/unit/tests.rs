use super::{Unit, launchd_text, systemd_text};
use expect_test::expect;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A unit with every character that is special in a format.
fn special_unit() -> Unit {
    let args = ["recover", "--active-within", "168h", "50% of $HOME", r#"a "b" \c"#, "<&>", ""];
    let program = OsStr::new(r#"/opt/my 100% "tools"/$x/it's\longhaul"#);
    Unit::new(program, args.map(str::to_owned).to_vec(), OsStr::new("/home/me/a b/50%/agent.env"))
        .and_then(|unit| unit.with_env("LONGHAUL_HOME", OsStr::new("/home/me/run s/50%$HOME/\"é\"")))
        .and_then(|unit| unit.with_env("PATH", OsStr::new("/usr/bin:/home/me/a&b/<bin>")))
        .expect("it can be written")
}

#[test]
fn renders_systemd_unit() {
    expect![[r##"
        # Written by longhaul, which replaces and removes it as a whole.
        [Unit]
        Description=Longhaul: recover runs whose supervisor died
        # A supervisor that keeps dying needs a person.
        StartLimitIntervalSec=600
        StartLimitBurst=5

        [Service]
        # The unit is active immediately, and lasts as long as the runs.
        Type=exec
        ExecStart=/usr/bin/env "/opt/my 100%% \"tools\"/$$x/it's\\longhaul" recover --active-within 168h "50%% of $$HOME" "a \"b\" \\c" "<&>" ""
        # A supervisor that was killed is restarted. One that reported its outcomes has done its work.
        Restart=on-abnormal
        RestartSec=10
        # Agents outlive their supervisor, and the next one adopts them.
        KillMode=process
        # The default signal, SIGTERM, suspends the runs: after a shutdown they continue at the next boot.
        # If a tool takes too much memory, the agent and its supervisor handle it.
        OOMPolicy=continue
        # Agents write private output into the directories of their runs.
        StandardOutput=null
        Environment="LONGHAUL_HOME=/home/me/run s/50%%$HOME/\"é\""
        Environment="PATH=/usr/bin:/home/me/a&b/<bin>"
        # The agent's variables, which may be secret. The user writes this file.
        EnvironmentFile=-/home/me/a b/50%%/agent.env

        [Install]
        WantedBy=default.target
    "##]].assert_eq(&systemd_text(&special_unit()));
}

#[test]
fn starts_special_program_names_with_env() {
    let check = |program: &str, expected: &str| {
        let unit = Unit::new(OsStr::new(program), vec!["recover".to_owned()], OsStr::new("/agent.env"));
        let unit = unit.expect("it can be written");
        let text = systemd_text(&unit);
        let line = text.lines().find_map(|line| line.strip_prefix("ExecStart="));
        assert_eq!(line, Some(expected));
    };
    check("/usr/bin/longhaul", "/usr/bin/longhaul recover");
    check("/home/me/a b/50%/longhaul", r#""/home/me/a b/50%%/longhaul" recover"#);
    check("/home/o'neil/$x/longhaul", r#"/usr/bin/env "/home/o'neil/$$x/longhaul" recover"#);
    let both = Unit::new(OsStr::new("/home/o'neil/a=b/longhaul"), Vec::new(), OsStr::new("/agent.env"));
    assert!(both.expect_err("env sets a variable").error.contains(": the path of longhaul has characters"));
}

#[test]
fn renders_launchd_property_list() {
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <!-- Written by longhaul, which replaces and removes it as a whole. -->
        <plist version="1.0">
        <dict>
          <key>Label</key>
          <string>longhaul.recover</string>
          <key>ProgramArguments</key>
          <array>
            <string>/bin/sh</string>
            <string>-c</string>
            <string>set -a; [ ! -r "$0" ] || . "$0"; exec "$@"</string>
            <string>/home/me/a b/50%/agent.env</string>
            <string>/opt/my 100% "tools"/$x/it's\longhaul</string>
            <string>recover</string>
            <string>--active-within</string>
            <string>168h</string>
            <string>50% of $HOME</string>
            <string>a "b" \c</string>
            <string>&lt;&amp;&gt;</string>
            <string></string>
          </array>
          <key>EnvironmentVariables</key>
          <dict>
            <key>LONGHAUL_HOME</key>
            <string>/home/me/run s/50%$HOME/"é"</string>
            <key>PATH</key>
            <string>/usr/bin:/home/me/a&amp;b/&lt;bin&gt;</string>
          </dict>
          <key>RunAtLoad</key>
          <true/>
          <!-- A supervisor that crashed is restarted; one that reported its outcomes is not. -->
          <key>KeepAlive</key>
          <dict>
            <key>Crashed</key>
            <true/>
          </dict>
          <!-- Agents outlive their supervisor, and the next one adopts them. -->
          <key>AbandonProcessGroup</key>
          <true/>
        </dict>
        </plist>
    "#]]
    .assert_eq(&launchd_text(&special_unit()));
}

#[test]
fn reports_unencodable_values() {
    let with_program = |program| Unit::new(program, Vec::new(), OsStr::new("/agent.env"));
    let unit = || with_program(OsStr::new("/bin/longhaul")).expect("it can be written");
    for text in [OsStr::from_bytes(b"/\xff"), OsStr::new("/a\nExecStart=/bin/evil"), OsStr::new("a\u{7}")] {
        assert!(
            with_program(text).expect_err("no text").error.contains(": the path of longhaul has characters")
        );
        assert!(unit().with_env("PATH", text).expect_err("no text").error.contains(": PATH has characters"));
    }
}
