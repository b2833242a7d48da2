use super::{UnencodableValue, Unit};
use expect_test::expect;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A unit with every character that is special in it.
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
    "##]].assert_eq(&special_unit().text());
}

#[test]
fn starts_special_program_names_with_env() {
    let check = |program: &str, expected: &str| {
        let unit = Unit::new(OsStr::new(program), vec!["recover".to_owned()], OsStr::new("/agent.env"));
        let unit = unit.expect("it can be written");
        let text = unit.text();
        let line = text.lines().find_map(|line| line.strip_prefix("ExecStart="));
        assert_eq!(line, Some(expected));
    };
    check("/usr/bin/longhaul", "/usr/bin/longhaul recover");
    check("/home/me/a b/50%/longhaul", r#""/home/me/a b/50%%/longhaul" recover"#);
    check("/home/o'neil/$x/longhaul", r#"/usr/bin/env "/home/o'neil/$$x/longhaul" recover"#);
    let both = Unit::new(OsStr::new("/home/o'neil/a=b/longhaul"), Vec::new(), OsStr::new("/agent.env"));
    assert_eq!(both.expect_err("env sets a variable"), UnencodableValue("the path of longhaul"));
}

#[test]
fn reports_unencodable_values() {
    let with_program = |program| Unit::new(program, Vec::new(), OsStr::new("/agent.env"));
    let unit = || with_program(OsStr::new("/bin/longhaul")).expect("it can be written");
    for text in [OsStr::from_bytes(b"/\xff"), OsStr::new("/a\nExecStart=/bin/evil"), OsStr::new("a\u{7}")] {
        assert_eq!(with_program(text).expect_err("no text"), UnencodableValue("the path of longhaul"));
        assert_eq!(unit().with_env("PATH", text).expect_err("no text"), UnencodableValue("PATH"));
    }
}
